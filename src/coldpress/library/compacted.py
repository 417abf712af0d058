"""What `Session.compact` gives back: a list of messages that knows whose they are and what was decided."""

from __future__ import annotations

from typing import TypeVar

from coldpress.model.records import Receipt
from coldpress.wire.registry import FormatName

M = TypeVar("M")


class Compacted(list[M]):
    """The messages to send: a plain list for every SDK, with three things beside it.

    Attributes:
        receipt: what was decided, and why.
        sources: for each message, the index of the caller's message that it is, or stands for; `None` where it stands
            for several or for none, such as a summary. A message that was not changed *is* the caller's own object.
        format: the wire format it was read as.
    """

    __slots__ = ("format", "receipt", "sources")

    def __init__(
        self, messages: list[M], *, receipt: Receipt, sources: tuple[int | None, ...], format_name: FormatName
    ) -> None:
        super().__init__(messages)
        self.receipt = receipt
        self.sources = sources
        self.format: FormatName = format_name
