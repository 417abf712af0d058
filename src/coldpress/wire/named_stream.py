"""Lead a call through its filter where the tool's name comes in pieces, or behind the first of the arguments."""

from __future__ import annotations

from typing import Final

from coldpress.model.conversation import Span
from coldpress.wire.call_stream import CallFilter, CallStream, FaultCount, FilterOf, find_filter
from coldpress.wire.events import Put
from coldpress.wire.format import Source
from coldpress.wire.reply_calls_json import whole_input

MOST_NAMELESS_CHARS: Final = 64 << 10
"""Arguments that are held until the name comes. A call whose name stays away longer goes on unfiltered, and counts."""


class NamedStream:
    """One call of a stream: its name, its id, and its arguments on their way. It never raises.

    Its filter is asked for as late as can be, when the first of the arguments goes out or the call ends, since only
    then the name is sure to be complete.

    Args:
        filter_of: gives the filter.
        faults: counts calls that could not be filtered.
        call_id: maybe empty, and set later.
        name: as far as it is known.
    """

    __slots__ = ("_faults", "_filter_of", "_given", "_held", "_last", "_size", "_stream", "call_id", "name")

    def __init__(self, filter_of: FilterOf, faults: FaultCount, *, call_id: str, name: str) -> None:
        self._filter_of = filter_of
        self._faults = faults
        self._held: list[str] = []
        self._size = 0
        self._stream: CallStream | None = None
        self._given = False  # its arguments came as an object
        self._last = name
        self.call_id = call_id
        self.name = name

    @property
    def done(self) -> bool:
        """Whether its filter has ended, or it has none; what comes then is passed on."""
        return self._stream is not None and self._stream.done

    @property
    def whole(self) -> bool:
        """Whether the arguments so far are a whole JSON object."""
        return self._stream.whole if self._stream is not None else self._given

    def named(self, piece: str) -> bool:
        """Take what a chunk says of the name; whether it says anything new.

        A piece that begins with all that came before it is the name itself once more, maybe grown.
        """
        if not piece or piece == self.name:
            return False
        if self._stream is not None:
            self._faults.count += 1  # what has gone out was not filtered, or for another tool
        self.name = piece if piece.startswith(self.name) else self.name + piece
        self._last = piece
        return True

    def feed(self, text: str) -> str:
        """Take the next piece of the arguments and give what goes out in its place."""
        if not text:
            return ""
        if self._stream is None:
            self._held.append(text)
            self._size += len(text)
            if not self.name and self._size <= MOST_NAMELESS_CHARS:
                return ""
            return self._begun().feed(self._taken())
        return self._stream.feed(text)

    def put(self, source: Source, given: Span) -> Put | None:
        """Filter arguments that a chunk gives whole, as a JSON object; `None` where they stay."""
        self._given = True
        return whole_input(source, given, self._found(), self._faults)

    def end(self) -> str:
        """Give what goes out behind the last piece: the call is complete."""
        held = self._late()
        return held + self._stream.end() if self._stream is not None else held

    def give_up(self) -> str:
        """End the filter before its time, count it, and give what had been held back."""
        held = self._late()
        if self._stream is None:
            self._stream = CallStream(None, self._faults)
        return held + self._stream.give_up()

    def _late(self) -> str:
        """Ask for the filter of a call that is over and gave no reason to ask before; gives what was held for it."""
        if self._stream is not None or self._given or not (self.name or self._held):
            return ""
        stream = self._begun()
        return stream.feed(self._taken()) if self._held else ""

    def _begun(self) -> CallStream:
        self._stream = CallStream(self._found(), self._faults)
        return self._stream

    def _taken(self) -> str:
        held, self._held = "".join(self._held), []
        return held

    def _found(self) -> CallFilter | None:
        """Ask for the filter; a call without a name has none, and is counted."""
        if not self.name:
            self._faults.count += 1
            return None
        found = find_filter(self._filter_of, self.name, self.call_id, self._faults)
        if found is None and self._last != self.name:
            # No tool whose name came in pieces, it seems, but two calls that a server numbers and names alike.
            found = find_filter(self._filter_of, self._last, self.call_id, self._faults)
        return found
