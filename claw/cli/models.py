"""`claw models`: what the server offers, a name a line."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace

from claw.cancel import CancelToken
from claw.cli.config import read_config
from claw.cli.keys import fetch_key
from claw.cli.model_access import provider_for
from claw.cli.places import find_places
from claw.cli.settings import Flags, NothingSet, resolve
from claw.cli.terminal import Terminal
from claw.cli.turn import turn
from claw.cli.visible import visible
from claw.errors import Cancelled, ConfigError
from claw.providers.model_list import list_models

SECONDS = 10.0
NO_MODEL = "none"  # a provider has one; none is asked


def show_models(flags: Flags, *, as_json: bool = False) -> int:
    """Prints the names in alphabetical order; as JSON, one object with the list."""
    config = read_config(find_places(os.environ).config_file)
    try:
        settings = resolve(flags, os.environ, config)
    except NothingSet as error:
        raise ConfigError(f"{error.message}: name it with --provider or --base-url") from error
    token = CancelToken()
    with turn(token, Terminal.of_process()) as ending:
        try:
            key = fetch_key(settings.key, os.environ, settings.preset.name, token)
            provider = provider_for(replace(settings.server, model=NO_MODEL), key, "")
            models = sorted(list_models(provider, token, timeout=flags.timeout or SECONDS))
        except Cancelled:
            return ending.exit_code or 1
    if as_json:
        told = {"base_url": settings.base_url, "models": models}
        sys.stdout.write(json.dumps(told) + "\n")
    else:
        sys.stdout.writelines(f"{visible(name)}\n" for name in models)
    return 0
