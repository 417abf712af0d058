"""The bundled recording is a run that a provider takes, and holds what a demonstration has to show."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest
from lab.recording import messages_bytes, objections

from coldpress.lab.importers.recording import FORMAT, Recording, read_bytes, read_file
from coldpress.lab.rebuild import requests
from coldpress.model.errors import RecordingError

BUNDLED = files("coldpress.demo") / "recording.json"


@pytest.fixture(scope="module")
def demo() -> Recording:
    return read_bytes(BUNDLED.read_bytes(), name="demo")


def results(demo: Recording) -> dict[str, list[dict[str, object]]]:
    """Tool results by the tool that gave them."""
    tools: dict[str, str] = {}
    found: dict[str, list[dict[str, object]]] = {}
    for turn in demo.trajectory.turns:
        for block in (block for message in turn.added for block in json.loads(message)["content"]):
            if block["type"] == "tool_result":
                found.setdefault(tools[block["tool_use_id"]], []).append(block)
        tools |= {b["id"]: b["name"] for b in json.loads(turn.reply)["content"] if b["type"] == "tool_use"}
    return found


def test_every_request_of_it_is_valid_and_a_prefix_of_the_next(demo: Recording) -> None:
    bodies = list(requests(demo.trajectory, demo.head))
    assert 14 <= len(bodies) <= 20
    assert [objections(body) for body in bodies] == [[]] * len(bodies)
    assert all(messages_bytes(after).startswith(messages_bytes(before)) for before, after in pairwise(bodies))


def test_it_fits_into_the_wheel() -> None:
    assert len(BUNDLED.read_bytes()) < 400_000


def test_it_names_no_machine(demo: Recording) -> None:
    text = BUNDLED.read_text(encoding="utf-8")
    assert set(re.findall(r"rootdir: ([^\\]+)", text)) == {"/demo"}
    assert set(re.findall(r"pluggy-[\d.]+ -- ([^\\]+)", text)) == {"/usr/bin/python3"}
    assert set(re.findall(r"(?:File|file|at:) (/[\w.-]+)", text)) <= {"/demo", "/usr"}
    assert demo.trajectory.session == "demo"


def test_its_times_run_forward(demo: Recording) -> None:
    times = [time for turn in demo.trajectory.turns for time in (turn.sent_at, turn.replied_at)]
    assert times == sorted(time for time in times if time is not None)


def test_it_shows_what_a_press_is_for(demo: Recording) -> None:
    found = results(demo)
    sizes = {tool: sorted(len(str(block["content"])) for block in blocks) for tool, blocks in found.items()}
    assert set(found) == {"Bash", "Edit", "Glob", "Grep", "Read", "Write"}
    assert sizes["Bash"][-2] > 8_192, "two large logs"
    assert sizes["Grep"][-1] > 8_192, "a search with many hits"
    assert sum(block["is_error"] is True for block in found["Bash"]) == 2, "failing runs, which stay exact"
    assert all(str(block["content"]).startswith("     1\t") for block in found["Read"]), "reads with line numbers"


def test_a_file_is_read_again_after_it_was_edited(demo: Recording) -> None:
    calls = [
        (block["name"], block["input"]["file_path"])
        for turn in demo.trajectory.turns
        for block in json.loads(turn.reply)["content"]
        if block["type"] == "tool_use" and "file_path" in block["input"]
    ]
    edited = calls.index(("Edit", "src/coldpress/model/conversation.py"))
    read = ("Read", "src/coldpress/model/conversation.py")
    assert read in calls[:edited]
    assert read in calls[edited:]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        pytest.param(b"{", "truncated", id="cut off"),
        pytest.param(b'{"format": "x"}', "missing required field", id="a field is missing"),
        pytest.param(
            json.dumps(
                {"format": "x", "session": "s", "model": "m", "system": "", "max_tokens": 1, "tools": [], "turns": []}
            ).encode(),
            FORMAT,
            id="another format",
        ),
    ],
)
def test_what_is_no_recording_is_refused(raw: bytes, said: str) -> None:
    with pytest.raises(RecordingError, match=said):
        read_bytes(raw, name="broken")


def test_a_file_is_named_after_itself(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(BUNDLED.read_bytes())
    assert read_file(path).trajectory.name == "mine"
