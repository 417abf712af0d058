"""Say where a read of an edited request can end, and where a cache mark of ours makes it end there.

For caches with marks and a lookback (`coldpress.measure.cache_rules`). Each mark of a request finds an older entry at
its own block or at one of the blocks before it, 20 in all. Behind an edit older entries no longer match, so the best
one may lie further back than the client's marks look; one mark of ours then finds it. All functions are pure. Messages
are counted from 0; an entry is named by how many leading messages it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

CanMark = Callable[[int], bool]
"""Whether a mark of ours may be set on the last block of a message."""


def read_ends(
    ends: Sequence[int],
    block_counts: Sequence[int],
    entries: Iterable[int],
    marks: Iterable[tuple[int, int]],
    *,
    free_marks: int,
    head_marked: bool,
    lookback_blocks: int,
    minimum_tokens: int,
    can_mark: CanMark,
) -> tuple[int, ...]:
    """List where a read of the next request can end, in tokens, ascending, given that `anchor` is followed.

    Args:
        ends: tokens up to the end of each message, the head's end first: one more than there are messages.
        block_counts: content blocks of each message.
        entries: entries that this conversation left in the cache and whose text is still sent the same.
        marks: message and block of each mark that the client set among the messages.
        free_marks: how many marks the request may still be given.
        head_marked: whether a mark stands on the last block before the messages, as on earlier requests.
        lookback_blocks: how many blocks a mark looks at, its own included.
        minimum_tokens: a shorter prefix is not kept.
        can_mark: see `CanMark`; asked only about entries that no mark of the client's reaches.

    An edit at token `b` still lets the largest of these that is not above `b` be read.
    """
    blocks = _Blocks(block_counts, marks, lookback_blocks)
    held = {entry for entry in entries if 0 < entry <= len(block_counts)}
    found = {
        ends[entry]
        for entry in held
        if blocks.reached(entry) or (free_marks > 0 and blocks.place(entry, can_mark) is not None)
    }
    if head_marked:
        found.add(ends[0])
    return tuple(sorted(end for end in found if end >= max(1, minimum_tokens)))


def anchor(
    first_edited: int,
    block_counts: Sequence[int],
    entries: Iterable[int],
    marks: Iterable[tuple[int, int]],
    *,
    free_marks: int,
    lookback_blocks: int,
    can_mark: CanMark,
) -> int | None:
    """Choose the message on whose last block a mark of ours makes the read end at the best entry before an edit.

    Args:
        first_edited: the first message that is sent otherwise than before.
        block_counts: as in `read_ends`, like the rest.
        entries: as there.
        marks: as there.
        free_marks: as there.
        lookback_blocks: as there.
        can_mark: as there.

    Returns:
        As a rule the entry's own last message; where that cannot carry a mark, the nearest one behind from which the
        entry is seen. `None` where a mark of the client's finds the entry already, or nothing of ours would.

    >>> anchor(2, [1] * 50, [1, 2, 49], [(49, 0)], free_marks=1, lookback_blocks=20, can_mark=lambda message: True)
    1
    """
    blocks = _Blocks(block_counts, marks, lookback_blocks)
    for entry in sorted({entry for entry in entries if 0 < entry <= first_edited}, reverse=True):
        if blocks.reached(entry):
            return None
        place = blocks.place(entry, can_mark) if free_marks > 0 else None
        if place is not None:
            return place
    return None


def life_at(message: int, lives: Iterable[tuple[int, bool]]) -> bool | None:
    """Choose the lifetime of a mark of ours: `True` for the long one, `None` where none keeps the order legal.

    A long-lived mark must not stand behind a short-lived one. Where both lifetimes are legal, ours is that of the
    client's next mark behind it, which would have written the same text, else that of the nearest before it.

    Args:
        message: on whose last block ours would stand.
        lives: message (-1 for what stands before the messages) and lifetime of each mark that the client set, in the
            order of the prompt.

    >>> life_at(3, [(-1, True), (9, False)]), life_at(3, [(-1, True), (9, True)]), life_at(3, [(-1, False)])
    (False, True, False)
    """
    listed = list(lives)
    before = [long for at, long in listed if at <= message]
    behind = [long for at, long in listed if at > message]
    wanted = behind[0] if behind else before[-1] if before else False
    legal = {True: all(before), False: not any(behind)}
    return next((long for long in (wanted, not wanted) if legal[long]), None)


def matching(written: Iterable[tuple[int, int]], batches: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Leave out the entries whose text is no longer sent the same, and give the others, ascending.

    Args:
        written: for every entry, how many messages the request had that wrote it, and the entry.
        batches: for every batch of aged edits in force, the first message it edits, and the index of the last message
            of the request it was decided on.

    >>> matching([(3, 3), (9, 9), (12, 12)], [(5, 11)])
    (3, 12)
    """
    kept = {entry for messages, entry in written if all(messages > at or entry <= first for first, at in batches)}
    return tuple(sorted(kept))


class _Blocks:
    """The blocks of the messages, numbered through from 0, and which of them the client marked."""

    def __init__(self, counts: Sequence[int], marks: Iterable[tuple[int, int]], lookback: int) -> None:
        self._behind = list(accumulate(counts))
        self._marked = [self._behind[message] - counts[message] + block for message, block in marks]
        self._lookback = lookback

    def reached(self, entry: int) -> bool:
        """Whether a mark of the client's looks at the block that an entry ends with."""
        end = self._behind[entry - 1] - 1
        return any(0 <= mark - end < self._lookback for mark in self._marked)

    def place(self, entry: int, can_mark: CanMark) -> int | None:
        """Find the first message on whose last block a mark may be set that looks at the end of an entry."""
        for message in range(entry - 1, len(self._behind)):
            if self._behind[message] - self._behind[entry - 1] >= self._lookback:
                return None
            if can_mark(message):
                return message
        return None
