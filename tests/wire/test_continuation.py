"""An agent's request continued with a question of ours: its bytes stay, it is valid, and it reads the agent's cache."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agents_requests import MARK, anthropic, chat
from testing.wires import post

from coldpress.model.conversation import Conversation
from coldpress.testing import Rules, Say, Script, StrictUpstream, Turn
from coldpress.wire.continuation import asked_to_summarise
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName
from coldpress.wire.span import Misread

Json = dict[str, Any]
MESSAGES, CHAT = "/v1/messages", "/v1/chat/completions"
PATHS: dict[FormatName, str] = {"anthropic": MESSAGES, "openai_chat": CHAT}
ASKED = "Write the summary \u201cnow\u201d.\nOnly the summary."
FORMATS: tuple[FormatName, ...] = ("anthropic", "openai_chat")
SUMMARY = Script(closing=Turn((Say("Here is the summary."),)))


def read(body: bytes, format_name: FormatName) -> Conversation:
    return Reader[None](seed=1).read(body, format_name, None).conversation


def request(format_name: FormatName, turns: int, **more: Any) -> bytes:
    """Spaced JSON, as some clients write it: what is not ours must stay as it came."""
    made = anthropic(turns, **more) if format_name == "anthropic" else chat(turns, **more)
    return json.dumps(made, indent=1).encode()


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("left_out", [0, 2, 6])
def test_every_byte_up_to_the_cut_stays(format_name: FormatName, left_out: int) -> None:
    body = request(format_name, 6)
    conversation = read(body, format_name)
    stop = len(conversation.messages) - left_out
    made = asked_to_summarise(conversation, stop=stop, request=ASKED)
    end = conversation.messages[stop - 1].span.end
    assert made.body[:end] == body[:end]
    again = read(made.body, format_name)
    assert again.messages[:stop] == conversation.messages[:stop]
    assert len(again.messages) == stop + 1
    assert again.messages[stop].role == "user"
    assert (again.head.stream, again.head.tools, again.head.model) == (False, conversation.head.tools, made.model)
    before, after = json.loads(body), json.loads(made.body)
    for key in before.keys() - {"messages", "stream", "stream_options"}:
        assert after[key] == before[key]
    assert after.get("stream_options") is None


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("key_first", [False, True])
def test_stream_may_stand_on_either_side(format_name: FormatName, key_first: bool) -> None:
    value = json.loads(request(format_name, 2))
    ordered = {"stream": value.pop("stream"), **value} if key_first else value
    body = json.dumps(ordered).encode()
    conversation = read(body, format_name)
    made = asked_to_summarise(conversation, stop=len(conversation.messages), request=ASKED)
    got = json.loads(made.body)
    assert got["stream"] is False
    assert list(got) == list(ordered)
    assert got["messages"][:-1] == ordered["messages"]


def test_a_request_that_is_no_stream_changes_in_its_messages_only() -> None:
    value = json.loads(request("openai_chat", 2))
    del value["stream"], value["stream_options"]
    body = json.dumps(value).encode()
    conversation = read(body, "openai_chat")
    made = asked_to_summarise(conversation, stop=6, request=ASKED).body
    end = conversation.messages[-1].span.end
    assert (made[:end], made[-len(body) + end :]) == (body[:end], body[end:])


def test_the_last_message_of_an_openai_request_is_the_plain_text() -> None:
    conversation = read(request("openai_chat", 2), "openai_chat")
    made = asked_to_summarise(conversation, stop=len(conversation.messages), request=ASKED)
    assert json.loads(made.body)["messages"][-1] == {"role": "user", "content": ASKED}
    assert made.max_output_tokens is None


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        pytest.param({"max_tokens": 3000}, 3000, id="the older word"),
        pytest.param({"max_completion_tokens": 2000, "max_tokens": None}, 2000, id="the newer word"),
        pytest.param({"max_tokens": None}, None, id="no number"),
    ],
)
def test_the_agents_limit_is_told_and_kept(limits: Json, expected: int | None) -> None:
    body = request("openai_chat", 1, **limits)
    made = asked_to_summarise(read(body, "openai_chat"), stop=4, request=ASKED)
    assert made.max_output_tokens == expected
    assert {key: json.loads(made.body)[key] for key in limits} == limits


class TestMarks:
    def marks(self, body: Json, stop: int) -> tuple[int, Json]:
        conversation = read(json.dumps(body).encode(), "anthropic")
        made = asked_to_summarise(conversation, stop=stop, request=ASKED)
        (block,) = json.loads(made.body)["messages"][-1]["content"]
        return made.body.count(b'"cache_control"'), block

    def test_one_of_ours_is_added_where_there_is_room(self) -> None:
        count, block = self.marks(anthropic(3), 7)
        assert (count, block) == (3, {"type": "text", "text": ASKED, "cache_control": MARK})

    def test_none_is_added_to_four(self) -> None:
        body = anthropic(3)
        for index in (2, 4):
            body["messages"][index]["content"][0]["cache_control"] = MARK
        assert self.marks(body, 7) == (4, {"type": "text", "text": ASKED})
        # Those behind the cut go with their messages.
        assert self.marks(body, 3)[1]["cache_control"] == MARK

    def test_a_mark_of_the_whole_request_and_ours_are_one(self) -> None:
        with StrictUpstream(SUMMARY) as upstream:
            body = anthropic(3, cache_control=MARK)
            for index in (2, 4):
                body["messages"][index]["content"][0]["cache_control"] = MARK
            conversation = read(json.dumps(body).encode(), "anthropic")
            made = asked_to_summarise(conversation, stop=5, request=ASKED)
            assert post(upstream.url, MESSAGES, made.body).status == 200


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("left_out", [0, 4])
def test_the_provider_takes_it_and_reads_the_agents_cache(format_name: FormatName, left_out: int) -> None:
    """The agent has sent every shorter request before; of the last one all, or all but two turns, stays."""
    with StrictUpstream(SUMMARY, rules=Rules(window_tokens=100_000)) as upstream:
        for turns in range(1, 9):
            assert post(upstream.url, PATHS[format_name], request(format_name, turns)).status == 200
        body = request(format_name, 8)
        conversation = read(body, format_name)
        made = asked_to_summarise(conversation, stop=len(conversation.messages) - left_out, request=ASKED)
        reply = post(upstream.url, PATHS[format_name], made.body)
        assert reply.status == 200, reply.body
        usage, agents = upstream.inference[-1].usage, upstream.inference[-2].usage
    assert usage is not None and agents is not None and usage.prompt is not None
    assert usage.read
    kept = usage.prompt - 100  # what is asked, and the rest of a step
    assert usage.read > kept - 200
    assert left_out == 0 or (agents.prompt is not None and usage.prompt < agents.prompt)


def test_without_our_mark_a_cut_would_read_the_head_alone() -> None:
    """Why the mark is there: the agent's own marks stand behind the cut, and its older entries are found by none."""
    with StrictUpstream(SUMMARY) as upstream:
        for turns in range(1, 9):
            post(upstream.url, MESSAGES, request("anthropic", turns))
        conversation = read(request("anthropic", 8), "anthropic")
        made = asked_to_summarise(conversation, stop=13, request=ASKED).body
        bare = made.replace(b',"cache_control":{"type":"ephemeral"}}]}', b"}]}")
        assert bare != made
        for body in (bare, made):
            assert post(upstream.url, MESSAGES, body).status == 200
        without, with_mark = (exchange.usage for exchange in upstream.inference[-2:])
    assert without is not None and with_mark is not None
    assert (without.read or 0) < 1_000 < (with_mark.read or 0)


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_cut_between_a_call_and_its_result_is_refused(format_name: FormatName) -> None:
    conversation = read(request(format_name, 4), format_name)
    calls = [i for i, message in enumerate(conversation.messages) if message.role == "assistant"]
    for index in calls:
        with pytest.raises(ValueError, match=f"a cut behind message {index + 1} parts a call from its result"):
            asked_to_summarise(conversation, stop=index + 1, request=ASKED)
        assert asked_to_summarise(conversation, stop=index + 2, request=ASKED)


def test_of_two_calls_both_results_must_stay() -> None:
    body = chat(1)
    second = {**body["messages"][2]["tool_calls"][0], "id": "call_b"}
    body["messages"][2]["tool_calls"].append(second)
    body["messages"].append({"role": "tool", "tool_call_id": "call_b", "content": "b"})
    conversation = read(json.dumps(body).encode(), "openai_chat")
    with pytest.raises(ValueError, match="parts a call"):
        asked_to_summarise(conversation, stop=4, request=ASKED)
    assert asked_to_summarise(conversation, stop=5, request=ASKED)


def test_messages_of_the_agent_in_a_row_are_one_turn() -> None:
    """The Messages format joins them, so a call of the first is open until its result is there."""
    body = anthropic(2)
    first, results_a, second, results_b = body["messages"][1:]
    both = [body["messages"][0], first, second, results_b, results_a]
    conversation = read(json.dumps({**body, "messages": both}).encode(), "anthropic")
    with pytest.raises(ValueError, match="a cut behind message 4 parts a call from its result"):
        asked_to_summarise(conversation, stop=4, request=ASKED)
    assert asked_to_summarise(conversation, stop=5, request=ASKED)


@pytest.mark.parametrize("stop", [0, -1, 10])
def test_a_number_that_is_none_of_the_messages_is_refused(stop: int) -> None:
    conversation = read(request("anthropic", 4), "anthropic")
    with pytest.raises(ValueError, match=f"stop is {stop}; it must be 1 to 9"):
        asked_to_summarise(conversation, stop=stop, request=ASKED)


def test_an_empty_question_and_a_request_without_a_model_are_refused() -> None:
    conversation = read(request("anthropic", 1), "anthropic")
    with pytest.raises(ValueError, match="request for a summary is empty"):
        asked_to_summarise(conversation, stop=3, request=" ")
    nameless = read(request("anthropic", 1, model=7), "anthropic")
    with pytest.raises(Misread, match="names no model"):
        asked_to_summarise(nameless, stop=3, request=ASKED)


def test_a_lone_surrogate_of_the_client_stays_as_it_came() -> None:
    body = request("anthropic", 1).replace(b"Make the parser", rb"Make \ud83d the parser")
    made = asked_to_summarise(read(body, "anthropic"), stop=3, request=ASKED)
    assert rb"Make \ud83d the parser" in made.body


@pytest.mark.parametrize(
    ("format_name", "more"),
    [
        pytest.param("openai_chat", {"tool_choice": "required"}, id="some tool must be called"),
        pytest.param(
            "openai_chat", {"tool_choice": {"type": "function", "function": {"name": "bash"}}}, id="a named tool"
        ),
        pytest.param("openai_chat", {"function_call": {"name": "bash"}}, id="a named function, as it was"),
        pytest.param("anthropic", {"tool_choice": {"type": "any"}}, id="any tool"),
        pytest.param("anthropic", {"tool_choice": {"type": "tool", "name": "bash"}}, id="a named tool, Anthropic"),
        pytest.param("openai_chat", {"response_format": {"type": "json_object"}}, id="JSON"),
        pytest.param("openai_chat", {"response_format": {"type": "json_schema", "json_schema": {}}}, id="a schema"),
        pytest.param("anthropic", {"output_format": {"type": "json_schema", "schema": {}}}, id="a schema, Anthropic"),
        pytest.param("anthropic", {"output_config": {"format": {"type": "json_schema"}}}, id="a schema in a config"),
        pytest.param("openai_chat", {"n": 3}, id="several answers"),
        pytest.param("openai_chat", {"stop": "}"}, id="a stop sequence"),
        pytest.param("openai_chat", {"stop": ["}"]}, id="stop sequences"),
        pytest.param("anthropic", {"stop_sequences": ["Observation:"]}, id="stop sequences, Anthropic"),
        pytest.param("anthropic", {"max_tokens": 1_023}, id="few tokens"),
        pytest.param("openai_chat", {"max_completion_tokens": 5}, id="very few tokens"),
    ],
)
def test_a_request_that_forces_its_answer_is_not_continued(format_name: FormatName, more: Json) -> None:
    conversation = read(request(format_name, 2, **more), format_name)
    with pytest.raises(ValueError, match="no summary can be its answer"):
        asked_to_summarise(conversation, stop=len(conversation.messages), request=ASKED)


@pytest.mark.parametrize(
    ("format_name", "more"),
    [
        pytest.param(
            "openai_chat",
            {"tool_choice": "auto", "n": 1, "stop": None, "response_format": {"type": "text"}, "max_tokens": 1_024},
            id="Chat Completions",
        ),
        pytest.param(
            "anthropic",
            {"tool_choice": {"type": "auto"}, "stop_sequences": [], "output_config": {"effort": "high"}},
            id="Anthropic",
        ),
    ],
)
def test_a_request_that_says_so_and_forces_nothing_is_continued(format_name: FormatName, more: Json) -> None:
    conversation = read(request(format_name, 2, **more), format_name)
    made = asked_to_summarise(conversation, stop=len(conversation.messages), request=ASKED)
    assert {key: json.loads(made.body)[key] for key in more} == more
