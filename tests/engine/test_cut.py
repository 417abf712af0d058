"""Which aged results go on a request where some are ordered, some wait for a cold cache and the rest asks the gate."""

from __future__ import annotations

import pytest

from coldpress.engine.aged import Aged
from coldpress.engine.aged_view import View
from coldpress.engine.belief import Held
from coldpress.engine.catalogue import classify
from coldpress.engine.cut import Weighed, weigh
from coldpress.engine.gate import Terms
from coldpress.engine.session import Seen
from coldpress.measure.rates import Prices, Rates
from coldpress.model.conversation import Span, TextLiteral
from coldpress.model.edits import Standing
from coldpress.model.identity import EditKey
from coldpress.model.records import Belief, CacheState, Cut, Line, Operation

ENDS = [1_000, 6_000, 11_000, 16_000, 21_000, 22_000]
"""Tokens up to the end of each message: results of 5,000 tokens in messages 1 to 4."""

DEAR_REWRITES = Terms(
    routes=(Prices("m", ((0, Rates(1.0, 0.01, 1.0, None, 1.0, "test", "2026-11-30")),)),), requests=6.0, state="warm"
)
FREE_REWRITES = Terms(
    routes=(Prices("m", ((0, Rates(1.0, 1.0, 1.0, None, 1.0, "test", "2026-11-30")),)),), requests=6.0, state="warm"
)


def aged(message: int, freed_tokens: int = 4_000, **view: bool) -> Aged:
    key = EditKey(bytes([message]) * 32, 0, 0)
    literal = TextLiteral(0, Span(message * 100, message * 100 + 50))
    classified = classify("Grep", "{}")
    seen = Seen(key, message, literal, classified, "{}", "Grep", "Grep", None)
    standing = Standing(key, "view", "keyword", "00", saved_tokens=freed_tokens)
    line = Line("Grep", "search", "keyword", "exposed", "grep*", "00", 20_000, 4_000)
    return Aged(seen, View(standing, freed_tokens, line, **view), 0)


def asked(
    *candidates: Aged,
    terms: Terms | Cut = DEAR_REWRITES,
    state: CacheState = "warm",
    operation: Operation = "press",
    stopped: bool = False,
    floor: int = 0,
) -> Weighed:
    held = Held(Belief(state, "within_lifetime" if state == "warm" else "idle"), 5 if state == "warm" else 0)
    return weigh(
        candidates, ENDS, held, terms, scale=1.0, operation=operation, stopped=stopped, floor=floor, readable=None
    )


def gone(found: Weighed) -> list[int]:
    return [one.seen.message for one in found.chosen]


def test_a_gated_candidate_stays_where_a_rewrite_costs_more_than_it_saves() -> None:
    found = asked(aged(1), aged(3))
    assert (gone(found), found.cut.reason) == ([], "does_not_pay")


def test_what_is_ordered_goes_with_all_behind_it_and_says_what_it_costs() -> None:
    found = asked(aged(1), aged(2, ungated=True), aged(3))
    assert (gone(found), found.cut.reason, found.cut.applied) == ([2, 3], "ordered", 2)
    assert found.cut.removed_tokens == 8_000
    assert found.cut.rewrite_tokens > 0
    assert found.cut.net_usd is not None and found.cut.net_usd < 0


@pytest.mark.parametrize("why", ["unpriced", "unknown_usage", "unknown_cache"])
def test_without_terms_only_what_is_ordered_goes(why: str) -> None:
    found = asked(aged(1), aged(2, ungated=True), aged(3), aged(4, ungated=True), terms=Cut(why))  # type: ignore[arg-type]
    assert (gone(found), found.cut.reason, found.cut.net_usd) == ([2, 4], "ordered", None)
    assert found.cut.removed_tokens == 8_000
    assert asked(aged(1), terms=Cut(why)).cut.reason == why  # type: ignore[arg-type]


def test_a_gate_that_cuts_earlier_takes_what_is_ordered_along() -> None:
    found = asked(aged(1), aged(3, ungated=True), terms=FREE_REWRITES)
    assert (gone(found), found.cut.reason) == ([1, 3], "pays")


def test_a_text_that_comes_back_is_no_gain_and_comes_all_the_same() -> None:
    found = asked(aged(2, -4_000, ungated=True))
    assert (gone(found), found.cut.reason, found.cut.removed_tokens) == ([2], "ordered", 0)


@pytest.mark.parametrize(("state", "expected"), [("warm", []), ("cold", [1, 3])])
def test_what_waits_for_a_cold_cache_waits(state: CacheState, expected: list[int]) -> None:
    assert gone(asked(aged(1, only_cold=True), aged(3, only_cold=True), state=state)) == expected


def test_what_waits_for_a_cold_cache_is_not_taken_along_while_it_is_warm() -> None:
    assert gone(asked(aged(1, ungated=True), aged(3, only_cold=True))) == [1]


@pytest.mark.parametrize(
    ("operation", "stopped", "reason"),
    [("observe", False, "observe"), ("drain", False, "drain"), ("drain", True, "stopped"), ("off", False, "observe")],
)
def test_nothing_that_is_ordered_goes_where_nothing_may(operation: Operation, stopped: bool, reason: str) -> None:
    found = asked(aged(2, ungated=True), operation=operation, stopped=stopped)
    assert (gone(found), found.cut.reason, found.cut.applied) == ([], reason, 0)


def test_bound_reasoning_holds_what_is_ordered_too() -> None:
    assert asked(aged(1, ungated=True), floor=3).cut.reason == "binding_model"
    assert gone(asked(aged(1, ungated=True), aged(4, ungated=True), floor=3)) == [4]
