"""A recorded conversation in tokens: what may be masked, where it stands, and which edits quote it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coldpress.lab.importers.claude_code import read_file
from coldpress.lab.layout import Layout, lay_out
from coldpress.measure.tokens import estimate
from coldpress.model.trajectory import Trajectory, Turn
from coldpress.model.usage import Usage

LINES = "\n".join(f"{n}\tvalue_{n} = compute_the_value_of({n})" for n in range(1, 60))


def message(role: str, *blocks: dict[str, object]) -> str:
    return json.dumps({"role": role, "content": list(blocks)})


def call(number: int, name: str, **given: object) -> dict[str, object]:
    return {"type": "tool_use", "id": f"call_{number}", "name": name, "input": given}


def result(number: int, text: str, **more: object) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": f"call_{number}", "content": text, **more}


def said(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def talk(*turns: tuple[str, str], prompts: tuple[int, ...] = (), **more: object) -> Trajectory:
    found = tuple(
        Turn((added,), reply, "model", 10.0 * i, 10.0 * i + 5, Usage(fresh=prompts[i]) if prompts else Usage())
        for i, (added, reply) in enumerate(turns)
    )
    return Trajectory("a talk", "session", False, found, **more)  # type: ignore[arg-type]


def letters(text: str) -> int:
    return len(text)


def laid_out(trajectory: Trajectory) -> Layout:
    return lay_out(trajectory, recording="a file", count=letters)


READ = (
    (message("user", said("do it")), message("assistant", call(1, "Read", file_path="a.py"))),
    (message("user", result(1, LINES)), message("assistant", said("seen"))),
)


def test_a_result_stands_where_its_request_put_it() -> None:
    found = laid_out(talk(*READ, prompts=(5_000, 7_500)))
    (one,) = found.removables
    assert (one.first, one.kind) == (1, "source")
    assert found.prompt_tokens == (5_000, 7_500)
    assert 5_000 < one.before_tokens < one.before_tokens + one.saved_tokens <= 7_500


def test_prompts_are_scaled_so_that_they_add_up_to_what_was_reported() -> None:
    reported = (5_000, 8_000, 8_100)
    found = laid_out(talk(*READ, (message("user", said("x" * 50)), message("assistant", said("y"))), prompts=reported))
    assert sum(found.prompt_tokens) == pytest.approx(sum(reported), abs=2)
    assert found.prompt_tokens[0] == 5_000
    assert found.head_tokens < 5_000


def test_without_usage_the_usual_scale_stands_in() -> None:
    found = laid_out(talk(*READ))
    assert (found.head_tokens, found.prompt_tokens[0]) == (0, round(1.24 * len("do it")))


@pytest.mark.parametrize(
    ("name", "given", "text", "more"),
    [
        pytest.param("Edit", {"file_path": "a.py"}, LINES, {}, id="a change stays exact"),
        pytest.param("mcp__db__query", {}, LINES, {}, id="an unknown server's answer stays exact"),
        pytest.param("Read", {"file_path": "a.py"}, LINES, {"is_error": True}, id="what the wire calls failed"),
        pytest.param("Bash", {"command": "pytest"}, LINES + "\n1 failed, 3 passed in 0.2s", {}, id="a failed run"),
        pytest.param("Read", {"file_path": "a.py"}, LINES[:300], {}, id="a mask would gain too little"),
    ],
)
def test_what_stays_exact(name: str, given: dict[str, object], text: str, more: dict[str, object]) -> None:
    turns = (
        (message("user", said("do it")), message("assistant", call(1, name, **given))),
        (message("user", result(1, text, **more)), message("assistant", said("seen"))),
    )
    assert laid_out(talk(*turns)).removables == ()


QUOTE = "value_7 = compute_the_value_of(7)"


@pytest.mark.parametrize(
    ("before", "quotes"),
    [
        pytest.param((), ((1, (0,)),), id="only the read has it"),
        pytest.param((said(f"change {QUOTE}"),), (), id="the user said it too"),
    ],
)
def test_which_edits_need_a_result(before: tuple[dict[str, object], ...], quotes: tuple[object, ...]) -> None:
    edit = call(2, "Edit", file_path="a.py", old_string=QUOTE, new_string="value_7 = 0")
    turns = (
        (message("user", said("do it"), *before), message("assistant", call(1, "Read", file_path="a.py"))),
        (message("user", result(1, LINES)), message("assistant", edit)),
    )
    found = laid_out(talk(*turns))
    assert tuple((quote.request, quote.sources) for quote in found.quotes) == quotes
    assert (found.edits, found.edits_of_results) == (1, 1)


def test_edits_made_before_a_fork_belong_to_the_other_conversation() -> None:
    edit = call(2, "Edit", file_path="a.py", old_string=QUOTE, new_string="value_7 = 0")
    turns = (
        (message("user", said("do it")), message("assistant", call(1, "Read", file_path="a.py"))),
        (message("user", result(1, LINES)), message("assistant", edit)),
        (message("user", result(2, "done")), message("assistant", said("done"))),
    )
    found = laid_out(talk(*turns, shared_turns=2))
    assert (found.own, found.requests, found.edits, found.quotes) == (2, 1, 0, ())


def test_the_layouts_of_real_sessions_follow_their_usage(shared: Path) -> None:
    reported = laid = 0
    for file in sorted((shared / "trajectories/dev/claude-code").glob("entire-6*.jsonl")):
        for trajectory in read_file(file).trajectories:
            found = lay_out(trajectory, recording=file.stem, count=estimate)
            laid += sum(found.prompt_tokens[found.own :])
            reported += sum(turn.usage.prompt or 0 for turn in trajectory.turns[found.own :])
    assert reported > 1_000_000
    assert laid == pytest.approx(reported, rel=0.02)
