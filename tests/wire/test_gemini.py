"""Gemini's turns: which part is what, which call a response answers, and which strings are text."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.model.conversation import Conversation, Opaque, Text, ToolCall, ToolResult
from coldpress.wire.gemini import DEEPEST, MOST_LEAVES
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import read_address

Json = dict[str, Any]


def read(*contents: Json, **beside: Any) -> Conversation:
    body = json.dumps({"contents": list(contents), **beside}).encode()
    return Reader[None](seed=1).read(body, "gemini", None).conversation


def model(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


def user(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts)}


def call(name: str, call_id: str | None = None, **beside: Any) -> Json:
    return {"functionCall": {"name": name, "args": {}} | ({} if call_id is None else {"id": call_id}), **beside}


def gave(name: str | None, call_id: str | None = None, **beside: Any) -> Json:
    inner: Json = {"response": {"output": "r"}}
    inner |= {} if name is None else {"name": name}
    return {"functionResponse": inner | ({} if call_id is None else {"id": call_id}), **beside}


def results(conversation: Conversation) -> list[ToolResult]:
    return [block for message in conversation.messages for block in message.blocks if isinstance(block, ToolResult)]


def texts(response: Any) -> list[str]:
    """The texts of one response, in the order they stand in."""
    conversation = read(model(call("A")), user({"functionResponse": {"name": "A", "response": response}}))
    return [conversation.text(literal) for literal in results(conversation)[0].texts]


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        pytest.param([model(call("A")), user(gave("A"))], [0], id="one call without an id"),
        pytest.param([model(call("A"), call("B")), user(gave("B"), gave("A"))], [1, 0], id="by name where shuffled"),
        pytest.param([model(call("A"), call("A")), user(gave("A"), gave("A"))], [0, 1], id="by order within a name"),
        pytest.param([model(call("A", "1"), call("A", "2")), user(gave("A", "2"), gave("A", "1"))], [1, 0], id="by id"),
        pytest.param([model(call("A", "1"), call("B")), user(gave("B"), gave("A", "1"))], [1, 0], id="ids on some"),
        pytest.param([model(call("A")), user(gave("A", "made up"))], [0], id="an id that only the client made up"),
        pytest.param([model(call("A", "1")), user(gave("A"))], [0], id="an id that the client left out"),
        pytest.param([model(call("A")), {"role": "function", "parts": [gave("A")]}], [0], id="the function role"),
        pytest.param(
            [model(call("A")), user(gave("A")), model(call("A")), user(gave("A"))], [0, 1], id="a name in two turns"
        ),
        pytest.param([model(call("A"), call("B")), user(gave("A"))], [None], id="fewer answers than calls"),
        pytest.param([model(call("A")), user(gave("A"), gave("A"))], [None, None], id="more answers than calls"),
        pytest.param([model(call("A"), call("B")), user(gave("A"), gave("A"))], [None, None], id="one name too often"),
        pytest.param([model(call("A")), user(gave("B"))], [None], id="another name"),
        pytest.param([model(call("A")), user(gave(None))], [None], id="no name"),
        pytest.param([model(call("A", "1")), user(gave("A", "2"))], [None], id="another id"),
        pytest.param([model(call("A", "1"), call("A", "1")), user(gave("A", "1"))], [None], id="one id on two calls"),
        pytest.param([model(call("A", "1")), user(gave("A", "1"), gave("A", "1"))], [0, None], id="answered twice"),
        pytest.param([user(gave("A"))], [None], id="an orphan"),
        pytest.param([model(call("A")), user(gave("A")), user(gave("A"))], [0, None], id="answered again later"),
    ],
)
def test_a_response_answers_the_call(contents: list[Json], expected: list[int | None]) -> None:
    conversation = read(*contents)
    calls = [block for message in conversation.messages for block in message.blocks if isinstance(block, ToolCall)]
    found = [next((i for i, c in enumerate(calls) if c is r.call), None) for r in results(conversation)]
    assert found == expected


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        pytest.param({"text": "why", "thought": True}, "thought", id="a thought"),
        pytest.param({"text": "", "thoughtSignature": "cw=="}, "text", id="T03: a signed empty text"),
        pytest.param({"text": "said", "thought_signature": "cw=="}, "text", id="T03: a signed text, in snake case"),
        pytest.param(
            {"text": "why", "thought": True, "thoughtSignature": "cw=="}, "thought", id="T03: a signed thought"
        ),
        pytest.param({"inlineData": {"mimeType": "image/png", "data": "AA=="}}, "image", id="an image"),
        pytest.param({"inline_data": {"mime_type": "audio/wav", "data": "AA=="}}, "inlineData", id="a sound"),
        pytest.param({"file_data": {"file_uri": "gs://x"}}, "fileData", id="a file, in snake case"),
        pytest.param({"executableCode": {"language": "PYTHON", "code": "1"}}, "executableCode", id="code"),
        pytest.param({"codeExecutionResult": {"output": "1"}}, "codeExecutionResult", id="what the code gave"),
        pytest.param({"toolCall": {"toolType": "GOOGLE_SEARCH"}}, "toolCall", id="a call of a server tool"),
        pytest.param({"a_part_of_the_future": {"text": "not ours"}}, "a_part_of_the_future", id="one nobody knows"),
        pytest.param({"text": "a", "functionCall": {"name": "A"}}, "several", id="two things in one part"),
        pytest.param({"text": 7}, "text", id="a text that is a number"),
        pytest.param({}, "untyped", id="an empty part"),
    ],
)
def test_a_part_is_carried_and_never_touched(part: Json, kind: str) -> None:
    conversation = read(model(part))
    (block,) = conversation.messages[0].blocks
    assert isinstance(block, Opaque)
    assert block.kind == kind
    assert block.span is not None
    assert json.loads(conversation.body[block.span.start : block.span.end]) == part


def test_a_text_that_says_it_is_no_thought_is_a_text() -> None:
    (block,) = read(model({"text": "said", "thought": False})).messages[0].blocks
    assert isinstance(block, Text)


def test_a_field_in_both_spellings_makes_the_whole_turn_unreadable() -> None:
    conversation = read(
        model({"functionCall": {"name": "A", "args": {}}, "function_call": {"name": "B", "args": {}}}), user(gave("A"))
    )
    assert [m.role for m in conversation.messages] == ["assistant", "user"]
    assert conversation.messages[0].blocks == (Opaque("unreadable"),)
    assert results(conversation)[0].call is None


def test_both_spellings_of_a_call_and_its_response_are_read() -> None:
    conversation = read(
        model({"function_call": {"name": "A", "args": {"path": "x"}}, "thought_signature": "cw=="}),
        user({"function_response": {"name": "A", "response": {"output": "long"}}}),
    )
    (found,) = results(conversation)
    assert found.call is not None
    assert conversation.arguments(found.call) == '{"path": "x"}'
    assert [conversation.text(literal) for literal in found.texts] == ["long"]


def test_a_signed_call_is_still_a_call() -> None:
    conversation = read(model(call("A", thoughtSignature="cw=="), call("A")), user(gave("A"), gave("A")))
    assert all(found.call is not None for found in results(conversation))


def test_a_signed_response_shows_no_text_that_could_be_touched() -> None:
    conversation = read(model(call("A")), user(gave("A", thoughtSignature="cw==")))
    (found,) = results(conversation)
    assert found.call is not None
    assert found.texts == ()


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        pytest.param({"output": "a"}, ["a"], id="output"),
        pytest.param({"result": "a"}, ["a"], id="what automatic calling writes"),
        pytest.param({"error": "a"}, ["a"], id="an error"),
        pytest.param({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, ["a", "b"], id="MCP"),
        pytest.param({"stdout": "a", "exit_code": 0, "stderr": "b"}, ["a", "b"], id="two streams"),
        pytest.param({"output": "a", "cwd": "/x"}, ["a"], id="what stands beside the output names things"),
        pytest.param({"files": [{"path": "p", "body": "a"}]}, ["p", "a"], id="the whole object is the output"),
        pytest.param({"mimeType": "image/png", "data": "AA==", "name": "n", "id": "i", "url": "u"}, [], id="media"),
        pytest.param({"output": 1.0, "ok": True}, [], id="numbers and flags"),
        pytest.param({"result": {"inline_data": {"data": "AA=="}, "note": "a"}}, ["a"], id="media inside"),
        pytest.param({}, [], id="an empty object"),
    ],
)
def test_the_strings_that_are_text(response: Json, expected: list[str]) -> None:
    assert texts(response) == expected


def test_a_response_that_is_no_object_has_no_text() -> None:
    assert texts("bare") == []


def nested(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = {"x": value}
    return value


def test_text_is_looked_for_down_to_a_bound() -> None:
    assert texts(nested(DEEPEST)) == ["deep"]
    assert texts(nested(DEEPEST + 1)) == []


def test_so_many_strings_are_text_and_no_more() -> None:
    assert len(texts({"output": ["x"] * (MOST_LEAVES + 5)})) == MOST_LEAVES


def shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key], chance) for key in keys}
    return [shuffled(one, chance) for one in value] if isinstance(value, list) else value


LEAVES = st.recursive(
    st.text(max_size=8) | st.text("xyz", min_size=1, max_size=8) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcdo", max_size=4), inner, max_size=4),
    max_leaves=12,
)
RESPONSES = st.dictionaries(st.sampled_from(["output", "content", "error", "b", "c"]), LEAVES, min_size=2)


@given(response=RESPONSES, seed=st.integers(0, 999))
def test_the_number_of_a_text_does_not_depend_on_the_order_of_keys(response: Json, seed: int) -> None:
    """A decision is kept by the message's digest and this number, and the digest is the same for any order."""

    def numbered(value: Json) -> tuple[bytes, dict[int, str]]:
        conversation = read(model(call("A")), user({"functionResponse": {"name": "A", "response": value}}))
        (found,) = results(conversation)
        numbers = {literal.part: conversation.text(literal) for literal in found.texts}
        assert len(numbers) == len(found.texts), "each number is one text's"
        assert [literal.span.start for literal in found.texts] == sorted(t.span.start for t in found.texts)
        return conversation.messages[1].chain, numbers

    assert numbered(response) == numbered(shuffled(response, random.Random(seed)))


@pytest.mark.parametrize(
    ("response", "failed"),
    [
        pytest.param({"output": "fine"}, False, id="output"),
        pytest.param({"error": "no such file"}, True, id="an error"),
        pytest.param({"error": {"code": 5}}, True, id="an error object"),
        pytest.param({"output": "x", "error": None}, False, id="no error"),
        pytest.param({"output": "x", "error": ""}, False, id="an empty error"),
        pytest.param({"output": "x", "exit_code": 1}, True, id="an exit code"),
        pytest.param({"output": "x", "exitCode": 0}, False, id="the exit code of success"),
        pytest.param({"output": "x", "isError": True}, True, id="MCP's flag"),
        pytest.param({"status": "failed"}, True, id="a status"),
        pytest.param({"success": False}, True, id="no success"),
        pytest.param({"items": [{"error": "x", "status": "failed"}]}, False, id="data that tells of failures"),
        pytest.param("bare", None, id="no object"),
    ],
)
def test_what_says_that_a_call_failed(response: Any, failed: bool | None) -> None:
    conversation = read(model(call("A")), user({"functionResponse": {"name": "A", "response": response}}))
    assert results(conversation)[0].failed is failed


def test_media_beside_a_response_is_no_text() -> None:
    media = [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}, {"fileData": {"fileUri": "gs://x"}}, 7]
    part = {"functionResponse": {"name": "A", "response": {"output": "r"}, "parts": media}}
    (found,) = results(read(model(call("A")), user(part)))
    assert [other.kind for other in found.others] == ["image", "media", "media"]
    assert len(found.texts) == 1


def test_a_request_in_the_envelope_of_code_assist_is_read_like_a_bare_one() -> None:
    inner = {"contents": [model(call("A")), user(gave("A"))], "systemInstruction": {"parts": [{"text": "s"}]}}
    envelope = {"model": "gemini-x", "project": "p", "user_prompt_id": "u", "request": {**inner, "session_id": "s1"}}
    enclosed = Reader[None](seed=1).read(json.dumps(envelope).encode(), "gemini", None).conversation
    address = read_address("/v1beta/models/gemini-x:generateContent")
    bare = Reader[None](seed=1).read(json.dumps(inner).encode(), "gemini", None, address).conversation
    assert enclosed.messages == bare.messages
    assert enclosed.head.model == bare.head.model == "gemini-x"
    assert enclosed.head.identity == bare.head.identity
    assert enclosed.head.harness_session == "s1"


@pytest.mark.parametrize("key", ["cachedContent", "cached_content"])
@pytest.mark.parametrize("enclosed", [False, True], ids=["bare", "enclosed"])
def test_a_request_that_builds_on_a_stored_cache_is_stateful(key: str, enclosed: bool) -> None:
    inner = {key: "cachedContents/1", "contents": [user({"text": "go"})]}
    body = json.dumps({"request": inner} if enclosed else inner).encode()
    assert Reader[None](seed=1).read(body, "gemini", None).conversation.head.stateful
