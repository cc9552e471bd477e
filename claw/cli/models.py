"""`claw models`: what the server offers, a name a line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from claw.cancel import CancelToken
from claw.cli.config import UserConfig, read_config
from claw.cli.failures import tell
from claw.cli.key_mask import KeyMask
from claw.cli.keys import fetch_key
from claw.cli.model_access import provider_for
from claw.cli.one_object import ended_early, show_object
from claw.cli.places import find_places
from claw.cli.settings import Flags, NothingSet, Settings, resolve
from claw.cli.streams import write_output
from claw.cli.terminal import Terminal
from claw.cli.turn import turn
from claw.cli.visible import visible
from claw.errors import Cancelled, ClawError, ConfigError, ProviderError
from claw.providers.masking import hidden, masked
from claw.providers.model_list import ModelList, list_models

SECONDS = 10.0
NO_MODEL = "none"  # a provider has one; none is asked


def show_models(flags: Flags, *, as_json: bool = False) -> int:
    """Prints the names in alphabetical order; as JSON, one object with the list. What is odd about
    the list is told on standard error."""
    token, url = CancelToken(), KeyMask.of(os.environ)(flags.base_url)
    try:
        config = read_config(find_places(os.environ).config_file)
        settings = _settings(flags, config)
        url = KeyMask.of(os.environ, config)(settings.base_url)
        with turn(token, Terminal.of_process()):
            listed = _listed(settings, flags.timeout or SECONDS, token)
    except (Cancelled, KeyboardInterrupt):
        if as_json:
            show_object(_told(url, ModelList()), "cancelled")
        return ended_early(token)
    except ClawError as error:
        if as_json:
            show_object(_told(url, ModelList()), "error", error)
        raise
    if as_json:
        show_object(_told(url, listed))
    else:
        write_output("".join(f"{_line(name)}\n" for name in listed.names))
    for line in _oddities(url, listed):
        tell(line)
    return 0


def _settings(flags: Flags, config: UserConfig) -> Settings:
    try:
        return resolve(flags, os.environ, config)
    except NothingSet as error:
        raise ConfigError(f"{error.message}: name it with --provider or --base-url") from error


def _listed(settings: Settings, seconds: float, cancel: CancelToken) -> ModelList:
    """The models in alphabetical order, without the key where a server puts it among them."""
    key = fetch_key(settings.key, os.environ, settings.preset.name, cancel)
    provider = provider_for(replace(settings.server, model=NO_MODEL), key, "")
    try:
        models = list_models(provider, cancel, timeout=seconds)
    except ProviderError as error:
        raise masked(error, (), key) from error.__cause__
    return replace(models, names=tuple(sorted(hidden(name, key) for name in models.names)))


def _told(url: str, models: ModelList) -> dict[str, object]:
    return {"base_url": url, "models": list(models.names), "left_out": models.left_out}


def _line(name: str) -> str:
    """A name takes one line, whatever is in it."""
    return visible(name).replace("\n", "<U+000A>").replace("\t", "<U+0009>")


def _oddities(url: str, models: ModelList) -> Sequence[str]:
    if models.left_out:
        entries = "1 entry" if models.left_out == 1 else f"{models.left_out} entries"
        return [f"{entries} without a name left out"]
    return [] if models.names else [f"{url} offers no models: its list is empty"]
