"""What one run of a hook may do, and what it did: every view asks here first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Final

from coldpress.model.errors import CapabilityError, EditRefused, ViewClosed
from coldpress.model.plugins import Capability, PluginFault

LEAST_MOST_BYTES: Final = 64 * 1024
MOST_GROWTH: Final = 4
"""An edit may have four times the bytes of what it replaces, or 64 KiB where that is more."""


class Access:
    """Belongs to one run of one hook of one plugin.

    Args:
        plugin: its name, for messages.
        granted: what it may do.
        on_late: called where a view is used after the run.
    """

    __slots__ = ("_granted", "_lock", "_on_late", "_open", "_plugin", "faults")

    def __init__(self, plugin: str, granted: Iterable[Capability], on_late: Callable[[], None]) -> None:
        self._plugin = plugin
        self._granted = frozenset(granted)
        self._on_late = on_late
        self._open = True
        self._lock = threading.RLock()
        self.faults: list[tuple[PluginFault, str]] = []

    def check(self) -> None:
        """Make sure that the run goes on.

        Raises:
            ViewClosed: it is over.
        """
        if not self._open:
            self._on_late()
            raise ViewClosed(f"{self._plugin}: the hook is over or has run out of time; use its view in the hook only")

    def require(self, *any_of: Capability, to: str) -> None:
        """Make sure that the plugin has one of some capabilities.

        Args:
            any_of: each of them is enough.
            to: what it wants to do, for people.

        Raises:
            CapabilityError: it has none of them; this is recorded, whether the plugin catches it or not.
            ViewClosed: the run is over.
        """
        self.check()
        if self._granted.isdisjoint(any_of):
            wanted = " or ".join(any_of)
            self._note("capability", wanted)
            raise CapabilityError(f"{self._plugin} has no approved capability {wanted}, which it needs to {to}")

    def refuse(self, what: str, why: str) -> EditRefused:
        """Record that an edit is not taken, and give the error to raise."""
        self._note("refused", f"{what} {why}")
        return EditRefused(f"{self._plugin}: the edit of {what} is not taken: it {why}")

    def editing(self) -> AbstractContextManager[object]:
        """Hold what `close` waits for: within, a run is not over between a check and an edit."""
        return self._lock

    def close(self) -> None:
        """End the run: from now on every use of its views raises."""
        with self._lock:
            self._open = False

    def _note(self, fault: PluginFault, detail: str) -> None:
        with self._lock:
            if self._open:
                self.faults.append((fault, detail))


def text_problem(text: object, before: int) -> str:
    """Say why a text cannot stand in the place of one of `before` bytes of UTF-8; empty where it can.

    >>> text_problem("", 10), text_problem("x", 10)
    ('is empty', '')
    """
    if not isinstance(text, str):
        return f"is a {type(text).__name__}, not text"
    if not text.strip():
        return "is empty"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "holds a lone surrogate, which no JSON text can carry"
    most = max(LEAST_MOST_BYTES, MOST_GROWTH * before)
    return f"has {size} bytes; at most {most} may stand there" if size > most else ""
