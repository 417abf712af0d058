"""What clients' cache marks waste is worked out by hand here, and `coldpress doctor` says it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from coldpress.cli.mark_waste import LEAST_TOKENS, Waste, wastes
from coldpress.measure.rates import Prices, Rates, Unpriced
from coldpress.model.records import Outcome, Receipt
from coldpress.model.usage import Usage
from coldpress.stores.base import LedgerEntry
from coldpress.stores.sqlite import SqliteStore

from .conftest import Run, receipt

MINUTE = 60.0
PRICES = Prices("claude-sonnet-4-5", ((0, Rates(3.0, 0.3, 3.75, 6.0, 15.0, "made up", "2026-11-30")),))
LONG = Usage(fresh=0, read=0, write_short=0, write_long=100_000, output=10)
LONG_READ = Usage(fresh=0, read=100_000, write_short=0, write_long=20_000, output=10)
SHORT = Usage(fresh=0, read=0, write_short=100_000, write_long=0, output=10)
SHORT_READ = Usage(fresh=0, read=100_000, write_short=10_000, write_long=0, output=10)
PLAIN = Usage(fresh=100_000, read=0, write_short=0, write_long=0, output=10)
LONGER = replace(PLAIN, fresh=120_000)


def talk(*turns: tuple[float, Usage], lineage: str = "a", model: str = "claude-sonnet-4-5") -> list[LedgerEntry]:
    """Requests of one conversation at these minutes; every answer takes ten seconds."""
    found = []
    for minutes, usage in turns:
        asked = receipt(f"{lineage}-{minutes}", received_at=minutes * MINUTE, lineage=lineage)
        asked = replace(asked, model=model, harness="claude-cli", provider="anthropic")
        found.append(LedgerEntry(asked, Outcome(asked.request_id, 200, "complete", 10.0, usage)))
    return found


def told(entries: Sequence[LedgerEntry], *, priced: bool = True) -> list[tuple[str, int, float | None]]:
    def prices_of(_: Receipt) -> Prices | Unpriced:
        return PRICES if priced else Unpriced(("rates",))

    return [
        (waste.kind, waste.tokens, None if waste.usd is None else round(waste.usd, 6))
        for waste in wastes(entries, prices_of)
    ]


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        # (6 - 3.75) USD a million for 120,000 tokens
        pytest.param(talk((0, LONG), (3, LONG_READ)), [("long_lifetime_unused", 120_000, 0.27)], id="long, not needed"),
        # less (3.75 - 0.3) for 100,000 tokens that were still there after ten minutes
        pytest.param(talk((0, LONG), (10, LONG_READ)), [], id="long, and it paid"),
        pytest.param(talk((0, LONG), (70, LONG_READ)), [("long_lifetime_unused", 120_000, 0.27)], id="after both"),
        # (3.75 - 0.3) for 100,000 tokens written anew, less (6 - 3.75) for 200,000
        pytest.param(
            talk((0, SHORT), (20, SHORT), (40, SHORT)),
            [("short_lifetime_missed", 200_000, round(0.69 - 0.675, 6))],
            id="short, back too late twice",
        ),
        pytest.param(talk((0, SHORT), (20, SHORT)), [], id="short, back too late once: long would cost more"),
        pytest.param(talk((0, SHORT), (3, SHORT_READ), (6, SHORT_READ)), [], id="short, in time"),
        pytest.param(talk((0, SHORT), (90, SHORT)), [], id="short, later than the long one too"),
        # (3 - 0.3) for 100,000; less (3.75 - 3) for the 100,000 and the 20,000 that would be written
        pytest.param(
            talk((0, PLAIN), (1, LONGER)), [("nothing_cached", 100_000, round(0.27 - 0.09, 6))], id="no marks"
        ),
        pytest.param(talk((0, PLAIN), (30, LONGER)), [], id="no marks, and too late for any"),
        pytest.param(talk((0, LONGER), (1, PLAIN)), [], id="no marks, and another prompt"),
        pytest.param(talk((0, PLAIN)), [], id="one request"),
        pytest.param(
            talk((0, PLAIN), (1, LONGER), model="some-model"), [("nothing_cached", 100_000, 0.18)], id="model"
        ),
        pytest.param(
            talk((0, replace(PLAIN, read=None)), (1, replace(LONGER, read=None))), [], id="reads are not reported"
        ),
        pytest.param(
            talk((0, replace(PLAIN, fresh=2_000)), (1, replace(PLAIN, fresh=3_000))), [], id="too few tokens to tell"
        ),
        pytest.param(talk((0, PLAIN), (1, LONGER))[:1] + talk((1, LONGER), lineage="b"), [], id="two conversations"),
    ],
)
def test_waste_is_what_better_marks_would_save(
    entries: list[LedgerEntry], wanted: list[tuple[str, int, float]]
) -> None:
    assert told(entries) == wanted
    assert told(entries[::-1]) == wanted


def test_without_prices_tokens_are_told_where_no_price_is_needed_to_know() -> None:
    assert told(talk((0, LONG), (3, LONG_READ)), priced=False) == [("long_lifetime_unused", 120_000, None)]
    assert told(talk((0, LONG), (10, LONG_READ)), priced=False) == []
    assert told(talk((0, PLAIN), (1, LONGER)), priced=False) == [("nothing_cached", 100_000, None)]


def test_conversations_of_one_client_are_summed_and_the_dearest_comes_first() -> None:
    several = [*talk((0, LONG), (3, LONG_READ)), *talk((0, LONG), (3, LONG_READ), lineage="b")]
    found = wastes([*talk((0, PLAIN), (1, LONGER), lineage="c"), *several], lambda _: PRICES)
    assert [(w.kind, w.conversations, w.requests, w.tokens) for w in found] == [
        ("long_lifetime_unused", 2, 4, 240_000),
        ("nothing_cached", 1, 2, 100_000),
    ]
    assert all(isinstance(w, Waste) and w.tokens >= LEAST_TOKENS for w in found)


def test_failed_requests_say_nothing_of_a_cache() -> None:
    failed = [replace(e, outcome=replace(e.outcome, status=529)) for e in talk((1, LONGER)) if e.outcome is not None]
    assert told([*talk((0, PLAIN)), *failed]) == []


def test_doctor_says_it_to_people_and_programs(run: Run, home: Path) -> None:
    path, now = home / "waste.sqlite3", time.time()
    with SqliteStore(path) as store:
        for entry in talk((0, LONG), (3, LONG_READ)):
            asked = replace(entry.receipt, received_at=now - 600 + entry.receipt.received_at)
            store.put([], [], asked)
            assert entry.outcome is not None
            store.add_outcome(entry.outcome)
        store.flush()
    (told,) = json.loads(run("doctor", "--store", str(path), "--json").stdout)["wasted"]
    assert (told["kind"], told["tokens"], round(told["usd"], 6)) == ("long_lifetime_unused", 120_000, 0.27)
    said = run("doctor", "--store", str(path)).stdout
    assert "long_lifetime_unused: 120,000 tokens" in said and "by estimate; claude-cli at claude-sonnet-4-5" in said
