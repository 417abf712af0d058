"""T: what a model thought goes back byte for byte, and pressing at first sight never breaks what binds it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bodies import pressed
from cases.talk import assistant, dump, log, messages, result, use, user
from cases.through import gateway
from support import pressing

from coldpress.testing import Rules, Shell, StrictUpstream, task

BLOCKS = [
    '{"type":"thinking","thinking":"","signature":"EqQBCg=="}',
    '{ "signature" : "s\\/ig", "thinking":"caf\\u00e9 \\ud83d\\ude00 é" ,"type":"thinking" }',
    '{"type":"redacted_thinking","data":"AAAA\\u002b"}',
    '{"type":"thinking","thinking":"a\\nb","signature":"x","new_field":1.0}',
]


@pytest.mark.parametrize("block", BLOCKS)
def test_t01_thinking_keeps_its_bytes_whatever_order_and_escapes_the_client_uses(block: str) -> None:
    body = messages(
        user("go"),
        assistant("HERE", use("t1")),
        user(result("t1", log("a"))),
        assistant("HERE", use("t2")),
        user(result("t2", log("b"))),
    ).replace(b'{"type":"text","text":"HERE"}', block.encode())
    with pressing() as press:
        sent = press(body).body
    assert sent.count(block.encode()) == 2
    assert pressed(body, sent) == 1


@pytest.mark.parametrize("binds", [False, True], ids=["signed", "bound to its prefix"])
def test_t01_a_model_that_thinks_between_calls_never_finds_its_prefix_edited(binds: bool) -> None:
    script = task(Shell("one"), (Shell("two"), Shell("three")), Shell("four"), Shell("five"), thinking=True)
    said: list[Any] = [{"role": "user", "content": "go"}]
    tool = {"name": "Bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}
    changed = 0
    with StrictUpstream(script, rules=Rules(bind_thinking=binds)) as upstream, gateway(upstream.url) as gate:
        for number in range(5):
            body = dump(
                {
                    "model": "claude-sonnet-4-6",
                    "max_tokens": 100,
                    "messages": said,
                    "tools": [tool],
                    "thinking": {"type": "adaptive"},
                }
            )
            reply = gate.post("/v1/messages", body)
            assert reply.status == 200, reply.body
            changed = pressed(body, upstream.inference[-1].request.body)
            content = json.loads(reply.body)["content"]
            calls = [b for b in content if b["type"] == "tool_use"]
            if calls:
                assert content[0]["type"] == "thinking"
                answers = [result(b["id"], log(f"{number}{k}")) for k, b in enumerate(calls)]
                said += [{"role": "assistant", "content": content}, user(*answers)]
    assert changed == 5
