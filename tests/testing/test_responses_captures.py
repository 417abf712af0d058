"""Everything that real clients were seen to send on the Responses wire is accepted, and their tools are understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from testing.wires import Json, post

from coldpress.testing import Read, Rules, Script, Shell, StrictUpstream, Turn, task

CLIENTS = ("codex", "codex-chatgpt", "pi-responses", "openai-sdk-responses")


def requests(shared: Path, client: str) -> list[tuple[bytes, dict[str, str]]]:
    """The bodies a client posted, as it posted them; compressed ones were recorded decoded and are compressed again."""
    found = []
    for path in sorted((shared / "captures" / client).glob("turn*.json")):
        turn = json.loads(path.read_text())
        if turn["method"] != "POST" or turn["path"] != "/v1/responses":
            continue
        if turn["content_encoding"] is None:
            found.append((turn["raw_text"].encode(), {}))
        else:
            assert turn["content_encoding"] == "zstd"
            found.append((zstandard.compress(json.dumps(turn["body"]).encode()), {"content-encoding": "zstd"}))
    return found


@pytest.mark.parametrize("client", CLIENTS)
def test_every_captured_request_is_accepted(shared: Path, client: str) -> None:
    read = []
    with StrictUpstream(rules=Rules(check_signatures=False)) as upstream:
        captured = requests(shared, client)
        for raw, headers in captured:
            reply = post(upstream.url, "/v1/responses", raw, headers)
            assert reply.status == 200, reply.body
            assert reply.events[-1]["type"] == "response.completed"
            usage = upstream.exchanges[-1].usage
            assert usage is not None
            read.append(usage.read)
    assert len(read) >= 3
    if client.startswith("codex"):
        assert read[0] == 0
        assert all(count > 5000 for count in read[1:] if count is not None), "long prompts find themselves again"


@pytest.mark.parametrize("client", CLIENTS)
def test_recorded_reasoning_is_foreign(shared: Path, client: str) -> None:
    raw, headers = requests(shared, client)[-1]
    with StrictUpstream() as upstream:
        reply = post(upstream.url, "/v1/responses", raw, headers)
    assert reply.status == 400
    assert reply.json["error"]["code"] == "invalid_encrypted_content"


@pytest.mark.parametrize(
    ("client", "shell", "read"),
    [
        pytest.param(
            "codex",
            ("exec_command", {"cmd": "git log"}),
            ("exec_command", {"cmd": "cat a.py"}),
            id="Codex has a shell only",
        ),
        pytest.param("pi-responses", ("bash", {"command": "git log"}), ("read", {"path": "a.py"}), id="pi has both"),
    ],
)
def test_intents_become_calls_of_the_client(
    shared: Path, client: str, shell: tuple[str, Json], read: tuple[str, Json]
) -> None:
    """The last request has two turns with calls behind it, so the script's third turn is due."""
    turns = (*task(Shell("a"), Shell("b")).turns, Turn((Shell("git log"), Read("a.py"))))
    with StrictUpstream(Script(turns=turns), rules=Rules(check_signatures=False)) as upstream:
        raw, headers = requests(shared, client)[-1]
        output: list[dict[str, Any]] = post(upstream.url, "/v1/responses", raw, headers).events[-1]["response"][
            "output"
        ]
    assert [(item["name"], json.loads(item["arguments"])) for item in output] == [shell, read]
