"""Which price counts: the user's own, else the maker's, where the maker's own server is asked."""

from __future__ import annotations

from collections.abc import Mapping

from claw.cli.servers import Server
from claw.pricing import Price, PriceList
from claw.providers.presets import PRESETS


def prices_of(servers: tuple[Server, ...], own: Mapping[str, Price]) -> PriceList:
    """What the models of `servers` cost. own: `[prices.MODEL]`, by the model's name as it is asked
    for."""
    return PriceList(tuple((each.model, _price(each, own)) for each in servers))


def _price(server: Server, own: Mapping[str, Price]) -> Price | None:
    if server.model in own:
        return own[server.model]
    preset = PRESETS.get(server.preset.name)
    if preset is None or server.base_url != preset.base_url:
        return None  # a gateway may charge what it likes, and the user's own machine nothing
    from claw.pricing.table import listed_price

    return listed_price(preset.name, server.model)
