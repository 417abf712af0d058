"""What counts as a repeat, what the marker says, and that the original comes back from the referents."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.engine.reduce import Reduced, dedupe, pays
from coldpress.engine.reduce.dedupe import EDGE_LINES, MIN_BORDERED_LINES, Referent
from coldpress.model.identity import original_sha

FILE = [f"def function_{i}(argument):  # a line that is long enough to matter" for i in range(100)]


def read(lines: list[str], first: int = 1) -> str:
    return "\n".join(f"{first + i:>6}\t{line}" for i, line in enumerate(lines))


def press(text: str, *referents: str, kind: str = "source") -> Reduced | None:
    named = tuple(Referent(f"Read src/{i}.py", referent) for i, referent in enumerate(referents))
    reduced = dedupe.reduce(text, referents=named, kind=kind)
    if reduced is not None:
        assert dedupe.restore(reduced.text, reduced.recipe, named[::-1]) == text
        assert pays(text, reduced.text)
        assert reduced.text
        assert dedupe.reduce(reduced.text, referents=named, kind=kind) is None
    return reduced


def test_one_changed_line_is_shown_with_its_neighbours_and_the_rest_is_named() -> None:
    file = [*FILE, *(f"{line}, in another class" for line in FILE)]
    changed = [*file[:100], "changed", *file[101:]]
    reduced = press(read(changed), read(file))
    assert reduced is not None
    lines = reduced.text.split("\n")
    assert lines[0] == (
        "[coldpress: lines 1-92 are the same as lines 1-92 of Read src/0.py above, still shown there in full;"
        " the source is intact, this view only leaves out the repeat]"
    )
    assert lines[1:-1] == read(changed).split("\n")[100 - EDGE_LINES : 101 + EDGE_LINES]
    assert "lines 110-200 are the same as lines 110-200 of" in lines[-1]


@pytest.mark.parametrize(
    ("repeated", "pressed"),
    [
        pytest.param(EDGE_LINES + MIN_BORDERED_LINES - 1, False, id="one line too few to leave out"),
        pytest.param(EDGE_LINES + MIN_BORDERED_LINES, True, id="just enough"),
    ],
)
def test_a_short_run_beside_new_lines_stays_for_it_may_be_replaced_together_with_them(
    *, repeated: int, pressed: bool
) -> None:
    reduced = press(read([*FILE[:repeated], "new"]), read([*FILE[:repeated], "old"]))
    assert (reduced is not None) == pressed


def test_lines_that_moved_are_named_by_both_numbers() -> None:
    reduced = press(read(["new"] * 10 + FILE), read(FILE[20:], first=21))
    assert reduced is not None
    assert "lines 39-110 are the same as lines 29-100 of Read src/0.py" in reduced.text


def test_a_read_of_the_middle_repeats_a_read_of_the_whole() -> None:
    reduced = press(read(FILE[30:60], first=31), read(FILE))
    assert reduced is not None
    assert reduced.text.count("\n") == 0
    assert "lines 31-60 are the same as lines 31-60" in reduced.text


def test_numbers_and_padding_of_two_tools_are_no_difference() -> None:
    assert press("\n".join(FILE), "\n".join(f"{i + 1}: {line}" for i, line in enumerate(FILE))) is not None


def test_a_whole_repeat_is_one_line() -> None:
    text = "\n".join(f"{i} packages are looking for funding" for i in range(30)) + "\n"
    reduced = press(text, "other", text, kind="shell")
    assert reduced is not None
    assert re.fullmatch(
        r"\[coldpress: this result is the same, .* that of Read src/1.py above, .*source is intact.*\]", reduced.text
    )
    assert dedupe.needed(reduced.recipe) == (original_sha(text),)


def test_a_harness_reminder_is_never_left_out() -> None:
    text = read(FILE) + "\n\n<system-reminder>\n" + "Mind the rules.\n" * 12 + "</system-reminder>\n"
    reduced = press(text, text)
    assert reduced is not None
    assert reduced.text.endswith(text[text.index("\n\n<system-reminder>") :])


@pytest.mark.parametrize(
    ("text", "referent", "kind"),
    [
        pytest.param(read(FILE[:7]), read(FILE), "source", id="a run of seven lines"),
        pytest.param(read(FILE), read([line + "!" for line in FILE]), "source", id="other lines"),
        pytest.param(read(FILE), read([f" {line}" for line in FILE]), "source", id="lines indented otherwise"),
        pytest.param(read(FILE), read(FILE), "mutation", id="the answer to an edit"),
        pytest.param("\n" * 80 + "x", "\n" * 90 + "y", "source", id="empty lines gain nothing"),
        pytest.param(read(FILE) + "\0", read(FILE), "source", id="a binary file"),
        pytest.param("[coldpress: x]\n" + "\n".join(FILE), "\n".join(FILE), "source", id="what is pressed already"),
        pytest.param("\n".join(["x", *FILE[:19], "y"]), "\n".join(FILE), "shell", id="nineteen lines of a log"),
        pytest.param("ok", "ok", "shell", id="a short repeat"),
    ],
)
def test_left_alone(text: str, referent: str, kind: str) -> None:
    assert press(text, referent, kind=kind) is None


def test_a_name_cannot_break_out_of_its_line() -> None:
    text = "\n".join(FILE)
    reduced = dedupe.reduce(text, referents=(Referent("Bash cat\nx " + "y" * 900, text),), kind="source")
    assert reduced is not None
    assert "\n" not in reduced.text
    assert len(reduced.text) < 500


def test_missing_or_other_referents_are_told() -> None:
    reduced = press(read(FILE), read(FILE))
    assert reduced is not None
    with pytest.raises(ValueError, match=original_sha(read(FILE))):
        dedupe.restore(reduced.text, reduced.recipe, (Referent("a", "other"),))
    with pytest.raises(ValueError, match="names line"):
        dedupe.restore("", reduced.recipe.replace("[[0,", "[[5,"), (Referent("a", read(FILE)),))


LINES = st.lists(
    st.sampled_from(["", "}", "\r", "a\u2028b", "x" * 60, "y" * 61, "é" * 50, "     3\tz", "[coldpressed]"]),
    max_size=90,
)
EDITS = st.lists(st.tuples(st.integers(0, 89), st.sampled_from(["new", "", "x" * 60])), max_size=4)


@settings(max_examples=200, deadline=None)
@given(
    lines=LINES,
    edits=EDITS,
    others=LINES,
    kind=st.sampled_from(["source", "shell", "search"]),
    numbered=st.booleans(),
    times=st.integers(0, 3),
)
def test_whatever_is_left_out_comes_back(
    *, lines: list[str], edits: list[tuple[int, str]], others: list[str], kind: str, numbered: bool, times: int
) -> None:
    now = list(lines * times)
    for at, line in edits:
        now[at:at] = [line]
    write = read if numbered else "\n".join
    press(write(now), write(lines * times), write(others), kind=kind)
    press("\n".join(now), read(lines), "\n".join(others + lines), kind=kind)


def test_time_grows_with_the_lines_and_not_with_their_square() -> None:
    same = "x" * 40
    text, referent = "\n".join([same] * 20_000 + ["end"]), "\n".join([same] * 20_001)
    assert press(text, referent, kind="shell") is not None  # quadratic work here would take minutes
