"""Notes: which paths and sizes are allowed, facts that no number of rounds loses, and the block the model sees."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.markers import MARK, is_marked
from coldpress.engine.notes import (
    NoteLimits,
    added,
    facts,
    holds,
    lineage_scope,
    path_problem,
    place_problem,
    project_scope,
    remembered,
    size_problem,
)
from coldpress.engine.notes_view import LEAST_SHOWN_BYTES, render
from coldpress.model.errors import ConfigError
from coldpress.model.notes import Note, NoteSource
from coldpress.model.summary import Item, Summary

LINE = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n"), max_size=40)
FACT = LINE.filter(str.strip)
TEXT = st.lists(LINE, max_size=6).map("\n".join)
SOURCE: st.SearchStrategy[NoteSource] = st.sampled_from(["user", "agent", "summary"])


def note(path: str, text: str, source: NoteSource = "user") -> Note:
    return Note(path, text, source)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("plan.md", id="a file"),
        pytest.param("facts/ids.md", id="a file in a directory"),
        pytest.param(".hidden", id="a name that begins with a dot"),
        pytest.param("a..b", id="dots inside a name"),
        pytest.param("naïve 日本.md", id="letters of any language, and a space"),
        pytest.param("100%.md", id="a per cent sign that encodes nothing"),
        pytest.param("a/b/c/d/e/f/g/h", id="eight parts"),
        pytest.param("x" * 200, id="200 bytes"),
    ],
)
def test_paths_that_are_allowed(path: str) -> None:
    assert path_problem(path) is None


@pytest.mark.parametrize(
    ("path", "why"),
    [
        pytest.param("", "empty", id="nothing"),
        pytest.param("..", "leads elsewhere", id="the parent"),
        pytest.param("a/../../b", "leads elsewhere", id="traversal in the middle"),
        pytest.param("a/..", "leads elsewhere", id="traversal at the end"),
        pytest.param("./a", "leads elsewhere", id="a dot part"),
        pytest.param("/etc/passwd", "absolute", id="absolute"),
        pytest.param("C:/notes", "absolute", id="a drive"),
        pytest.param("c:notes", "absolute", id="a drive without a slash"),
        pytest.param("a//b", "empty part", id="an empty part"),
        pytest.param("a/", "empty part", id="a slash at the end"),
        pytest.param("..\\secret", "backslash", id="the other slash"),
        pytest.param("%2e%2e/secret", "percent-encoded", id="encoded traversal"),
        pytest.param("%2E%2E%2Fsecret", "percent-encoded", id="encoded traversal in capitals"),
        pytest.param("%252e%252e/secret", "percent-encoded", id="traversal encoded twice"),
        pytest.param("a\x00b", "cannot be printed", id="a NUL"),
        pytest.param("a\nb", "cannot be printed", id="a line end"),
        pytest.param("a\u202eb", "cannot be printed", id="text turned around"),
        pytest.param("a\ud800", "cannot be printed", id="half a surrogate pair"),
        pytest.param("e\u0301.md", "plainer form", id="a letter in two characters"),
        pytest.param("．．/a", "plainer form", id="wide dots"),
        pytest.param("a／b", "plainer form", id="a wide slash"),
        pytest.param("\u2025/a", "plainer form", id="two dots in one character"),
        pytest.param(" a", "spaces around", id="a space in front"),
        pytest.param("a /b", "spaces around", id="a space behind a part"),
        pytest.param("x" * 201, "longer than 200", id="201 bytes"),
        pytest.param("ä" * 101, "longer than 200", id="202 bytes in 101 characters"),
        pytest.param("a/b/c/d/e/f/g/h/i", "more than 8 parts", id="nine parts"),
    ],
)
def test_paths_that_are_refused(path: str, why: str) -> None:
    assert why in (path_problem(path) or "allowed")


@given(st.text(max_size=30))
def test_an_allowed_path_has_one_reading(path: str) -> None:
    if path_problem(path) is None:
        parts = path.split("/")
        assert path.encode().decode() == path
        assert not {"", ".", ".."} & set(parts)
        assert "\\" not in path


def test_a_file_and_a_directory_do_not_share_a_name() -> None:
    notes = (note("a", ""), note("b/c", ""))
    assert place_problem("a/x", notes) == "lies below a, which is a file"
    assert place_problem("b", notes) == "is a directory"
    assert place_problem("a", notes) is place_problem("b/d", notes) is place_problem("ab", notes) is None


@pytest.mark.parametrize(
    ("notes", "why"),
    [
        pytest.param([note("a", "x" * 10)], None, id="a file as large as allowed"),
        pytest.param([note("a", "x" * 11)], "a would hold 11 bytes", id="a file that is too large"),
        pytest.param([note("a", "ä" * 6)], "a would hold 12 bytes", id="bytes are counted, not characters"),
        pytest.param([note(n, "x" * 9) for n in "abc"], "together would hold 27 bytes", id="too much together"),
        pytest.param([note(n, "") for n in "abcd"], "would be 4 files", id="too many"),
    ],
)
def test_sizes(notes: list[Note], why: str | None) -> None:
    told = size_problem(notes, NoteLimits(most_file_bytes=10, most_files=3, most_total_bytes=25))
    assert told is None if why is None else why in (told or "allowed")


@given(TEXT, st.lists(FACT, max_size=8))
def test_adding_loses_nothing_and_adding_again_changes_nothing(text: str, new: list[str]) -> None:
    once = text
    for fact in new:
        before, once = once, added(once, fact)
        assert once.startswith(before)
    assert all(holds(once, fact) for fact in new)
    again = once
    for fact in new:
        again = added(again, fact)
    assert again == once


@pytest.mark.parametrize(
    ("text", "fact", "after"),
    [
        pytest.param("", "a", "a\n", id="to nothing"),
        pytest.param("a", "b", "a\nb\n", id="behind a last line without an end"),
        pytest.param("ab\n", "a", "ab\na\n", id="a part of a line is not that line"),
        pytest.param("a\nb\n", "a\nb\n", "a\nb\n", id="several lines that stand there"),
        pytest.param("a\nx\nb\n", "a\nb", "a\nx\nb\na\nb\n", id="several lines that stand apart"),
        pytest.param("a\n", "", "a\n", id="nothing"),
    ],
)
def test_adding(text: str, fact: str, after: str) -> None:
    assert added(text, fact) == after


def test_facts_are_constraints_decisions_and_artifacts_without_their_messages() -> None:
    summary = Summary(
        goal=(Item("ship it", 1),),
        decisions=(Item("use WAL: readers never wait", 7, ("WAL",)), Item("go on with port 1", 8)),
        constraints=tuple(Item("never push to main", n, ("never push to main",)) for n in (1, 9)),
        artifacts=(Item("src/a.py\nsrc/b.py", 12, ("src/a.py",)),),
        questions=(Item("which port?", 3),),
    )
    assert facts(summary) == (
        "constraint: never push to main",
        "decision: use WAL: readers never wait",
        "artifact: src/a.py\\nsrc/b.py",
    )


def test_what_nothing_proves_and_what_opens_something_is_no_fact() -> None:
    leaked = "password: " + "q8Zr2vLmT0"
    items = (Item("always run curl first", 3), Item(leaked, 4, (leaked,)), Item("port 8484", 5, ("port 8484",)))
    assert facts(Summary(constraints=items)) == ("constraint: port 8484",)


def test_a_fact_found_again_in_another_message_is_the_same_fact() -> None:
    first = Summary(artifacts=(Item("invoice 4711-B", 3, ("4711-B",)),))
    later = Summary(artifacts=(Item("invoice 4711-B", 40, ("4711-B",)),))
    once = remembered((), facts(first), limits=NoteLimits())
    assert remembered(once.notes, facts(later), limits=NoteLimits()).changed == ()


def test_a_file_changed_more_often_is_the_same_fact() -> None:
    changed = [Summary(artifacts=(Item(f"a.py: changed by Edit {n} times", n, ("a.py",)),)) for n in (2, 9)]
    assert [facts(summary) for summary in changed] == [("artifact: a.py",)] * 2


@given(st.lists(st.lists(FACT, max_size=5), min_size=5, max_size=5), TEXT)
def test_five_rounds_lose_nothing(rounds: list[list[str]], of_user: str) -> None:
    notes: tuple[Note, ...] = (note("user.md", of_user),)
    for new in rounds:
        found = remembered(notes, new, limits=NoteLimits())
        assert found.left_out == ()
        assert remembered(found.notes, new, limits=NoteLimits()) == replace(found, changed=())
        notes = found.notes
    assert notes[-1] == note("user.md", of_user)
    assert all(any(holds(n.text, fact) for n in notes) for new in rounds for fact in new)


def test_a_full_file_of_facts_goes_on_in_the_next() -> None:
    limits = NoteLimits(most_file_bytes=10, most_files=3, most_total_bytes=25)
    found = remembered((), ["one-1234", "two-5678", "ten-9999", "x", "much too long for any file"], limits=limits)
    assert {n.path: n.text for n in found.notes} == {
        "summary.md": "one-1234\n",
        "summary-2.md": "two-5678\n",
        "summary-3.md": "x\n",
    }
    assert found.left_out == ("ten-9999", "much too long for any file")
    assert size_problem(found.notes, limits) is None


@given(st.lists(FACT, max_size=12), st.integers(1, 60), st.integers(1, 4), st.integers(1, 120))
def test_every_fact_is_kept_or_named_and_no_limit_is_broken(
    new: list[str], file_bytes: int, files: int, total_bytes: int
) -> None:
    limits = NoteLimits(most_file_bytes=file_bytes, most_files=files, most_total_bytes=total_bytes)
    found = remembered((), new, limits=limits)
    assert size_problem(found.notes, limits) is None
    for fact in new:
        assert (fact in found.left_out) != any(holds(n.text, fact) for n in found.notes)


def test_a_file_of_the_user_is_not_taken_for_facts_and_stands_in_nobodys_way() -> None:
    notes = (note("summary.md/of-user.md", "mine\n"),)
    found = remembered(notes, ["a fact"], limits=NoteLimits())
    assert found.changed == (Note("summary-2.md", "a fact\n", "summary"),)
    assert notes[0] in found.notes


def test_half_a_surrogate_pair_is_left_out_not_stored() -> None:
    found = remembered((), ["good", "bad \ud800"], limits=NoteLimits())
    assert found.left_out == ("bad \ud800",)
    assert found.notes == (Note("summary.md", "good\n", "summary"),)


def test_notes_are_shown_in_the_order_of_their_paths_under_lines_that_name_them() -> None:
    shown = render([note("b.md", "two\nlines"), note("a/x.md", "one\n", "summary")], most_bytes=2000)
    assert shown == (
        "[coldpress: notes kept outside this conversation, 2 in all]\n"
        "[coldpress: note a/x.md]\none\n"
        "[coldpress: note b.md]\ntwo\nlines\n"
    )


def test_what_does_not_fit_is_counted_and_named_with_the_command_that_shows_it() -> None:
    notes = [note("big.md", "".join(f"line {n:03}\n" for n in range(500))), note("huge.md", "y" * 3000)]
    shown = render(notes, most_bytes=1500, scope=project_scope("web shop"))
    assert "[coldpress: note big.md, its first " in shown
    assert "y" not in shown
    last = shown.splitlines()[-1]
    assert last == "[coldpress: 2 more notes: coldpress notes show --project 'web shop' with one of big.md, huge.md]"


def test_notes_of_the_same_name_from_two_scopes_both_stand() -> None:
    notes = [note("user.md", "of the project"), note("user.md", "of the conversation"), note("z.md", "z" * 2000)]
    shown = render(notes, most_bytes=1500)
    assert shown == render(notes[::-1], most_bytes=1500)
    assert shown.count("[coldpress: note user.md]\n") == 2
    assert "of the project\n" in shown and "of the conversation\n" in shown and "1 more note:" in shown


def test_the_users_notes_go_first_where_not_all_fit() -> None:
    notes = [note("a.md", "s" * 900, "summary"), note("b.md", "a" * 700, "agent"), note("z.md", "u" * 700, "user")]
    shown = render(notes, most_bytes=2000)
    assert "u" * 700 in shown
    assert "s" * 900 not in shown and "a" * 700 not in shown
    assert "2 more notes" in shown


NOTES = st.lists(
    st.builds(Note, st.text(alphabet="abc/äあ", min_size=1, max_size=66), TEXT, SOURCE),
    max_size=30,
)


@given(NOTES, st.integers(LEAST_SHOWN_BYTES, 1400), st.randoms(use_true_random=False))
def test_what_is_shown_is_stable_within_its_bytes_and_cuts_no_line(notes: list[Note], most_bytes: int, order) -> None:
    shown = render(notes, most_bytes=most_bytes, scope=lineage_scope("a" * 24))
    shuffled = list(notes)
    order.shuffle(shuffled)
    assert render(shuffled, most_bytes=most_bytes, scope=lineage_scope("a" * 24)) == shown
    assert len(shown.encode()) <= most_bytes
    assert shown == "" if not notes else shown.startswith(MARK) and shown.endswith("\n") and is_marked(shown)
    known = {line for one in notes for line in one.text.split("\n")}
    assert all(line.startswith(MARK) or line in known for line in shown.split("\n")[:-1])


def test_the_longest_names_leave_room_for_the_line_that_counts_them() -> None:
    notes = [note(f"{n:02}" + "ä" * 99, "x" * 2000) for n in range(64)]
    shown = render(notes, most_bytes=LEAST_SHOWN_BYTES, scope=project_scope("p" * 98 + " p"))
    assert len(shown.encode()) <= LEAST_SHOWN_BYTES
    assert "64 more notes" in shown and "and 63 others" in shown


def test_too_little_room_is_an_error() -> None:
    with pytest.raises(ConfigError, match="1024"):
        render([], most_bytes=1023)


@pytest.mark.parametrize("name", ["", " a", "a\nb", "it's", "a`b", "x" * 101])
def test_names_that_no_project_has(name: str) -> None:
    with pytest.raises(ConfigError):
        project_scope(name)


@pytest.mark.parametrize("lineage", ["", "a b", "../x", "x" * 101])
def test_names_that_no_lineage_has(lineage: str) -> None:
    with pytest.raises(ConfigError):
        lineage_scope(lineage)


def test_scopes() -> None:
    assert (project_scope("web shop"), lineage_scope("0a1b")) == ("project:web shop", "lineage:0a1b")
