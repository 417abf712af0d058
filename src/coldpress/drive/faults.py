"""Catch a mistake of ours, so that it costs what it was about and never an agent its request."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from types import TracebackType

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Fault:
    """A mistake of ours, if one is made: it is logged and costs what it was about, never an agent its request.

    Attributes:
        what: could not be done because of it.
        request_id: on which request.
        name: of its kind, empty where none was made.
    """

    what: str
    request_id: str
    name: str = ""

    def kept(self) -> Fault:
        """Go on behind the block where one was made in it."""
        return self

    # Six times on every request: a generator would take four times as long.

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Log a mistake and keep it; what is to end the task or the process goes on."""
        if not isinstance(error, Exception):
            return False
        log.error(self.what, exc_info=error, extra={"request": self.request_id})
        self.name = type(error).__name__
        return True
