"""Refuse network connections of a hook that has no approved `use_network`.

The interpreter tells of every connection before it is made (an audit event), in the thread that makes it. This catches
a plugin that connects by mistake, or through a library. It is no sandbox: a plugin's own thread is not looked at.
"""

from __future__ import annotations

import functools
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from coldpress.plugins.access import Access

_EVENTS: Final = frozenset(
    {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg"}
)
_LOCAL_FAMILY: Final = getattr(socket, "AF_UNIX", None)

_running = threading.local()


@contextmanager
def watched(access: Access) -> Iterator[None]:
    """Within, connections of this thread need the capability of a run."""
    _install()
    _running.access = access
    try:
        yield
    finally:
        _running.access = None


@functools.cache
def _install() -> None:
    """Once in a process, and for good: the interpreter takes no such hook back."""
    sys.addaudithook(_before)


def _before(event: str, arguments: tuple[object, ...]) -> None:
    if event not in _EVENTS:
        return
    access: Access | None = getattr(_running, "access", None)
    if access is None or (arguments and getattr(arguments[0], "family", None) == _LOCAL_FAMILY):
        return
    access.require("use_network", to="connect to a network")
