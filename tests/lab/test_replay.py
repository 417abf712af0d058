"""Recordings driven through the driver with a simulated provider behind it: bills, books, beliefs and restarts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from lab.test_layout import call, message, result, said

from coldpress.config import Settings
from coldpress.lab.prompts import PromptReader, Sizes
from coldpress.lab.recorded import Recorded
from coldpress.lab.replay import HARNESS, Replay, Replayed, Sent, remember
from coldpress.lab.replay_report import bill_of, foretell
from coldpress.lab.replay_service import Service, only_aged, settings_of
from coldpress.lab.simulated_provider import SimulatedProvider
from coldpress.lab.tariffs import TARIFFS
from coldpress.measure.tokens import estimate
from coldpress.model.errors import ConfigError
from coldpress.model.trajectory import Trajectory, Turn
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore

HEAD_TOKENS = 12_000
STEP = 10.0
PAUSE = 1_000.0
WARM = Service(TARIFFS["claude-opus-4-6"](), "anthropic")
UNCACHED = Service(TARIFFS["server without a cache"](), "none")


def read(number: int, lines: int = 120) -> str:
    return "\n".join(f"{n}\tvalue_{number}_{n} = compute_the_value_of({number}, {n})" for n in range(1, lines))


def recording(
    requests: int, *, pause_before: int | None = None, model: str = "recorded", quotes: int | None = None
) -> Trajectory:
    """A conversation that reads a file a turn; the reply to the last request edits a line of result `quotes`."""
    turns, at, prompt = [], 1_760_000_000.0, HEAD_TOKENS
    for number in range(requests):
        at += PAUSE if number == pause_before else STEP
        added = (
            message("user", result(number - 1, read(number - 1))) if number else message("user", said("Tidy it up."))
        )
        reply = message("assistant", call(number, "Read", file_path=f"src/f{number}.py"))
        if quotes is not None and number == requests - 1:
            old = f"value_{quotes}_7 = compute_the_value_of({quotes}, 7)"
            reply = message("assistant", call(number, "Edit", file_path="f", old_string=old, new_string="x"))
        prompt += round(1.115 * estimate(read(number - 1))) + 110 if number else 10
        usage = Usage(fresh=prompt, read=0, output=5)
        turns.append(Turn((compact(added),), compact(reply), model, at, at + 2, usage, tools=("Read",)))
    return Trajectory("a talk", "session", False, tuple(turns))


def compact(text: str) -> str:
    return json.dumps(json.loads(text), separators=(",", ":"))


def replayed(
    trajectory: Trajectory, service: Service = WARM, *, first_sight: bool = False, **more: object
) -> tuple[Replayed, ...]:
    replay, found = prepared(trajectory, service, first_sight=first_sight)
    return replay.run(found, **more)  # type: ignore[arg-type]


def prepared(
    trajectory: Trajectory, service: Service = WARM, *, source_age: int | None = 5, first_sight: bool = False
) -> tuple[Replay, Settings]:
    replay = Replay(Recorded("r", [trajectory], estimate), service)
    found = settings_of(
        service, source_age=source_age, first_sight=first_sight, keep_thinking=False, models=replay.models
    )
    return replay, found


def test_a_pause_is_a_cold_point_that_saves_and_the_books_say_how_much() -> None:
    found = replayed(recording(22, pause_before=12))
    reasons = [one.receipt.cut.reason if one.receipt.cut else None for one in found]
    assert reasons[12] == "cold"
    bill = bill_of("r", found, foretell((), WARM.tariff, source_age=5, arm=lambda _: None))
    assert bill.saved_usd > 0.1 * bill.control_usd
    assert bill.unpriced == 0
    assert bill.books_usd == pytest.approx(bill.saved_usd, rel=0.05)
    assert not Counter({"cold, read": 1}) & bill.beliefs


def test_without_a_word_of_ours_both_bills_are_the_same() -> None:
    replay, found = prepared(recording(14, pause_before=9), source_age=None)
    for one in replay.run(found):
        assert one.sent_bytes == one.received_bytes
        assert one.ours == one.control
        assert one.ours_usd == one.control_usd


def test_the_control_pays_for_the_prompts_that_were_recorded() -> None:
    trajectory = recording(14)
    for one, turn in zip(replayed(trajectory), trajectory.turns, strict=True):
        assert one.control.prompt == pytest.approx(turn.usage.prompt, rel=0.02)


def test_a_server_without_a_cache_masks_as_soon_as_a_result_is_of_age() -> None:
    found = replayed(recording(12), UNCACHED)
    cuts = [number for number, one in enumerate(found) if one.receipt.cut and one.receipt.cut.applied]
    assert cuts == [6, 7, 8, 9, 10, 11]
    assert all(one.ours.read == 0 for one in found)


@pytest.mark.parametrize(("quoted", "lost"), [(2, 1), (20, 0)], ids=["masked in the pause", "younger than the pause"])
def test_an_edit_that_quotes_a_masked_result_counts_as_lost(quoted: int, lost: int) -> None:
    last = replayed(recording(22, pause_before=12, quotes=quoted))[-1]
    found = last.looked.evidence
    assert (found.edits, found.edits_of_results, found.edits_lost) == (1, 1, lost)


def test_lifetimes_begin_with_the_reply() -> None:
    """A reply that took a minute is read 290 seconds after its end, 350 after its request."""
    turns = list(recording(12).turns)
    slow = turns[8]
    assert slow.sent_at is not None
    turns[8] = replace(slow, replied_at=slow.sent_at + 60)
    turns[9:] = [replace(t, sent_at=(t.sent_at or 0) + 340, replied_at=(t.sent_at or 0) + 342) for t in turns[9:]]
    found = replayed(replace(recording(12), turns=tuple(turns)))
    belief = found[9].receipt.belief
    assert belief is not None
    assert (belief.state, belief.idle_seconds) == ("warm", 290.0)
    assert (found[9].control.read or 0) > HEAD_TOKENS


def test_a_restart_forgets_the_cache_and_keeps_what_was_sent() -> None:
    steady: list[Sent] = []
    stopped: list[Sent] = []
    replayed(recording(16, pause_before=10), see=steady.append)
    after = replayed(recording(16, pause_before=10), see=stopped.append, restart_before=13)
    assert [one.sent for one in stopped] == [one.sent for one in steady]
    belief = after[13].receipt.belief
    assert belief is not None
    assert belief.state == "unknown"


def test_a_change_of_model_stays_one() -> None:
    trajectory = recording(12)
    turns = (*trajectory.turns[:8], *(replace(turn, model="another") for turn in trajectory.turns[8:]))
    found = replayed(replace(trajectory, turns=turns))
    assert [one.receipt.model for one in found[7:9]] == ["claude-opus-4-6", "claude-opus-4-6-v2"]
    assert found[8].control.read == 0


def test_a_remembered_past_gives_a_forecast() -> None:
    store = MemoryStore()
    remember(store, [12] * 30)
    found = replayed(recording(10), store=store)
    assert store.session_lengths(harness=HARNESS, now=1e10, quiet_seconds=1.0)[1:] == ((12, True),) * 30
    forecasts = [one.receipt.cut.requests for one in found if one.receipt.cut]
    assert forecasts == [12.0 - number for number in range(10 - len(forecasts), 10)]


def test_only_aged_results_are_pressed_where_first_sight_is_off() -> None:
    policy = only_aged(settings_of(WARM, source_age=5, first_sight=True, keep_thinking=True, models=()).policy)
    assert all(not rule.first_modes for rule in policy.rules)
    assert policy.rule_for("Read", "source").aged_mode == "mask"


def test_a_provider_without_known_rules_is_refused() -> None:
    with pytest.raises(ConfigError, match="no cache rules for claude-opus-4-6 at somewhere"):
        Replay(Recorded("r", [recording(2)], estimate), replace(WARM, provider="somewhere"))


def body(*messages: str, system_mark: str = ',"cache_control":{"type":"ephemeral"}') -> bytes:
    system = f'[{{"type":"text","text":"be good"{system_mark}}}]'
    return f'{{"model":"m","messages":[{",".join(messages)}],"system":{system},"tools":[]}}'.encode()


def test_a_mark_is_not_part_of_a_block() -> None:
    """What was marked in one request and is not in the next is still the same text."""
    marked = message("user", {**said("x" * 9_000), "cache_control": {"type": "ephemeral"}})
    plain = message("user", said("x" * 9_000))
    last = message("user", {**said("y" * 50), "cache_control": {"type": "ephemeral"}})
    provider = SimulatedProvider(WARM.rules, WARM.tariff, asked_long=False, reader=PromptReader(len, 0))
    sizes = Sizes(head_tokens=5_000, warm_tokens=0, scale=1.0)
    first = provider.send(body(marked), sizes, at=0, answered_at=0, reply=plain)
    second = provider.send(body(plain, last), sizes, at=10, answered_at=10, reply=plain)
    assert first == Usage(fresh=0, read=0, write_short=14_000, write_long=0)
    assert second == Usage(fresh=0, read=14_000, write_short=50, write_long=0)


def test_the_warm_part_of_a_head_is_read_by_the_first_request() -> None:
    provider = SimulatedProvider(WARM.rules, WARM.tariff, asked_long=False, reader=PromptReader(len, 0))
    sizes = Sizes(head_tokens=9_000, warm_tokens=6_000, scale=1.0)
    asked = body(message("user", {**said("x" * 100), "cache_control": {"type": "ephemeral"}}))
    found = provider.send(asked, sizes, at=0, answered_at=0, reply=message("assistant", said("ok")), opens=True)
    assert found == Usage(fresh=0, read=6_000, write_short=3_100, write_long=0)
