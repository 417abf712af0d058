"""What `lossless` takes out, what it must leave, and that everything comes back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.engine.reduce import lossless, pays

REMINDER = "\n<system-reminder>\nKeep to the plan.\n</system-reminder>\n"


def read(texts: list[str], form: str, first: int = 1) -> str:
    return "\n".join(form.format(n=first + i, t=t) for i, t in enumerate(texts))


CODE = [f"\tif x == {i}:  # 日本" if i % 7 else "" for i in range(120)]


def pressed(text: str, kind: str) -> str:
    reduced = lossless.reduce(text, kind=kind)
    assert reduced is not None
    assert lossless.restore(reduced.text, reduced.recipe) == text
    return reduced.text


@pytest.mark.parametrize(
    ("form", "bare"),
    [
        pytest.param("{n:>6}→{t}", "{n}\t{t}", id="padded with an arrow, as older Claude Code writes"),
        pytest.param("{n:>6}\t{t}", "{n}\t{t}", id="padded with a tab, as cat -n writes"),
        pytest.param("{n:>12}|{t}", "{n}|{t}", id="padded with a bar"),
        pytest.param("{n:08d}| {t}", "{n}| {t}", id="filled with zeros, as OpenCode writes"),
    ],
)
def test_padding_goes_and_every_character_of_the_lines_stays(form: str, bare: str) -> None:
    assert pressed(read(CODE[:90], form), "source") == read(CODE[:90], bare)


def test_numbers_wider_than_the_padding_come_back() -> None:
    text = read([f"line {i}" for i in range(900)], "{n:>4}→{t}", first=9_700)
    assert pressed(text, "source").startswith("9700\tline 0\n")


def test_a_reminder_behind_the_read_stays_word_for_word() -> None:
    text = read(CODE, "{n:>6}→{t}") + "\n" + REMINDER
    assert pressed(text, "source").endswith("\n" + REMINDER)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("\n".join(CODE * 4), "source", id="a read without numbers"),
        pytest.param(read(CODE, "{n}\t{t}"), "source", id="a read whose numbers have no padding"),
        pytest.param("\n".join(f"{(i * 37) % 100:>6}\tvalue" for i in range(200)), "source", id="a column of figures"),
        pytest.param(
            read(CODE[:40], "{n:>6}→{t}") + "\n" + "\n".join(f"own text {i}" for i in range(100)),
            "source",
            id="mostly text that no tool numbered",
        ),
        pytest.param("\x1b[31mred\x1b[0m\n" * 200, "source", id="a source that holds escape sequences"),
        pytest.param("same\n" * 400, "source", id="a source of equal lines"),
        pytest.param(json.dumps({"a": list(range(200))}, indent=4), "source", id="a source that is JSON"),
        pytest.param("0%\r50%\r100%\n" * 90, "source", id="a source with carriage returns"),
        pytest.param(read(CODE, "{n:>6}→{t}"), "mutation", id="the answer to an edit"),
        pytest.param("ok\n" * 900, "diff", id="a diff"),
        pytest.param("ok\n" * 900, "plan", id="a plan"),
        pytest.param("ok\n" * 900 + "\0", "shell", id="binary output"),
        pytest.param(read(CODE, "{n:>6}→{t}") + "\0", "source", id="a binary file"),
        pytest.param("one\ntwo\n", "shell", id="too small to gain"),
        pytest.param("", "shell", id="nothing at all"),
    ],
)
def test_left_alone(text: str, kind: str) -> None:
    assert lossless.reduce(text, kind=kind) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "\x1b[1;31mError\x1b[0m of the thing \x1b[38;5;120mok\x1b[39m\x1b[K\n" * 30 + "end",
            None,
            id="colours and erasing",
        ),
        pytest.param("".join(f"\r{i:3d}% {'#' * i}" for i in range(1, 60)) + "\nend", None, id="a growing bar"),
        pytest.param("Fetching the very long name\r" * 20 + " " * 27 + "\rDone\nend", None, id="wiped with spaces"),
        pytest.param("working hard on it ...\r" * 20 + "\x1b[2KDone\nend", None, id="wiped by an erase sequence"),
        pytest.param(
            "downloading\n" * 57 + "end", "downloading\n[coldpress: the line above 56 times more]\nend", id="a run"
        ),
        pytest.param(
            json.dumps(
                {"b": 1, "a": [], "c": {"d": ["é", "x  y", '\\"{']}, "n": {}} | {str(i): i for i in range(60)}, indent=4
            ),
            None,
            id="indented JSON",
        ),
        pytest.param(
            "{\n  " + ",\n  ".join(['"k": 1.0', '"k": 10000000000000000000001', '"e": "\\u00e9"'] * 40) + "\n}\n",
            "{" + ",".join(['"k":1.0', '"k":10000000000000000000001', '"e":"\\u00e9"'] * 40) + "}",
            id="JSON with double keys, 1.0, a big number and an escape",
        ),
        pytest.param(
            "\n".join(f"{n:<60}" for n in ("name", "a", "bb", "ccc", "d", "e", "f")),
            "name\na\nbb\nccc\nd\ne\nf",
            id="a filled table",
        ),
    ],
)
def test_machine_output_loses_only_what_carries_nothing(text: str, expected: str | None) -> None:
    view = pressed(text, "shell")
    assert expected is None or view == expected
    assert "\x1b" not in view and "\r" not in view


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a longer first\rshort\n" * 60, id="what is overwritten only in part still shows"),
        pytest.param("first\r\nsecond\r\n" * 60, id="CRLF ends a line"),
        pytest.param("日本語のなが\rabcdefgh\n" * 60, id="wide characters, whose columns are not counted"),
        pytest.param("tab\there\rxxxxxxxxxxxx\n" * 60, id="a tab, which jumps"),
        pytest.param("\x1b]8;;https://example.org/a\x1b\\link\x1b]8;;\x1b\\ {}\n" * 60, id="a link's address"),
    ],
)
def test_what_a_terminal_still_shows_is_not_cut(text: str) -> None:
    numbered = "".join(f"{i} {line}" for i, line in enumerate(text.splitlines(keepends=True)))
    assert lossless.reduce(numbered, kind="shell") is None


def test_json_that_no_printer_wrote_is_left() -> None:
    assert lossless.reduce('{\n    "a" : [1,\n2]\n' + " " * 400 + "}", kind="shell") is None


SEARCH = "\n".join(
    [
        "/home/dev/project/src/app/a-1-b.go-10-\tbefore",
        "src/app/a-1-b.go:11:func hit() { // 12:30:00 -7- ",
        "/home/dev/project/src/app/a-1-b.go-12-\tafter",
        "--",
        *(f"src/app/store/session_state.go:{n}:\tvalue := {n}" for n in range(20, 40)),
        "--",
        "12: not a hit",
        "src/other.go:7:x",
    ]
)


def test_a_search_says_each_path_once_and_every_line_keeps_its_number() -> None:
    assert pressed(SEARCH, "search").split("\n")[:6] == [
        "/home/dev/project/src/app/a-1-b.go",
        "10-\tbefore",
        "11:func hit() { // 12:30:00 -7- ",
        "12-\tafter",
        "--",
        "/home/dev/project/src/app/store/session_state.go",
    ]


def test_lines_that_only_look_like_hits_are_no_paths() -> None:
    log = "\n".join(f"2024-05-01 10:{n:02d}:00 ready for work again and again" for n in range(60))
    assert lossless.reduce(log, kind="search") is None


def test_half_a_sequence_inside_another_is_taken_out_too() -> None:
    assert "\x1b" not in pressed("\x1b[3\x1b[0m1mred\n" * 80 + "x", "shell")


NASTY = st.one_of(
    st.sampled_from(["\n", "\r", "\r\n", "\u2028", "\x85", "\x0b", " ", "  ", "\t", "same\n", "é", "🙂", "日"]),
    st.sampled_from(
        ["\x1b[31m", "\x1b[0m", "\x1b[K", "\x1b[3", "1m", "100%", "[coldpress: the line above 3 times more]\n"]
    ),
    st.sampled_from(["     1→", "     2→", "{\n  ", '"a": 1,\n', "}", "a/b.go:1:", "/r/a/b.go-2-", "a/b.go-2-"]),
)
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(st.one_of(NASTY, NASTY.map(lambda t: t * 9), st.text(max_size=9)), max_size=90).map("".join),
)
KINDS = st.sampled_from(["source", "shell", "search", "listing", "web", "mcp", "unknown", "diff"])


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.sampled_from([1, 60]), KINDS)
def test_whatever_is_pressed_comes_back_and_pressing_twice_changes_nothing(text: str, times: int, kind: str) -> None:
    text *= times
    reduced = lossless.reduce(text, kind=kind)
    if reduced is None:
        return
    assert lossless.restore(reduced.text, reduced.recipe) == text
    assert pays(text, reduced.text)
    assert len(reduced.recipe.encode()) <= len(text.encode()) / 2
    assert lossless.reduce(reduced.text, kind=kind) is None


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.text(alphabet=st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=12), min_size=70
    ),
    st.sampled_from(["{n:>6}→{t}", "{n:>6}\t{t}", "{n:05d}| {t}", "{n:>8}|{t}"]),
    st.integers(0, 99_990),
)
def test_no_character_of_a_source_line_is_lost(texts: list[str], form: str, first: int) -> None:
    reduced = lossless.reduce(read(texts, form, first), kind="source")
    if reduced is not None:
        lines = reduced.text.split("\n")
        assert len(lines) == len(texts)
        assert all(
            line.startswith(str(first + i)) and line.endswith(t)
            for i, (line, t) in enumerate(zip(lines, texts, strict=True))
        )


def test_a_recipe_of_another_text_is_refused() -> None:
    reduced = lossless.reduce(read(CODE, "{n:>6}→{t}"), kind="source")
    assert reduced is not None
    with pytest.raises(ValueError, match="does not start with"):
        lossless.restore("x" + reduced.text, reduced.recipe)
    with pytest.raises(ValueError, match="unknown step"):
        lossless.restore("x", '{"steps":[["rot13",[]]]}')


@pytest.mark.parametrize("indented", [0, 40, 99], ids=["first", "in the middle", "last"])
def test_a_line_that_begins_with_a_space_keeps_it_and_loses_its_padding(indented: int) -> None:
    texts = [" x" if number == indented else "x" for number in range(100)]
    reduced = lossless.reduce(read(texts, "{n:>8}|{t}"), kind="source")
    assert reduced is not None
    assert reduced.text.split("\n") == [f"{n}|{t}" for n, t in enumerate(texts, 1)]
