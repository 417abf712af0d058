"""Recordings with half characters, fields of wrong types and impossible times are read, counted and measured."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.lab import cells
from coldpress.lab.arm_files import Arm, named_arms
from coldpress.lab.blocks import Block, read_blocks
from coldpress.lab.cells import measure
from coldpress.lab.importers.any import kind_of, read_file
from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.jsonvalues import HALVES, NO_TIME, read_json
from coldpress.lab.importers.sound_blocks import NO_BLOCK, NO_FIELD, sound
from coldpress.lab.jsontext import compact_json
from coldpress.lab.rebuild import requests
from coldpress.lab.results import Measured

from . import odd
from .accounts import refused, unaccounted

HALF, NESTED = r"\ud83d", r"\\ud83d"
Blocks = list[list[dict[str, object]]]


def measured(path: Path) -> Measured:
    return measure(path, [named_arms()[name] for name in ("control", "coldpress-source-5")], ("claude-opus-4-6",))


def imported(path: Path) -> Imported:
    """Read a file; what becomes of it is told, and every request that it gives is valid."""
    found = read_file(path)
    assert unaccounted(found) == []
    assert refused(found) == []
    for trajectory in found.trajectories:
        for turn in trajectory.turns:
            for message in (*turn.added, turn.reply):
                read_blocks(message)
    return found


def reasons(found: Imported) -> dict[str, int]:
    return dict(found.counts.skipped)


@pytest.mark.parametrize("half", [HALF, NESTED], ids=["in a text", "in JSON in a text"])
@pytest.mark.parametrize("kind", odd.RUNS)
def test_half_a_character_is_replaced_counted_and_measured(kind: str, half: str, tmp_path: Path) -> None:
    ends, write = odd.RUNS[kind]
    path = tmp_path / f"run{ends}"
    path.write_text(write().replace(odd.TEXT, half), encoding="utf-8")
    assert kind_of(path) == kind
    found = imported(path)
    if half == HALF or kind in ("codex", "openhands", "swe-agent", "mini-swe-agent", "chat", "raw-log"):
        assert reasons(found)[HALVES] > 0
        said = b"".join(body for one in found.trajectories for body in requests(one, found.head))
        assert "\ufffd".encode() in said
        if half == HALF:
            assert HALF.encode() not in said
    assert measured(path).skipped is None


@pytest.mark.parametrize("kind", odd.RUNS)
def test_a_whole_character_in_two_escapes_stays(kind: str, tmp_path: Path) -> None:
    ends, write = odd.RUNS[kind]
    path = tmp_path / f"run{ends}"
    path.write_text(write().replace(odd.TEXT, r"\ud83d\ude00"), encoding="utf-8")
    found = imported(path)
    assert HALVES not in reasons(found)
    assert "😀".encode() in b"".join(body for one in found.trajectories for body in requests(one, found.head))


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        pytest.param(odd.FIRST, "9999-12-31T23:59:59Z", id="the last day of all"),
        pytest.param(odd.FIRST, "0001-01-01T00:00:00+00:00", id="the first day of all"),
        pytest.param("1767225601.0", "4e15", id="microseconds"),
        pytest.param("1767225601.0", "-5", id="before 1970"),
        pytest.param("1767225601.0", "1e400", id="no number"),
    ],
)
@pytest.mark.parametrize("kind", odd.RUNS)
def test_a_time_that_cannot_be_is_unknown_and_counted(kind: str, was: str, becomes: str, tmp_path: Path) -> None:
    ends, write = odd.RUNS[kind]
    text = write()
    if was not in text:
        return
    path = tmp_path / f"run{ends}"
    path.write_text(text.replace(was, becomes))
    if kind == "raw-log" and becomes == "1e400":
        return  # an event without a time is damaged
    found = imported(path)
    times = [time for one in found.trajectories for turn in one.turns for time in (turn.sent_at, turn.replied_at)]
    assert all(time is None or 1.7e9 < time < 1.8e9 for time in times)
    if becomes != "1e400":
        assert reasons(found)[NO_TIME] > 0
    assert measured(path).skipped is None


def changed(message: int, place: int, **fields: object) -> Blocks:
    """The run's blocks with fields of one changed; `...` takes a field away."""
    said = odd.blocks()
    block = {**said[message][place], **fields}
    said[message][place] = {key: value for key, value in block.items() if value is not ...}
    return said


ODD: dict[str, tuple[Blocks, str]] = {
    "an error flag in words": (changed(2, 0, is_error="false"), NO_FIELD),
    "an error flag that is null": (changed(2, 0, is_error=None), NO_FIELD),
    "an error flag that is a list": (changed(2, 0, is_error=[]), NO_FIELD),
    "no kind": (changed(1, 0, type=...), NO_BLOCK),
    "a kind that is null": (changed(1, 0, type=None), NO_BLOCK),
    "a kind that is a list": (changed(1, 0, type=["text"]), NO_BLOCK),
    "a text that is null": (changed(1, 0, text=None), NO_BLOCK),
    "a text with a name that is null": (changed(1, 0, name=None), NO_FIELD),
    "a call whose id is null": (changed(1, 1, id=None), NO_BLOCK),
    "a call whose id is an object": (changed(1, 1, id={}), NO_BLOCK),
    "a call without a name": (changed(1, 1, name=...), NO_BLOCK),
    "a call whose name is a number": (changed(1, 1, name=5), NO_BLOCK),
    "a call whose input is null": (changed(1, 1, input=None), NO_FIELD),
    "a call whose input is a list": (changed(1, 1, input=["a"]), NO_FIELD),
    "a result of nothing": (changed(2, 0, tool_use_id=None), NO_BLOCK),
    "a result that is null": (changed(2, 0, content=None), NO_FIELD),
    "a result that is an object": (changed(2, 0, content={"a": 1}), NO_FIELD),
    "a result with lists in it": (changed(2, 0, content=[[], {"type": "text", "text": "a"}]), NO_BLOCK),
    "a result with a part without a kind": (changed(2, 0, content=[{"text": "a"}]), NO_BLOCK),
    "a result with a text that is null": (changed(2, 0, content=[{"type": "text", "text": None}]), NO_BLOCK),
    "a result of plain words": (changed(2, 0, content=["a", "b"]), NO_FIELD),
    "thinking that is a list": (changed(1, 0, type="thinking", thinking=[], signature="s"), NO_BLOCK),
}


@pytest.mark.parametrize(("said", "reason"), ODD.values(), ids=ODD)
def test_odd_fields_of_blocks_kept_as_recorded(said: Blocks, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(odd.claude_code(said))
    assert reasons(imported(path))[reason] > 0
    assert measured(path).skipped is None


@pytest.mark.parametrize("said", [said for said, _ in ODD.values()], ids=ODD)
def test_odd_fields_in_a_chat_of_anthropics_form(said: Blocks, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(odd.anthropic_chat(said))
    imported(path)
    assert measured(path).skipped is None


@pytest.mark.parametrize(("said", "reason"), ODD.values(), ids=ODD)
def test_odd_fields_in_a_recording_of_our_own(said: Blocks, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(odd.coldpress(said))
    found = measured(path)
    if found.skipped is None:
        assert reasons(imported(path))[reason] > 0
    else:
        assert "has a message without blocks" in found.skipped.why


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["text", "tool_use", "true"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "text", "a"]), inner),
    max_leaves=6,
)
KINDS = st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image", "server_tool_use", "of tomorrow"])
FIELDS = ["text", "thinking", "id", "name", "input", "tool_use_id", "is_error", "content", "signature"]


@given(st.fixed_dictionaries({"type": KINDS | ANY}, optional=dict.fromkeys(FIELDS, ANY)))
def test_every_block_is_left_out_or_can_be_read_and_is_then_left_alone(block: dict[str, object]) -> None:
    notes = Counter[str]()
    kept = sound(block, notes)
    assert (kept is block) == (not notes)
    if kept is not None:
        (read,) = read_blocks(f'{{"content":[{compact_json(kept)}]}}')
        assert isinstance(read, Block)
        assert read.texts is not None and read.uncounted >= 0
        assert sound(kept, Counter()) is kept


@given(st.text(alphabet=st.characters() | st.sampled_from("\ud83d\ude00\\u"), max_size=12))
def test_what_is_read_has_a_utf8_form_and_else_is_as_json_has_it(text: str) -> None:
    notes = Counter[str]()
    found = read_json(json.dumps({text: [text]}), notes)
    compact_json(found).encode()
    whole = json.loads(json.dumps(text))
    try:
        whole.encode()
    except UnicodeEncodeError:
        assert notes[HALVES] > 0
    else:
        assert (found, notes) == ({whole: [whole]}, {})


def test_a_mistake_of_ours_is_told_without_what_the_recording_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], **_: bool) -> Measured:
        raise TypeError("SECRET of the recording")

    monkeypatch.setattr(cells, "_measure", mistaken)
    found = measured(tmp_path / "run.jsonl").skipped
    assert found is not None
    assert found.why == "could not be measured (TypeError); a mistake of coldpress, please report it"
    assert found.path == str(tmp_path / "run.jsonl")
