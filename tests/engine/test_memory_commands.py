"""Anthropic's memory tool over notes: what each command does, what is refused, and that a refusal changes nothing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.memory_commands import Ran, run
from coldpress.engine.memory_input import COMMANDS, Told, parse
from coldpress.engine.notes import NoteLimits, path_problem, place_problem, size_problem
from coldpress.model.notes import Note

PLAN = Note("plan.md", "one\ntwo\nthree", "user")
IDS = Note("facts/ids.md", "id 1\nid 1\n", "summary")
DEEP = Note("facts/more/deep.md", "deep\n", "agent")
EMPTY = Note("empty.md", "", "agent")
NOTES = (EMPTY, IDS, DEEP, PLAN)
LIMITS = NoteLimits()


def answer(given_: Mapping[str, object], notes: tuple[Note, ...] = NOTES, limits: NoteLimits = LIMITS) -> Ran | Told:
    command = parse(given_)
    return command if isinstance(command, Told) else run(command, notes, limits)


def ran(notes: tuple[Note, ...] = NOTES, /, **given_: object) -> Ran:
    outcome = answer(given_, notes)
    assert isinstance(outcome, Ran), outcome
    return outcome


def told(notes: tuple[Note, ...] = NOTES, /, limits: NoteLimits = LIMITS, **given_: object) -> str:
    outcome = answer(given_, notes, limits)
    assert isinstance(outcome, Told), outcome
    assert outcome.reply.startswith("Not done: ") and outcome.reply.endswith(".")
    return outcome.reply


def texts(outcome: Ran) -> dict[str, str]:
    assert list(outcome.notes_after) == sorted(outcome.notes_after, key=lambda n: n.path)
    return {note.path: note.text for note in outcome.notes_after}


@pytest.mark.parametrize("root", ["/memories", "/memories/"])
def test_the_root_lists_every_file_with_its_size(root: str) -> None:
    outcome = ran(command="view", path=root)
    assert outcome.notes_after == NOTES
    assert outcome.reply == (
        "Files below /memories, each with its size in bytes, 28 in all:\n"
        "0\t/memories/empty.md\n10\t/memories/facts/ids.md\n5\t/memories/facts/more/deep.md\n13\t/memories/plan.md"
    )


def test_a_directory_lists_only_what_is_below_it() -> None:
    reply = ran(command="view", path="/memories/facts/").reply
    assert "facts/ids.md" in reply and "facts/more/deep.md" in reply and "plan.md" not in reply
    assert ran((), command="view", path="/memories").reply == "/memories holds no files yet."


@pytest.mark.parametrize(
    ("view_range", "numbers"),
    [
        pytest.param(None, [1, 2, 3], id="all of it"),
        pytest.param([1, 1], [1], id="the first line"),
        pytest.param([2, 3], [2, 3], id="up to the last"),
        pytest.param([2, -1], [2, 3], id="to the end"),
        pytest.param([3, 99], [3], id="past the end is the end"),
    ],
)
def test_a_file_is_shown_with_line_numbers(view_range: list[int] | None, numbers: list[int]) -> None:
    reply = ran(command="view", path="/memories/plan.md", view_range=view_range).reply
    head, *rows = reply.split("\n")
    assert rows == [f"{n:>6}\t{['one', 'two', 'three'][n - 1]}" for n in numbers]
    whole = len(numbers) == 3
    assert head == "/memories/plan.md" + (":" if whole else f", lines {numbers[0]} to {numbers[-1]} of 3:")


def test_a_line_feed_at_the_end_is_no_line_and_an_empty_file_is_told() -> None:
    assert ran(command="view", path="/memories/facts/ids.md").reply.count("\t") == 2
    assert ran(command="view", path="/memories/empty.md").reply == "/memories/empty.md is empty."


def test_create_makes_a_file_of_the_agent() -> None:
    outcome = ran(command="create", path="/memories/new/äöü.md", file_text="Zeile äöü")
    assert set(outcome.notes_after) - set(NOTES) == {Note("new/äöü.md", "Zeile äöü", "agent")}
    assert outcome.reply == "Created /memories/new/äöü.md, 12 bytes."


def test_str_replace_changes_the_one_place() -> None:
    outcome = ran(command="str_replace", path="/memories/plan.md", old_str="two\nth", new_str="2\n2b\nth")
    assert texts(outcome) == {**{n.path: n.text for n in NOTES}, "plan.md": "one\n2\n2b\nthree"}
    assert next(n for n in outcome.notes_after if n.path == "plan.md").source == "agent"
    assert outcome.reply.split("\n")[1:] == ["     1\tone", "     2\t2", "     3\t2b", "     4\tthree"]


def test_str_replace_may_leave_nothing() -> None:
    outcome = ran(command="str_replace", path="/memories/plan.md", old_str=PLAN.text, new_str="")
    assert texts(outcome)["plan.md"] == ""
    assert outcome.reply == "Changed /memories/plan.md. It is empty now."


@pytest.mark.parametrize(
    ("line", "text", "after"),
    [
        pytest.param(0, "zero", "zero\none\ntwo\nthree", id="at the top"),
        pytest.param(1, "1b\n1c\n", "one\n1b\n1c\ntwo\nthree", id="lines that end"),
        pytest.param(3, "four", "one\ntwo\nthree\nfour\n", id="behind a last line without an end"),
        pytest.param(2, "", "one\ntwo\n\nthree", id="an empty line"),
    ],
)
def test_insert(line: int, text: str, after: str) -> None:
    outcome = ran(command="insert", path="/memories/plan.md", insert_line=line, insert_text=text)
    assert texts(outcome)["plan.md"] == after


def test_delete_takes_a_file_or_a_directory_with_all_below_it() -> None:
    assert set(texts(ran(command="delete", path="/memories/plan.md"))) == {
        "empty.md",
        "facts/ids.md",
        "facts/more/deep.md",
    }
    outcome = ran(command="delete", path="/memories/facts/")
    assert set(texts(outcome)) == {"empty.md", "plan.md"}
    assert outcome.reply == "Deleted /memories/facts with 2 files."


def test_delete_takes_nothing_whose_name_only_begins_the_same() -> None:
    notes = (Note("a", "", "user"), Note("ab", "", "user"))
    assert set(texts(ran(notes, command="delete", path="/memories/a"))) == {"ab"}


def test_rename_moves_a_file_or_a_directory_and_keeps_who_wrote_it() -> None:
    outcome = ran(command="rename", old_path="/memories/facts", new_path="/memories/old/facts")
    assert {n for n in outcome.notes_after if n.path.startswith("old/")} == {
        Note("old/facts/ids.md", IDS.text, "summary"),
        Note("old/facts/more/deep.md", DEEP.text, "agent"),
    }
    assert set(texts(outcome)) == {"empty.md", "plan.md", "old/facts/ids.md", "old/facts/more/deep.md"}
    one = ran(command="rename", old_path="/memories/plan.md", new_path="/memories/plan.txt")
    assert Note("plan.txt", PLAN.text, "user") in one.notes_after and PLAN not in one.notes_after


BAD_PATHS = [
    pytest.param("/memories/../etc/passwd", "leads elsewhere", id="traversal"),
    pytest.param("/memories/a/../../../etc/passwd", "leads elsewhere", id="traversal in the middle"),
    pytest.param("/memories/..", "leads elsewhere", id="the parent"),
    pytest.param("/memories/%2e%2e/secret", "percent-encoded", id="encoded traversal"),
    pytest.param("/memories/%252e%252e%252fsecret", "percent-encoded", id="traversal encoded twice"),
    pytest.param("/memories/..\\secret", "backslash", id="the other slash"),
    pytest.param("/memories//etc/passwd", "absolute", id="absolute behind the root"),
    pytest.param("/memories/a//b", "empty part", id="an empty part"),
    pytest.param("/etc/passwd", "must begin with /memories/", id="absolute"),
    pytest.param("/memoriesx/a", "must begin with /memories/", id="another root of the same beginning"),
    pytest.param("/memories../a", "must begin with /memories/", id="dots behind the root"),
    pytest.param("memories/a", "must begin with /memories/", id="relative"),
    pytest.param("plan.md", "must begin with /memories/", id="a bare name"),
    pytest.param("/memories/a\x00b", "cannot be printed", id="a NUL"),
    pytest.param("/memories/．．/a", "plainer form", id="wide dots"),
    pytest.param("/memories/" + "x" * 201, "longer than 200", id="too long"),
    pytest.param("", "must begin with /memories/", id="nothing"),
    pytest.param(None, "missing or no text", id="null"),
    pytest.param(["/memories/a"], "missing or no text", id="a list"),
]


@pytest.mark.parametrize(("path", "why"), BAD_PATHS)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_leaves_the_root(command: str, path: object, why: str) -> None:
    others = {"file_text": "x", "old_str": "a", "new_str": "b", "insert_line": 0, "insert_text": "x"}
    if command == "rename":
        assert why in told(command=command, old_path=path, new_path="/memories/fine")
        assert why in told(command=command, old_path="/memories/plan.md", new_path=path)
    else:
        assert why in told(command=command, path=path, **others)


P = "/memories/plan.md"
REFUSED = [
    pytest.param({}, "command is missing", id="no command"),
    pytest.param({"command": 7}, "command is missing", id="a command that is no text"),
    pytest.param({"command": "chmod", "path": P}, 'no command "chmod"', id="an unknown command"),
    pytest.param({"command": "view", "path": "/memories/no.md"}, "there is no /memories/no.md", id="view: missing"),
    pytest.param({"command": "view", "path": P, "view_range": [0, 2]}, "count from 1", id="view: line 0"),
    pytest.param({"command": "view", "path": P, "view_range": [-1, 2]}, "count from 1", id="view: a negative line"),
    pytest.param({"command": "view", "path": P, "view_range": [4, 5]}, "has 3 lines", id="view: past the end"),
    pytest.param({"command": "view", "path": P, "view_range": [3, 2]}, "before the first", id="view: turned around"),
    pytest.param({"command": "view", "path": P, "view_range": [1]}, "two line numbers", id="view: one number"),
    pytest.param({"command": "view", "path": P, "view_range": [True, 2]}, "two line numbers", id="view: true is no 1"),
    pytest.param({"command": "view", "path": P, "view_range": "1-2"}, "two line numbers", id="view: a text"),
    pytest.param({"command": "view", "path": "/memories", "view_range": [1, 2]}, "no lines", id="view: a directory"),
    pytest.param({"command": "create", "path": P, "file_text": "x"}, "there already", id="create: there already"),
    pytest.param({"command": "create", "path": P}, "file_text is missing", id="create: no text"),
    pytest.param({"command": "create", "path": "/memories", "file_text": ""}, "a directory", id="create: the root"),
    pytest.param(
        {"command": "create", "path": "/memories/facts", "file_text": ""},
        "a directory",
        id="create: a directory's name",
    ),
    pytest.param(
        {"command": "create", "path": "/memories/new/", "file_text": ""}, "names a directory", id="create: a directory"
    ),
    pytest.param(
        {"command": "create", "path": P + "/x", "file_text": ""}, "which is a file", id="create: below a file"
    ),
    pytest.param(
        {"command": "create", "path": "/memories/n", "file_text": "\ud800"}, "no character", id="create: half a pair"
    ),
    pytest.param(
        {"command": "str_replace", "path": P, "old_str": "four", "new_str": ""}, "match exactly", id="replace: missing"
    ),
    pytest.param(
        {"command": "str_replace", "path": P, "old_str": "o", "new_str": ""}, "2 times", id="replace: not unique"
    ),
    pytest.param(
        {"command": "str_replace", "path": "/memories/facts/ids.md", "old_str": "id 1", "new_str": "x"},
        "in lines 1, 2",
        id="replace: not unique, with the lines",
    ),
    pytest.param(
        {"command": "str_replace", "path": P, "old_str": "", "new_str": "x"}, "old_str is empty", id="replace: nothing"
    ),
    pytest.param(
        {"command": "str_replace", "path": P, "old_str": "one"}, "new_str is missing", id="replace: by nothing"
    ),
    pytest.param(
        {"command": "str_replace", "path": "/memories/facts", "old_str": "a", "new_str": "b"},
        "is a directory",
        id="replace: in a directory",
    ),
    pytest.param(
        {"command": "insert", "path": P, "insert_line": 4, "insert_text": "x"}, "to 3", id="insert: past the end"
    ),
    pytest.param(
        {"command": "insert", "path": P, "insert_line": -1, "insert_text": "x"}, "takes 0", id="insert: before"
    ),
    pytest.param(
        {"command": "insert", "path": P, "insert_line": "1", "insert_text": "x"}, "no whole number", id="insert: a text"
    ),
    pytest.param(
        {"command": "insert", "path": P, "insert_line": True, "insert_text": "x"}, "no whole number", id="insert: true"
    ),
    pytest.param({"command": "insert", "path": P, "insert_line": 1}, "insert_text is missing", id="insert: no text"),
    pytest.param({"command": "delete", "path": "/memories"}, "cannot be deleted", id="delete: the root"),
    pytest.param({"command": "delete", "path": "/memories/"}, "cannot be deleted", id="delete: the root with a slash"),
    pytest.param({"command": "delete", "path": "/memories/fact"}, "there is no", id="delete: only the same beginning"),
    pytest.param(
        {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
        "cannot be renamed",
        id="rename: root",
    ),
    pytest.param(
        {"command": "rename", "old_path": P, "new_path": "/memories"}, "cannot be renamed", id="rename: to the root"
    ),
    pytest.param(
        {"command": "rename", "old_path": P, "new_path": "/memories/empty.md"}, "overwritten", id="rename: over a file"
    ),
    pytest.param(
        {"command": "rename", "old_path": P, "new_path": "/memories/facts"},
        "overwritten",
        id="rename: over a directory",
    ),
    pytest.param({"command": "rename", "old_path": P, "new_path": P}, "overwritten", id="rename: to itself"),
    pytest.param(
        {"command": "rename", "old_path": "/memories/facts", "new_path": "/memories/facts/in"},
        "into itself",
        id="rename: into itself",
    ),
    pytest.param(
        {"command": "rename", "old_path": "/memories/no", "new_path": "/memories/x"},
        "there is no",
        id="rename: missing",
    ),
    pytest.param(
        {"command": "rename", "old_path": "/memories/facts", "new_path": P + "/x"},
        "is a file",
        id="rename: below a file",
    ),
    pytest.param(
        {"command": "rename", "old_path": "/memories/facts", "new_path": "/memories/" + "y" * 190},
        "longer than 200",
        id="rename: what lies below gets too long a name",
    ),
]


@pytest.mark.parametrize(("given_", "why"), REFUSED)
def test_refusals_say_why(given_: dict[str, object], why: str) -> None:
    assert why in told(**given_)


def test_overlapping_places_are_not_unique() -> None:
    notes = (Note("a", "aaa", "user"),)
    assert "2 times" in told(notes, command="str_replace", path="/memories/a", old_str="aa", new_str="b")


SMALL = NoteLimits(most_file_bytes=10, most_files=2, most_total_bytes=15)
HELD = (Note("a", "12345678", "user"), Note("b", "1234", "user"))


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        pytest.param({"command": "create", "path": "/memories/c", "file_text": ""}, "3 files", id="too many"),
        pytest.param(
            {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "äb"},
            "12 bytes",
            id="too large",
        ),
        pytest.param(
            {"command": "str_replace", "path": "/memories/b", "old_str": "4", "new_str": "45678"},
            "16 bytes",
            id="in all",
        ),
    ],
)
def test_limits_are_kept(given_: dict[str, object], why: str) -> None:
    reply = told(HELD, limits=SMALL, **given_)
    assert why in reply and "shorten or delete something first" in reply


def test_notes_over_a_limit_can_be_made_smaller() -> None:
    notes = (Note("a", "x" * 5 + "y" * 20, "user"),)
    outcome = answer(
        {"command": "str_replace", "path": "/memories/a", "old_str": "xxxxx", "new_str": "x"}, notes, SMALL
    )
    assert isinstance(outcome, Ran) and texts(outcome) == {"a": "x" + "y" * 20}


PATHS = st.sampled_from(["/memories", *(f"/memories/{p}" for p in ("a", "a/b", "a/b/c", "b", "../a", "a/", "%2e"))])
TEXTS = st.text(alphabet="ab\n", max_size=8)
INPUTS = st.fixed_dictionaries(
    {},
    optional={
        "command": st.sampled_from([*COMMANDS, "?"]),
        "path": PATHS,
        "old_path": PATHS,
        "new_path": PATHS,
        "file_text": TEXTS,
        "old_str": TEXTS,
        "new_str": TEXTS,
        "insert_text": TEXTS,
        "insert_line": st.integers(-1, 4),
        "view_range": st.none() | st.lists(st.integers(-1, 4), max_size=3),
    },
)
COMPLETE = INPUTS.flatmap(
    lambda some: st.fixed_dictionaries(
        {
            "command": st.sampled_from(COMMANDS),
            "path": PATHS,
            "old_path": PATHS,
            "new_path": PATHS,
            "file_text": TEXTS,
            "old_str": TEXTS,
            "new_str": TEXTS,
            "insert_text": TEXTS,
            "insert_line": st.integers(-1, 4),
        }
    ).map(lambda every: {**every, **{k: v for k, v in some.items() if k == "view_range"}})
)


@given(st.lists(INPUTS | COMPLETE, max_size=12))
def test_whatever_a_model_asks_notes_stay_legal_and_a_refusal_changes_nothing(inputs: list[dict[str, object]]) -> None:
    limits = NoteLimits(most_file_bytes=12, most_files=3, most_total_bytes=20)
    notes: tuple[Note, ...] = ()
    for given_ in inputs:
        outcome = answer(given_, notes, limits)
        assert outcome == answer(given_, tuple(reversed(notes)), limits)
        if isinstance(outcome, Told):
            continue
        notes = outcome.notes_after
        assert size_problem(notes, limits) is None
        assert len({note.path for note in notes}) == len(notes)
        for note in notes:
            assert path_problem(note.path) is None
            assert place_problem(note.path, notes) is None
