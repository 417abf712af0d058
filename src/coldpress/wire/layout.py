"""Where each wire format keeps the messages of a request, and who reads one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from coldpress.model.conversation import Span
from coldpress.wire import anthropic, gemini, openai_chat, openai_responses
from coldpress.wire.format import BlockReader, Source
from coldpress.wire.head import OUTER
from coldpress.wire.registry import FormatName
from coldpress.wire.span import Misread


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to write a request.

    Attributes:
        read: reads one message.
        messages: the key of their array.
        within: the key of the object that it stands in; empty where that is the body itself.
        bare: whether one text may stand for them all.
    """

    read: BlockReader
    messages: str
    within: str = ""
    bare: bool = False

    @property
    def opening(self) -> bytes:
        """What the array of messages stands behind, in a body that holds nothing else."""
        return (f'{{"{self.within}":' if self.within else "").encode() + b'{"' + self.messages.encode() + b'":['

    def fields(self, source: Source, outer: dict[str, Span]) -> dict[str, Span]:
        """Give the values beside the messages, and the array of them, by key.

        Raises:
            Misread: what should hold them is no object, or repeats a key.
        """
        if not self.within:
            return outer
        beside = {OUTER + key: span for key, span in outer.items() if key != self.within}
        return source.members(outer[self.within]) | beside


LAYOUTS: Final[Mapping[FormatName, tuple[Layout, ...]]] = {
    "anthropic": (Layout(anthropic.read_blocks, "messages"),),
    "openai_chat": (Layout(openai_chat.read_blocks, "messages"),),
    "openai_responses": (Layout(openai_responses.read_blocks, "input", bare=True),),
    "gemini": (Layout(gemini.read_blocks, "contents"), Layout(gemini.read_blocks, "contents", within="request")),
}
"""Gemini's requests come bare, or in the envelope of Code Assist."""


def layout_of(source: Source, outer: Mapping[str, Span], format_name: FormatName) -> Layout:
    """Find how a body is written.

    Raises:
        Misread: it holds no messages where its format keeps them.
    """
    for layout in LAYOUTS[format_name]:
        if (layout.within or layout.messages) in outer:
            return layout
    raise Misread(f"the body holds no {LAYOUTS[format_name][0].messages}")


def message_spans(source: Source, place: Span | None, layout: Layout) -> list[Span]:
    """Locate the messages: the elements of an array, or a bare text where the layout knows it, for one of a user.

    Raises:
        Misread: it is neither.
    """
    if layout.bare and source.is_string(place):
        return [place]
    if place is None or not source.is_array(place):
        raise Misread("the body holds no array of messages")
    return source.elements(place)
