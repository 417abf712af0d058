"""What is decided on one result, where the parts it is put together from cannot show it."""

from __future__ import annotations

import json

import pytest

from coldpress.engine.catalogue import classify
from coldpress.engine.first_sight import Candidate, decide
from coldpress.engine.policy import DEFAULT_POLICY
from coldpress.model.identity import EditKey

PADDED = "\n".join(f"{number:>6}\tapple number {number}" for number in range(1, 200))


def replacement(tool: str, arguments: dict[str, object], text: str) -> str | None:
    given = json.dumps(arguments)
    candidate = Candidate(
        key=EditKey(b"c" * 32, 0, 0),
        text=text,
        tool=tool,
        classified=classify(tool, given),
        arguments=given,
        wire_failed=None,
        offered=True,
        seen=(),
        read=repr,
        named=repr,
        may_point_back=True,
    )
    return decide(candidate, DEFAULT_POLICY).standing.replacement


@pytest.mark.parametrize(
    "command", ["cat data.tsv", "sed -n '1,200p' data.tsv", "head -200 data.tsv", "bash -lc 'cat data.tsv'", "cat n"]
)
def test_numbers_that_stand_in_a_file_are_the_files_own(command: str) -> None:
    assert replacement("Bash", {"command": command}, PADDED) is None


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("Read", {"file_path": "data.tsv"}, id="a reading tool"),
        pytest.param("Bash", {"command": "cat -n data.tsv"}, id="cat -n"),
        pytest.param("Bash", {"command": "cd x && cat -An data.tsv | head -200"}, id="cat with more options"),
        pytest.param("Bash", {"command": "sed 1d data.tsv | nl"}, id="nl at the end of a pipe"),
        pytest.param("Bash", {"command": "bash -lc 'nl -ba data.tsv'"}, id="inside bash -c"),
    ],
)
def test_numbers_that_a_reader_wrote_lose_their_padding(tool: str, arguments: dict[str, object]) -> None:
    bare = "\n".join(line.lstrip() for line in PADDED.split("\n"))
    assert replacement(tool, arguments, PADDED) == bare
