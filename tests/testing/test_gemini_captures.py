"""Everything that gemini-cli was seen to send is accepted, bare and in the envelope, and its tools are understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from testing.wires import Json, post

from coldpress.testing import Read, Rules, Shell, StrictUpstream, task


def requests(shared: Path) -> list[Json]:
    found = [json.loads(file.read_text()) for file in sorted((shared / "captures/gemini-cli").glob("turn*.json"))]
    assert len(found) == 3
    return found


@pytest.mark.parametrize("enclosed", [False, True], ids=["bare", "in Code Assist's envelope"])
def test_every_captured_request_is_accepted(shared: Path, enclosed: bool) -> None:
    read: list[Any] = []
    with StrictUpstream(rules=Rules(check_signatures=False)) as upstream:
        for turn in requests(shared):
            body: Json | bytes = turn["raw_text"].encode()
            path = turn["path"]
            if enclosed:
                body = {"model": "gemini-2.5-flash", "project": "p", "request": turn["body"]}
                path = "/v1internal:streamGenerateContent?alt=sse"
            reply = post(upstream.url, path, body)
            assert reply.status == 200, reply.body
            assert ("response" in reply.events[-1]) is enclosed
            usage = upstream.exchanges[-1].usage
            assert usage is not None
            read.append(usage.read)
    assert read[0] == 0
    assert all(count > 2000 for count in read[1:]), "long prompts find themselves again"


def test_recorded_signatures_are_foreign(shared: Path) -> None:
    turn = requests(shared)[1]
    with StrictUpstream() as upstream:
        reply = post(upstream.url, turn["path"], turn["raw_text"].encode())
    assert "Corrupted thought signature" in reply.json["error"]["message"]


def test_an_intent_becomes_a_call_of_the_clients_own_tool(shared: Path) -> None:
    turn = requests(shared)[0]
    with StrictUpstream(task((Shell("ls"), Read("/tmp/a.py")))) as upstream:
        chunks = post(upstream.url, turn["path"], turn["raw_text"].encode()).events
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    assert [call["name"] for call in calls] == ["run_shell_command", "read_file"]
    assert calls[0]["args"]["command"] == "ls"
    assert calls[1]["args"]["file_path"] == "/tmp/a.py"
