"""T for calls that go back as the model wrote them: what it thought, signed or sealed beside them keeps every byte."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from bodies import conversation
from cases.talk import Json, assistant, chat, chat_calls, chat_result, dump, log, messages, result, use, user
from cases.test_thinking import BLOCKS
from cases.through import gateway
from promises.test_intent import asking, replied
from support import Press, failed_quietly, pressing

from coldpress.drive import Prepared
from coldpress.model.conversation import ToolCall
from coldpress.testing import Call, Rules, Script, StrictUpstream, Think, Turn
from coldpress.wire.registry import FormatName

GREP = '{ "intent" : "find the budget", "pattern":"caf\\u00e9  budget", "n":1.0 }'
BASH = '{"command":"make","intent":"see whether it builds"}'
WRITTEN = (("c1", "Grep", GREP), ("c2", "Bash", BASH))


def parts(body: bytes, name: FormatName) -> tuple[list[bytes], list[bytes]]:
    """A body cut at its tools and at the arguments of its calls: what lies between them, and these."""
    found = conversation(body, name)
    calls = (block for message in found.messages for block in message.blocks if isinstance(block, ToolCall))
    spans = [found.tools, *(call.arguments for call in calls)]
    cuts = sorted((span.start, span.end) for span in spans if span is not None)
    ends = [0, *(end for _, end in cuts)]
    between = [body[end:start] for end, start in zip(ends, [start for start, _ in cuts] + [len(body)], strict=True)]
    return between, [body[start:end] for start, end in cuts]


def played(press: Press, first: bytes, name: FormatName) -> list[str]:
    """Let both calls pass to the client on its first request; gives the arguments that it gets."""
    prepared = press(first, name)
    filters = [(prepared.calls.filter_of(tool, call), text) for call, tool, text in WRITTEN] if prepared.calls else []
    got = [through.feed(text) + through.end() for through, text in filters if through is not None]
    if prepared.calls is not None:
        prepared.calls.taken()
    assert len(got) == len(WRITTEN)
    assert not any("intent" in text for text in got)
    return got


def is_restored(body: bytes, sent: bytes, name: FormatName) -> None:
    """Nothing differs but the tools and the arguments of calls, and these are as the model wrote them."""
    (mine, _), (theirs, cut) = parts(body, name), parts(sent, name)
    assert theirs == mine
    found = [literal for literal in cut if b"pattern" in literal and b"properties" not in literal]
    found += [literal for literal in cut if b"command" in literal and b"properties" not in literal]
    texts = [json.loads(literal) if name == "openai_chat" else literal.decode() for literal in found]
    assert texts == [GREP, BASH]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("order", list(permutations((0, 1))), ids=["in order", "shuffled"])
def test_t01_thinking_keeps_its_bytes_beside_calls_that_are_put_back(block: str, order: tuple[int, int]) -> None:
    tools = ("Grep", "Bash")
    with pressing(asking()) as press:
        got = played(press, messages(user("go"), tools=tools), "anthropic")
        calls = [use(call, tool, **json.loads(text)) for (call, tool, _), text in zip(WRITTEN, got, strict=True)]
        results = [result(call, log(call, 12)) for call, _, _ in WRITTEN]
        said = [user("go"), assistant("HERE", "I look.", "HERE", *calls), user(*(results[at] for at in order))]
        body = messages(*said, tools=tools).replace(b'{"type":"text","text":"HERE"}', block.encode())
        prepared = press(body)
    assert not failed_quietly(prepared)
    assert prepared.body.count(block.encode()) == 2
    is_restored(body, prepared.body, "anthropic")


SEALED: list[Json] = [
    {"reasoning_content": "I think of café  \u2028 and so on."},
    {"reasoning_content": ""},
    {"reasoning": "Hm.", "reasoning_details": [{"type": "reasoning.encrypted", "data": "AA+/=", "index": 0}]},
    {"thinking_blocks": [{"type": "thinking", "thinking": "x", "signature": "s/ig+"}]},
    {"reasoning_opaque": "b64=="},
]


@pytest.mark.parametrize("sealed", SEALED, ids=lambda sealed: next(iter(sealed)))
@pytest.mark.parametrize("order", list(permutations((0, 1))), ids=["in order", "shuffled"])
@pytest.mark.parametrize("model", ["deepseek-v4-pro", "gpt-5-mini", "kimi-k2-thinking"])
def test_t01_reasoning_of_a_chat_keeps_its_bytes_beside_calls_that_are_put_back(
    sealed: Json, order: tuple[int, int], model: str
) -> None:
    top: Any = {"tools": ("Grep", "Bash"), "model": model}
    first = {"role": "user", "content": "go"}
    with pressing(asking()) as press:
        got = played(press, chat(first, **top), "openai_chat")
        called = chat_calls(*((call, tool, {}) for call, tool, _ in WRITTEN))
        for call, text in zip(called["tool_calls"], got, strict=True):
            call["function"]["arguments"] = json.dumps(json.loads(text), indent=1)
        results = [chat_result(call, log(call, 12)) for call, _, _ in WRITTEN]
        body = chat(first, {**sealed, **called}, *(results[at] for at in order), **top)
        prepared = press(body, "openai_chat")
    assert not failed_quietly(prepared)
    is_restored(body, prepared.body, "openai_chat")


def signed(model: str) -> tuple[bytes, bytes]:
    """Two requests of a chat whose provider signs calls."""
    first = {"role": "user", "content": "go"}
    called = chat_calls(("c1", "Grep", {"pattern": "x"}))
    called["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "Q+/="}}
    top: Any = {"tools": ("Grep",), "model": model}
    return chat(first, **top), chat(first, called, chat_result("c1", log("a", 12)), **top)


@pytest.mark.parametrize("model", ["gemini-3-pro", "google/gemini-2.5-flash", "models/gemini-3.5-pro-preview"])
def test_t03_a_model_that_signs_its_calls_is_not_asked_for_more_than_the_client_asks(model: str) -> None:
    """A call that nobody finds again would go back with the signature of other arguments."""
    with pressing(asking()) as press:
        sent = [press(body, "openai_chat") for body in signed(model)]
    assert [prepared.body for prepared in sent] == list(signed(model))
    assert [prepared.calls for prepared in sent] == [None, None]


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-6", "gpt-5.6"])
def test_t01_a_model_that_binds_its_reasoning_gets_tools_and_calls_as_they_came(model: str) -> None:
    body = messages(user("go"), assistant(use("c1", "Grep", pattern="x")), user(result("c1", "y")), model=model)
    with pressing(asking("schema_translator", "intent")) as press:
        prepared = press(body)
    assert prepared.body is body
    assert prepared.calls is None


CLEARING: Json = {
    "edits": [
        {"type": "clear_thinking_20251015", "keep": "all"},
        {"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 90_000}},
    ]
}


@pytest.mark.parametrize("clears", [True, False])
@pytest.mark.parametrize("thinks", [True, False])
def test_t05_what_a_client_wants_cleared_passes_untouched_and_nothing_is_asked_for_it(
    clears: bool, thinks: bool
) -> None:
    top: Json = ({"context_management": CLEARING} if clears else {}) | (
        {"thinking": {"type": "adaptive"}} if thinks else {}
    )
    body = messages(user("go"), assistant(use("t1")), user(result("t1", log("a", 12))), **top)
    with pressing(asking()) as press:
        sent = press(body).body
    (mine, _), (theirs, _) = parts(body, "anthropic"), parts(sent, "anthropic")
    assert theirs == mine
    assert sent != body, "the tools were changed"
    assert json.loads(sent).keys() == json.loads(body).keys()


@pytest.mark.parametrize(
    ("name", "top"),
    [
        ("anthropic", {"thread": {"type": "continue", "id": "th_1"}}),
        ("anthropic", {"previous_response_id": "msg_1"}),
        ("openai_chat", {"previous_response_id": "resp_1"}),
    ],
)
def test_t07_where_the_provider_holds_the_history_nothing_is_changed(name: FormatName, top: Json) -> None:
    write: Any = messages if name == "anthropic" else chat
    first = user("go") if name == "anthropic" else {"role": "user", "content": "go"}
    body = write(first, **top)
    with pressing(asking("schema_translator", "intent")) as press:
        prepared = press(body, name)
        got = replied(press, prepared, "c1", "Grep", GREP)
    assert prepared.body is body
    assert prepared.calls is None
    assert "pass_through:stateful" in prepared.receipt.notes
    assert got == GREP


def test_t07_sealed_items_stay_in_their_place_between_calls_that_are_put_back() -> None:
    sealed = {"type": "compaction", "encrypted_content": "gAAA+/=", "id": "cmp_1"}
    with pressing(asking()) as press:
        got = played(press, messages(user("go"), tools=("Grep", "Bash")), "anthropic")
        calls = [use(call, tool, **json.loads(text)) for (call, tool, _), text in zip(WRITTEN, got, strict=True)]
        said = [user("go"), assistant(sealed, calls[0], sealed, calls[1], sealed)]
        said += [user(*(result(call, log(call, 12)) for call, _, _ in WRITTEN))]
        body = messages(*said, tools=("Grep", "Bash"))
        sent: Prepared = press(body)
    assert sent.body.count(dump(sealed)) == 3
    is_restored(body, sent.body, "anthropic")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_t01_an_upstream_that_checks_signatures_takes_every_request_with_the_field_on(stream: bool) -> None:
    """It checks that thinking comes back as it was signed, and calls paired, over parallel calls in any order."""
    turns = [
        Turn((Think("first"), Call("Grep", {"pattern": f"p{n}"}, "why"), Call("Bash", {"command": f"c{n}"}, "so")))
        for n in range(3)
    ]
    said: list[Any] = [user("go")]
    with (
        StrictUpstream(Script(turns=tuple(turns)), rules=Rules()) as upstream,
        gateway(upstream.url, asking()) as gate,
    ):
        for number in range(3):
            body = messages(*said, tools=("Grep", "Bash"), thinking={"type": "adaptive"}, stream=stream)
            reply = gate.post("/v1/messages", body)
            assert (reply.status, upstream.inference[-1].refusal) == (200, None), reply.body
            assert b"intent" not in reply.body
            content = blocks(reply.body) if stream else json.loads(reply.body)["content"]
            answers = [result(block["id"], log(f"{number}{block['name']}", 12)) for block in content[1:]]
            said += [{"role": "assistant", "content": content}, user(*reversed(answers))]
            last = upstream.inference[-1].request
    thoughts = [m["content"][0] for m in last.json["messages"] if m["role"] == "assistant"]
    assert thoughts == [m["content"][0] for m in said if m["role"] == "assistant"][:2]
    inputs = [block["input"] for m in last.json["messages"] if m["role"] == "assistant" for block in m["content"][1:]]
    assert [given["intent"] for given in inputs] == ["why", "so"] * 2


def blocks(stream: bytes) -> list[Json]:
    """The content of a streamed reply, put together as a client does."""
    found: dict[int, Json] = {}
    for line in stream.splitlines():
        event = json.loads(line.removeprefix(b"data: ")) if line.startswith(b"data: {") else {}
        if event.get("type") == "content_block_start":
            found[event["index"]] = {**event["content_block"], "parts": ""}
        elif event.get("type") == "content_block_delta":
            block, delta = found[event["index"]], event["delta"]
            block["parts"] += delta.get("partial_json", "")
            for key in ("thinking", "signature", "text"):
                if key in delta:
                    block[key] = block.get(key, "") + delta[key]
    for block in found.values():
        written = block.pop("parts")
        if block["type"] == "tool_use":
            block["input"] = json.loads(written or "{}")
    return [found[index] for index in sorted(found)]
