"""With nothing set: a server that runs on this machine is named, else three ways to begin."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from urllib.parse import urlsplit

from claw.errors import ConfigError
from claw.providers.presets import PRESETS, Preset
from claw.values import frozen

PROBE_SECONDS = 0.3
PROBE_BYTES = 1_000_000

THREE_WAYS = """\
no model server is set. To begin:
  export OPENAI_API_KEY=...; claw --model NAME     a key (others: --provider)
  claw --base-url http://127.0.0.1:8080/v1 --model NAME        a local server
  claw demo                                        needs neither: it's a script"""


@frozen
class LocalServer:
    """A model server that answered on this machine, and the models it names."""

    preset: Preset
    models: tuple[str, ...]

    @property
    def model(self) -> str:
        return self.models[0] if self.models else "NAME"


def local_servers(presets: Iterable[Preset] = tuple(PRESETS.values())) -> list[LocalServer]:
    """The local presets whose servers answer, each asked for 0.3 s at most."""
    found = [(preset, _models_of(preset.base_url)) for preset in presets if preset.local]
    return [LocalServer(preset, models) for preset, models in found if models is not None]


def explained(error: ConfigError, servers: Sequence[LocalServer]) -> ConfigError:
    """`error` in words that help: the servers that run here by name, else the three ways."""
    if not servers:
        return ConfigError(THREE_WAYS)
    named = "; ".join(
        f"{server.preset.name} runs here: claw --provider {server.preset.name} "
        f"--model {server.model}"
        for server in servers
    )
    return ConfigError(f"{error.message}, but {named}")


def _models_of(base_url: str) -> tuple[str, ...] | None:
    """What `GET /models` lists, or None when nothing there speaks the dialect."""
    from http.client import HTTPConnection, HTTPException

    parts = urlsplit(base_url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PROBE_SECONDS)
    with closing(connection):
        try:
            connection.request("GET", f"{parts.path}/models")
            answer = json.loads(connection.getresponse().read(PROBE_BYTES))
            named = (each.get("id") for each in answer["data"] if isinstance(each, dict))
            models = tuple(name for name in named if isinstance(name, str) and name)
        except (OSError, HTTPException, ValueError, TypeError, KeyError):
            return None
    return models
