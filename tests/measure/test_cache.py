"""The prefix-cache simulator follows the documented rules and never loses or invents a token."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.measure.cache import Part, Piece, PrefixCache, messages_scope
from coldpress.measure.cache_rules import (
    ANTHROPIC,
    DEEPSEEK,
    NONE,
    OPENAI_MARKS,
    OPENAI_STEPS,
    SGLANG,
    VLLM,
    CacheRules,
    Life,
)
from coldpress.model.usage import Usage


def row(text: str, *, tokens: int = 600, marks: dict[int, Life] | None = None) -> list[Piece]:
    """One piece per letter."""
    return [Piece(letter.encode(), tokens, (marks or {}).get(i)) for i, letter in enumerate(text)]


def send(cache: PrefixCache, pieces: list[Piece], now: float = 0.0, scope: bytes = b"m") -> Usage:
    return cache.send(pieces, scope=scope, now=now)


def buckets(usage: Usage) -> tuple[int | None, ...]:
    return usage.fresh, usage.read, usage.write_short, usage.write_long


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(
            row("abc", marks={2: "short"}),
            row("abcde", marks={4: "short"}),
            (0, 1800, 1200, 0),
            id="a mark that moves on reads what it left behind",
        ),
        pytest.param(
            row("abc", marks={2: "short"}), row("abcde"), (3000, 0, 0, 0), id="without a mark nothing is looked up"
        ),
        pytest.param(
            row("abc", marks={2: "short"}),
            row("aBcde", marks={4: "short"}),
            (0, 0, 3000, 0),
            id="a changed old piece loses everything",
        ),
        pytest.param(
            row("abc", marks={1: "short", 2: "short"}),
            row("abX", marks={1: "short", 2: "short"}),
            (0, 1200, 600, 0),
            id="the earlier mark still reads",
        ),
        pytest.param(
            row("abc", marks={2: "short"}),
            row("abcd", marks={2: "short"}),
            (600, 1800, 0, 0),
            id="behind the last mark is fresh",
        ),
        pytest.param(
            row("a", marks={0: "short"}),
            row("a", marks={0: "short"}),
            (600, 0, 0, 0),
            id="under the minimum nothing is cached",
        ),
        pytest.param(
            row("abcd", marks={1: "long", 3: "short"}),
            row("abcdef", marks={1: "long", 5: "short"}),
            (0, 2400, 1200, 0),
            id="two lifetimes in one prompt",
        ),
        pytest.param(
            row("abc", marks={2: "long"}),
            row("abcd", marks={2: "long", 3: "long"}),
            (0, 1800, 0, 600),
            id="long writes are counted apart",
        ),
    ],
)
def test_second_request(first: list[Piece], second: list[Piece], expected: tuple[int, ...]) -> None:
    cache = PrefixCache(ANTHROPIC)
    send(cache, first)
    assert buckets(send(cache, second, now=1.0)) == expected


@pytest.mark.parametrize(
    ("rules", "added", "read"),
    [
        pytest.param(ANTHROPIC, 19, 1800, id="19 places further on the entry is still found"),
        pytest.param(ANTHROPIC, 20, 0, id="20 places further on it is not"),
        pytest.param(OPENAI_MARKS, 90, 1800, id="where there is no limit it is found anywhere"),
    ],
)
def test_lookback(rules: CacheRules, added: int, read: int) -> None:
    cache = PrefixCache(rules)
    send(cache, row("abc", marks={2: "short"}))
    grown = [*row("abc"), *(Piece(bytes([i]), 10) for i in range(added - 1)), Piece(b"end", 10, "short")]
    assert send(cache, grown, now=1.0).read == read


@pytest.mark.parametrize(
    ("life", "times", "read"),
    [
        pytest.param("short", (0, 299), 1800, id="alive just inside five minutes"),
        pytest.param("short", (0, 300), 0, id="gone at five minutes"),
        pytest.param("short", (0, 200, 400), 1800, id="every read starts the five minutes again"),
        pytest.param("long", (0, 3599), 1800, id="alive just inside an hour"),
        pytest.param("long", (0, 3600), 0, id="gone at an hour"),
    ],
)
def test_lifetime(life: Life, times: tuple[float, ...], read: int) -> None:
    cache = PrefixCache(ANTHROPIC)
    assert [send(cache, row("abc", marks={2: life}), now=now).read for now in times][-1] == read


def test_a_lifetime_runs_from_the_reply() -> None:
    cache = PrefixCache(ANTHROPIC)
    cache.send(row("abc", marks={2: "short"}), scope=b"m", now=0, answered_at=40)
    assert send(cache, row("abc", marks={2: "short"}), now=339).read == 1800


@pytest.mark.parametrize(
    ("rules", "marks"),
    [
        pytest.param(ANTHROPIC, {2: "short"}, id="with marks"),
        pytest.param(replace(OPENAI_STEPS, step_tokens=1), {}, id="in steps"),
        pytest.param(replace(DEEPSEEK, short_seconds=3600.0), {}, id="in units"),
    ],
)
def test_two_requests_at_once_find_nothing_of_each_other(rules: CacheRules, marks: dict[int, Life]) -> None:
    cache = PrefixCache(rules)
    read = [
        cache.send(row("abc", marks=marks), scope=b"m", now=now, answered_at=now + 5).read for now in (0.0, 1.0, 7.0)
    ]
    assert read == [0, 0, 1800]


def test_models_do_not_share_entries() -> None:
    cache = PrefixCache(ANTHROPIC)
    send(cache, row("abc", marks={2: "short"}), scope=b"one")
    assert send(cache, row("abc", marks={2: "short"}), scope=b"two").read == 0


def test_a_fifth_mark_is_an_error() -> None:
    with pytest.raises(ValueError, match="at most 4"):
        send(PrefixCache(ANTHROPIC), row("abcde", marks=dict.fromkeys(range(5), "short")))


PARTS: tuple[Part, ...] = ("tools", "system", "messages")
PLAIN = messages_scope(tool_choice="auto", thinking="off", pictures=False)


@pytest.mark.parametrize(
    ("settings", "tiered", "untiered"),
    [
        pytest.param(PLAIN, 3600, 3584, id="nothing changed"),
        pytest.param(
            messages_scope(tool_choice="any", thinking="off", pictures=False), 2400, 0, id="another tool choice"
        ),
        pytest.param(
            messages_scope(tool_choice="auto", thinking="on", pictures=False), 2400, 0, id="thinking turned on"
        ),
        pytest.param(messages_scope(tool_choice="auto", thinking="off", pictures=True), 2400, 0, id="a picture came"),
    ],
)
def test_settings_cost_the_messages_their_cache(settings: bytes, tiered: int, untiered: int) -> None:
    pieces = [Piece(part.encode(), 1200, "short", part) for part in PARTS]
    for rules, read in ((ANTHROPIC, tiered), (OPENAI_STEPS, untiered)):
        cache = PrefixCache(rules)
        cache.send(pieces, scope=b"m", now=0, messages_scope=PLAIN)
        assert cache.send(pieces, scope=b"m", now=1, messages_scope=settings).read == read


@pytest.mark.parametrize(
    ("changed", "read"),
    [
        pytest.param(0, 0, id="tools cost everything"),
        pytest.param(1, 1200, id="the system prompt keeps the tools"),
        pytest.param(2, 2400, id="messages keep both"),
    ],
)
def test_a_change_reaches_what_comes_behind_it(changed: int, read: int) -> None:
    pieces = [Piece(part.encode(), 1200, "short", part) for part in PARTS]
    cache = PrefixCache(ANTHROPIC)
    send(cache, pieces)
    pieces[changed] = replace(pieces[changed], digest=b"new")
    assert send(cache, pieces, now=1).read == read


PROMPTS = st.lists(
    st.tuples(
        st.text("ab", min_size=1, max_size=8),
        st.sets(st.integers(0, 7), max_size=4),
        st.floats(0, 400),
        st.sampled_from(["short", "long"]),
    ),
    max_size=8,
)
ALL_KINDS = [
    pytest.param(ANTHROPIC, id="marks"),
    pytest.param(OPENAI_MARKS, id="marks and one at the end"),
    pytest.param(replace(OPENAI_STEPS, minimum_tokens=700), id="steps"),
    pytest.param(replace(DEEPSEEK, short_seconds=900.0), id="units"),
    pytest.param(NONE, id="none"),
]


@pytest.mark.parametrize("rules", ALL_KINDS)
@given(prompts=PROMPTS)
def test_the_buckets_always_add_up_to_the_prompt(
    rules: CacheRules, prompts: list[tuple[str, set[int], float, Life]]
) -> None:
    cache, now = PrefixCache(rules), 0.0
    for text, marked, pause, life in prompts:
        now += pause
        usage = send(cache, row(text, marks=dict.fromkeys(marked, life)), now=now)
        assert usage.prompt == 600 * len(text)
        assert min(bucket or 0 for bucket in buckets(usage)) >= 0


@pytest.mark.parametrize("rules", ALL_KINDS)
@given(prompts=PROMPTS)
def test_what_is_read_was_sent_before(rules: CacheRules, prompts: list[tuple[str, set[int], float, Life]]) -> None:
    cache, sent = PrefixCache(rules), list[str]()
    for at, (text, marked, _, life) in enumerate(prompts):
        usage = send(cache, row(text, marks=dict.fromkeys(marked, life)), now=at)
        common = max((common_letters(text, earlier) for earlier in sent), default=0)
        assert (usage.read or 0) <= 600 * common
        sent.append(text)


def common_letters(one: str, other: str) -> int:
    """How many letters two texts begin with in common."""
    differing = (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


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
def test_steps(first: str, second: str, at: float, read: int) -> None:
    cache = PrefixCache(OPENAI_STEPS)
    cache.send(row(first, tokens=100), scope=b"m", now=0)
    usage = cache.send(row(second, tokens=100), scope=b"m", now=at)
    assert (usage.read, usage.prompt) == (read, 100 * len(second))
    assert usage.write_short is None


@pytest.mark.parametrize(
    ("sent", "reads"),
    [
        pytest.param(["abc", "abcde"], [0, 300], id="a whole earlier input is read"),
        pytest.param(["abcde", "abcXY"], [0, 0], id="half of one is not"),
        pytest.param(["abcde", "abcXY", "abcZZ"], [0, 0, 300], id="what two begin with is a unit for the third"),
        pytest.param(["abcde", "abc"], [0, 0], id="nor is a beginning that was no unit"),
    ],
)
def test_units(sent: list[str], reads: list[int]) -> None:
    cache = PrefixCache(DEEPSEEK, short_seconds=3600)
    assert [send(cache, row(text, tokens=100), now=at).read for at, text in enumerate(sent)] == reads


def test_an_answer_is_part_of_a_unit() -> None:
    cache = PrefixCache(DEEPSEEK, short_seconds=3600)
    cache.send(row("abc", tokens=100), scope=b"m", now=0, reply=row("de", tokens=100))
    assert send(cache, row("abcdef", tokens=100), now=1).read == 500


@pytest.mark.parametrize(
    ("rules", "read"), [pytest.param(VLLM, 496, id="full blocks of 16"), pytest.param(SGLANG, 500, id="every token")]
)
def test_servers_keep_their_answers(rules: CacheRules, read: int) -> None:
    cache = PrefixCache(rules, short_seconds=60)
    cache.send(row("abc", tokens=100), scope=b"m", now=0, reply=row("de", tokens=100))
    assert send(cache, row("abcdef", tokens=100), now=1).read == read


def test_a_lifetime_that_nobody_publishes_must_be_said() -> None:
    with pytest.raises(ValueError, match="deepseek publishes no lifetime"):
        PrefixCache(DEEPSEEK)
