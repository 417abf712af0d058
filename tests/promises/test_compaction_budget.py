"""A budget keeps a prompt in its window: nothing below the trigger, the target above it, before every single call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cases.talk import listing, log
from compacting import (
    FORMATS,
    TASK,
    Call,
    Step,
    applied,
    compacted,
    growing,
    pressure_of,
    prose,
    run,
    sent,
    valid,
    windowed,
)
from provider import Provider, talk
from support import pressing

from coldpress.drive import attempts
from coldpress.drive.summaries import structural
from coldpress.wire.registry import FormatName

FAILED = "collected 90 items\n" + "\n".join(
    f"FAILED tests/test_{{}}.py::test_{n} - AssertionError: {n}" for n in range(9)
)
KEEP = {"keep_turns": 2}

pytestmark = pytest.mark.parametrize("name", FORMATS)


def failing(number: int, lines: int = 60) -> Step:
    """A step whose result must stay exact: no mask can make room."""
    text = FAILED.format(*[number] * 9) + "\n" + log(f"f{number}", lines) + "\n9 failed, 81 passed in 3.21s"
    return Step((Call(f"c{number}", text, arguments={"command": f"pytest -k part{number}"}),))


def test_below_the_trigger_no_byte_differs_and_nothing_is_said(name: FormatName) -> None:
    bodies = growing(name, [run(n) for n in range(12)])
    with pressing(windowed(12_000, budget=KEEP)) as press, pressing(windowed(2_000_000)) as wide:
        found, without = sent(press, bodies, name), sent(wide, bodies, name)
    first = next(n for n, p in enumerate(found) if p.receipt.pressure is not None)
    assert 0 < first < len(bodies) - 1
    assert [p.body for p in found[:first]] == bodies[:first]
    assert [p.body for p in without] == bodies, "a window that is never reached changes nothing"
    assert all(p.receipt.pressure is None for p in without)


def test_at_the_trigger_the_batch_goes_out_and_reaches_the_target(name: FormatName) -> None:
    bodies = growing(name, [run(n) for n in range(40)])
    with pressing(windowed(12_000, budget=KEEP)) as press:
        found = sent(press, bodies, name)
    cuts = [p for p in found if p.receipt.pressure is not None]
    assert len(cuts) >= 5
    for prepared in cuts:
        pressure = pressure_of(prepared)
        assert pressure.before_tokens >= pressure.trigger_tokens == 7_800
        assert pressure.after_tokens <= pressure.target_tokens == 5_400
        assert applied(prepared)
        assert prepared.receipt.cut is not None and prepared.receipt.cut.reason == "pressure"


@pytest.mark.parametrize("shape", ["masks", "prose", "failing"])
def test_no_prompt_is_longer_than_the_window(name: FormatName, shape: str) -> None:
    make: Any = {"masks": run, "prose": prose, "failing": failing}[shape]
    steps = [make(n) if n % 5 else make(n, 400) for n in range(40)]
    settings, provider = windowed(16_000, budget=KEEP), Provider()
    with pressing(settings) as press:
        turns = talk(press, growing(name, steps, model="house-model"), provider, name=name)
    for turn in turns:
        valid(turn.sent, name)
        assert (turn.usage.prompt or 0) <= 16_000
    assert any((provider.bill(turn.body, name).prompt or 0) > 16_000 for turn in turns)


@pytest.mark.parametrize("kind", ["read", "failed"])
def test_several_giant_results_at_first_sight_in_the_newest_turn_make_room(name: FormatName, kind: str) -> None:
    """Nobody has seen them, so none of them may go: what stood before them does, and before this very call."""
    texts = [listing(f"g{n}", 250) if kind == "read" else FAILED.format(*[n] * 9) + log(f"g{n}", 60) for n in range(3)]
    tool = "Read" if kind == "read" else "Bash"
    giants = Step(tuple(Call(f"g{n}", text, tool, {"file_path": f"g{n}.py"}) for n, text in enumerate(texts)))
    steps = [*(run(n) for n in range(5)), giants]
    bodies, provider = growing(name, steps), Provider()
    with pressing(windowed(16_000, budget=KEEP)) as press:
        turns = talk(press, bodies, provider, name=name)
    *before, last = turns
    assert not any(turn.prepared.receipt.pressure for turn in before)
    assert (provider.bill(last.body, name).prompt or 0) > 16_000 * 0.65
    assert (last.usage.prompt or 0) <= 16_000
    assert applied(last.prepared)
    shown = str(valid(last.sent, name))
    assert all(text.splitlines()[-1].split("\t")[-1] in shown for text in texts)


def test_the_keep_zone_narrows_rather_than_the_window_bursts(name: FormatName) -> None:
    steps = [failing(n, 100) for n in range(12)]
    with pressing(windowed(16_000, budget={"keep_turns": 8})) as press:
        found = sent(press, growing(name, steps), name)
    narrowed = [pressure_of(p) for p in found if p.receipt.pressure and p.receipt.pressure.narrowed]
    assert narrowed
    assert all(p.before_tokens >= 16_000 * 0.9 and p.after_tokens < 16_000 * 0.9 for p in narrowed)
    assert all(p.receipt.pressure is None or p.receipt.pressure.after_tokens <= 16_000 for p in found)


def test_what_cannot_go_is_sent_as_it_is_and_said(name: FormatName) -> None:
    """One turn that is longer than the window alone: there is nothing to take, and no harm is done."""
    giant = Step((Call("g", listing("g", 4000), "Read", {"file_path": "g.py"}),))
    bodies = growing(name, [giant])
    with pressing(windowed(8_000)) as press:
        found = sent(press, bodies, name)
    pressure = pressure_of(found[-1])
    assert pressure.reason == "nothing_to_take"
    assert pressure.before_tokens == pressure.after_tokens > 8_000
    assert found[-1].receipt.cut is not None and found[-1].receipt.cut.applied == 0


def test_a_compaction_that_would_make_the_prompt_larger_is_not_applied(name: FormatName) -> None:
    """All that stands in the middle are words of the user, which stay: a summary would only come on top (N11)."""
    steps = [Step(reply="ok", user=f"Criterion {n}: " + f"field_{n} stays exact. " * 80) for n in range(14)]
    with pressing(windowed(8_000, budget=KEEP)) as press:
        found = sent(press, growing(name, steps), name)
    told = [pressure_of(p) for p in found if p.receipt.pressure]
    assert told
    for prepared in found:
        pressure = prepared.receipt.pressure
        if pressure is not None and applied(prepared):
            assert pressure.after_tokens < pressure.before_tokens
        assert len(prepared.body) <= len(growing(name, steps)[found.index(prepared)])
    assert any(p.reason in ("no_gain", "nothing_to_take") for p in told)


def test_a_stage_that_is_not_wanted_is_not_used(name: FormatName) -> None:
    bodies = growing(name, [run(n) for n in range(14)])
    with pressing(windowed(12_000, budget={**KEEP, "stages": ("mask",)})) as press:
        masked = sent(press, bodies, name)
    with pressing(windowed(12_000, budget={**KEEP, "stages": ("summary",)})) as press:
        summarised = sent(press, bodies, name)
    with pressing(windowed(12_000, budget={**KEEP, "stages": ()})) as press:
        neither = sent(press, bodies, name)
    assert any(map(applied, masked)) and not compacted(masked)
    assert compacted(summarised) and all(pressure_of(summarised[n]).cleared == 0 for n in compacted(summarised))
    assert [p.body for p in neither] == bodies


def test_a_window_that_nobody_knows_is_no_budget(name: FormatName) -> None:
    """Unknown is not zero: the model has no window in the price data and the settings name none."""
    bodies = growing(name, [run(n) for n in range(14)])
    settings = windowed(12_000, budget=KEEP)
    unknown = replace(settings, budgets=type(settings.budgets)())
    with pressing(unknown) as press:
        found = sent(press, bodies, name)
    assert [p.body for p in found] == bodies
    assert all(p.receipt.pressure is None for p in found)


def tight(names: int) -> str:
    """A task of some 4.5 tokens a name."""
    return TASK + " Keep each of these names: " + " ".join(f"name_{n:04}" for n in range(names))


def test_where_what_stays_fills_the_window_a_little_is_taken_only_when_it_is_full(name: FormatName) -> None:
    """Else the cache would go on every request, for a little each time."""
    bodies = growing(name, [run(n, 8) for n in range(16)], task=tight(2_350))
    with pressing(windowed(12_000, budget=KEEP)) as press:
        found = sent(press, bodies, name)
    told = [pressure_of(p) for p in found if p.receipt.pressure is not None]
    urgent = [p for p in told if p.before_tokens >= 12_000 * 0.9]
    taken = [pressure_of(p) for p in found if applied(p)]
    assert urgent[0].before_tokens < 12_000 * 0.97
    assert urgent[0].reason in ("no_gain", "nothing_to_take")
    assert urgent[0].escalate
    assert taken
    assert all(p.before_tokens >= 12_000 * 0.97 for p in taken if p.before_tokens - p.after_tokens < 12_000 * 0.1)
    assert all(p.after_tokens <= 12_000 for p in taken)


def test_what_was_tried_in_vain_is_not_tried_again_on_every_request(
    name: FormatName, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def counted(conversation: Any, *given: Any, **more: Any) -> Any:
        tried.append(len(conversation.messages))
        return structural(conversation, *given, **more)

    monkeypatch.setattr(attempts, "structural", counted)
    bodies = growing(name, [run(n, 8) for n in range(11)], task=tight(1_950))
    with pressing(windowed(14_500, budget=KEEP)) as press:
        found = sent(press, bodies, name)
    assert not any(map(applied, found))
    # From the trigger on the prompt grows by 11 % of the window, and another try is due after 5.
    assert len(found) - 5 > len(set(tried)) == 2


def test_what_would_be_carried_over_is_not_where_the_window_would_burst(name: FormatName) -> None:
    """The failing run is carried as long as there is room, and only summarised beside a giant newest result."""
    steps = [failing(0, 20), *(prose(n) for n in range(1, 8))]
    giant = Step((Call("g", listing("g", 700), "Read", {"file_path": "g.py"}),))
    bodies = growing(name, [*steps, giant], task=tight(1_000))
    with pressing(windowed(12_000, budget=KEEP)) as press:
        *before, last = sent(press, bodies, name)
    inside = log("f0", 20).splitlines()[10]
    assert compacted(before), "the failing run stands in the middle that went"
    assert inside in str(valid(before[-1].body, name))
    assert inside not in str(valid(last.body, name))
    pressure = pressure_of(last)
    assert pressure.narrowed and pressure.summarised
    assert pressure.after_tokens <= 12_000
    assert listing("g", 700).splitlines()[-1].split("\t")[-1] in str(valid(last.body, name))
