"""`coldpress doctor`: what the ledger tells of trouble, counted, with what to do."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from coldpress.cli.summary_refusals import SummarySymptom, refusal_kind
from coldpress.cli.symptoms import ADVICE, PressureSymptom, symptoms
from coldpress.drive.summariser_ask import Reason as AskReason
from coldpress.engine.summary.reply import Reason as ReplyReason
from coldpress.model.records import Finding, FindingKind, Outcome, Pressure, PressureReason
from coldpress.stores.base import LedgerEntry
from coldpress.stores.sqlite import SqliteStore

from .conftest import Run, receipt

LOOP = Finding("amnesia_loop", "Read", (3, 9), 700)
PRESSED = Pressure("masked", 200_000, 130_000, 90_000, 140_000, 85_000)


def pressed(reason: PressureReason = "masked", **changes: object) -> Pressure:
    return replace(PRESSED, reason=reason, **changes)  # type: ignore[arg-type]


@pytest.fixture
def ledger(home: Path) -> Path:
    """Findings on receipts and on an outcome, a prompt above the trigger, and one finding of last month."""
    path, now = home / "doctor.sqlite3", time.time()
    with SqliteStore(path) as store:
        store.put([], [], receipt("req-old", received_at=now - 30 * 86_400, findings=(Finding("drift", "goal", (1,)),)))
        store.put([], [], receipt("req-1", received_at=now - 300, findings=(LOOP, LOOP)))
        store.put([], [], receipt("req-2", received_at=now - 200, findings=(replace(LOOP, tokens=None),)))
        store.put([], [], receipt("req-3", received_at=now - 100, pressure=pressed("binding_model", escalate=True)))
        store.add_outcome(
            Outcome("req-1", 200, "complete", 1.0, findings=(Finding("cached_tokens_dropped", "", (7,), 40_000),))
        )
        store.flush()
    return path


def test_it_counts_by_kind_and_names_the_newest_request(run: Run, ledger: Path) -> None:
    told = json.loads(run("doctor", "--store", str(ledger), "--json").stdout)
    assert (told["requests"], told["above_trigger"], told["days"]) == (3, 1, 7.0)
    rows = {one["kind"]: (one["count"], one["requests"], one["newest_request"], one["tokens"]) for one in told["found"]}
    assert rows == {
        "amnesia_loop": (3, 2, "req-2", 1_400),
        "cached_tokens_dropped": (1, 1, "req-1", 40_000),
        "escalate": (1, 1, "req-3", None),
        "binding_model": (1, 1, "req-3", None),
    }
    assert all(one["meaning"] and one["remedy"] and one["newest_at"] for one in told["found"])


def test_people_read_what_it_means_and_what_to_do(run: Run, ledger: Path) -> None:
    told = run("doctor", "--store", str(ledger)).stdout
    assert "requests  3 in 7 days, 1 of them above the trigger" in told
    assert "amnesia_loop: 3 on 2 of the requests, 1,400 tokens; newest req-2 at " in told
    assert "the provider's own compaction" in told
    assert "subtask()" in told
    assert "drift" not in told


def test_how_far_back_it_looks_can_be_said(run: Run, ledger: Path) -> None:
    assert (
        "drift: 1 on 1 of the requests; newest req-old at "
        in run("doctor", "--store", str(ledger), "--days", "60").stdout
    )
    few = json.loads(run("doctor", "--store", str(ledger), "--limit", "1", "--json").stdout)
    assert [one["kind"] for one in few["found"]] == ["escalate", "binding_model"]


@pytest.mark.parametrize(("path", "words"), [("none.sqlite3", "no requests to judge by"), ("", "Nothing was found")])
def test_where_there_is_nothing_it_says_which_nothing(run: Run, home: Path, path: str, words: str) -> None:
    with SqliteStore(home / "quiet.sqlite3") as store:
        store.put([], [], receipt("req", received_at=time.time()))
        store.flush()
    told = run("doctor", "--store", str(home / (path or "quiet.sqlite3")))
    assert told.exit_code == 0
    assert words in told.stdout


@pytest.mark.parametrize(
    ("pressure", "kinds"),
    [
        (pressed(), []),
        (pressed("summarised", generation=2), []),
        (pressed("masked_short", narrowed=True), ["masked_short", "narrowed"]),
        (pressed("summarised", refused=("too_long",), dropped=3), ["items_dropped", "summary_unusable"]),
        (pressed(refused=("gate_does_not_pay",)), ["summary_gated"]),
        (
            pressed(refused=("timeout", "busy", "outgrown")),
            ["summary_not_asked", "summary_unanswered", "summary_outgrown"],
        ),
        (pressed(refused=("fault_keyerror",)), ["summary_fault"]),
        (pressed("no_raw_log"), ["no_raw_log"]),
        (pressed("nothing_to_take"), ["nothing_to_take"]),
        (pressed("no_gain", escalate=True), ["escalate", "no_gain"]),
        (pressed("observe"), []),
    ],
    ids=lambda value: value.reason if isinstance(value, Pressure) else None,
)
def test_what_pressure_tells(pressure: Pressure, kinds: list[str]) -> None:
    entry = LedgerEntry(receipt("req", pressure=pressure), None)
    assert [symptom.kind for symptom in symptoms([entry])] == kinds


def test_there_is_advice_for_everything() -> None:
    assert set(ADVICE) == {*get_args(FindingKind), *get_args(PressureSymptom), *get_args(SummarySymptom)}


def test_windows_that_refusals_told_are_not_summed_up(run: Run, home: Path) -> None:
    with SqliteStore(home / "doctor.sqlite3") as store:
        for name in ("a", "b"):
            store.put([], [], receipt(name, received_at=time.time() - 60))
            store.add_outcome(Outcome(name, 400, "complete", 1.0, findings=(Finding("window_overflow", tokens=8_192),)))
        store.flush()
    told = run("doctor", "--store", "doctor.sqlite3")
    assert "window_overflow: 2 on 2 of the requests; newest b at " in told.stdout
    assert "tokens;" not in told.stdout


def test_every_word_that_can_be_written_has_its_place() -> None:
    places: dict[str, set[str]] = {}
    for word in (*get_args(AskReason), *get_args(ReplyReason), "nothing_held", "busy", "outgrown", "gate_unpriced"):
        places.setdefault(refusal_kind(word), set()).add(word)
    assert places == {
        "summary_gated": {"gate_unpriced"},
        "summary_not_asked": {"unpriced", "too_expensive", "too_large", "no_key", "busy"},
        "summary_unanswered": {"http_error", "timeout", "breaker_open"},
        "summary_unusable": {
            *("refused", "refused_by_provider", "empty", "too_long", "error_like", "not_json", "nothing_held"),
            *("stopped_early", "bad_reply"),
        },
        "summary_outgrown": {"outgrown"},
    }


def test_words_of_why_no_model_wrote_a_summary_are_counted(run: Run, home: Path) -> None:
    with SqliteStore(home / "doctor.sqlite3") as store:
        for name, words in (
            ("a", ("http_error", "timeout")),
            ("b", ("http_error",)),
            ("c", ("gate_does_not_pay",)),
        ):
            store.put([], [], receipt(name, received_at=time.time() - 60, pressure=pressed(refused=words)))
        store.flush()
    told = run("doctor", "--store", "doctor.sqlite3").stdout
    assert "summary_unanswered: 3 on 2 of the requests; newest b at " in told
    assert "  words   http_error 2, timeout 1\n" in told
    assert "expected_applications" in told and "answer was no summary" not in told
    found = json.loads(run("doctor", "--store", "doctor.sqlite3", "--json").stdout)["found"]
    assert {one["kind"]: one["words"] for one in found} == {
        "summary_gated": {"gate_does_not_pay": 1},
        "summary_unanswered": {"http_error": 2, "timeout": 1},
    }
