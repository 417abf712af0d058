"""What is foretold of one conversation's reads is what the simulator then reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.measure.cache import Piece, PrefixCache
from coldpress.measure.cache_reads import Kept, entries_after, expected_read, readable_ends
from coldpress.measure.cache_rules import ANTHROPIC, DEEPSEEK, NONE, OPENAI_MARKS, OPENAI_STEPS, CacheRules, Life


@dataclass(frozen=True, slots=True)
class Step:
    """One request: how many blocks of the last one stay, what comes behind them, and after which pause."""

    kept_share: float
    added: tuple[int, ...]
    marks: frozenset[int]
    life: Life
    pause_seconds: float
    takes_seconds: float


STEPS = st.lists(
    st.builds(
        Step,
        st.one_of(st.just(1.0), st.floats(0, 1)),
        st.lists(st.integers(1, 900), min_size=1, max_size=12).map(tuple),
        st.frozensets(st.integers(0, 11), max_size=3),
        st.sampled_from(["short", "long"]),
        st.floats(0, 500),
        st.floats(0, 60),
    ),
    min_size=1,
    max_size=9,
)
RULES = [
    pytest.param(ANTHROPIC, id="marks"),
    pytest.param(replace(ANTHROPIC, lookback_blocks=4), id="marks that see four blocks"),
    pytest.param(OPENAI_MARKS, id="marks and one at the end"),
    pytest.param(replace(OPENAI_STEPS, minimum_tokens=300), id="steps"),
    pytest.param(replace(DEEPSEEK, short_seconds=400.0), id="units"),
    pytest.param(NONE, id="none"),
]


@pytest.mark.parametrize("rules", RULES)
@given(steps=STEPS)
def test_the_forecast_is_what_the_simulator_reads(rules: CacheRules, steps: list[Step]) -> None:
    cache, now = PrefixCache(rules), 0.0
    blocks: list[tuple[bytes, int]] = []
    entries: tuple[Kept, ...] = ()
    for number, step in enumerate(steps):
        unchanged = int(step.kept_share * len(blocks))
        blocks = [
            *blocks[:unchanged],
            *((f"{number}/{i}".encode(), tokens) for i, tokens in enumerate(step.added)),
        ]
        # Marks stand near the end, as clients set them.
        marks: dict[int, Life] = {len(blocks) - 1 - i: step.life for i in step.marks if i < len(blocks)}
        now += step.pause_seconds
        ends = list(accumulate(tokens for _, tokens in blocks))
        readable = readable_ends(rules, ends, entries, marks, now=now)
        expected = expected_read(readable, ends[unchanged - 1] if unchanged else 0)
        pieces = [Piece(digest, tokens, marks.get(i)) for i, (digest, tokens) in enumerate(blocks)]
        done = now + step.takes_seconds
        assert cache.send(pieces, scope=b"m", now=now, answered_at=done).read == expected
        entries = entries_after(rules, ends, entries, marks, unchanged_blocks=unchanged, now=now, answered_at=done)
        now = done


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        pytest.param([29], (12_000, 30_000), id="only what stands within twenty blocks of the mark"),
        pytest.param([19, 29], (3000, 12_000, 30_000), id="a mark further back sees more"),
        pytest.param([], (), id="without marks nothing"),
    ],
)
def test_readable_ends(marks: list[int], expected: tuple[int, ...]) -> None:
    ends = [1000 * (i + 1) for i in range(30)]
    entries = [Kept(2, "short", 0.0), Kept(11, "short", 0.0), Kept(29, "short", 0.0), Kept(15, "short", -400.0)]
    assert readable_ends(ANTHROPIC, ends, entries, marks, now=10) == expected


def test_a_believed_lifetime_replaces_the_published_one() -> None:
    entries = [Kept(2, "short", 0.0)]
    found = [
        readable_ends(ANTHROPIC, [1000, 2000, 3000], entries, [2], now=400, short_seconds=seconds)
        for seconds in (None, 600.0)
    ]
    assert found == [(), (3000,)]


def test_a_lifetime_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(ValueError, match="deepseek publishes no lifetime"):
        readable_ends(DEEPSEEK, [1000], [Kept(0, "short", 0.0)], [], now=1)
