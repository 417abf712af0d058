"""Which identifiers of a result were needed later, which of them a view loses, and that no line moves."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from coldpress.lab.keyword_losses import Sample, samples
from coldpress.model.trajectory import Trajectory, Turn
from coldpress.model.usage import Usage

Block = dict[str, object]

HITS = [f"src/app/part_{n}.py:{n}:    plain_call_{n}(value)" for n in range(1, 400)]
HITS[200] = "src/app/limits.py:200:    retry_limit = read_setting_of_net()"
GREP: dict[str, Any] = {
    "type": "tool_use",
    "id": "t",
    "name": "Grep",
    "input": {"pattern": "retry_limit|value", "output_mode": "content"},
}
DROPPED = "plain_call_150"


def said(text: str) -> Block:
    return {"type": "text", "text": text}


def bash(command: str) -> Block:
    return {"type": "tool_use", "id": f"b{command}", "name": "Bash", "input": {"command": command}}


def turn(added: Block, *blocks: Block) -> Turn:
    reply = {"role": "assistant", "content": list(blocks)}
    return Turn((json.dumps(added),), json.dumps(reply), "claude-sonnet-4-6", None, None, Usage())


def user(*blocks: Block) -> Block:
    return {"role": "user", "content": list(blocks)}


def run(
    text: str, *replies: Block, task: str = "Where is retry_limit set?", description: str | None = None
) -> list[Sample]:
    """The samples of a run that searches, gets `text`, and then makes these replies; `description` is the call's."""
    answer = user({"type": "tool_result", "tool_use_id": "t", "content": text})
    told = {} if description is None else {"description": description}
    call = {**GREP, "input": {**GREP["input"], **told}}
    turns = [turn(user(said(task)), said("I look for retry_limit."), call)]
    for reply in replies:
        turns.append(turn(answer, reply))
        answer = user(said("Go on."))
    turns.append(turn(answer, said("The end.")))
    clock = count()
    run_of = Trajectory("run", "s", side_chain=False, turns=tuple(turns), shared_turns=0)
    return list(samples(run_of, lambda: float(next(clock))))


TEXT = "\n".join(HITS)


@pytest.mark.parametrize(
    ("replies", "needed", "only_here", "lost"),
    [
        pytest.param([said("ok"), bash(f"vi {DROPPED}")], 1, 1, 1, id="used in the second reply and not in the view"),
        pytest.param([said("ok"), said(f"see {DROPPED}")], 1, 1, 1, id="prose counts as use"),
        pytest.param([said("ok"), bash("vi read_setting_of_net")], 1, 1, 0, id="used and in the view"),
        pytest.param([said("ok"), bash("vi retry_limit")], 1, 0, 0, id="used, and said in front of the result"),
        pytest.param([bash(f"vi {DROPPED}"), said("ok")], 0, 0, 0, id="used at once, while the result was exact"),
        pytest.param([said(DROPPED), bash(f"vi {DROPPED}")], 1, 0, 0, id="written down by the first reply"),
        pytest.param([said("ok"), said("done")], 0, 0, 0, id="used by nobody"),
    ],
)
def test_what_is_needed_and_lost(replies: list[Block], needed: int, only_here: int, lost: int) -> None:
    (sample,) = run(TEXT, *replies)
    assert (sample.outcome, sample.needed, sample.only_here) == ("view", needed, only_here)
    assert sample.effects["keyword"].lost == lost
    assert sample.seconds == 1.0


def test_no_line_moves_and_a_head_and_tail_has_the_same_bytes() -> None:
    (sample,) = run(TEXT, said("ok"), said("done"))
    assert sample.effects["keyword"].moved == sample.effects["same_bytes"].moved == 0
    assert sample.effects["same_bytes"].bytes <= sample.effects["keyword"].bytes + 100


def test_a_quoted_line_that_the_view_lacks_is_lost() -> None:
    line = HITS[150].split(":", 2)[2].strip() + "  # of the old kind"
    text = "\n".join([*HITS[:150], f"src/app/part_150.py:150:    {line}", *HITS[151:]])
    (sample,) = run(text, said("ok"), bash(line))
    assert (sample.quoted, sample.quoted_only_here, sample.effects["keyword"].lines_lost) == (1, 1, 1)


@pytest.mark.parametrize(
    ("text", "replies"),
    [
        pytest.param(TEXT[:1500], [said("ok"), said("done")], id="a small result"),
        pytest.param(TEXT, [said("done")], id="a result that one reply follows"),
    ],
)
def test_what_is_left_out(text: str, replies: list[Block]) -> None:
    assert run(text, *replies) == []


def test_why_there_is_no_view_is_told() -> None:
    (sample,) = run("\n".join(f"a/b.py:{n}:word_{n}" for n in range(300)), said("ok"), said("done"), task="hm")
    assert sample.outcome == "no_match"


def test_a_reason_that_the_call_gives_is_compared_with_what_is_inferred_without_it() -> None:
    (sample,) = run(TEXT, said("ok"), bash(f"vi {DROPPED}"), description="Read src/app/part_150.py")
    assert sample.told
    assert (sample.effects["native"].lost, sample.effects["inferred"].lost) == (0, 1)
    assert (sample.effects["keyword"].lost, sample.effects["native_same_bytes"].lost) == (0, 1)
    assert "unguided" not in sample.effects
    for arm, ends in (("native", "native_same_bytes"), ("inferred", "inferred_same_bytes")):
        assert abs(sample.effects[arm].bytes - sample.effects[ends].bytes) <= 100


def test_a_call_that_gives_no_reason_is_not_among_those_that_do() -> None:
    (sample,) = run(TEXT, said("ok"), said("done"))
    assert not sample.told
    assert not {"native", "inferred", "native_same_bytes", "inferred_same_bytes"} & sample.effects.keys()
