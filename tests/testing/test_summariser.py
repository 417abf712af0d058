"""The scripted summariser answers real questions for a summary, on both wires, with items that all pass the check."""

from __future__ import annotations

import json

import pytest
from bodies import conversation
from testing.wires import post

from coldpress.engine.summary.check import checked
from coldpress.engine.summary.prompt import prompt
from coldpress.engine.summary.reply import Refused, read
from coldpress.engine.transcript import message_text
from coldpress.model.conversation import Conversation
from coldpress.model.summary import Item, Summary
from coldpress.testing import StrictUpstream, summariser
from coldpress.wire.registry import FormatName
from coldpress.wire.transcript_request import transcript_request

FILLER = "".join(f"{number:04d} nothing of note happened here\n" for number in range(600))
"""More than one block of the Messages wire."""

SAID = [
    {"role": "user", "content": "Fix the build. Never push to main."},
    {"role": "assistant", "content": "I look first."},
    {"role": "user", "content": "Never touch vendor/.\nIt is said in commit 0a1b2c3."},
    {"role": "assistant", "content": f"{FILLER}make: *** [all] Error 2"},
    {"role": "user", "content": "Never touch vendor/.\nAgain."},
    {"role": "assistant", "content": "Never mind."},
]
KEEP = summariser({"constraints": r"^Never .*", "failures": r"^make: .*", "artifacts": r"commit ([0-9a-f]{7})"})
FOUND = Summary(
    constraints=(Item("Never touch vendor/.", 3, ("Never touch vendor/.",)),),
    artifacts=(Item("0a1b2c3", 3, ("0a1b2c3",)),),
    failures=(Item("make: *** [all] Error 2", 4, ("make: *** [all] Error 2",)),),
)


def talk() -> Conversation:
    return conversation(json.dumps({"model": "m", "max_tokens": 9, "messages": SAID}).encode())


def answered(wire: FormatName, start: int, stop: int) -> str:
    """What the summariser says, asked the way coldpress asks."""
    question = prompt(talk(), start, stop, task_stop=1, most_tokens=50_000)
    body = transcript_request(
        wire,
        model="scripted-small",
        system=question.instruction,
        texts=(question.task, *question.messages),
        request=question.request,
        max_output_tokens=500,
    )
    with StrictUpstream(KEEP) as upstream:
        reply = post(upstream.url, "/v1/messages" if wire == "anthropic" else "/v1/chat/completions", body)
    assert reply.status == 200, reply.body
    said = reply.json["content"][0]["text"] if wire == "anthropic" else reply.json["choices"][0]["message"]["content"]
    assert isinstance(said, str)
    return said


@pytest.mark.parametrize("wire", ["anthropic", "openai_chat"])
def test_it_quotes_the_messages_that_go_and_no_others(wire: FormatName) -> None:
    """The task's own prohibition stays in the window, and the last message is not asked for."""
    found = read(answered(wire, 1, 5))
    assert found == FOUND
    assert checked(found, lambda number: message_text(talk(), number - 1)).dropped == 0


@pytest.mark.parametrize("wire", ["anthropic", "openai_chat"])
def test_where_it_finds_nothing_its_answer_is_no_summary(wire: FormatName) -> None:
    assert read(answered(wire, 1, 2)) == Refused("empty")


def test_what_is_no_question_for_a_summary_gets_no_items() -> None:
    with StrictUpstream(KEEP) as upstream:
        body = {"model": "m", "messages": [{"role": "user", "content": "=== m2 ===\nNever say never."}]}
        assert post(upstream.url, "/v1/chat/completions", body).json["choices"][0]["message"]["content"] == "{}"
