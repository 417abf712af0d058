"""Name the tools that a reply of Responses or Gemini calls; on the other wires whoever filters the calls meets them.

Of Responses the types of items in `openai_responses.CALLS` count, of Gemini every `functionCall`: calls of tools that
the client runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from coldpress.wire.openai_responses import CALLS, tool_name

CALL_PATTERNS: Final = {
    "openai_responses": rb'"response\.output_item\.(?:added|done)"',
    "gemini": rb'"functionCall"\s*:\s*\{',
}
"""What stands in an event that may call a tool, by wire."""


class _Item(msgspec.Struct):
    type: str | None = None
    id: str | None = None
    name: str | None = None
    namespace: str | None = None


class _Reply(msgspec.Struct):
    output: msgspec.Raw = msgspec.Raw()


class _Event(msgspec.Struct):
    item: msgspec.Raw = msgspec.Raw()
    output_index: msgspec.Raw = msgspec.Raw()
    response: _Reply | None = None
    output: msgspec.Raw = msgspec.Raw()


class _Call(msgspec.Struct):
    name: str | None = None
    id: str | None = None
    will_continue: bool | None = msgspec.field(default=None, name="willContinue")


class _Part(msgspec.Struct):
    call: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="functionCall")


class _Content(msgspec.Struct):
    parts: list[msgspec.Raw] | None = None


class _Candidate(msgspec.Struct):
    content: _Content | None = None


_EVENT: Final = msgspec.json.Decoder(_Event)
_ITEM: Final = msgspec.json.Decoder(_Item)
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])
_CANDIDATE: Final = msgspec.json.Decoder(_Candidate)
_PART: Final = msgspec.json.Decoder(_Part)
_CALL: Final = msgspec.json.Decoder(_Call)


class CalledTools:
    """The calls of one reply, gathered over its events in order. What cannot be read as a call is none."""

    __slots__ = ("_going_on", "_last", "_met")

    def __init__(self) -> None:
        self._met: dict[bytes, str] = {}
        self._last: tuple[str, ...] = ()
        self._going_on: _Call | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tools, in the order of their calls."""
        return self._last or tuple(self._met.values())

    def responses(self, payload: bytes | msgspec.Raw) -> None:
        """Take an event of a Responses stream, or a whole reply: the list at the end stands for all before it.

        Raises:
            msgspec.MsgspecError: it has another shape.
        """
        event = _EVENT.decode(payload)
        if event.item and (name := _called(event.item)) is not None:
            # An item comes twice, when it begins and when it is whole, and some servers leave one of both out.
            at = bytes(event.output_index)
            self._met[at if at.isdigit() else (_ITEM.decode(event.item).id or f"#{len(self._met)}").encode()] = name
        for output in (event.output, event.response.output if event.response is not None else msgspec.Raw()):
            if output:
                self._last = tuple(name for item in _objects(output) if (name := _called(item)) is not None)

    def gemini(self, candidates: bytes | msgspec.Raw) -> None:
        """Take the `candidates` of a chunk.

        A call whose arguments are streamed (Vertex: `willContinue`) goes on in the next part, which may have no name.

        Raises:
            msgspec.MsgspecError: they are no list.
        """
        for candidate in _objects(candidates) if candidates else ():
            try:
                content = _CANDIDATE.decode(candidate).content
            except msgspec.ValidationError:
                continue
            for part in content.parts or () if content is not None else ():
                self._part(part)

    def _part(self, part: msgspec.Raw) -> None:
        try:
            raw = _PART.decode(part).call
            call = _CALL.decode(raw) if raw else None
        except msgspec.ValidationError:
            return
        if call is None:
            return
        before, self._going_on = self._going_on, call if call.will_continue else None
        if before is not None and call.name in (None, "", before.name) and call.id in (None, "", before.id):
            if self._going_on is not None:
                self._going_on = before
        elif call.name:
            self._met[b"%d" % len(self._met)] = call.name


def _called(raw: msgspec.Raw) -> str | None:
    """Name the tool that an item calls; `None` where it calls none."""
    try:
        item = _ITEM.decode(raw)
    except msgspec.ValidationError:
        return None
    return tool_name(item.type, item.name, item.namespace) if item.type in CALLS else None


def _objects(raw: bytes | msgspec.Raw) -> Iterator[msgspec.Raw]:
    yield from _LIST.decode(raw)
