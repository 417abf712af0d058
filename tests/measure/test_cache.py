"""The prefix-cache simulator follows the documented rules and never loses or invents a token."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.measure.cache import AutomaticCache, MarkedCache, Piece, Ttl
from coldpress.model.usage import Usage


def row(text: str, *, tokens: int = 600, marks: dict[int, Ttl] | None = None) -> list[Piece]:
    """One piece per letter."""
    return [Piece(letter.encode(), tokens, (marks or {}).get(i)) for i, letter in enumerate(text)]


def send(cache: MarkedCache, pieces: list[Piece], now: float = 0.0, minimum: int = 1024, scope: bytes = b"m") -> Usage:
    return cache.send(pieces, scope=scope, minimum_tokens=minimum, now=now)


def buckets(usage: Usage) -> tuple[int | None, ...]:
    return usage.fresh, usage.read, usage.write_short, usage.write_long


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(
            row("abc", marks={2: "5m"}),
            row("abcde", marks={4: "5m"}),
            (0, 1800, 1200, 0),
            id="a mark that moves on reads what it left behind",
        ),
        pytest.param(
            row("abc", marks={2: "5m"}), row("abcde"), (3000, 0, 0, 0), id="without a mark nothing is looked up"
        ),
        pytest.param(
            row("abc", marks={2: "5m"}),
            row("aBcde", marks={4: "5m"}),
            (0, 0, 3000, 0),
            id="a changed old piece loses everything",
        ),
        pytest.param(
            row("abc", marks={1: "5m", 2: "5m"}),
            row("abX", marks={1: "5m", 2: "5m"}),
            (0, 1200, 600, 0),
            id="the earlier mark still reads",
        ),
        pytest.param(
            row("abc", marks={2: "5m"}),
            row("abcd", marks={2: "5m"}),
            (600, 1800, 0, 0),
            id="behind the last mark is fresh",
        ),
        pytest.param(
            row("a", marks={0: "5m"}),
            row("a", marks={0: "5m"}),
            (600, 0, 0, 0),
            id="under the minimum nothing is cached",
        ),
        pytest.param(
            row("abcd", marks={1: "1h", 3: "5m"}),
            row("abcdef", marks={1: "1h", 5: "5m"}),
            (0, 2400, 1200, 0),
            id="two lifetimes in one prompt",
        ),
        pytest.param(
            row("abc", marks={2: "1h"}),
            row("abcd", marks={2: "1h", 3: "1h"}),
            (0, 1800, 0, 600),
            id="long writes are counted apart",
        ),
    ],
)
def test_second_request(first: list[Piece], second: list[Piece], expected: tuple[int, ...]) -> None:
    cache = MarkedCache()
    send(cache, first)
    assert buckets(send(cache, second, now=1.0)) == expected


@pytest.mark.parametrize(
    ("added", "read"),
    [
        pytest.param(19, 1800, id="19 places further on the entry is still found"),
        pytest.param(20, 0, id="20 places further on it is not"),
    ],
)
def test_lookback(added: int, read: int) -> None:
    cache = MarkedCache()
    send(cache, row("abc", marks={2: "5m"}))
    grown = [*row("abc"), *(Piece(bytes([i]), 10) for i in range(added - 1)), Piece(b"end", 10, "5m")]
    assert send(cache, grown, now=1.0).read == read


@pytest.mark.parametrize(
    ("ttl", "times", "read"),
    [
        pytest.param("5m", (0, 299), 1800, id="alive just inside five minutes"),
        pytest.param("5m", (0, 300), 0, id="gone at five minutes"),
        pytest.param("5m", (0, 200, 400), 1800, id="every read starts the five minutes again"),
        pytest.param("1h", (0, 3599), 1800, id="alive just inside an hour"),
        pytest.param("1h", (0, 3600), 0, id="gone at an hour"),
    ],
)
def test_lifetime(ttl: Ttl, times: tuple[float, ...], read: int) -> None:
    cache = MarkedCache()
    assert [send(cache, row("abc", marks={2: ttl}), now=now).read for now in times][-1] == read


def test_models_do_not_share_entries() -> None:
    cache = MarkedCache()
    send(cache, row("abc", marks={2: "5m"}), scope=b"one")
    assert send(cache, row("abc", marks={2: "5m"}), scope=b"two").read == 0


def test_a_fifth_mark_is_an_error() -> None:
    with pytest.raises(ValueError, match="at most 4"):
        send(MarkedCache(), row("abcde", marks=dict.fromkeys(range(5), "5m")))


PROMPTS = st.lists(
    st.tuples(
        st.text("ab", min_size=1, max_size=8),
        st.sets(st.integers(0, 7), max_size=4),
        st.floats(0, 400),
        st.sampled_from(["5m", "1h"]),
    ),
    max_size=8,
)


@given(PROMPTS)
def test_the_buckets_always_add_up_to_the_prompt(prompts: list[tuple[str, set[int], float, Ttl]]) -> None:
    cache, now = MarkedCache(), 0.0
    for text, marked, pause, ttl in prompts:
        now += pause
        usage = send(cache, row(text, marks=dict.fromkeys(marked, ttl)), now=now)
        assert usage.prompt == 600 * len(text)
        assert min(bucket or 0 for bucket in buckets(usage)) >= 0


@given(PROMPTS)
def test_the_same_requests_give_the_same_usage(prompts: list[tuple[str, set[int], float, Ttl]]) -> None:
    def play() -> list[Usage]:
        cache = MarkedCache()
        return [
            send(cache, row(text, marks=dict.fromkeys(marked, ttl)), now=at)
            for at, (text, marked, _, ttl) in enumerate(prompts)
        ]

    assert play() == play()


@pytest.mark.parametrize(
    ("first", "second", "at", "read"),
    [
        pytest.param("a" * 20, "a" * 20 + "b", 1, 1920, id="the longest seen prefix is read in steps of 128"),
        pytest.param("a" * 10, "a" * 11, 1, 0, id="under 1024 tokens nothing is read"),
        pytest.param("a" * 11, "a" * 12, 1, 1024, id="from 1024 tokens on it is"),
        pytest.param("ab" * 10, "aX" + "ab" * 9, 1, 0, id="a change near the start loses everything"),
        pytest.param("a" * 20, "a" * 15 + "b" * 5, 1, 1408, id="a fork reads the shared part"),
        pytest.param("a" * 20, "a" * 20, 300, 0, id="gone after five minutes"),
    ],
)
def test_automatic(first: str, second: str, at: float, read: int) -> None:
    cache = AutomaticCache()
    cache.send(row(first, tokens=100), scope=b"m", now=0)
    usage = cache.send(row(second, tokens=100), scope=b"m", now=at)
    assert (usage.read, usage.prompt) == (read, 100 * len(second))
    assert usage.write_short is None
