"""Recordings in artificial windows: prompts stay within them and valid, and what the agent no longer saw is counted."""

from __future__ import annotations

import functools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from lab.test_layout import call, message, result, said
from lab.test_replay import WARM, compact, recording

from coldpress.lab.compaction import ARMS, NO_BUDGET, Over, Played, Recording, peak_tokens, play
from coldpress.lab.compaction_report import Case, groups, over_table, pairs_table, table
from coldpress.lab.evidence import Evidence
from coldpress.lab.importers.any import read_file
from coldpress.lab.shorten import CLEARED, Bounds, clear_results, drop_oldest
from coldpress.measure.tokens import estimate
from coldpress.testing.anthropic_rules import check_messages_request

DEMO = Path(__file__).resolve().parents[2] / "src" / "coldpress" / "demo" / "recording.json"
REQUESTS = 30
QUOTED_EARLY, QUOTED_LATE = 2, REQUESTS - 3


def objection(body: bytes) -> str | None:
    refusal = check_messages_request(json.loads(body))
    return None if refusal is None else refusal.message


def made_up(*, quotes: int | None = None) -> Recording:
    """Thirty reads of files nobody changes; the last reply edits a line of result `quotes`."""
    return Recording("made up", (recording(REQUESTS, quotes=quotes),), WARM, functools.cache(estimate), objection)


@pytest.fixture(scope="module")
def window() -> int:
    return round(0.6 * peak_tokens(made_up()))


@pytest.mark.parametrize("arm", ARMS.values(), ids=ARMS)
def test_every_arm_keeps_to_the_window_and_stays_valid(arm: object, window: int) -> None:
    found = play(made_up(), arm, window)  # type: ignore[arg-type]
    assert found.control_over > 5
    assert found.control_peak > window >= found.ours_peak
    assert (found.over, found.invalid) == ((), ())
    assert found.ours_tokens < found.control_tokens
    assert found.summariser_usd == 0


@pytest.mark.parametrize(
    ("name", "share", "cleared", "summarised"),
    [
        ("mask", 0.6, True, False),
        ("structural", 0.6, False, True),
        ("hybrid", 0.8, True, True),
        ("hybrid", 0.6, False, True),
    ],
    ids=["masks only", "summaries only", "masks while they reach the target", "what would be masked is summarised"],
)
def test_an_arm_does_what_its_name_says(name: str, share: float, cleared: bool, summarised: bool) -> None:
    found = play(made_up(), ARMS[name], round(share * peak_tokens(made_up()))).compactions
    assert found
    assert (any(event.cleared for event in found), any(event.summarised for event in found)) == (cleared, summarised)


def test_without_a_window_nothing_is_compacted() -> None:
    found = play(made_up(), NO_BUDGET, None)
    assert (found.events, found.over, found.control_over) == ((), (), 0)
    assert found.evidence == Evidence(calls=REQUESTS)


@pytest.mark.parametrize("arm", ["mask", "structural", "clear", "drop"])
def test_an_edit_that_quotes_an_old_read_counts_as_lost_and_a_recent_one_does_not(arm: str, window: int) -> None:
    old, recent = (play(made_up(quotes=q), ARMS[arm], window).evidence for q in (QUOTED_EARLY, QUOTED_LATE))
    assert (old.edits_of_results, old.edits_lost) == (1, 1)
    assert (recent.edits_of_results, recent.edits_lost) == (1, 0)
    assert old.identifiers_lost > recent.identifiers_lost == 0


def test_a_window_below_what_must_stay_is_told_with_what_must_stay() -> None:
    """The head alone has 12,000 tokens."""
    found = play(made_up(), ARMS["hybrid"], 12_000)
    assert len(found.over) == found.requests == REQUESTS
    assert found.over_fitting == 0
    # Here every block is counted whole, at the provider rounded.
    assert all(12_000 <= over.least_tokens <= over.prompt_tokens + 5 for over in found.over)
    assert found.over[-1].least_tokens < found.control_peak / 2


def test_the_demos_recording_is_compacted_and_stays_valid() -> None:
    imported = read_file(DEMO)
    whole = Recording("demo", tuple(imported.trajectories), WARM, functools.cache(estimate), objection, imported.head)
    peak = peak_tokens(whole)
    found = play(whole, ARMS["structural"], round(0.6 * peak))
    assert found.requests == sum(one.requests for one in imported.trajectories)
    assert found.compactions
    assert (found.over, found.invalid) == ((), ())


@pytest.mark.parametrize("name", ["entire-e3_e035743cb8_0", "entire-4c_ff5845d5a2_0"])
def test_a_long_real_session_stays_within_six_tenths_of_its_peak(name: str, shared: Path) -> None:
    file = shared / "trajectories" / "dev" / "claude-code-long" / f"{name}.jsonl"
    real = Recording(name, tuple(read_file(file).trajectories), WARM, functools.cache(estimate), objection)
    found = play(real, ARMS["hybrid"], round(0.6 * peak_tokens(real)))
    assert found.control_over > 50
    assert (found.over, found.invalid) == ((), ())
    assert found.ours_usd < found.control_usd


def turns(count: int) -> tuple[bytes, ...]:
    """A task, and turns of a call and its result, as JSON text."""
    messages = [message("user", said("Tidy it up."))]
    for number in range(count):
        messages.append(message("assistant", call(number, "Read", file_path=f"f{number}")))
        messages.append(message("user", result(number, "x")))
    return tuple(compact(one).encode() for one in messages)


def tokens(text: bytes) -> int:
    """A result has 100 tokens, a cleared one 10, everything else none."""
    return 0 if b"tool_result" not in text else 10 if CLEARED.encode() in text else 100


def bounds(trigger: int, target: int) -> Bounds:
    return Bounds(head_tokens=50, trigger_tokens=trigger, target_tokens=target, tokens_of=tokens)


def test_the_oldest_turns_are_dropped_down_to_the_target_and_stay_dropped() -> None:
    sent = [drop_oldest(turns(count), bounds(650, 350)) for count in range(9)]
    # The head is 50 and a turn 100: the sixth turn reaches the trigger, and three of them fit the target.
    assert [len(messages) // 2 for messages in sent] == [0, 1, 2, 3, 4, 5, 3, 4, 5]
    assert all(messages[0] == turns(0)[0] for messages in sent)
    assert sent[8][: len(sent[7])] == sent[7]


def test_the_newest_turn_is_never_dropped() -> None:
    assert drop_oldest(turns(3), bounds(60, 50)) == (turns(3)[0], *turns(3)[-2:])


def test_results_are_cleared_but_for_the_last_three_and_stay_cleared() -> None:
    sent = [clear_results(turns(count), bounds(650, 350)) for count in range(9)]
    assert [sum(CLEARED.encode() in one for one in messages) for messages in sent] == [0] * 6 + [3, 3, 3]
    assert [len(messages) for messages in sent] == [len(turns(count)) for count in range(9)]
    assert sent[8][: len(sent[7])] == sent[7]


PLAYED = Played(
    recording="r",
    arm="hybrid",
    window_tokens=1_000,
    requests=10,
    control_over=4,
    over=(Over("r/7", 1_100, 900),),
    invalid=(),
    control_usd=2.0,
    ours_usd=1.0,
    control_tokens=8_000,
    ours_tokens=6_000,
    control_peak=1_600,
    ours_peak=1_100,
    evidence=Evidence(edits=5, edits_of_results=4, edits_lost=1, identifiers=20, identifiers_lost=2, calls=9),
    findings=Counter({"drift": 1}),
)


def test_a_group_weighs_recordings_by_what_they_hold() -> None:
    dear = replace(PLAYED, recording="dear", control_usd=6.0, ours_usd=6.0, evidence=Evidence())
    (found,) = groups([Case("t", 0.6, PLAYED), Case("t", 0.6, dear)])
    assert found.saved is not None
    assert (found.saved.value, found.saved.low, found.saved.high, found.saved.sessions) == (0.125, 0.0, 0.5, 2)
    assert found.edits_lost is not None
    assert found.edits_lost.value == 0.25
    assert found.total("over") == 2


def test_tables_show_the_pairs_and_say_which_request_was_above_the_window_though_it_need_not() -> None:
    cases = [Case("t", 0.6, PLAYED), Case("t", 0.4, replace(PLAYED, over=()))]
    rows = list(table(groups(cases)))[2:]
    assert [row.split(" | ")[1] for row in rows] == ["60%", "40%"]
    assert "1 (4), bare 0" in rows[0]
    assert "1.00 of 2.00 | 50.0 % [50.0, 50.0]" in rows[0]
    assert "0 (4) |" in rows[1]
    assert list(pairs_table(cases))[2] == "| t | 60% | 1,000 | hybrid | r | 10 | 1 (4) | 2.000 | 1.000 | 1 of 4 |"
    assert list(over_table(cases))[2:] == ["| t | 60% | 1,000 | hybrid | r | 1 | 0 | 1,100 | 7 |"]
