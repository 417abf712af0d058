"""Keep web pages from spending the user's key: any page in a browser on this machine can send requests to loopback.

Such a request is dangerous only where the gateway adds a key of its own; elsewhere the page would need the key itself.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from coldpress.gateway.errors import Refused
from coldpress.gateway.headers import RequestHeaders
from coldpress.gateway.settings import Provider
from coldpress.gateway.upstream import is_loopback

_NEVER_PUBLIC = ("localhost", "local", "internal", "lan", "home.arpa", "test")
"""Name spaces that nobody can register in, so that no page's own name can be pointed at this machine."""


def refuse_web_page(headers: RequestHeaders, provider: Provider, *, only_this_machine: bool) -> None:
    """Refuse what a web page may have sent, where our key would go with it.

    Args:
        headers: of the request.
        provider: where it goes.
        only_this_machine: whether the gateway listens on loopback alone. A public name in `host` then means that a
            page had its own name resolve to this machine.

    Raises:
        Refused: it comes from a page of another site.
    """
    if provider.api_key is None:
        return
    noted = headers.noted
    foreign = noted.get(b"sec-fetch-site", b"none") in (b"cross-site", b"same-site")
    origin = noted.get(b"origin")
    if (foreign and origin is None) or (origin is not None and not _on_this_machine(origin)):
        raise _refusal(provider, "it comes from a web page")
    if only_this_machine and _is_public(_host_name(b"//" + noted.get(b"host", b""))):
        raise _refusal(provider, "its host header is a public name, as a web page can make it")


def _refusal(provider: Provider, why: str) -> Refused:
    return Refused(
        403,
        "web_page_refused",
        f"coldpress: the key that api_key_env names for provider {provider.name!r} does not go with this request: "
        f"{why}; leave api_key_env out and let the client send its own key",
    )


def _on_this_machine(origin: bytes) -> bool:
    name = _host_name(origin)
    return is_loopback(name) or name.endswith(".localhost")


def _is_public(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return "." in name and not name.endswith(tuple(f".{space}" for space in _NEVER_PUBLIC))
    return False


def _host_name(address: bytes) -> str:
    """The host of an address, in lower case; an address that cannot be read is public."""
    try:
        return (urlsplit(address.decode("latin-1")).hostname or "").rstrip(".")
    except ValueError:
        return "unreadable.invalid"
