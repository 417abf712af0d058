"""Panic threshold: the window is looked at late, behind a turn, and one giant turn is more than what is left of it."""

from __future__ import annotations

import re
from typing import Final

import pytest
from failure_modes.naive import Naive, drop_middle
from failure_modes.world import World, coldpress, say, source

from coldpress.testing import Call, Part, Say

WINDOW_TOKENS: Final = 30_000
SMALL: Final = tuple(f"src/small_{n}.py" for n in range(1, 13))
GIANTS: Final = ("src/giant_a.py", "src/giant_b.py", "src/giant_c.py")


def answer(shown: str) -> tuple[Part, ...]:
    """Read the small files one by one and, with most of the window used, three giant ones in one turn."""
    read = set(re.findall(r'Read \{"file_path": "(src/\w+\.py)"\}|\bmarker (src/\w+\.py)', shown))
    seen = {name for pair in read for name in pair if name}
    following = next((path for path in SMALL if path not in seen), None)
    if following is not None and GIANTS[0] not in seen:
        return say(f"I noted marker {following} 4{len(following)}00aa1.", "Read", file_path=following)
    if GIANTS[0] not in seen:
        calls = tuple(Call("Read", {"file_path": path}) for path in GIANTS)
        return (Say("All three at once."), *calls)
    return say("Compared.")


REVIEW: Final = World(
    task="Compare the three giant files with the small ones.",
    model=answer,
    tools={"Read": lambda given: source(given["file_path"], lines=270 if "giant" in given["file_path"] else 60)},
    window_tokens=WINDOW_TOKENS,
)


@pytest.mark.parametrize("trigger", [0.98, 0.9])
def test_off_one_turn_takes_the_prompt_over_the_window(trigger: float) -> None:
    """As tools do: looked at behind the reply, by the usage that it reported."""
    arm = Naive(drop_middle, WINDOW_TOKENS, trigger=trigger)
    run = REVIEW.run(arm)
    assert run.ending == "refused"
    assert run.answer.startswith("prompt is too long: ")
    before, after = run.asked[-1].usage.prompt or 0, int(re.findall(r"\d+", run.answer)[0])
    assert before < 0.9 * WINDOW_TOKENS < WINDOW_TOKENS < after, "no look behind a turn would have told"
    assert arm.rounds == 0


def test_on_the_prompt_is_measured_before_it_is_sent() -> None:
    with coldpress(REVIEW) as arm:
        run = REVIEW.run(arm)
        assert run.ending == "done"
        assert max(one.usage.prompt or 0 for one in run.asked) <= WINDOW_TOKENS
        assert len(run.asked) == len(SMALL) + 2
        giant = run.asked[-1]
        assert all(source(path, lines=270) in giant.text for path in GIANTS), "what was just read is shown whole"
        pressed = arm.session.last
        assert pressed is not None and pressed.pressure is not None
        assert pressed.pressure.before_tokens > WINDOW_TOKENS >= pressed.pressure.after_tokens


def test_on_a_turn_that_fills_the_window_alone_leaves_nothing_else_behind_the_task() -> None:
    """The three files take 85 % of the window: even the last turns before them have to go, and the ledger says so."""
    tight = World(REVIEW.task, answer, REVIEW.tools, 24_500)
    with coldpress(tight) as arm:
        run = tight.run(arm)
        assert run.ending == "done"
        assert max(one.usage.prompt or 0 for one in run.asked) <= tight.window_tokens
        assert arm.compactions[-1].narrowed
