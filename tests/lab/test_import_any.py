"""A file's kind is told by what it holds, and each kind is read by its own importer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coldpress.lab.importers.any import KINDS, Kind, kind_of, read_file
from coldpress.model.errors import RecordingError

CLAUDE_CODE = [
    {"type": "summary", "summary": "s", "leafUuid": "x"},
    {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "c", "message": {"role": "user", "content": "hi"}},
    {
        "type": "assistant",
        "uuid": "a",
        "parentUuid": "u",
        "sessionId": "c",
        "message": {"id": "m", "model": "x", "content": [{"type": "text", "text": "yes"}]},
    },
]
PI = [
    {"type": "session", "version": 3, "id": "p", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"},
    {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "hi"}},
    {
        "type": "message",
        "id": "b",
        "parentId": "a",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "yes"}]},
    },
]
OMP = [{"type": "title", "v": 1, "title": "t", "pad": " "}, *PI]
MINI_SWE_AGENT = {
    "trajectory_format": "mini-swe-agent-1.1",
    "instance_id": "m",
    "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}],
}
COLDPRESS = {
    "format": "coldpress recording 1",
    "session": "o",
    "model": "x",
    "system": "be short",
    "max_tokens": 9,
    "tools": [],
    "turns": [
        {
            "sent_at": 0.0,
            "replied_at": 1.0,
            "added": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
            "reply": {"role": "assistant", "content": [{"type": "text", "text": "yes"}]},
        }
    ],
}


def lines(objects: list[dict[str, object]]) -> str:
    return "\n".join(json.dumps(found) for found in objects)


@pytest.mark.parametrize(
    ("text", "kind", "session"),
    [
        pytest.param(lines(CLAUDE_CODE), "claude-code", "c", id="a Claude Code session that begins with a summary"),
        pytest.param(lines(PI), "pi", "p", id="a pi session"),
        pytest.param(lines(OMP), "pi", "p", id="an OMP session, with its title above the header"),
        pytest.param(json.dumps(MINI_SWE_AGENT, indent=2), "mini-swe-agent", "m", id="a mini-swe-agent trajectory"),
        pytest.param(json.dumps(COLDPRESS), "coldpress", "o", id="a recording of our own"),
    ],
)
def test_each_kind_is_told_and_read(tmp_path: Path, text: str, kind: Kind, session: str) -> None:
    path = tmp_path / "run.data"
    path.write_text(text, encoding="utf-8")
    (run,) = read_file(path).trajectories
    assert (kind_of(path), run.session, run.requests) == (kind, session, 1)
    assert ["hi" in run.turns[0].added[0], "yes" in run.turns[0].reply] == [True, True]


def test_a_recording_of_our_own_keeps_its_head(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(COLDPRESS), encoding="utf-8")
    head = read_file(path).head
    assert head is not None
    assert head.system == "be short"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="an empty file"),
        pytest.param(b"hello\n", id="text"),
        pytest.param(b'{"messages": []}', id="another JSON document"),
        pytest.param(b'{"type": "session_meta", "payload": {}}\n{"type": "event_msg"}', id="another program's lines"),
        pytest.param(b'{"type": "gemini", "sessionId": "g"}', id="another program's line with a session id"),
        pytest.param(b"[1, 2]", id="a list"),
        pytest.param(b"\xff\xfe\x00", id="no text"),
    ],
)
def test_anything_else_is_refused_with_the_kinds_there_are(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(raw)
    with pytest.raises(RecordingError) as refused:
        read_file(path)
    assert str(path) in str(refused.value)
    assert all(words in str(refused.value) for words in KINDS.values())


@pytest.mark.parametrize("folder", ["claude-code", "pi", "mini-swe-agent"])
def test_real_files_are_told_apart(shared: Path, folder: str) -> None:
    paths = [path for path in (shared / "trajectories" / "dev" / folder).iterdir() if path.is_file()]
    assert {kind_of(path) for path in paths} == {folder}
