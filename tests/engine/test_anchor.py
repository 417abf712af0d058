"""What is foretold of a read behind an edit is what a simulated cache reads, with our mark set where it is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from coldpress.engine.anchor import anchor, life_at, matching, read_ends
from coldpress.measure.cache import Piece, PrefixCache
from coldpress.measure.cache_rules import ANTHROPIC, LOOKBACK_BLOCKS, MAX_MARKS


def everywhere(message: int) -> bool:
    return True


@dataclass(frozen=True)
class Run:
    """A conversation, the requests that built it, and the one that is about to be sent with an edit.

    `requests` are the earlier ones: how many messages each had, and at the ends of which messages it set marks.
    """

    head: int
    sizes: tuple[tuple[int, ...], ...]
    head_marked: bool
    requests: tuple[tuple[int, tuple[int, ...]], ...]
    marks: tuple[tuple[int, int], ...]
    first_edited: int
    unmarkable: frozenset[int]
    minimum_tokens: int

    @property
    def counts(self) -> list[int]:
        return [len(sizes) for sizes in self.sizes]

    @property
    def ends(self) -> list[int]:
        return list(accumulate([self.head, *map(sum, self.sizes)]))

    @property
    def entries(self) -> list[int]:
        return [end for _, ends in self.requests for end in ends]

    @property
    def free_marks(self) -> int:
        return MAX_MARKS - len(self.marks) - self.head_marked

    def can_mark(self, message: int) -> bool:
        return message not in self.unmarkable and (message, len(self.sizes[message]) - 1) not in self.marks

    def anchor(self) -> int | None:
        return anchor(
            self.first_edited,
            self.counts,
            self.entries,
            self.marks,
            free_marks=self.free_marks,
            lookback_blocks=LOOKBACK_BLOCKS,
            can_mark=self.can_mark,
        )

    def read_ends(self) -> tuple[int, ...]:
        return read_ends(
            self.ends,
            self.counts,
            self.entries,
            self.marks,
            free_marks=self.free_marks,
            head_marked=self.head_marked,
            lookback_blocks=LOOKBACK_BLOCKS,
            minimum_tokens=self.minimum_tokens,
            can_mark=self.can_mark,
        )

    def pieces(self, messages: int, marks: Sequence[tuple[int, int]], *, edited: bool = False) -> list[Piece]:
        found = [Piece(b"head", self.head, "short" if self.head_marked else None, "system")]
        for message, sizes in enumerate(self.sizes[:messages]):
            changed = b"pressed" if edited and message == self.first_edited else b""
            for block, tokens in enumerate(sizes):
                mark = "short" if (message, block) in marks else None
                found.append(Piece(b"%d %d %s" % (message, block, changed), tokens, mark))
        return found

    def read_tokens(self, *, anchored: bool) -> int:
        """What the edited request reads after all the others."""
        cache = PrefixCache(replace(ANTHROPIC, minimum_tokens=self.minimum_tokens))
        for at, (messages, ends) in enumerate(self.requests):
            marks = [(end - 1, len(self.sizes[end - 1]) - 1) for end in ends]
            cache.send(self.pieces(messages, marks), scope=b"", now=float(at))
        place = self.anchor() if anchored else None
        ours = [] if place is None else [(place, len(self.sizes[place]) - 1)]
        pieces = self.pieces(len(self.sizes), [*self.marks, *ours], edited=True)
        read = cache.send(pieces, scope=b"", now=float(len(self.requests))).read
        assert read is not None
        return read


@st.composite
def runs(draw: st.DrawFn) -> Run:
    # One block in most messages and many in some: both what a lookback spans and what it does not.
    blocks = st.one_of(st.integers(1, 3), st.integers(8, 26))
    counts = draw(st.lists(blocks, min_size=4, max_size=12))
    sizes = tuple(tuple(draw(st.integers(1, 300)) for _ in range(count)) for count in counts)
    head_marked = draw(st.booleans())
    requests = []
    for messages in draw(st.sets(st.integers(1, len(sizes) - 1), min_size=1, max_size=6).map(sorted)):
        ends = sorted({max(1, messages - 1), messages})
        requests.append((messages, draw(st.sampled_from([(messages,), tuple(ends), (ends[0],), ()]))))
    places = [(message, block) for message, count in enumerate(counts) for block in range(count)]
    late = st.sampled_from(places[-30:])
    marks = draw(st.sets(late if draw(st.booleans()) else st.sampled_from(places), max_size=MAX_MARKS - head_marked))
    return Run(
        head=draw(st.integers(1, 900)),
        sizes=sizes,
        head_marked=head_marked,
        requests=tuple(requests),
        marks=tuple(sorted(marks)),
        first_edited=draw(st.integers(0, len(sizes) - 1)),
        unmarkable=draw(st.frozensets(st.integers(0, len(sizes) - 1), max_size=3)),
        minimum_tokens=draw(st.sampled_from([0, 300, 1024])),
    )


@settings(max_examples=400, deadline=None)
@given(run=runs())
def test_the_simulator_reads_what_was_foretold(run: Run) -> None:
    foretold = max((end for end in run.read_ends() if end <= run.ends[run.first_edited]), default=0)
    event("ours" if run.anchor() is not None else "no mark of ours")
    assert run.read_tokens(anchored=True) == foretold


@settings(max_examples=200, deadline=None)
@given(run=runs())
def test_a_mark_of_ours_reads_more_and_is_set_only_where_one_is_free(run: Run) -> None:
    run = replace(run, minimum_tokens=0)
    place = run.anchor()
    if place is not None:
        assert run.free_marks > 0
        assert run.can_mark(place)
        assert run.read_tokens(anchored=True) > run.read_tokens(anchored=False)


FORTY = [1] * 40


@pytest.mark.parametrize(
    ("first_edited", "counts", "entries", "marks", "free", "expected"),
    [
        pytest.param(9, FORTY, [3, 7, 11, 39], [(39, 0)], 1, 6, id="the largest entry before the edit is marked"),
        pytest.param(9, FORTY, [3, 9, 39], [(39, 0)], 1, 8, id="an entry may end right before the edited message"),
        pytest.param(9, FORTY, [3, 10, 39], [(39, 0)], 1, 2, id="an entry with the edited message is lost"),
        pytest.param(9, FORTY, [3, 7, 39], [(39, 0)], 0, None, id="no mark is free"),
        pytest.param(24, FORTY, [21, 39], [(39, 0)], 1, None, id="19 blocks back the client's mark finds it"),
        pytest.param(24, FORTY, [20, 39], [(39, 0)], 1, 19, id="20 blocks back it does not"),
        pytest.param(24, FORTY, [9, 20], [(39, 0), (8, 0)], 1, 19, id="one that reaches a shorter entry only"),
        pytest.param(2, [1, 25, 1], [1], [(2, 0)], 1, 0, id="one message of many blocks lies between"),
        pytest.param(2, FORTY, [], [(39, 0)], 1, None, id="nothing was written"),
        pytest.param(0, FORTY, [1, 5], [(39, 0)], 1, None, id="the first message is edited"),
    ],
)
def test_anchor(
    *,
    first_edited: int,
    counts: list[int],
    entries: list[int],
    marks: list[tuple[int, int]],
    free: int,
    expected: int | None,
) -> None:
    place = anchor(
        first_edited, counts, entries, marks, free_marks=free, lookback_blocks=LOOKBACK_BLOCKS, can_mark=everywhere
    )
    assert place == expected


@pytest.mark.parametrize(
    ("unmarkable", "counts", "expected"),
    [
        pytest.param(range(4, 5), FORTY, 5, id="the next message looks back at it"),
        pytest.param(range(4, 23), FORTY, 23, id="as far as a mark looks"),
        pytest.param(range(4, 24), FORTY, None, id="and no further"),
        pytest.param(range(4, 5), [1] * 5 + [20] + [1] * 30, None, id="a message of twenty blocks is too far"),
    ],
)
def test_an_entry_that_ends_where_no_mark_may_stand_is_read_from_behind(
    unmarkable: range, counts: list[int], expected: int | None
) -> None:
    place = anchor(
        30,
        counts,
        [5],
        [],
        free_marks=1,
        lookback_blocks=LOOKBACK_BLOCKS,
        can_mark=lambda message: message not in unmarkable,
    )
    assert place == expected


def test_what_the_clients_marks_reach_is_not_asked_about() -> None:
    asked: list[int] = []

    def ask(message: int) -> bool:
        asked.append(message)
        return True

    ends = read_ends(
        list(range(0, 41_000, 1_000)),
        FORTY,
        [5, 30, 38],
        [(39, 0)],
        free_marks=1,
        head_marked=False,
        lookback_blocks=LOOKBACK_BLOCKS,
        minimum_tokens=1024,
        can_mark=ask,
    )
    assert ends == (5_000, 30_000, 38_000)
    assert asked == [4]


SHORT, LONG = False, True


@pytest.mark.parametrize(
    ("lives", "expected"),
    [
        pytest.param([], SHORT, id="no other mark"),
        pytest.param([(-1, SHORT)], SHORT, id="the head's"),
        pytest.param([(-1, LONG)], LONG, id="the head's, long"),
        pytest.param([(-1, LONG), (9, SHORT)], SHORT, id="the next one's, where both are legal"),
        pytest.param([(-1, LONG), (9, LONG)], LONG, id="a long one behind asks for a long one"),
        pytest.param([(9, LONG), (10, SHORT)], LONG, id="the next behind is long, the last short"),
        pytest.param([(-1, LONG), (2, SHORT)], SHORT, id="a short one before forbids a long one"),
        pytest.param([(5, SHORT)], SHORT, id="a mark in the same message stands before"),
        pytest.param([(-1, SHORT), (9, LONG)], None, id="the client's own order is illegal"),
    ],
)
def test_life_at(lives: list[tuple[int, bool]], expected: bool | None) -> None:
    assert life_at(5, lives) is expected


@given(longs=st.integers(0, 4), places=st.lists(st.integers(-1, 20), max_size=4).map(sorted), at=st.integers(0, 20))
def test_our_lifetime_fits_every_legal_order(longs: int, places: list[int], at: int) -> None:
    lives = [(place, number < longs) for number, place in enumerate(places)]
    ours = life_at(at, lives)
    assert ours is not None
    before = sum(place <= at for place in places)
    order = [long for _, long in lives[:before]] + [ours] + [long for _, long in lives[before:]]
    assert order == sorted(order, reverse=True)


@pytest.mark.parametrize(
    ("written", "batches", "expected"),
    [
        pytest.param([(5, 5), (9, 9)], [], (5, 9), id="no batch"),
        pytest.param([(5, 5), (9, 9)], [(4, 9)], (), id="written before the batch with what it edits"),
        pytest.param([(5, 4), (9, 9)], [(4, 9)], (4,), id="up to the first edited message"),
        pytest.param([(10, 10), (10, 8)], [(4, 9)], (8, 10), id="the request of the batch and later ones hold it"),
        pytest.param([(3, 3), (12, 12), (20, 20)], [(4, 11), (8, 19)], (3, 20), id="two batches"),
        pytest.param([(12, 7), (12, 12)], [(4, 11), (8, 19)], (7,), id="the first batch is in it, the second behind"),
    ],
)
def test_entries_from_before_a_batch_are_lost_behind_its_first_edit(
    written: list[tuple[int, int]], batches: list[tuple[int, int]], expected: tuple[int, ...]
) -> None:
    assert matching(written, batches) == expected
