"""A file's kind is told by what it holds, and each kind is read by its own importer."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest

from coldpress.lab.importers.any import KINDS, Kind, kind_of, read_file
from coldpress.model.errors import RecordingError
from coldpress.stores.sqlite import SqliteStore

from .accounts import refused, unaccounted

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


CODEX = [
    {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "x"}},
    {
        "timestamp": "2026-01-01T00:00:01Z",
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    },
    {
        "timestamp": "2026-01-01T00:00:02Z",
        "type": "response_item",
        "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "yes"}]},
    },
]
OPENHANDS_EVENTS = [
    {"id": 0, "source": "user", "action": "message", "args": {"content": "hi"}},
    {"id": 1, "source": "agent", "action": "message", "args": {"content": "yes"}},
]
OPENHANDS = {"instance_id": "h", "history": OPENHANDS_EVENTS, "metrics": {}}
SWE_AGENT = {
    "environment": "e",
    "history": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes", "action": ""}],
    "trajectory": [{"action": "", "observation": "", "response": "yes"}],
    "info": {},
}
CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]
TAU = {"task_id": 4, "trial": 1, "traj": CHAT, "reward": 0.0}
BODY = {"model": "m", "messages": [*CHAT, {"role": "user", "content": "more"}]}
ASKED = json.dumps({"model": "m", "messages": CHAT[:1], "metadata": {"user_id": '{"session_id": "w"}'}})
ANSWER = json.dumps({"type": "message", "content": [{"type": "text", "text": "yes"}]})
EVENTS = [
    {"request_id": "r", "at": 1.0, "direction": "request", "headers": [], "body": ASKED},
    {"request_id": "r", "at": 2.0, "direction": "reply", "headers": [], "body": ANSWER},
]


def a_store(path: Path) -> None:
    """Write a store with one request and its reply in its raw log."""
    with SqliteStore(path, raw_log=True) as store:
        for event in EVENTS:
            direction = "request" if event["direction"] == "request" else "reply"
            store.log_event("r", float(str(event["at"])), direction, (), str(event["body"]).encode())
        store.flush()


def lines(objects: list[dict[str, object]]) -> str:
    return "\n".join(json.dumps(found) for found in objects)


@pytest.mark.parametrize(
    ("text", "kind", "session"),
    [
        pytest.param(lines(CLAUDE_CODE), "claude-code", "c", id="a Claude Code session that begins with a summary"),
        pytest.param(lines(PI), "pi", "p", id="a pi session"),
        pytest.param(lines(OMP), "pi", "p", id="an OMP session, with its title above the header"),
        pytest.param(lines(CODEX), "codex", "x", id="a Codex rollout"),
        pytest.param(json.dumps(OPENHANDS), "openhands", "h", id="an OpenHands record"),
        pytest.param(json.dumps(OPENHANDS, indent=2), "openhands", "h", id="an OpenHands record, laid out"),
        pytest.param(json.dumps(OPENHANDS_EVENTS), "openhands", "run", id="a list of OpenHands' events"),
        pytest.param(lines(OPENHANDS_EVENTS), "openhands", "run", id="OpenHands' events, one a line"),
        pytest.param(json.dumps(SWE_AGENT), "swe-agent", "run.data", id="a SWE-agent trajectory"),
        pytest.param(json.dumps(SWE_AGENT, indent=2), "swe-agent", "run.data", id="a SWE-agent trajectory, laid out"),
        pytest.param(json.dumps(MINI_SWE_AGENT, indent=2), "mini-swe-agent", "m", id="a mini-swe-agent trajectory"),
        pytest.param(json.dumps(TAU), "tau-bench", "task-4-trial-1", id="a result of tau-bench"),
        pytest.param(json.dumps([TAU], indent=1), "tau-bench", "task-4-trial-1", id="a list of tau-bench's results"),
        pytest.param(json.dumps(CHAT), "chat", "run.data", id="a list of messages"),
        pytest.param(json.dumps(CHAT, indent=2), "chat", "run.data", id="a list of messages, laid out"),
        pytest.param(lines(CHAT), "chat", "run.data", id="messages, one a line"),
        pytest.param(json.dumps({"messages": CHAT}), "chat", "run.data", id="an object with messages"),
        pytest.param(json.dumps(BODY), "chat", "run.data", id="the body of a request"),
        pytest.param("not JSON\n" + json.dumps(BODY), "chat", "run.data", id="behind a damaged line"),
        pytest.param("\ufeff" + lines(CODEX), "codex", "x", id="behind a byte order mark"),
        pytest.param("\ufeff" + lines(PI), "pi", "p", id="whose first line says what it is, behind such a mark"),
        pytest.param("\ufeff" + json.dumps(TAU), "tau-bench", "task-4-trial-1", id="a document behind such a mark"),
        pytest.param(lines(EVENTS), "raw-log", "w", id="an export of the raw log"),
        pytest.param(json.dumps(COLDPRESS), "coldpress", "o", id="a recording of our own"),
    ],
)
def test_each_kind_is_told_and_read(tmp_path: Path, text: str, kind: Kind, session: str) -> None:
    path = tmp_path / "run.data"
    path.write_text(text, encoding="utf-8")
    found = read_file(path)
    (run,) = found.trajectories
    assert (kind_of(path), run.session.removesuffix(".data"), run.requests) == (kind, session.removesuffix(".data"), 1)
    assert ["hi" in run.turns[0].added[0], "yes" in run.turns[0].reply] == [True, True]
    assert (refused(found), unaccounted(found)) == ([], [])


def test_a_store_is_told_and_read_closed_or_in_use(tmp_path: Path) -> None:
    path = tmp_path / "run.data"
    a_store(path)
    with SqliteStore(path):
        found = read_file(path)
        assert kind_of(path) == "store"
    assert found == read_file(path)
    assert [one.session for one in found.trajectories] == ["w"]


def test_every_kind_is_tried_here() -> None:
    marks = test_each_kind_is_told_and_read.pytestmark  # type: ignore[attr-defined]
    assert {row.values[1] for row in marks[0].args[1]} | {"store"} == set(KINDS)


def test_a_recording_of_our_own_keeps_its_head(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(COLDPRESS), encoding="utf-8")
    head = read_file(path).head
    assert head is not None
    assert head.system == "be short"


def archive() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as made:
        made.writestr("run.jsonl", lines(CODEX))
    return held.getvalue()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        pytest.param(b"", "it is empty", id="an empty file"),
        pytest.param(b"\n \n", "it is no JSON", id="blank lines"),
        pytest.param(b"hello\n", "it is no JSON", id="text"),
        pytest.param(b"task,reward\n1,0.5\n", "it is no JSON", id="a CSV table"),
        pytest.param(b"null", "JSON that is no object", id="null"),
        pytest.param(b"17\n18\n", "JSON that is no object", id="numbers"),
        pytest.param(b"{}", "a JSON object without keys", id="an object without keys"),
        pytest.param(b'{"messages": []}', "a JSON object with the keys 'messages'", id="no messages"),
        pytest.param(
            b'{"a": 1}\n{"b": 2}', "it begins with a JSON object with the keys 'a'", id="lines of another kind"
        ),
        pytest.param(b'{"type": "gemini", "sessionId": "g"}', "'type', 'sessionId'", id="another program's line"),
        pytest.param(b"[1, 2]", "a JSON list that holds no messages", id="a list"),
        pytest.param(b"<!DOCTYPE html>\n<html><body>Sign in</body></html>", "an HTML page", id="a page"),
        pytest.param(b"\n  <html lang=en>", "an HTML page", id="a page behind blanks"),
        pytest.param(POINTER, "git lfs pull", id="a pointer of Git LFS"),
        pytest.param(archive(), "a ZIP archive", id="a ZIP archive"),
        pytest.param(gzip.compress(lines(CODEX).encode()), "compressed with gzip", id="compressed"),
        pytest.param(lines(CODEX).encode("utf-16"), "UTF-16", id="UTF-16 with its mark"),
        pytest.param(lines(CODEX).encode("utf-16-le"), "UTF-16", id="UTF-16 without its mark"),
        pytest.param(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\xff\xfe" * 90, "no text", id="a program"),
        pytest.param(b"PAR1\x15\x04", "a Parquet file", id="a Parquet file"),
        pytest.param(b"[" * 100_000, "it is no JSON", id="nested too deep"),
        pytest.param(b'{"a": ' + b"9" * 5000 + b"}", "it is no JSON", id="a number of too many digits"),
        pytest.param(b'{"messages": [{"role": "user", "content": "h', "it is no JSON", id="a file cut short"),
    ],
)
def test_anything_else_is_refused_with_what_it_is_and_the_kinds_there_are(
    tmp_path: Path, raw: bytes, words: str
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(raw)
    with pytest.raises(RecordingError) as refusal:
        read_file(path)
    assert words in str(refusal.value)
    assert str(refusal.value).startswith(f"{path}: ")
    assert all(words in str(refusal.value) for words in KINDS.values())
    assert path.read_bytes() == raw


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(lines(CLAUDE_CODE), id="claude-code"),
        pytest.param(lines(PI), id="pi"),
        pytest.param(lines(CODEX), id="codex"),
        pytest.param(json.dumps(OPENHANDS), id="openhands"),
        pytest.param(json.dumps(SWE_AGENT), id="swe-agent"),
        pytest.param(json.dumps(MINI_SWE_AGENT), id="mini-swe-agent"),
        pytest.param(json.dumps(TAU), id="tau-bench"),
        pytest.param(lines(CHAT), id="chat"),
        pytest.param(lines(EVENTS), id="raw-log"),
        pytest.param(json.dumps(COLDPRESS), id="coldpress"),
    ],
)
def test_a_file_cut_or_damaged_anywhere_is_read_or_refused_and_nothing_else(tmp_path: Path, text: str) -> None:
    """A recording is often copied while it is written, or cut by a full disk."""
    path, raw = tmp_path / "run.data", text.encode()
    for at in range(0, len(raw), 7):
        for damaged in (raw[:at], raw[:at] + b"\xff" + raw[at:], raw[:at] + b'"' + raw[at:], raw[at:]):
            path.write_bytes(damaged)
            try:
                found = read_file(path)
            except RecordingError:
                continue
            assert (refused(found), unaccounted(found)) == ([], [])


def test_a_folder_and_a_missing_file_are_errors_of_the_system(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(OSError, match=str(path)):
            read_file(path)


DEV = {
    "claude-code": "claude-code", "claude-code-long": "claude-code", "pi": "pi", "mini-swe-agent": "mini-swe-agent",
    "swe-agent": "swe-agent", "openhands": "openhands", "tau-bench": "tau-bench", "codex": "codex",
}  # fmt: skip


@pytest.mark.parametrize("folder", DEV)
def test_real_files_are_told_apart_and_all_in_them_is_accounted_for(shared: Path, folder: str) -> None:
    for path in sorted((shared / "trajectories" / "dev" / folder).iterdir()):
        assert kind_of(path) == DEV[folder]
        found = read_file(path)
        assert unaccounted(found) == []
        assert any(one.requests for one in found.trajectories)
        if path.suffix == ".jsonl":
            pieces = [piece for line in path.read_text(encoding="utf-8").splitlines() for piece in pieces_of(line)]
            assert found.counts.pieces == len(pieces)


def pieces_of(line: str) -> list[object]:
    """Count the JSON values of a line; one file has a line with two."""
    found, decoder, line = list[object](), json.JSONDecoder(), line.strip()
    while line:
        value, end = decoder.raw_decode(line)
        found.append(value)
        line = line[end:].strip()
    return found
