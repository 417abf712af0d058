"""Generated recordings are the same for the same seed, read by the importer, and hold what replays look for."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from coldpress.lab import cells
from coldpress.lab.arm_files import named_arms
from coldpress.lab.corpus import recording_text, write_corpus
from coldpress.lab.importers.recording import read_bytes, read_file
from coldpress.model.errors import ConfigError


def test_the_same_arguments_write_the_same_bytes_and_more_leaves_the_first_as_they_were(tmp_path: Path) -> None:
    few = write_corpus(tmp_path / "few", recordings=3, requests=6, seed=1, tasks=2)
    more = write_corpus(tmp_path / "more", recordings=5, requests=6, seed=1, tasks=2)
    assert [path.read_bytes() for path in few] == [path.read_bytes() for path in more[:3]]
    assert len({path.read_bytes() for path in more}) == 5
    assert {path.parent.name for path in more} == {"task-1", "task-2"}
    assert recording_text(requests=6, seed=2, number=0).encode() != few[0].read_bytes()


def test_lengths_are_as_asked_on_average(tmp_path: Path) -> None:
    paths = write_corpus(tmp_path, recordings=40, requests=10, seed=4)
    lengths = [len(read_file(path).trajectory.turns) for path in paths]
    assert 5 <= min(lengths) < max(lengths) <= 15
    assert 8 <= sum(lengths) / len(lengths) <= 12


def test_results_are_of_many_sizes_edits_quote_reads_texts_repeat_and_caches_run_out() -> None:
    sizes, tools, quoted, edits, repeats, gaps = list[int](), set[str](), 0, 0, 0, list[float]()
    for number in range(20):
        raw = recording_text(requests=20, seed=7, number=number).encode()
        assert read_bytes(raw, name="x").trajectory.requests > 0
        shown = list[str]()
        turns = json.loads(raw)["turns"]
        gaps += [after["sent_at"] - turn["replied_at"] for turn, after in pairwise(turns)]
        for turn in turns:
            for block in turn["added"][0]["content"]:
                if block["type"] == "tool_result":
                    repeats += block["content"] in shown and len(block["content"]) > 1000
                    shown.append(block["content"])
            for block in turn["reply"]["content"]:
                if block["type"] == "tool_use":
                    tools.add(block["name"])
                if block.get("name") == "Edit":
                    edits += 1
                    quoted += any(block["input"]["old_string"].split("\n")[0] in text for text in shown)
        sizes += map(len, shown)
    assert tools == {"Read", "Bash", "Edit", "Grep"}
    assert edits > 30
    assert quoted > 0.9 * edits  # others quote what an edit before them wrote
    assert repeats > 5
    assert min(sizes) < 200 < sorted(sizes)[len(sizes) // 2] < 5000 < max(sizes)
    assert sum(gap > 300 for gap in gaps) > 5
    assert sum(gap > 3600 for gap in gaps) > 2


def test_a_replay_finds_losses_and_cold_caches_in_it(tmp_path: Path) -> None:
    paths = write_corpus(tmp_path, recordings=4, requests=25, seed=2)
    arms = [named_arms()[name] for name in ("control", "mask-10")]
    bills = [cells.measure(path, arms, ["claude-sonnet-5-5"], with_turns=False).bills[1] for path in paths]
    assert all(bill.kind == "coldpress" and bill.cuts for bill in bills)
    assert sum(bill.edits_of_results for bill in bills) > 5
    assert sum(bill.identifiers for bill in bills) > 20
    assert sum(bill.cold_cuts for bill in bills) > 0


@pytest.mark.parametrize(
    ("numbers", "told"),
    [((0, 5, 1), "recordings is 0"), ((1, 1, 1), "requests is 1; use 2 or more"), ((1, 5, 0), "tasks is 0")],
)
def test_a_number_that_makes_no_corpus_is_refused(numbers: tuple[int, int, int], told: str, tmp_path: Path) -> None:
    recordings, requests, tasks = numbers
    with pytest.raises(ConfigError, match=told):
        write_corpus(tmp_path, recordings=recordings, requests=requests, seed=1, tasks=tasks)
