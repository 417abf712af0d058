"""The memory in front of the file: bounded, least recently used out first."""

from __future__ import annotations

from stores.samples import NOON, key

from coldpress.model.edits import Batch, Standing
from coldpress.model.identity import EditKey
from coldpress.stores.recent import TOUCH_SECONDS, cost_bytes, recent_batches, recent_standings


def standing(name: str, view: str = "x" * 1000) -> Standing:
    return Standing(key(name), view, "deterministic", "0" * 64)


def entry(name: str, view: str = "x" * 1000) -> tuple[EditKey, Standing]:
    return key(name), standing(name, view)


def test_the_least_recently_used_leaves_first() -> None:
    recent = recent_standings(3 * cost_bytes(standing("a")))
    recent.add([entry(name) for name in "abc"], used=NOON)
    recent.look_up([key("a")], now=NOON)
    recent.add([entry("d")], used=NOON)
    hits = recent.look_up([key(name) for name in "abcd"], now=NOON)
    assert set(hits.found) == {key("a"), key("c"), key("d")} and hits.missing == (key("b"),)


def test_bytes_are_bounded_whatever_comes_and_goes() -> None:
    recent = recent_standings(10_000)
    for n in range(200):
        recent.add([entry(str(n), "x" * (37 * n % 3000))], used=NOON)
        assert 0 < recent.size_bytes <= 10_000
    recent.forget({key(str(n)).chain for n in range(200)})
    assert recent.size_bytes == 0


def test_an_entry_larger_than_the_memory_is_not_kept() -> None:
    recent = recent_standings(1000)
    recent.add([entry("a", "x" * 5000)], used=NOON)
    assert recent.size_bytes == 0 and recent.look_up([key("a")], now=NOON).missing == (key("a"),)


def test_the_first_decision_stays() -> None:
    recent = recent_standings(10_000)
    recent.add([entry("a", "first")], used=NOON)
    recent.add([entry("a", "second")], used=NOON)
    assert recent.look_up([key("a")], now=NOON).found[key("a")].replacement == "first"
    assert recent.size_bytes == cost_bytes(standing("a", "first"))


def test_a_use_is_told_once_in_a_while_and_not_at_every_request() -> None:
    recent = recent_standings(10_000)
    recent.add([entry("a")], used=NOON)
    later = NOON + TOUCH_SECONDS + 1
    stale = [bool(recent.look_up([key("a")], now=now).stale) for now in (NOON, later - 1, later, later + 5)]
    assert stale == [False, False, True, False]


def test_a_batch_costs_what_its_decisions_cost_and_leaves_with_its_message() -> None:
    recent = recent_batches(10_000)
    batch = Batch(key("after").chain, (standing("a"), standing("b")))
    recent.add([(batch.after, batch)], used=NOON)
    assert recent.size_bytes > 2 * cost_bytes(standing("a"))
    assert recent.look_up([batch.after, b"other"], now=NOON).found == {batch.after: batch}
    recent.forget({key("a").chain})
    assert recent.look_up([batch.after], now=NOON).missing == ()
    recent.forget({batch.after})
    assert recent.size_bytes == 0 and recent.look_up([batch.after], now=NOON).missing == (batch.after,)
