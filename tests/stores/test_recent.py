"""The memory in front of the file: bounded, least recently used out first."""

from __future__ import annotations

from stores.samples import NOON, key

from coldpress.model.edits import Standing
from coldpress.stores.recent import TOUCH_SECONDS, RecentStandings, cost_bytes


def standing(name: str, view: str = "x" * 1000) -> Standing:
    return Standing(key(name), view, "deterministic", "0" * 64)


def test_the_least_recently_used_leaves_first() -> None:
    recent = RecentStandings(3 * cost_bytes(standing("a")))
    recent.add([standing(name) for name in "abc"], used=NOON)
    recent.look_up([key("a")], now=NOON)
    recent.add([standing("d")], used=NOON)
    hits = recent.look_up([key(name) for name in "abcd"], now=NOON)
    assert set(hits.found) == {key("a"), key("c"), key("d")} and hits.missing == (key("b"),)


def test_bytes_are_bounded_whatever_comes_and_goes() -> None:
    recent = RecentStandings(10_000)
    for n in range(200):
        recent.add([standing(str(n), "x" * (37 * n % 3000))], used=NOON)
        assert 0 < recent.size_bytes <= 10_000
    recent.forget({key(str(n)).chain for n in range(200)})
    assert recent.size_bytes == 0


def test_an_entry_larger_than_the_memory_is_not_kept() -> None:
    recent = RecentStandings(1000)
    recent.add([standing("a", "x" * 5000)], used=NOON)
    assert recent.size_bytes == 0 and recent.look_up([key("a")], now=NOON).missing == (key("a"),)


def test_the_first_decision_stays() -> None:
    recent = RecentStandings(10_000)
    recent.add([standing("a", "first")], used=NOON)
    recent.add([standing("a", "second")], used=NOON)
    assert recent.look_up([key("a")], now=NOON).found[key("a")].replacement == "first"
    assert recent.size_bytes == cost_bytes(standing("a", "first"))


def test_a_use_is_told_once_in_a_while_and_not_at_every_request() -> None:
    recent = RecentStandings(10_000)
    recent.add([standing("a")], used=NOON)
    later = NOON + TOUCH_SECONDS + 1
    stale = [bool(recent.look_up([key("a")], now=now).stale) for now in (NOON, later - 1, later, later + 5)]
    assert stale == [False, False, True, False]
