"""A reply that took several steps is billed step by step, each at the price of the model that took it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire.replies import JSON, SSE, Json, message, message_stream, tap

from coldpress.model.usage import Usage
from coldpress.wire.sse import TapResult


def step(kind: str, fresh: int, output: int, *, read: int = 0, write: int = 0, model: str | None = None) -> Json:
    counts = {"input_tokens": fresh, "output_tokens": output, "cache_read_input_tokens": read}
    split = {"ephemeral_5m_input_tokens": write, "ephemeral_1h_input_tokens": 0}
    made = {"type": kind, **counts, "cache_creation_input_tokens": write, "cache_creation": split}
    return made if model is None else {**made, "model": model}


def usage(top: tuple[int, int, int, int], *steps: Json, thinking: int | None = None) -> Json:
    fresh, read, write, output = top
    told: Json = {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "output_tokens": output,
    }
    if thinking is not None:
        told["output_tokens_details"] = {"thinking_tokens": thinking}
    return {**told, "iterations": list(steps)} if steps else told


CASES = [
    pytest.param(
        usage((10, 90, 5, 7)),
        {},
        (Usage(10, 90, 5, None, 7), (), 105),
        id="no steps are listed",
    ),
    pytest.param(
        usage((10, 90, 5, 7), step("message", 10, 7, read=90, write=5)),
        {},
        (Usage(10, 90, 5, 0, 7), (), 105),
        id="one step says what the totals say, and is not counted twice",
    ),
    pytest.param(
        usage((23000, 0, 0, 1000), step("compaction", 180000, 3500), step("message", 23000, 1000)),
        {},
        (Usage(203000, 0, 0, 0, 4500), (), 23000),
        id="compaction is billed beside the totals and is not the context",
    ),
    pytest.param(
        usage((0, 0, 0, 0), step("compaction", 5000, 300, read=175000)),
        {},
        (Usage(5000, 175000, 0, 0, 300), (), None),
        id="a reply that is nothing but a compaction",
    ),
    pytest.param(
        usage(
            (1760, 412, 0, 531),
            step("message", 412, 89),
            step("advisor_message", 823, 1612, model="claude-wise"),
            step("message", 1348, 442, read=412),
        ),
        {},
        (Usage(1760, 412, 0, 0, 531), (("claude-wise", Usage(823, 0, 0, 0, 1612)),), 1760),
        id="an advisor, with totals over all steps",
    ),
    pytest.param(
        usage(
            (412, 0, 0, 531),
            step("message", 412, 89),
            step("advisor_message", 823, 1612, model="claude-wise"),
            step("advisor_message", 900, 10, model="claude-wise"),
            step("message", 1348, 442, read=412),
        ),
        {},
        (Usage(1760, 412, 0, 0, 531), (("claude-wise", Usage(1723, 0, 0, 0, 1622)),), 1760),
        id="an advisor twice, with totals that hold the first prompt only",
    ),
    pytest.param(
        usage(
            (50, 1000, 0, 60),
            step("message", 1050, 0, model="claude-asked"),
            step("message", 50, 20, read=1000, model="claude-x"),
            step("fallback_message", 70, 40, read=1000, model="claude-x"),
        ),
        {"model": "claude-x"},
        (
            Usage(0, 0, 0, None, 0),
            (("claude-asked", Usage(1050, 0, 0, 0, 0)), ("claude-x", Usage(120, 2000, 0, 0, 60))),
            1070,
        ),
        id="a fallback answers in its own name, its tool loop is billed to it, the declined attempt to whom it names",
    ),
    pytest.param(
        usage((70, 0, 0, 40), step("fallback_message", 70, 40, model="claude-x")),
        {"model": "claude-x"},
        (Usage(0, 0, 0, None, 0), (("claude-x", Usage(70, 0, 0, 0, 40)),), 70),
        id="a fallback took every step, so the asked model is owed nothing",
    ),
    pytest.param(
        usage((10, 90, 5, 7), step("message", 10, 5, read=90, write=5), thinking=4),
        {},
        (Usage(10, 90, 5, 0, 7, 4), (), 105),
        id="thinking and the last output stand in the totals alone",
    ),
    pytest.param(
        usage((10, 90, 5, 7), {"type": "message", "input_tokens": 10}),
        {},
        (Usage(10, 90, 5, None, 7), (), 105),
        id="a list that lacks a count is not billed by",
    ),
    pytest.param(
        {**usage((10, 90, 5, 7)), "iterations": "several"},
        {},
        (Usage(10, 90, 5, None, 7), (), 105),
        id="steps of another shape leave the totals",
    ),
    pytest.param(
        usage((10, 0, 0, 7), step("dreaming", 500, 20), step("message", 10, 7)),
        {},
        (Usage(510, 0, 0, 0, 27), (), 10),
        id="a kind of step that nobody knows yet is billed and is not the context",
    ),
]


@pytest.mark.parametrize(("told", "more", "expected"), CASES)
def test_bill(told: Json, more: Json, expected: tuple[Usage, Any, int | None]) -> None:
    for found in (tap("anthropic", JSON, message(told, **more)), tap("anthropic", SSE, message_stream(told, **more))):
        assert (found.usage, found.others, found.context_tokens) == expected


counts = st.integers(0, 10**6)
steps_of = st.lists(
    st.builds(
        step,
        st.sampled_from(["message", "compaction", "advisor_message"]),
        counts,
        counts,
        read=counts,
        write=counts,
        model=st.none(),
    ),
    min_size=1,
    max_size=6,
)


@given(steps=steps_of, advisors=st.lists(st.sampled_from(["claude-a", "claude-b"]), min_size=6, max_size=6))
def test_nothing_is_lost_and_nothing_is_counted_twice(steps: list[Json], advisors: list[str]) -> None:
    """The asked model's part and the others' add up to the steps, whatever the totals hold."""
    for advisor, made in zip(advisors, steps, strict=False):
        if made["type"] == "advisor_message":
            made["model"] = advisor
    found = tap("anthropic", SSE, message_stream(usage((0, 0, 0, 0), *steps)))
    billed = [found.usage, *(part for _, part in found.others)]
    assert len({model for model, _ in found.others}) == len(found.others)
    assert sum(part.prompt or 0 for part in billed) == sum(
        made["input_tokens"] + made["cache_read_input_tokens"] + made["cache_creation_input_tokens"] for made in steps
    )
    assert sum(part.output or 0 for part in billed) == sum(made["output_tokens"] for made in steps)


def _recorded(folder: Path) -> Iterator[Json]:
    """The replies of recorded sessions, each once."""
    seen = set()
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if '"usage"' not in line:
                continue
            try:
                reply = json.loads(line).get("message")
            except (ValueError, AttributeError):
                continue
            if isinstance(reply, dict) and isinstance(reply.get("usage"), dict) and reply.get("id") not in seen:
                seen.add(reply.get("id"))
                yield reply


@pytest.mark.parametrize("folder", ["claude-code", "claude-code-long"])
def test_recorded_replies_of_claude_code(shared: Path, folder: str) -> None:
    """Steps and totals of real replies agree, and the buckets are those the client wrote down."""
    replies = list(_recorded(shared / "trajectories" / "dev" / folder))
    for reply in replies:
        told = reply["usage"]
        found: TapResult = tap("anthropic", JSON, json.dumps(reply).encode())
        written = told["cache_creation_input_tokens"]
        assert (found.usage.fresh, found.usage.read) == (told["input_tokens"], told["cache_read_input_tokens"])
        assert (found.usage.write_short or 0) + (found.usage.write_long or 0) == written
        assert found.usage.output == told["output_tokens"]
        assert found.context_tokens == found.usage.prompt
        assert (found.model, found.message_id) == (reply["model"], reply["id"])
    assert len(replies) > 500


def test_recorded_replies_behind_litellm(shared: Path) -> None:
    """Captured and recorded runs of mini-swe-agent: what was read and written adds up to the prompt, money is kept."""
    paths = [
        *sorted((shared / "captures").glob("mini-swe-agent-*/out.traj.json")),
        *sorted((shared / "trajectories" / "dev" / "mini-swe-agent").glob("*.traj.json")),
    ]
    priced = 0
    for path in paths:
        for turn in json.loads(path.read_text(encoding="utf-8"))["messages"]:
            response = (turn.get("extra") or {}).get("response")
            if not isinstance(response, dict):
                continue
            told = response["usage"]
            found = tap("openai_chat", JSON, json.dumps(response).encode())
            assert found.usage.prompt == told["prompt_tokens"]
            assert found.usage.read == told["prompt_tokens_details"]["cached_tokens"]
            assert found.usage.output == told["completion_tokens"]
            assert found.reported_usd == told.get("cost")
            priced += found.reported_usd is not None
    assert len(paths) >= 2
    assert priced > 50
