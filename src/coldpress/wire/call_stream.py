"""Lead one tool call's arguments through a filter, so that whatever the filter does, the call stays one."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from coldpress.model.conversation import Span
from coldpress.wire.format import Source

MOST_ARGUMENT_CHARS: Final = 8 << 20
"""Longer arguments are let go: what is held of them goes out, and the rest as it comes."""

FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    msgspec.MsgspecError,
)
"""What a filter, or reading for it, could raise by mistake. Whatever it is, the reply must go on."""


_OUTSIDE: Final = re.compile(r'[^"{}\[\]]*+')
_INSIDE: Final = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)


class CallFilter(Protocol):
    """Turns the arguments of one call into those the client is to get."""

    def feed(self, fragment: str) -> str:
        """Take the next piece of the JSON text, cut anywhere, and give what may go out now."""

    def end(self) -> str:
        """Give the rest: the text has come to its end."""


FilterOf = Callable[[str, str], CallFilter | None]
"""Gives the filter of a call by the name of its tool and its id (maybe empty); `None` where it is left alone."""


class FaultCount:
    """Counts what went wrong in a reply on our side."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


def find_filter(filter_of: FilterOf, name: str, call_id: str, faults: FaultCount) -> CallFilter | None:
    """Ask for a call's filter; a call whose filter cannot be made is left alone."""
    try:
        return filter_of(name, call_id)
    except FAULTS:
        faults.count += 1
        return None


class _Brackets:
    """Counts the brackets of a JSON object that comes in pieces, each piece once.

    Attributes:
        closed: the first bracket has its match.
        broken: the text is no object, or goes on behind it.
    """

    __slots__ = ("_depth", "_escaped", "_quoted", "broken", "closed")

    def __init__(self) -> None:
        self._depth = 0
        self._quoted = False
        self._escaped = False  # the last piece ended in a backslash
        self.closed = False
        self.broken = False

    def feed(self, text: str) -> None:
        at = 0
        while at < len(text) and not self.broken:
            at = self._in_string(text, at) if self._quoted else self._in_json(text, at)

    def _in_string(self, text: str, at: int) -> int:
        at += self._escaped
        self._escaped = False
        found = _INSIDE.match(text, at)
        end = found.end() if found else at
        if end < len(text):
            self._quoted = text[end] != '"'
            self._escaped = self._quoted  # a backslash at the very end
        return end + 1

    def _in_json(self, text: str, at: int) -> int:
        found = _OUTSIDE.match(text, at)
        end = found.end() if found else at
        self.broken = not self._depth and not text[at:end].isspace() and end > at
        if end == len(text) or self.broken:
            return end
        sign = text[end]
        self.broken = not self._depth and (self.closed or sign != "{")
        self._quoted = sign == '"'
        self._depth += (sign in "{[") - (sign in "}]")
        self.closed = not self._depth
        return end + 1


class CallStream:
    """One call's arguments on their way. It never raises.

    Where the filter fails, what it had held back goes out as the model wrote it, if nothing was taken out before, and
    the rest as it comes: the client may then meet what the filter would have taken out, but never half a call.

    Attributes:
        done: the filter has ended; what comes after it is passed on.
    """

    __slots__ = (
        "_ahead", "_brackets", "_faults", "_filter", "_half", "_is_object", "_raw", "_same", "_scanned", "_size",
        "done",
    )  # fmt: skip

    def __init__(self, call_filter: CallFilter | None, faults: FaultCount) -> None:
        self._filter = call_filter
        self._faults = faults
        self._raw: list[str] = []
        self._ahead: list[str] = []
        self._half = ""
        self._same = True
        self._size = 0
        self._brackets = _Brackets()
        self._scanned = 0
        self._is_object: bool | None = None
        self.done = call_filter is None

    @property
    def whole(self) -> bool:
        """Whether the arguments so far are a whole JSON object, so that no other piece can follow.

        To be asked often: every piece is looked at once, and the whole is decoded once.
        """
        while self._scanned < len(self._raw):
            self._brackets.feed(self._raw[self._scanned])
            self._scanned += 1
        if not self._raw or self._brackets.broken or not self._brackets.closed:
            return False
        if self._is_object is None:
            try:
                self._is_object = isinstance(json.loads("".join(self._raw)), dict)
            except (ValueError, RecursionError):
                self._is_object = False
        return self._is_object

    def feed(self, fragment: str) -> str:
        """Take the next piece and give what goes out in its place."""
        self._keep(fragment)
        if self.done or self._filter is None:
            return fragment
        if self._half or _ends_in_half(fragment):
            fragment = self._joined(fragment)
        self._ahead.append(fragment)
        if self._size > MOST_ARGUMENT_CHARS:
            return self.give_up()
        try:
            out = self._filter.feed(fragment)
        except FAULTS:
            return self.give_up()
        return self._gone(out)

    def end(self) -> str:
        """Give what goes out behind the last piece: the call is complete."""
        if self.done or self._filter is None:
            return ""
        self.done = True
        try:
            half = self._filter.feed(self._half) if self._half else ""
            return half + self._filter.end()
        except FAULTS:
            self._faults.count += 1
            return self._rest()

    def give_up(self) -> str:
        """End the filter before its time, count it, and give what had been held back."""
        if self.done or self._filter is None:
            return ""
        self.done = True
        self._faults.count += 1
        held = ""
        if not self._same:
            with contextlib.suppress(*FAULTS):  # counted already
                held = self._filter.end()
        return held + self._rest()

    def _rest(self) -> str:
        return "".join(self._ahead) + self._half

    def _gone(self, out: str) -> str:
        """Note what went out, to know what has not as long as nothing was taken out."""
        if out and self._same:
            ahead = "".join(self._ahead)
            self._same = ahead.startswith(out)
            self._ahead = [ahead[len(out) :]]
        if not self._same:
            self._ahead = []  # what it holds can only be had from the filter itself
        return out

    def _keep(self, fragment: str) -> None:
        self._size += len(fragment)
        if self._size <= MOST_ARGUMENT_CHARS:
            self._raw.append(fragment)
        else:
            self._raw = []

    def _joined(self, fragment: str) -> str:
        """Put halves of a character together that servers cut in two; a filter is to see whole ones."""
        text = self._half + fragment
        cut = len(text) - 1 if _ends_in_half(text) else len(text)
        self._half = text[cut:]
        return text[:cut].encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _ends_in_half(text: str) -> bool:
    return "\ud800" <= text[-1:] <= "\udbff"


def read_text(source: Source, span: Span) -> str:
    """Decode a string literal, halves of characters and all."""
    if not source.masked(span):
        return source.string(span) or ""
    text = json.loads(source.raw(span))
    return text if isinstance(text, str) else ""


def write_text(text: str, *, ascii_only: bool) -> bytes:
    """Write a JSON string; in ASCII where the text around it is, since its writer may have had a reason."""
    if not ascii_only:
        try:
            return msgspec.json.encode(text)
        except UnicodeEncodeError:
            pass  # half a character has no bytes, but an escape
    return json.dumps(text).encode()
