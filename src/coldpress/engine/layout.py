"""Lay a prompt out in tokens: where each message ends, as the request goes out with the edits that stand."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import overload

from coldpress.engine.session import PlacedRebuild
from coldpress.model.conversation import Message
from coldpress.model.edits import Edit


@dataclass(frozen=True, slots=True)
class Layout:
    """Leading messages of a conversation in tokens, as a counter counts them.

    It is kept from request to request, and only what is new is counted.

    Attributes:
        chain: of the last of these messages.
        edits: in force in them, in the order of the spans.
        sums: tokens up to the end of each message as it is sent, 0 first. What stands in the place of messages that
            are not sent counts for the last message in front of them, or for the first of them where there is none.
        rebuild: in force in them.
    """

    chain: bytes = b""
    edits: tuple[Edit, ...] = ()
    sums: tuple[float, ...] = (0.0,)
    rebuild: PlacedRebuild | None = None

    def extended(
        self,
        messages: Sequence[Message],
        edits: tuple[Edit, ...],
        tokens_of: Callable[[int], int],
        *,
        scale: float,
        rebuild: PlacedRebuild | None = None,
    ) -> Layout:
        """Lay out all messages of a request, from the first on that is not known, or is sent in another way.

        Args:
            messages: of the request.
            edits: in force in it, in the order of the spans; one whose saving was never counted takes nothing off.
            tokens_of: tokens of the message at an index as the client wrote it.
            scale: the counter's tokens for one that an edit counts as saved.
            rebuild: in force in it.
        """
        known = self._same(messages, edits, rebuild)
        gone = range(0) if rebuild is None else range(rebuild.first, rebuild.stop)
        sizes = [0.0 if index in gone else float(tokens_of(index)) for index in range(known, len(messages))]
        for edit in edits[bisect_left(edits, known, key=_message_of) :]:
            sizes[edit.message - known] -= (edit.standing.saved_tokens or 0) * scale
        if rebuild is not None and (bearer := max(0, rebuild.first - 1)) >= known:
            sizes[bearer - known] += rebuild.rebuild.literal_tokens * scale
        sums = accumulate((max(0.0, size) for size in sizes), initial=self.sums[known])
        return Layout(messages[-1].chain if messages else b"", edits, (*self.sums[:known], *sums), rebuild)

    def upto(self, messages: Sequence[Message], count: int) -> Layout:
        """Give the part about the first `count` of these messages, which are the ones that it is about."""
        if count == 0:
            return Layout()
        edits = self.edits[: bisect_left(self.edits, count, key=_message_of)]
        return Layout(messages[count - 1].chain, edits, self.sums[: count + 1], self.rebuild)

    def ends(self, *, head_tokens: int, scale: float) -> Ends:
        """Give the tokens of the prompt up to the end of each message.

        Args:
            head_tokens: tokens before the first message, on the provider's scale.
            scale: the provider's tokens for one of the counter's.
        """
        return Ends(self.sums, head_tokens, scale)

    def _same(self, messages: Sequence[Message], edits: tuple[Edit, ...], rebuild: PlacedRebuild | None) -> int:
        """Count the leading messages that are known and sent as before."""
        count = self._same_edits(messages, edits)
        if rebuild == self.rebuild:
            return count
        return min([count, *(max(0, one.first - 1) for one in (rebuild, self.rebuild) if one is not None)])

    def _same_edits(self, messages: Sequence[Message], edits: tuple[Edit, ...]) -> int:
        count = len(self.sums) - 1
        if count == 0 or len(messages) < count or messages[count - 1].chain != self.chain:
            return 0
        now = edits[: bisect_left(edits, count, key=_message_of)]
        if now == self.edits:
            return count
        changed = (min(a.message, b.message) for a, b in zip(now, self.edits, strict=False) if a != b)
        beyond = (*now[len(self.edits) :], *self.edits[len(now) :])
        return min((*changed, *(edit.message for edit in beyond[:1])))


@dataclass(frozen=True, slots=True)
class Ends(Sequence[int]):
    """Tokens of a prompt up to the end of each message: the head's end first, the whole prompt last.

    >>> list(Ends((0.0, 20.0, 60.0), head_tokens=5, scale=1.0))
    [5, 25, 65]
    """

    sums: tuple[float, ...]
    head_tokens: int
    scale: float

    def __len__(self) -> int:
        return len(self.sums)

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...

    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        if isinstance(index, slice):
            return tuple(self._tokens(end) for end in self.sums[index])
        return self._tokens(self.sums[index])

    def _tokens(self, end: float) -> int:
        return round(self.head_tokens + self.scale * end)


def _message_of(edit: Edit) -> int:
    return edit.message
