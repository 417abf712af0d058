"""A process that comes fresh to a conversation knows what is masked in it: bytes, repeats and refusals go by that."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from bodies import changed_literals
from cases.talk import listing, log
from provider import LATER, Json, Provider, Turn, growing, priced, step, talk
from support import failed_quietly, pressing

from coldpress.engine.policy import DEFAULT_POLICY, with_source_age
from coldpress.stores.memory import MemoryStore

POLICY = with_source_age(DEFAULT_POLICY, 4)
REFUSAL = "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead."
FIRST = listing("f", 120)


def read(number: int, text: str) -> list[Json]:
    return step(number, text, tool="Read", file_path="f.py")


def last_turn(steps: Sequence[Sequence[Json]], *, cut_at: int, restart: bool) -> tuple[list[Turn], Turn]:
    """Send all requests but the last, with a pause before one that cuts; the last goes through a fresh process."""
    store, provider, bodies = MemoryStore(), Provider(), growing(steps)
    with pressing(priced(policy=POLICY), store) as press, pressing(priced(policy=POLICY), store) as fresh:
        turns = talk(press, bodies[:-1], provider, pauses={cut_at: LATER})
        (last,) = talk(fresh if restart else press, bodies[-1:], provider)
    assert not [note for turn in (*turns, last) for note in failed_quietly(turn.prepared)]
    assert turns[cut_at].applied
    return turns, last


@pytest.mark.parametrize("restart", [False, True])
def test_a_text_that_was_pressed_at_first_sight_and_masked_later_is_edited_once(restart: bool) -> None:
    steps = [step(n, log(f"n{n}", 700 if n % 2 else 60)) for n in range(14)]
    turns, last = last_turn(steps, cut_at=11, restart=restart)
    json.loads(last.sent)
    views = dict(changed_literals(turns[-1].body, turns[-1].sent))
    assert sum("no longer shown" in view for view in views.values()) >= 4
    assert dict(changed_literals(last.body, last.sent)).items() >= views.items()


@pytest.mark.parametrize("restart", [False, True])
def test_a_new_read_never_points_at_a_masked_one(restart: bool) -> None:
    steps = [read(0, FIRST), *(step(n) for n in range(1, 9)), read(9, FIRST + "\n   121\tlast = 1")]
    _, last = last_turn(steps, cut_at=8, restart=restart)
    (view, *_) = [new for old, new in changed_literals(last.body, last.sent) if old == FIRST]
    assert "no longer shown" in view
    newest = dict(changed_literals(last.body, last.sent)).get(FIRST + "\n   121\tlast = 1", "")
    assert "above" not in newest, "it would say that its lines stand where they no longer do"


@pytest.mark.parametrize("restart", [False, True])
def test_a_refusal_to_read_a_masked_file_again_is_answered_with_its_exact_text(restart: bool) -> None:
    steps = [read(0, FIRST), *(step(n) for n in range(1, 9)), read(9, REFUSAL)]
    _, last = last_turn(steps, cut_at=8, restart=restart)
    assert (REFUSAL, FIRST) in changed_literals(last.body, last.sent)
