"""Bounded views: what they must keep, what they must count, what they must never do."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.engine.reduce import deterministic, pays
from coldpress.engine.reduce.views.frame import shorten

GOLDEN = Path(__file__).parent / "golden"


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def view(text: str, kind: str = "shell", command: str | None = None, rerun: str | None = None) -> str:
    reduced = deterministic.reduce(text, kind=kind, command=command, sha=sha(text), rerun=rerun)
    assert reduced is not None
    assert reduced.recipe == ""
    assert pays(text, reduced.text)
    return reduced.text


def test_what_a_warning_suggests_is_shown_with_it() -> None:
    shown = view((GOLDEN / "clippy.shell.txt").read_text(encoding="utf-8"))
    assert "help: remove this `mut`\n   |\n7  -     let mut größe = 0;\n7  +     let größe = 0;\n" in shown


@pytest.mark.parametrize("name", ["clippy.shell", "hits.search", "files.listing", "page.web"])
def test_view_is_as_written(name: str) -> None:
    text = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    expected = (GOLDEN / f"{name}.view.txt").read_text(encoding="utf-8")
    assert view(text, name.partition(".")[2]) == expected
    assert view(text, name.partition(".")[2]) == expected


LOG = [f"step {i}: compiling module number {i}" for i in range(1000)]


def test_the_opening_says_sizes_sha_that_the_source_is_intact_and_how_to_see_it_all() -> None:
    text = "\n".join(LOG) + "\n"
    first = view(text, rerun="The same call can be made again.").split("\n")[0]
    assert first.startswith("[coldpress: a shortened view: ")
    assert "of 1,000 lines, about" in first
    assert f"of {len(text):,} bytes" in first
    assert "the source is intact, only this view is shortened" in first
    assert sha(text) in first
    assert first.endswith("The same call can be made again.]")
    assert "again" not in view(text).split("\n")[0]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("warning: unused variable `x`", id="a warning"),
        pytest.param("  = help: remove this `mut`", id="clippy help"),
        pytest.param("help: consider using `let _ = x`", id="rustc help"),
        pytest.param("  --> src/main.rs:10:5", id="a place"),
        pytest.param("ERROR root: expected failure", id="noise of a green run"),
        pytest.param("test result: ok. 250 passed; 0 failed", id="a result"),
        pytest.param("npm WARN deprecated left-pad@1.0.0", id="a deprecation"),
        pytest.param("took approximately 4200 ms, cannot go below", id="an uncertain figure"),
        pytest.param("Tests: 12 skipped, 250 total", id="jest's sum"),
    ],
)
def test_lines_that_tell_something_stay_word_for_word(line: str) -> None:
    shown = view("\n".join([*LOG[:500], line, *LOG[500:]])).split("\n")
    assert line in shown
    assert LOG[0] in shown and LOG[-1] in shown


def test_lines_shown_and_lines_counted_are_all_the_lines() -> None:
    lines = view("\n".join([*LOG[:300], "warning: x", *LOG[300:]])).split("\n")[1:]
    counted = sum(int(x.split()[1].replace(",", "")) for x in lines if x.startswith("[coldpress: "))
    assert counted + sum(not x.startswith("[coldpress") for x in lines) == 1001


def test_too_many_warnings_are_bounded_and_their_number_is_told() -> None:
    text = view("\n".join(f"warning: thing {i} is deprecated" for i in range(3000)))
    assert len(text.encode()) < 6000
    assert "of 3,000 lines that look like warnings" in text
    assert "warning: thing 0 is" in text and "warning: thing 2999 is" in text


def test_words_in_data_draw_no_attention() -> None:
    text = "\n".join(f'{{"id": {i}, "text": "no error"}}' for i in range(900))
    assert "look like warnings" not in view(text, command="gh api repos/x/y/comments | jq -c .")
    assert "look like warnings" in view(text, command="make test")


def test_every_search_line_keeps_its_own_number_and_each_file_says_how_much_of_it_is_shown() -> None:
    text = "\n".join(f"src/pkg/file_{f}.py:{n}:    value = call({n})" for f in range(9) for n in range(1, 120))
    lines = view(text, "search").split("\n")
    assert lines[1] == "1,071 hits in 9 files"
    path, told, seen = "", 0, 0
    for line in [*lines[2:], "src/end (0 of 119 hits shown)"]:
        if line.startswith("src/"):
            assert seen == told
            path, _, rest = line.partition(" (")
            told, seen = int(rest.split()[0]), 0
            assert rest == f"{told} of 119 hits shown)"
        else:
            assert f"{path}:{line}" in text.split("\n")
            seen += 1


def test_every_file_that_is_named_shows_a_hit_where_there_is_room() -> None:
    text = "\n".join(f"src/package_{f}/module.py:{n}: call({n})" for f in range(60) for n in range(8))
    assert "(0 of" not in view(text, "search")


def test_a_search_with_more_files_than_fit_counts_them() -> None:
    text = "\n".join(f"src/some/long/folder/name/file_{f:04d}.py:{f}:x = 1" for f in range(900))
    assert "more files with" in view(text, "search")


def test_a_listing_is_grouped_by_folder_and_counts_what_it_drops() -> None:
    text = "\n".join(f"src/pkg{d}/module_{n:03d}.py" for d in range(8) for n in range(200))
    shown = view(text, "listing")
    assert "1,600 paths" in shown
    assert all(f"src/pkg{d}/: module_000.py, " in shown for d in range(8))
    assert " more]" in shown


def test_ten_thousand_folders_still_fit() -> None:
    text = "\n".join(f"r{d % 97}/a{d}/b/c.txt" for d in range(10_000))
    assert len(view(text, "listing").encode()) < 6000


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("\n".join(LOG), "source", id="a source"),
        pytest.param("\n".join(LOG), "mutation", id="a mutation"),
        pytest.param("\n".join(LOG), "diff", id="a diff"),
        pytest.param("\n".join(LOG[:20]), "shell", id="a small log"),
        pytest.param('{"confidence":0.91,"citations":["a"]}', "mcp", id="a small structure"),
        pytest.param("\n".join(LOG) + "\0", "shell", id="binary output"),
        pytest.param("[coldpress: x]\n" + "\n".join(LOG), "shell", id="what is pressed already"),
        pytest.param("", "web", id="nothing at all"),
    ],
)
def test_left_alone(text: str, kind: str) -> None:
    assert deterministic.reduce(text, kind=kind, command=None, sha=sha(text), rerun=None) is None


@pytest.mark.parametrize("size", range(61, 90))
def test_a_long_line_is_cut_between_characters_and_counted(size: int) -> None:
    line = "héllo 日本語 🙂" * 40
    head, _, rest = shorten(line, size).partition(" [coldpress: ")
    count, _, tail = rest.partition(" characters left out here] ")
    assert line.startswith(head) and line.endswith(tail)
    assert len(head) + int(count) + len(tail) == len(line)


def test_one_huge_line_of_json_keeps_its_two_ends() -> None:
    text = '{"first":1,' + '"x":"日本",' * 4000 + '"last":2}'
    shown = view(text)
    assert '{"first":1,' in shown and '"last":2}' in shown
    assert len(shown.encode()) < 2500


def test_files_under_the_name_of_their_folder_are_not_torn_from_it() -> None:
    text = "\n".join(f"./folder{n}:\n" + "\n".join(f"file{m}.py" for m in range(20)) + "\n" for n in range(60))
    shown = view(text, "listing", "ls -R")
    assert " paths" not in shown
    assert "./folder0:\nfile0.py\n" in shown


@pytest.mark.parametrize("count", [1, 4, 30])
def test_complaints_are_no_paths_and_all_are_counted(count: int) -> None:
    paths = [f"./src/d{n % 9}/f{n}.py" for n in range(600)]
    complaints = [f"find: './secret{n}': Permission denied" for n in range(count)]
    shown = view("\n".join([*paths, *complaints]), "search", "find .")
    assert "600 paths" in shown
    assert shown.count("Permission denied") == min(count, 4)
    assert ("[coldpress: 26 more lines of another kind left out here]" in shown) == (count == 30)


def test_what_a_search_says_beside_its_hits_is_counted() -> None:
    hits = [f"src/f{n % 60}.py:{n}:x = {n}" for n in range(600)]
    notes = [f"Binary file b{n} matches" for n in range(10)]
    shown = view("\n".join([*hits, *notes]), "search")
    assert shown.endswith("Binary file b3 matches\n[coldpress: 6 more lines of another kind left out here]")


KINDS = st.sampled_from(["shell", "search", "listing", "web", "mcp", "unknown"])
PIECES = st.one_of(
    st.sampled_from(["\n", "\r", "a/b.py:12:x", "a/b.py-13-", "warning: é", "🙂" * 300, "\u2028", "x/y", " ", "--"]),
    st.text(max_size=20),
)


def test_long_lines_between_many_short_warnings_do_not_break_the_bound() -> None:
    text = ("\r\nwarning: é\n" + "🙂" * 300) * 400
    reduced = deterministic.reduce(text, kind="shell", command="make", sha=sha(text), rerun=None)
    assert reduced is not None
    assert len(reduced.text.encode()) < 4 * deterministic.WEB_BUDGET_BYTES


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=60).map("\n".join), st.sampled_from([1, 40, 400]), KINDS)
def test_a_view_is_smaller_bounded_valid_and_made_once(text: str, times: int, kind: str) -> None:
    text = text * times
    reduced = deterministic.reduce(text, kind=kind, command=None, sha=sha(text), rerun=None)
    if reduced is None:
        return
    assert pays(text, reduced.text)
    assert len(reduced.text.encode()) < 4 * deterministic.WEB_BUDGET_BYTES
    assert deterministic.reduce(reduced.text, kind=kind, command=None, sha=sha(text), rerun=None) is None
