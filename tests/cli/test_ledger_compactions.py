"""`coldpress ledger`: what was done under pressure, the summary's text, and findings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from coldpress.cli.ledger_totals import totals_text
from coldpress.model.identity import original_sha
from coldpress.model.records import Cut, Finding, Outcome, Pressure, PressureReason
from coldpress.stores.sqlite import SqliteStore
from coldpress.stores.totals import Totals

from .conftest import Run, receipt

AT = 1_790_000_000.0
SUMMARY = "## Goal\n- keep `src/a.py` [m1]\n\tnever \x1b[31mpush\x1b[0m [m3] äöü 🙂\n"
SUMMARISED = Pressure(
    reason="summarised",
    window_tokens=200_000,
    trigger_tokens=130_000,
    target_tokens=90_000,
    before_tokens=141_234,
    after_tokens=88_765,
    cleared=3,
    cleared_tokens=12_469,
    summarised=40,
    summarised_tokens=40_000,
    generation=2,
    summary=original_sha(SUMMARY),
    summariser="small-model",
    summariser_usd=0.03125,
    dropped=4,
    refused=("too_long", "empty"),
    escalate=True,
    narrowed=True,
)
DECLINED = Pressure("nothing_to_take", 100_000, 65_000, 45_000, 70_000, 70_000)


@pytest.fixture
def ledger(home: Path) -> Path:
    """A summary, a prompt that was left as it was, one below the trigger, and findings of a request and a reply."""
    path = home / "ledger.sqlite3"
    found = (Finding("amnesia_loop", "Read", (3, 17), 1_200), Finding("head_reserialised", "tools"))
    first = replace(receipt("req-summary", cut=Cut("pressure", 3, 3, 12_469)), pressure=SUMMARISED, findings=found)
    second = replace(receipt("req-declined", received_at=AT + 60, lineage="b" * 24), pressure=DECLINED)
    with SqliteStore(path) as store:
        store.put([(original_sha(SUMMARY), SUMMARY)], [], first)
        store.put([], [], second)
        store.put([], [], receipt("req-below", received_at=AT + 90))
        noticed = (Finding("cached_tokens_dropped", messages=(4,), tokens=5_000),)
        store.add_outcome(Outcome("req-summary", 200, "complete", 1.0, findings=noticed))
        store.flush()
    return path


def told(shown: str) -> dict[str, str]:
    return {name: value.strip() for name, value in (row.split("  ", 1) for row in shown.splitlines() if "  " in row)}


def test_a_request_shows_what_was_taken_out_who_summarised_and_what_was_found(run: Run, ledger: Path) -> None:
    shown = run("ledger", "show", "req-summary", "--store", str(ledger)).stdout
    facts = told(shown)
    assert facts["pressure"] == (
        "applied: summarised, 141,234 to 88,765 tokens; trigger 130,000, target 90,000, window 200,000; "
        "the keep zone was narrowed; escalate: split the work"
    )
    assert facts["taken out"] == "3 results cleared, 12,469 tokens; 40 messages summarised, 40,000 tokens"
    assert facts["summary"] == (
        "generation 2, 4 items dropped; by small-model, 0.031250 USD; "
        f"text {original_sha(SUMMARY)[:16]}; refused: too_long, empty"
    )
    assert facts["findings"] == (
        "amnesia_loop in Read, messages m3, m17, 1,200 tokens; head_reserialised in tools; "
        "cached_tokens_dropped, message m4, 5,000 tokens"
    )
    assert facts["cut"].startswith("applied: pressure, 3 edits")
    assert len(shown.splitlines()) <= 30, "a person reads one screen"


def test_a_request_below_the_trigger_shows_nothing_of_it(run: Run, ledger: Path) -> None:
    shown = told(run("ledger", "show", "req-below", "--store", str(ledger)).stdout)
    assert not shown.keys() & {"pressure", "taken out", "summary", "findings"}


def test_a_declined_one_says_why_and_names_no_summary(run: Run, ledger: Path) -> None:
    shown = told(run("ledger", "show", "req-declined", "--store", str(ledger)).stdout)
    assert shown["pressure"].startswith("declined: nothing_to_take, 70,000 to 70,000 tokens")
    assert "summary" not in shown


@pytest.mark.parametrize(
    ("command", "said"),
    [
        pytest.param(("show", "r"), "by small-model, unknown USD", id="show"),
        pytest.param(("totals",), "unknown USD over 0 of 1 requests", id="totals"),
    ],
)
def test_an_unknown_cost_is_not_zero(run: Run, home: Path, command: tuple[str, ...], said: str) -> None:
    with SqliteStore(home / "s.sqlite3") as store:
        store.put([], [], replace(receipt("r"), pressure=replace(SUMMARISED, summariser_usd=None)))
    assert said in run("ledger", *command, "--store", "s.sqlite3").stdout


def test_the_text_of_a_summary_is_shown_and_cannot_steer_a_terminal(run: Run, ledger: Path) -> None:
    shown = run("ledger", "show", "req-summary", "--summary", "--store", str(ledger)).stdout
    plain = run("ledger", "show", "req-summary", "--store", str(ledger)).stdout
    assert shown == plain + "\n## Goal\n- keep `src/a.py` [m1]\n    never �[31mpush�[0m [m3] äöü 🙂\n"
    found = json.loads(run("ledger", "show", "req-summary", "--summary", "--json", "--store", str(ledger)).stdout)
    assert found["summary_text"] == SUMMARY


def test_the_text_of_a_summary_that_has_expired_says_so_after_all_that_is_left(run: Run, ledger: Path) -> None:
    with SqliteStore(ledger) as store:
        store.sweep(AT * 2)
        store.put([], [], replace(receipt("req-again"), pressure=SUMMARISED)).result()
    got = run("ledger", "show", "req-again", "--summary", "--store", str(ledger))
    assert got.exit_code == 4 and "expired" in got.stderr
    assert "40 messages summarised" in got.stdout
    got = run("ledger", "show", "req-again", "--summary", "--json", "--store", str(ledger))
    assert got.exit_code == 4 and got.stdout == ""


@pytest.mark.parametrize("request_id", ["req-declined", "req-below"])
def test_where_there_was_no_summary_that_is_said(run: Run, ledger: Path, request_id: str) -> None:
    got = run("ledger", "show", request_id, "--summary", "--store", str(ledger))
    assert got.exit_code == 3 and f"{request_id} brought no summary" in got.stderr


def test_events_are_listed_newest_first_and_by_conversation(run: Run, ledger: Path) -> None:
    head, *rows = run("ledger", "compactions", "--store", str(ledger)).stdout.splitlines()
    assert [row.split()[2] for row in rows] == ["req-declined", "req-summary"]
    assert head.split() == ["received", "id", "what", "before", "after", "results", "messages"]
    assert " ".join(rows[1].split()) == "2026-09-21 14:13 req-summary summarised ! 141,234 88,765 3 40"
    assert " ".join(rows[0].split()) == "2026-09-21 14:14 req-declined nothing_to_take 70,000 70,000 0 0"
    one = run("ledger", "compactions", "--lineage", "b" * 24, "--store", str(ledger)).stdout.splitlines()
    assert len(one) == 2 and "req-declined" in one[1]
    assert "req-summary" not in run("ledger", "compactions", "--limit", "1", "--store", str(ledger)).stdout


def test_events_as_json_have_the_records_own_names(run: Run, ledger: Path) -> None:
    found = json.loads(run("ledger", "compactions", "--json", "--store", str(ledger)).stdout)["compactions"]
    declined, summarised = found
    assert (declined["request_id"], declined["applied"], declined["findings"]) == ("req-declined", False, [])
    assert summarised["applied"] is True and summarised["lineage"] == "a" * 24
    assert summarised["pressure"]["summarised_tokens"] == 40_000
    assert summarised["pressure"]["refused"] == ["too_long", "empty"]
    assert [one["kind"] for one in summarised["findings"]] == [
        "amnesia_loop",
        "head_reserialised",
        "cached_tokens_dropped",
    ]


def test_no_event_yet_is_said_on_stderr(run: Run, ledger: Path) -> None:
    got = run("ledger", "compactions", "--lineage", "none", "--store", str(ledger))
    assert (got.stdout, got.exit_code) == ("", 0) and "of lineage none came up to the trigger" in got.stderr
    empty = run("ledger", "compactions", "--lineage", "none", "--json", "--store", str(ledger))
    assert json.loads(empty.stdout) == {"compactions": []}


def test_one_request_as_json_holds_pressure_and_findings(run: Run, ledger: Path) -> None:
    found = json.loads(run("ledger", "show", "req-summary", "--json", "--store", str(ledger)).stdout)
    assert found["pressure"]["summary"] == original_sha(SUMMARY) and "summary_text" not in found
    assert found["findings"][0] == {"kind": "amnesia_loop", "where": "Read", "messages": [3, 17], "tokens": 1_200}
    assert found["outcome"]["findings"][0]["kind"] == "cached_tokens_dropped"


def test_totals_tell_of_compactions_with_their_denominators_and_of_none_say_nothing(run: Run, ledger: Path) -> None:
    shown = told(run("ledger", "totals", "--store", str(ledger)).stdout)
    assert shown["compactions"] == "1 of 2 requests at the trigger"
    assert shown["under pressure"] == "applied: 1 summarised; declined: 1 nothing_to_take"
    assert shown["cleared"] == "3 results by 1 compaction, 12,469 tokens"
    assert shown["summarised"] == "40 messages by 1 compaction, 40,000 tokens; 4 items dropped"
    assert shown["summaries"] == "by 1 small-model; refused: 1 empty, 1 too_long"
    assert shown["summarisers"] == "0.031250 USD over 1 of 1 requests"
    assert shown["escalations"] == "1, keep zone narrowed on 1"
    assert shown["findings"] == "1 amnesia_loop, 1 cached_tokens_dropped, 1 head_reserialised"
    assert "compactions" not in told(totals_text(Totals()))


@pytest.mark.parametrize("command", ["list", "compactions"])
def test_hints_name_the_same_store_and_settings(run: Run, ledger: Path, command: str) -> None:
    (ledger.parent / "my settings.toml").write_text("")
    told = run("ledger", command, "--store", str(ledger), "--config", "my settings.toml")
    assert f"--config 'my settings.toml' --store {ledger}\n" in told.stderr
    assert "--store" not in run("ledger", command, "--config", "my settings.toml").stderr.replace("--store names", "")


@pytest.mark.parametrize(
    ("asked", "code", "why"),
    [
        pytest.param("req-summary", 0, "", id="whole"),
        pytest.param("req-summ", 0, "", id="eight"),
        pytest.param("req-sum", 3, "at least the first 8 digits", id="seven"),
        pytest.param("req-none", 3, "coldpress ledger list --store ", id="none"),
        pytest.param("req-twice", 5, "req-twice-1, req-twice-2; give more digits", id="two"),
    ],
)
def test_the_beginning_of_an_id_is_enough_where_it_fits_one(
    run: Run, ledger: Path, asked: str, code: int, why: str
) -> None:
    with SqliteStore(ledger) as store:
        for name in ("req-twice-1", "req-twice-2"):
            store.put([], [], receipt(name))
        store.flush()
    told = run("ledger", "show", asked, "--store", str(ledger), "--json")
    assert told.exit_code == code
    assert why in told.stderr
    if not code:
        assert json.loads(told.stdout)["request_id"] == "req-summary"


def test_the_widest_event_fits_a_hundred_columns(run: Run, home: Path) -> None:
    widest = max(get_args(PressureReason), key=len)
    large = replace(SUMMARISED, reason=widest, before_tokens=1_234_567, after_tokens=1_000_000, cleared=12_345)
    with SqliteStore(home / "s.sqlite3") as store:
        store.put([], [], replace(receipt("019a3f21b7c" + "0123456789"), pressure=large))
    told = run("ledger", "compactions", "--store", "s.sqlite3")
    assert "019a3f21b7c0123456789" in told.stdout and widest in told.stdout
    assert max(map(len, told.stdout.splitlines())) <= 100
    assert "!: escalate" in told.stderr
