"""`coldpress ledger`: belief beside report, money beside its denominators, and sums that outlive their rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from coldpress.cli.ledger_totals import totals_text
from coldpress.cli.ledger_view import say_amount
from coldpress.model.plugins import PluginNote
from coldpress.model.records import Belief, Capture, Cut, Miss, Money, Offloaded, Outcome
from coldpress.model.usage import Usage
from coldpress.stores.amounts import Amount
from coldpress.stores.sqlite import SqliteStore
from coldpress.stores.totals import Totals

from .conftest import Run, line, receipt

AT = 1_790_000_000.0
PRICES = "table of the day, 2026-09-21"


@pytest.fixture
def ledger(home: Path) -> Path:
    """Two conversations: one cut in a cold cache and priced, one declined, half priced, and one unpriced reply."""
    path = home / "ledger.sqlite3"
    aged = line(reason="aged", mode="mask", rule="Read", kind="source", bytes_before=9_000, bytes_after=100)
    cold = replace(
        receipt("req-cold", lines=(line(), aged), reused=3, reused_bytes_saved=30_000, harness="claude-cli"),
        prompt_tokens=81_000,
        removed_tokens=12_500,
        belief=Belief("cold", "idle", 900.0, 300.0, 20_000),
        cut=Cut("cold", 2, 1, 2_225, 0, 7.5, 0.0625, PRICES, mark=True),
    )
    warm = replace(
        receipt("req-warm", received_at=AT + 60, harness="claude-cli"),
        belief=Belief("warm", "within_lifetime", 60.0, 300.0, 81_000),
        cut=Cut("waiting", 4, 0, 9_000, 60_000, 6.5, -0.125, PRICES),
    )
    lost = receipt("req-lost", received_at=AT + 90, lineage="b" * 24)
    with SqliteStore(path) as store:
        for one in (cold, warm, lost):
            store.put([], [], one)
        usage = Usage(fresh=1_000, read=19_500, write_short=60_500, write_long=0, output=500)
        money = Money(0.5, 0.25, 0.125, 0.0625, PRICES)
        store.add_outcome(Outcome("req-cold", 200, "complete", 1.0, usage, money=money, stop="end_turn"))
        store.add_outcome(
            Outcome(
                "req-warm",
                200,
                "complete",
                1.0,
                Usage(fresh=81_000, read=0, output=7),
                others=(("advisor", Usage(fresh=30, output=4)),),
                miss=Miss("tools_changed", 80_000),
                transformations=("thinking_dropped:prefix_binding_mismatch",),
                money=Money(0.75, 0.5, None, 0.0, PRICES, ("cache_write",)),
            )
        )
        store.add_outcome(Outcome("req-lost", 200, "complete", 1.0))
        store.flush()
    return path


def test_one_request_shows_belief_and_prediction_beside_what_was_reported(run: Run, ledger: Path) -> None:
    shown = run("ledger", "show", "req-cold", "--store", str(ledger)).stdout
    lines = dict(text.split("  ", 1) for text in shown.splitlines() if "  " in text)
    told = {name: value.strip() for name, value in lines.items()}
    assert told["read"] == "20,000 tokens expected, 19,500 reported, -500"
    assert told["cache"] == "believed cold: idle, idle for 900 s, held for 300 s"
    assert told["cut"] == (
        "applied: cold, 1 of 2 results; 2,225 tokens out, 0 written again; "
        f"7.5 requests to come, net 0.062500 USD expected; {PRICES}; with a cache mark of ours"
    )
    assert told["saved"] == "0.062500 USD net: gross 0.250000, rewrite 0.125000, summariser 0.062500"
    assert told["cost"] == f"0.500000 USD ({PRICES})"
    assert told["pressed"] == "1 new results, 1 seen before"
    assert (told["ended"], told["stop"]) == ("200 complete", "end_turn")

    assert told["reused"] == "3 standing edits, 30,000 bytes smaller"
    assert told["prompt"] == "81,000 tokens sent, 12,500 left out"
    assert len(shown.splitlines()) <= 30, "a person reads one screen"


def test_why_the_model_stopped_is_shown_where_it_is_known(run: Run, ledger: Path) -> None:
    shown = run("ledger", "show", "req-lost", "--store", str(ledger)).stdout
    assert [text.split() for text in shown.splitlines() if text.startswith("stop ")] == [["stop", "unknown"]]
    kept = [
        json.loads(run("ledger", "show", name, "--json", "--store", str(ledger)).stdout)["outcome"]["stop"]
        for name in ("req-cold", "req-lost")
    ]
    assert kept == ["end_turn", None]


def test_a_prompt_that_a_plugin_made_longer_is_said_to_be_longer(run: Run, home: Path) -> None:
    with SqliteStore(home / "s.sqlite3") as store:
        store.put([], [], replace(receipt("r"), removed_tokens=-17))
        store.flush()
    shown = run("ledger", "show", "r", "--store", "s.sqlite3").stdout
    assert "tokens sent, 17 more than came" in shown and "-17" not in shown


def test_a_declined_cut_a_miss_and_dropped_reasoning_are_told(run: Run, ledger: Path) -> None:
    shown = run("ledger", "show", "req-warm", "--store", str(ledger)).stdout
    assert "declined: waiting, 0 of 4 results; 9,000 tokens out, 60,000 written again" in shown
    assert "81,000 tokens expected, 0 reported, -81,000" in shown
    assert "tools_changed, 80,000 tokens" in shown
    assert "thinking_dropped:prefix_binding_mismatch" in shown
    assert "advisor: 30 in, 4 out" in shown
    assert "unknown USD net: gross 0.500000, rewrite unknown, summariser 0.000000 (no cache_write)" in shown


def test_what_nobody_believed_or_worked_out_is_unknown(run: Run, ledger: Path) -> None:
    shown = run("ledger", "show", "req-lost", "--store", str(ledger)).stdout
    assert "unknown tokens expected, unknown reported" in shown
    assert "not considered" in shown
    assert "unknown: no usage" in shown


def test_money_that_was_written_down_goes_before_today_s_prices(run: Run, ledger: Path) -> None:
    told = json.loads(run("ledger", "list", "--store", str(ledger), "--json").stdout)
    lost, warm, cold = told["requests"]
    assert (cold["cost_usd"], cold["prices"], cold["net_usd"]) == (0.5, PRICES, 0.0625)
    assert (warm["cost_usd"], warm["net_usd"]) == (0.75, None)
    assert (lost["cost_usd"], lost["unpriced"], lost["net_usd"]) == (None, ["usage"], None)
    assert cold["belief"]["read_tokens"] == 20_000 and cold["cut"]["reason"] == "cold"
    assert cold["outcome"]["money"]["gross_usd"] == 0.25


def test_where_no_bill_was_written_down_the_tokens_are_priced(run: Run, home: Path) -> None:
    with SqliteStore(home / "s.sqlite3") as store:
        store.put([], [], receipt("r"))
        usage = Usage(fresh=1_000, read=100_000, write_short=2_000, write_long=0, output=500)
        store.add_outcome(Outcome("r", 200, "complete", 1.0, usage, money=Money(unpriced=("model",))))
        store.flush()
    (one,) = json.loads(run("ledger", "list", "--store", "s.sqlite3", "--json").stdout)["requests"]
    assert one["cost_usd"] == pytest.approx(0.048)


def test_the_list_has_new_and_aged_views_reuses_and_both_reads_apart(run: Run, ledger: Path) -> None:
    head, *rows = run("ledger", "list", "--store", str(ledger)).stdout.splitlines()
    cold = next(row for row in rows if "req-cold" in row)
    ends = {name: head.index(name) + len(name) for name in ("pressed", "aged", "reused", "expected", "saved USD")}
    found = {name: cold[:end].split()[-1] for name, end in ends.items()}
    assert found == {"pressed": "1", "aged": "1", "reused": "3", "expected": "20,000", "saved USD": "0.062500"}


def test_conversations_show_money_with_its_replies(run: Run, ledger: Path) -> None:
    table = run("ledger", "conversations", "--store", str(ledger)).stdout
    first = next(row for row in table.splitlines() if "a" * 24 in row)
    assert "1.250000 (2 of 2)" in first and "0.062500 (1 of 2)" in first
    second = next(row for row in table.splitlines() if "b" * 24 in row)
    assert second.count("unknown") == 3  # bill, saving, session
    told = json.loads(run("ledger", "conversations", "--store", str(ledger), "--json").stdout)["conversations"]
    assert [one["net"] for one in told] == [
        {"usd": 0.0, "replies": 0, "unpriced": 1},
        {"usd": 0.0625, "replies": 1, "unpriced": 1},
    ]


def test_totals_name_every_denominator(run: Run, ledger: Path) -> None:
    told = json.loads(run("ledger", "totals", "--store", str(ledger), "--json").stdout)
    assert (told["requests"], told["lineages"], told["reuses"], told["applications"]) == (3, 2, 3, 5)
    assert (told["transformations"]["count"], told["first_sight"]["count"], told["aged"]["count"]) == (2, 1, 1)
    assert told["money"] == {
        "bill": {"usd": 1.25, "replies": 2, "unpriced": 1},
        "gross": {"usd": 0.75, "replies": 2, "unpriced": 1},
        "rewrite": {"usd": 0.125, "replies": 1, "unpriced": 2},
        "summariser": {"usd": 0.0625, "replies": 2, "unpriced": 1},
        "net": {"usd": 0.0625, "replies": 1, "unpriced": 2},
    }
    assert (told["cuts_applied"], told["cuts_declined"]) == ({"cold": 1}, {"waiting": 1})
    assert told["edits_noticed"] == 1


def test_totals_are_one_screen_and_outlive_the_rows(run: Run, ledger: Path) -> None:
    before = run("ledger", "totals", "--store", str(ledger)).stdout
    assert len(before.splitlines()) <= 32
    assert before.splitlines()[-1].startswith(
        "Gross, rewrite and net are worked out from estimated tokens at list prices"
    )
    rows = {row.split("  ")[0]: row.split() for row in before.splitlines() if row}
    assert rows["net saving"][-3:] == ["0.062500", "1", "2"]
    assert rows["bill"][-3:] == ["1.250000", "2", "1"]
    assert rows["written for an hour or more"][-4:] == ["0", "1", "of", "3"]
    assert rows["reasoning, in output"][-4:] == ["unknown", "0", "of", "3"]
    with SqliteStore(ledger) as store:
        store.sweep(4_000_000_000.0)
    assert json.loads(run("ledger", "list", "--store", str(ledger), "--json").stdout) == {"requests": []}
    assert run("ledger", "totals", "--store", str(ledger)).stdout == before


@pytest.fixture
def extras(home: Path) -> Path:
    """One request with a paid summary, two plugins and three calls."""
    path = home / "extras.sqlite3"
    notes = (
        PluginNote("pii", "before_request", 0.0015, 2),
        PluginNote("own", "on_tool_call", 0.25, 1, "failed", "KeyError"),
    )
    asked = Offloaded(3, 2, 1, ("too_long", "late", "too_long"), 9_000, 80, None, "applied")
    captures = (Capture("Bash", "captured", restored=True), Capture("Read", "native"), Capture("Bash", "absent"))
    with SqliteStore(path) as store:
        store.put([], [], replace(receipt("req-extra"), plugins=notes, offload=asked))
        store.add_outcome(Outcome("req-extra", 200, "complete", 1.0, captures=captures))
        store.flush()
    return path


def test_plugins_summaries_and_captured_calls_of_a_request_are_told(run: Run, extras: Path) -> None:
    shown = run("ledger", "show", "req-extra", "--store", str(extras)).stdout
    told = {row[: row.index("  ")]: row.split("  ", 1)[1].strip() for row in shown.splitlines() if "  " in row}
    assert told["summaries"] == (
        "applied: 3 wanted, 1 reused; 2 calls, 9,000 tokens in, 80 out, unknown USD; refused: 1 late, 2 too_long"
    )
    assert (
        told["plugins"]
        == "pii before_request: 2 edits in 1.5 ms; own on_tool_call: 1 edit in 250.0 ms, failed (KeyError)"
    )
    assert told["calls"] == "Bash: 1 absent, 1 captured, 1 kept as the model wrote them; Read: 1 native"
    as_json = json.loads(run("ledger", "show", "req-extra", "--store", str(extras), "--json").stdout)
    assert as_json["offload"]["refused"] == ["too_long", "late", "too_long"]
    assert [note["fault"] for note in as_json["plugins"]] == [None, "failed"]
    assert as_json["outcome"]["captures"][0] == {"tool": "Bash", "why": "captured", "restored": True}


def test_totals_tell_of_them_too_and_of_nothing_where_there_was_none(run: Run, extras: Path, ledger: Path) -> None:
    shown = run("ledger", "totals", "--store", str(extras)).stdout
    rows = {row[: row.index("  ")]: row.split("  ", 1)[1].strip() for row in shown.splitlines() if "  " in row}
    assert rows["results summarised"] == (
        "3 wanted on 1 requests, 2 calls, 1 reused, 3 refused; unknown USD over 0 of 1 requests with a call"
    )
    assert (rows["captured Bash"], rows["captured Read"]) == ("1 of 2 calls", "1 of 1 calls")
    assert rows["plugin own"] == "1 edits in 1 runs, 0.250 s; 1 failed"
    plain = run("ledger", "totals", "--store", str(ledger)).stdout
    assert "plugin" not in plain and "captured" not in plain and "summarised" not in plain


def test_an_empty_store_knows_no_money_and_no_tokens() -> None:
    told = totals_text(Totals())
    assert "no request yet" in told
    assert told.count("unknown") == 11  # six buckets, five amounts
    assert say_amount(Amount(0.0, 0, unpriced=3)) == "unknown"
