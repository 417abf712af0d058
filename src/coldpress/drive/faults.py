"""Catch a mistake of ours, so that it costs what it was about and never an agent its request."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass

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

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Go on behind the block where one was made in it."""
        try:
            yield
        except Exception as error:
            log.exception(self.what, extra={"request": self.request_id})
            self.name = type(error).__name__
