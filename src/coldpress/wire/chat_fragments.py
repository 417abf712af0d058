"""Read what a chunk of a Chat Completions stream says of tool calls, as OpenAI and compatible servers write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from coldpress.model.conversation import Span
from coldpress.wire.call_stream import FaultCount, read_text
from coldpress.wire.format import Source

Home = Literal["delta", "message"]
"""The member of a choice in which a call stands. Some servers write `message` in chunks too."""

HOMES: Final[tuple[Home, ...]] = ("delta", "message")
LEGACY: Final = b"function_call"
"""Stands for the number of a call that has none."""

EMPTY: Final = (b"null", b'""', b"[]", b"{}")


@dataclass(frozen=True, slots=True)
class Fragment:
    """What a chunk says of a call.

    Attributes:
        choice: JSON of the choice's index.
        home: where in the choice it stands.
        slot: JSON of the call's own index, empty where the server gives none; `LEGACY` for the call without any.
        call_id: empty where the chunk has none.
        name: of the tool, or a piece of it; empty where the chunk has none.
        arguments: where its piece of the arguments stands, `None` where there is none.
        text: that piece; `None` where the arguments are a JSON object and no string.
    """

    choice: bytes
    home: Home
    slot: bytes
    call_id: str
    name: str
    arguments: Span | None
    text: str | None

    @property
    def begins_object(self) -> bool:
        """Whether it could be the beginning of whole arguments."""
        return self.arguments is not None and (self.text is None or self.text.lstrip()[:1] == "{")


@dataclass(frozen=True, slots=True)
class Finish:
    """A choice has ended."""

    choice: bytes


def steps(source: Source, fields: dict[str, Span], faults: FaultCount) -> list[Fragment | Finish]:
    """Read what a chunk says of calls, in order; arguments of a shape that cannot be filtered are counted.

    Raises:
        Misread: its values cannot be located.
    """
    found: list[Fragment | Finish] = []
    choices = fields.get("choices")
    for span in source.elements(choices) if source.is_array(choices) else []:
        choice = source.members(span)
        number = source.raw(choice["index"]) if "index" in choice else b"0"
        for home in HOMES:
            inside = choice.get(home)
            if source.is_object(inside):
                found += _Reader(source, number, home, faults).fragments(source.members(inside))
        if source.string(choice.get("finish_reason")):
            found.append(Finish(number))
    return found


@dataclass(frozen=True, slots=True)
class _Reader:
    source: Source
    choice: bytes
    home: Home
    faults: FaultCount

    def fragments(self, inside: dict[str, Span]) -> list[Fragment]:
        source = self.source
        found: list[Fragment] = []
        calls, legacy = inside.get("tool_calls"), inside.get("function_call")
        if not source.is_array(calls):
            self._count_what_is_there(calls)
            calls = None
        for span in source.elements(calls) if calls is not None else []:
            call = source.members(span)
            function = call.get("function")
            if source.is_object(function):
                slot = source.raw(call["index"]) if "index" in call else b""
                call_id = source.string(call.get("id")) or ""
                found.append(self._fragment(slot, call_id, source.members(function)))
            else:
                self._count_what_is_there(call.get("arguments"))
        if source.is_object(legacy):
            found.append(self._fragment(LEGACY, "", source.members(legacy)))
        return found

    def _fragment(self, slot: bytes, call_id: str, function: dict[str, Span]) -> Fragment:
        source, arguments = self.source, function.get("arguments")
        name = source.string(function.get("name")) or ""
        text: str | None = ""
        if source.is_string(arguments):
            text = read_text(source, arguments)
        elif source.is_object(arguments):
            text = None
        else:
            self._count_what_is_there(arguments)
            arguments = None
        return Fragment(self.choice, self.home, slot, call_id, name, arguments, text)

    def _count_what_is_there(self, span: Span | None) -> None:
        """Count a value that may hold arguments and cannot be filtered."""
        if span is not None and self.source.raw(span) not in EMPTY:
            self.faults.count += 1
