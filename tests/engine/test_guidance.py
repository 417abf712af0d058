"""What a call was made for: told, or inferred from what stands in front of it and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bodies import conversation
from hypothesis import given
from hypothesis import strategies as st
from strategies import LINE, STEPS, Style, anthropic_request
from strategies import write as write_json

from coldpress.engine.guidance import MAX_BYTES, Guidance, guidance, head, tail
from coldpress.model.conversation import Conversation, ToolCall

PLAIN = Style(seed=0, spaced=False, ascii_only=False, lone_surrogates=False)
GREP = {"pattern": "retry_limit|MAX_TRIES", "path": "src/net"}


def read(messages: list[dict[str, Any]]) -> Conversation:
    return conversation(write_json(anthropic_request(messages), PLAIN))


def use(given_arguments: dict[str, Any], name: str = "Grep", number: int = 1) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"t{number}", "name": name, "input": given_arguments}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def user(*texts: str) -> dict[str, Any]:
    return {"role": "user", "content": [said(text) for text in texts]}


def reply(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def last_call(found: Conversation) -> tuple[int, ToolCall]:
    places = [(i, b) for i, m in enumerate(found.messages) for b in m.blocks if isinstance(b, ToolCall)]
    return places[-1]


def inferred(*messages: dict[str, Any], captured: str | None = None) -> Guidance:
    found = read(list(messages))
    index, call = last_call(found)
    return guidance(found, index, call, captured=captured)


def test_a_captured_reason_stands_alone_on_one_line() -> None:
    told = inferred(user("Fix it"), reply(said("hm"), use(GREP)), captured="  find the\n retry  limit ")
    assert told == Guidance("find the retry limit", "captured")


def test_a_blank_reason_is_none() -> None:
    assert inferred(user("Fix it"), reply(use(GREP)), captured=" \n").source == "inferred"


def test_a_reason_of_the_tools_own_comes_first() -> None:
    call = use({"command": "cargo test -p net", "description": "Run the net tests"}, "Bash")
    found = inferred(user("Fix the timeouts"), reply(said("Now the tests."), call))
    assert found == Guidance("Run the net tests; cargo test -p net; Now the tests.; Fix the timeouts", "native")


def test_a_pattern_is_written_as_its_quoted_literal_pieces() -> None:
    pattern = r"fn (retry|back_off)\(.*\blimit\.max"
    found = inferred(user("Fix it"), reply(use({"path": "src/net", "pattern": pattern})))
    assert found.text == '"fn" "retry" "back_off" "limit.max" src/net; Fix it'


@pytest.mark.parametrize(
    ("messages", "present", "absent"),
    [
        pytest.param(
            [user("Old request"), reply(said("Done.")), user("New request"), reply(use(GREP))],
            ["New request"],
            ["Old request", "Done."],
            id="the last request counts, and prose of the reply alone",
        ),
        pytest.param(
            [user("Ask"), reply(said("First I look.")), reply(said("At the limits.")), reply(use(GREP))],
            ["First I look. At the limits."],
            [],
            id="a reply in several messages is one",
        ),
        pytest.param(
            [user("Ask"), reply(said("Before."), use(GREP), said("Behind."))],
            ["Before."],
            ["Behind."],
            id="prose behind the call plays no part",
        ),
        pytest.param(
            [user("Ask"), reply(said("A."), use({"pattern": "other_name"}, number=7), said("B."), use(GREP))],
            ["A. B.", '"retry_limit" "MAX_TRIES"'],
            ["other_name"],
            id="arguments of a parallel call play no part",
        ),
        pytest.param(
            [
                user("Find the limit"),
                reply(use({"pattern": "x_y"}, number=7)),
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "t7", "content": "result_text"},
                        said("<system-reminder>Be brief.</system-reminder>"),
                    ],
                },
                reply(use(GREP)),
            ],
            ["Find the limit"],
            ["brief", "result_text"],
            id="what a harness puts in and what results hold is nobody's request",
        ),
        pytest.param(
            [
                user("<system-reminder>Dates.</system-reminder>", "Find it<system-reminder>x</system-reminder> now"),
                reply(use(GREP)),
            ],
            ["Find it now"],
            ["Dates", "reminder"],
            id="a reminder inside a request is taken out",
        ),
    ],
)
def test_what_counts(messages: list[dict[str, Any]], present: list[str], absent: list[str]) -> None:
    text = inferred(*messages).text
    assert [part for part in present if part not in text] == []
    assert [part for part in absent if part in text] == []


def test_nothing_known_is_none() -> None:
    assert inferred(reply(use({}))) == Guidance("", "none")


def test_a_request_without_a_call_in_its_place_is_an_error() -> None:
    found = read([user("Ask"), reply(use(GREP))])
    with pytest.raises(IndexError, match="message 9 of 2"):
        guidance(found, 9, last_call(found)[1], captured=None)


def test_arguments_that_are_no_object_say_nothing() -> None:
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Ask"},
            {
                "role": "assistant",
                "content": "Look.",
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{oops"}}],
            },
        ],
    }
    found = conversation(json.dumps(body).encode(), "openai_chat")
    index, call = last_call(found)
    assert guidance(found, index, call, captured=None) == Guidance("Look.; Ask", "inferred")


LONG = st.text(alphabet="ab é日🙂\n\t\x00", max_size=3000)


@given(LONG, LONG, LONG, LONG)
def test_it_is_bounded_and_on_one_line(request: str, prose: str, pattern: str, told: str) -> None:
    messages = [user(request or "x"), reply(said(prose or "x"), use({"pattern": pattern, "other": told}))]
    for captured in (None, told):
        text = inferred(*messages, captured=captured).text
        assert len(text.encode()) <= MAX_BYTES
        assert text == " ".join(text.split())
        assert text.isprintable()


@given(LONG, st.integers(1, 200))
def test_both_cuts_stay_within_their_bytes_and_are_pieces(text: str, most: int) -> None:
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * most]).split())
    assert line.startswith(head(text, most)) and len(head(text, most).encode()) <= most
    line = " ".join("".join(c if c.isprintable() else " " for c in text[-4 * most :]).split())
    assert line.endswith(tail(text, most)) and len(tail(text, most).encode()) <= most


@given(st.lists(STEPS, min_size=1, max_size=4), st.lists(st.sampled_from(["user", "call", "said"]), max_size=4), LINE)
def test_later_messages_change_nothing(steps: list[Any], later: list[str], text: str) -> None:
    messages = [user("Do it")]
    for number, step in enumerate(steps):
        calls = [use({"pattern": c[1]}, c[0], 10 * number + i) for i, c in enumerate(step.calls)]
        messages.append(reply(said(step.prose or "x"), *calls))
        messages.append(user(step.prose or "y"))
    behind = {
        "user": user(text or "z"),
        "call": reply(use({"pattern": text}, number=999)),
        "said": reply(said(text or "z")),
    }
    short, long = read(messages), read([*messages, *(behind[kind] for kind in later)])
    for index, message in enumerate(short.messages):
        for block in message.blocks:
            if isinstance(block, ToolCall):
                before = guidance(short, index, block, captured=None)
                assert guidance(long, index, block, captured=None) == before
