"""Find out whether the gateway answers, and whether clients on this machine point at one that does not."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from coldpress.config.resolve_providers import is_loopback
from coldpress.config.settings import Settings

CLIENT_VARIABLES: Final = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "OPENAI_BASE_URL", "OPENAI_API_BASE")
"""Environment variables by which clients are pointed at a gateway."""

_TIMEOUT_SECONDS = 1.0
_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether a gateway answers at the address of the settings; `why` says what happened instead."""

    url: str
    running: bool
    why: str


def reach(settings: Settings) -> Reach:
    """Ask `/health` where the gateway of these settings answers it: on the data port, if nobody else can reach that."""
    url = base_url(_ANY_ADDRESS.get(settings.host, settings.host), settings.port)
    try:
        status, _ = _asked(settings, "/health")
    except (OSError, http.client.HTTPException) as error:
        return Reach(url, running=False, why=_say(error))
    return Reach(url, running=status == 200, why="" if status == 200 else f"/health answered {status}")


def running_plugins(settings: Settings) -> dict[str, dict[str, object]]:
    """What the gateway of these settings says of its plugins, by name; empty where none answers."""
    try:
        status, body = _asked(settings, "/stats")
        stats = json.loads(body) if status == 200 else {}
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    decisions = stats.get("decisions") if isinstance(stats, dict) else None
    told = decisions.get("plugins") if isinstance(decisions, dict) else None
    rows = told if isinstance(told, dict) else {}
    return {name: row for name, row in rows.items() if isinstance(row, dict)}


def _asked(settings: Settings, path: str) -> tuple[int, bytes]:
    place = (_ANY_ADDRESS.get(settings.host, settings.host).strip("[]"), settings.port)
    if not is_loopback(settings.host):
        place = ("127.0.0.1", settings.port + 1 if settings.control_port is None else settings.control_port)
    connection = http.client.HTTPConnection(*place, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _say(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def base_url(host: str, port: int) -> str:
    """Write the address clients are pointed at.

    >>> base_url("::1", 8484)
    'http://[::1]:8484'
    """
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"http://{shown}:{port}"


def stranded_clients(found: Reach, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Name the variables that point clients at this gateway while it does not answer, one sentence each."""
    if found.running:
        return ()
    own = urlsplit(found.url)
    return tuple(
        f"{name} points clients at {found.url}, where nothing answers: start coldpress serve, or unset {name}"
        for name in CLIENT_VARIABLES
        if name in environ and _same_place(environ[name], own.hostname or "", own.port)
    )


def _same_place(url: str, hostname: str, port: int | None) -> bool:
    try:
        there = urlsplit(url)
        there_port = there.port
    except ValueError:
        return False
    loopback = {"localhost", "127.0.0.1", "::1"}
    same_host = there.hostname == hostname or (there.hostname in loopback and hostname in loopback)
    return same_host and there_port == port
