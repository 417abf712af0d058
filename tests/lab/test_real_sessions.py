"""Every recorded Claude Code session that is at hand can be read and rebuilt into valid requests."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from lab.recording import messages_bytes, objections

from coldpress.lab.importers.claude_code import read_file
from coldpress.lab.rebuild import requests

FOLDERS = ("claude-code", "claude-code-long")
ROOT = Path(__file__).resolve().parents[3] / "shared" / "data" / "trajectories" / "dev"
SESSIONS = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.jsonl"))

pytestmark = pytest.mark.skipif(not SESSIONS, reason="needs the real recordings, which are not part of the repository")


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_requests_are_valid_and_grow(path: Path) -> None:
    for trajectory in read_file(path).trajectories:
        bodies = list(requests(trajectory))
        # The last request shows all of the conversation, so its objections are those of every one before it.
        assert objections(bodies[-1]) == []
        assert [objections(body) for body in bodies[:3]] == [[]] * len(bodies[:3])
        for (before, after), (turn, following) in zip(
            pairwise(bodies), pairwise(trajectory.turns[trajectory.shared_turns :]), strict=True
        ):
            if turn.model == following.model:
                assert messages_bytes(after).startswith(messages_bytes(before))


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_every_call_and_every_result_of_the_file_is_used_once(path: Path) -> None:
    calls, results = list[str](), list[str]()
    unanswered = set[str]()
    for trajectory in read_file(path).trajectories:
        for turn in trajectory.turns[trajectory.shared_turns :]:
            calls += ids(turn.reply, "tool_use", "id")
            results += [call for message in turn.added for call in ids(message, "tool_result", "tool_use_id")]
        unanswered.update(ids(trajectory.turns[-1].reply, "tool_use", "id"))
    assert len(calls) == len(set(calls))
    assert len(results) == len(set(results))
    assert written(path, "tool_use", "id") <= set(calls)
    assert written(path, "tool_result", "tool_use_id") - set(results) <= unanswered, "only a run's end may lack a reply"


def ids(message: str, kind: str, key: str) -> list[str]:
    return [block[key] for block in json.loads(message)["content"] if block["type"] == kind]


def written(path: Path, kind: str, key: str) -> set[str]:
    """Ids as they stand in the file's messages, found without the importer."""
    found, decoder = set[str](), json.JSONDecoder()
    for line in path.read_text(encoding="utf-8").split("\n"):
        at = 0
        while at < len(line):
            value, at = decoder.raw_decode(line, at)
            content = value.get("message", {}).get("content")
            found.update(block[key] for block in content or () if isinstance(block, dict) and block["type"] == kind)
    return found
