"""What a refusal for length tells is kept, corrects the count, and is let go once a prompt shows it to be wrong."""

from __future__ import annotations

from typing import Any

import pytest
from compacting import MODEL, applied, growing, pressure_of, run, windowed
from support import Press, pressing, settings

from coldpress.drive import Prepared
from coldpress.drive.counting import Counting, after_refusal, ends_of
from coldpress.drive.memory import Lineage, Memory, Refused
from coldpress.engine.belief import Held
from coldpress.engine.session import Session
from coldpress.model.overflow import Overflow
from coldpress.model.records import Belief, Outcome
from coldpress.model.usage import Usage
from coldpress.wire.prefix import Reader

ASKED = ("up", "m")
BODIES = growing("anthropic", [run(n) for n in range(20)], model=MODEL)


def refuse(press: Press, prepared: Prepared, **told: int) -> None:
    press.driver.finish(Outcome(prepared.receipt.request_id, 400, "complete", 1.0, overflow=Overflow(**told)))


def take(press: Press, prepared: Prepared, tokens: int) -> None:
    usage = Usage(fresh=tokens, read=0, write_short=0, write_long=0, output=1)
    press.driver.finish(Outcome(prepared.receipt.request_id, 200, "complete", 1.0, usage, context_tokens=tokens))


@pytest.mark.parametrize(
    ("told", "window"),
    [
        pytest.param({"prompt_tokens": 15_000, "window_tokens": 14_000}, 14_000, id="both"),
        pytest.param({"window_tokens": 14_000}, 14_000, id="the window"),
        pytest.param({"prompt_tokens": 15_000}, 15_000, id="the prompt: the window is no larger"),
        pytest.param({}, None, id="nothing: the window is no larger than what we count"),
    ],
)
def test_whatever_a_refusal_tells_the_same_request_is_brought_down(told: dict[str, int], window: int | None) -> None:
    with pressing() as press:
        refuse(press, press(BODIES[12]), **told)
        again = press(BODIES[12])
        pressure = pressure_of(again)
        assert applied(again)
        assert pressure.window_tokens == (window or pressure.before_tokens)
        assert pressure.before_tokens >= pressure.window_tokens
        assert pressure.after_tokens < pressure.trigger_tokens
        # Another conversation is watched from its beginning.
        others = press.all(growing("anthropic", [run(n + 50) for n in range(14)], model=MODEL, task="Other."))
        first = next(p for p in others if p.receipt.pressure)
        assert 0.6 * pressure.window_tokens < pressure_of(first).before_tokens < 0.9 * pressure.window_tokens


@pytest.mark.parametrize("told", [{"prompt_tokens": 40_000, "window_tokens": 30_000}, {"window_tokens": 30_000}])
def test_a_prompt_that_we_count_at_half_is_brought_down_all_the_same(told: dict[str, int]) -> None:
    """By our own count it would be below the trigger of the window that was told."""
    with pressing() as press:
        refuse(press, press(BODIES[12]), **told)
        again = press(BODIES[12])
        pressure = pressure_of(again)
        assert applied(again)
        assert pressure.before_tokens == pytest.approx(told.get("prompt_tokens", 30_000), abs=2)
        exact, shown = len(BODIES[12]), len(again.body)
        assert shown < 0.5 * exact, "half of what it had, whatever a token is"


def test_a_request_that_was_not_refused_stays_as_it_was_decided() -> None:
    with pressing() as press:
        first = press(BODIES[12])
        press.driver.finish(Outcome(first.receipt.request_id, 400, "complete", 1.0))
        again = press(BODIES[12])
        assert again.receipt.pressure is None
        assert again.body is BODIES[12]


def test_another_model_is_not_meant() -> None:
    with pressing() as press:
        refuse(press, press(BODIES[12]), window_tokens=14_000)
        other = growing("anthropic", [run(n) for n in range(13)], since=13, model="house-model-large")[0]
        assert press(other).receipt.pressure is None


def test_a_rewound_conversation_is_judged_by_the_window_alone() -> None:
    with pressing() as press:
        refuse(press, press(BODIES[12]), window_tokens=14_000)
        assert press(BODIES[3]).receipt.pressure is None
        assert applied(press(BODIES[12]))


def test_a_window_that_a_longer_prompt_fits_into_is_forgotten() -> None:
    with pressing() as press:
        refuse(press, press(BODIES[6]), window_tokens=5_000)
        kept = press(BODIES[6])
        assert pressure_of(kept).window_tokens == 5_000
        take(press, kept, 5_001)
        assert press(BODIES[7]).receipt.pressure is None


def test_a_refusal_for_less_than_the_settings_say_holds_for_that_prompt_only() -> None:
    with pressing(windowed(100_000)) as press:
        refuse(press, press(BODIES[12]), window_tokens=14_000)
        again = press(BODIES[12])
        assert pressure_of(again).window_tokens == 14_000
        take(press, again, 6_000)
        assert press(BODIES[13]).receipt.pressure is None


@pytest.mark.parametrize("operation", ["observe", "drain"])
def test_nothing_new_is_made_where_nothing_may_be(operation: Any) -> None:
    with pressing(settings(operation)) as press:
        refuse(press, press(BODIES[12]), window_tokens=14_000)
        again = press(BODIES[12])
        assert again.body is BODIES[12]
        assert pressure_of(again).reason == operation


@pytest.mark.parametrize(
    ("told", "tokens"),
    [
        pytest.param(Overflow(40_000, 30_000), 40_000, id="as told"),
        pytest.param(Overflow(None, 30_000), 30_000, id="at least the window"),
        pytest.param(Overflow(None, 100), None, id="we count more than the window"),
    ],
)
def test_a_refused_prompt_is_counted_as_the_provider_did(told: Overflow, tokens: int | None) -> None:
    conversation = Reader[None](seed=0).read(BODIES[12], "anthropic", None).conversation
    held, before = Held(Belief("unknown", "first_request"), 0, (), None, 0), Lineage()
    layout = Counting().layout("name", conversation, Session())
    refused = Refused(conversation.messages[-1].chain, ASKED, told)
    after = after_refusal(before, layout, conversation, held, refused)
    ends = ends_of(layout, conversation, after, held)
    assert ends[-1] == pytest.approx(tokens or ends_of(layout, conversation, before, held)[-1], abs=2)
    assert (after.calibration.scale > 1) == (told.prompt_tokens is not None)
    elsewhere = Refused(b"another", ASKED, told)
    assert after_refusal(before, layout, conversation, held, elsewhere) is before


def test_the_newest_word_on_a_window_holds_and_few_are_kept() -> None:
    memory = Memory()
    memory.note_refused("a", Refused(b"1", ASKED, Overflow(9_000, 8_000)))
    memory.note_refused("b", Refused(b"2", ASKED, Overflow(9_000, 6_000)))
    assert memory.window(ASKED) == 6_000
    memory.note_taken("b", ASKED, tokens=6_000)
    assert memory.window(ASKED) == 6_000
    assert memory.lineage("b").refused is None
    assert memory.lineage("a").refused is not None
    memory.note_taken("b", ASKED, tokens=6_001)
    assert memory.window(ASKED) is None
    for number in range(2_000):
        memory.learn_window(("up", str(number)), 4_000)
    assert memory.window(("up", "0")) is None
    assert memory.window(("up", "1999")) == 4_000
