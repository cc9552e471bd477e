"""The proxy on the way to an endpoint, checked before anything is sent.

A proxy's URL may hold a password, so none of it is ever shown, nor what a library says about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from requests.utils import get_auth_from_url, get_environ_proxies, select_proxy
from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from claw.errors import ConfigError
from claw.providers.endpoint import Endpoint

SCHEMES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
OF_THE_ENVIRONMENT = "the proxy of the environment (HTTP_PROXY, HTTPS_PROXY or ALL_PROXY)"
GIVEN = "the proxy that was given"


def proxy_for(endpoint: Endpoint) -> str | None:
    """The proxy for this URL: the one given, else the environment's, NO_PROXY applied."""
    chosen: Mapping[str, str] | None = endpoint.proxies
    if chosen is None:
        chosen = get_environ_proxies(endpoint.url)
    proxy = select_proxy(endpoint.url, dict(chosen))
    if not proxy:
        return None
    return _checked(proxy, OF_THE_ENVIRONMENT if endpoint.proxies is None else GIVEN)


def _checked(proxy: str, which: str) -> str:
    """`proxy` with a scheme, or ConfigError where it can't work."""
    url = proxy if "://" in proxy else f"http://{proxy}"
    try:
        parts = parse_url(url)
    except LocationParseError:  # its words are the URL
        parts = None
    if parts is None or not parts.host or not url.isprintable() or " " in url:
        raise ConfigError(f"{which} has no URL like http://host:3128: mend it")
    if parts.scheme not in SCHEMES:
        raise ConfigError(f"{which} has to begin with http://, https:// or socks5://: mend it")
    try:
        "".join(get_auth_from_url(url)).encode("latin-1")
    except ValueError:
        raise ConfigError(
            f"{which} has a user name or a password with a character that HTTP can't carry"
        ) from None
    if parts.scheme.startswith("socks") and find_spec("socks") is None:
        raise ConfigError(f"{which} is a SOCKS proxy, which needs PySocks: pip install PySocks")
    return url
