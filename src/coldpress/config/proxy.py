"""Choose the HTTP proxy that the environment names for an address."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from coldpress.config.resolve_providers import is_loopback


def proxy_for(url: str, environ: Mapping[str, str]) -> str | None:
    """Choose by `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in capitals or not; `None` for no proxy.

    Args:
        url: where a request goes. A loopback address never goes through a proxy.
        environ: the process's environment, read once at start-up.

    >>> proxy_for("https://llm.example.com", {"HTTPS_PROXY": "proxy.example.com:3128"})
    'http://proxy.example.com:3128'
    """
    lowered = {name.lower(): value for name, value in environ.items() if name.lower().endswith("_proxy") and value}
    parts = urlsplit(url)
    host = parts.hostname or ""
    address = lowered.get(f"{parts.scheme}_proxy") or lowered.get("all_proxy")
    exempt = [entry.strip().lower() for entry in lowered.get("no_proxy", "").split(",")]
    if not address or is_loopback(host) or any(_fits(parts.netloc.lower(), host, entry) for entry in exempt):
        return None
    return address if "://" in address else f"http://{address}"


def _fits(netloc: str, host: str, entry: str) -> bool:
    """Whether an entry of `NO_PROXY` names a host: itself, a domain above it, with or without its port, or `*`."""
    bare = entry.removeprefix(".")
    return bool(bare) and (bare in ("*", host, netloc) or host.endswith(f".{bare}") or netloc.endswith(f".{bare}"))
