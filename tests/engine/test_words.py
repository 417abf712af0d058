"""Words as code has them: what is split where, what counts how much, what counts nothing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.engine.words import MAX_WORDS, is_name, parts, stem, words

TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=300)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("parseHTTPHeader2", ("pars", "http", "header", "2"), id="camel case with initials and a digit"),
        pytest.param("max_open_files", ("max", "open", "fil"), id="snake case"),
        pytest.param("__init__", ("init",), id="underscores around"),
        pytest.param("E0308", ("e", "0308"), id="an error code"),
        pytest.param("größeÜberAlles", ("größe", "über", "all"), id="letters beyond ASCII split at capitals"),
        pytest.param("日本語", ("日本", "本語"), id="neighbours of a Japanese run"),
        pytest.param("get日本語Name", ("get", "日本", "本語", "nam"), id="scripts mixed"),
        pytest.param("字", ("字",), id="a lone character"),
        pytest.param("a" * 200, (), id="a run too long to be a name"),
    ],
)
def test_a_name_is_split_into_stems(name: str, expected: tuple[str, ...]) -> None:
    assert parts(name) == expected


@pytest.mark.parametrize(
    ("text", "word", "rank"),
    [
        pytest.param("look at renderPage", "renderpage", "exact", id="camel case"),
        pytest.param("look at renderPage", "render", "part", id="a piece of it"),
        pytest.param("rebuild the index", "index", "prose", id="a word of prose"),
        pytest.param("raise EACCES here", "eacces", "exact", id="capitals alone"),
        pytest.param("got HTTP 404 there", "404", "exact", id="a code of three digits"),
        pytest.param("error TS2339", "ts2339", "exact", id="an error code"),
        pytest.param('the text "bad magic number"', "bad magic number", "exact", id="a quoted string as it stands"),
        pytest.param('the text "Bad Magic"', "magic", "part", id="a word inside quotation marks"),
        pytest.param('pattern "timeout"', "timeout", "missing", id="a quoted stop word tells nothing"),
        pytest.param('pattern "retry"', "retry", "exact", id="a quoted word counts as a name"),
        pytest.param("std::collections::HashMap", "std::collections::HashMap", "exact", id="a name with colons"),
        pytest.param("call foo.bar.baz now", "foo.bar.baz", "exact", id="a dotted name"),
        pytest.param("the cache-control header", "cache-control", "exact", id="a name with hyphens"),
        pytest.param("in ./src/pkg/mod.py", "./src/pkg/mod.py", "exact", id="a path"),
        pytest.param("in /repo/src/pkg/mod.py", "mod.py", "exact", id="the file of a path"),
        pytest.param("in C:\\build\\tests\\run.ps1", "run.ps1", "exact", id="the file of a Windows path"),
        pytest.param("npm --max-old-space-size=1", "--max-old-space-size", "exact", id="a long option"),
        pytest.param('"fooBar\\|baz_qux"', "foobar", "exact", id="an alternative of a grep pattern"),
        pytest.param('"fooBar\\|baz_qux"', "baz_qux", "exact", id="its other alternative"),
        pytest.param('grep "\\bneedle\\b" x', "needle", "exact", id="a word between anchors"),
        pytest.param("エラー処理を探す", "処理", "prose", id="Chinese characters"),
        pytest.param("grep -rn something", "rn", "missing", id="a short option tells nothing"),
        pytest.param("rg --line-number x", "--line-number", "missing", id="an option of grep tells nothing"),
        pytest.param("where are the files", "fil", "missing", id="stop words tell nothing"),
        pytest.param("lines 7 to 42", "42", "missing", id="a number of two digits tells nothing"),
    ],
)
def test_what_a_word_counts_as(text: str, word: str, rank: str) -> None:
    found = {one.text: one.rank for one in words(text)}
    assert found.get(word, "missing") == rank


def test_names_weigh_more_than_their_pieces_and_these_more_than_prose() -> None:
    weights = {word.text: word.weight for word in words("renderPage and index")}
    assert weights["renderpage"] > weights["page" if "page" in weights else "pag"] > weights["index"] > 0


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("find where it is and show me the files", id="stop words alone"),
        pytest.param("grep -rn --include 2>&1 | head -20", id="a shell's words alone"),
        pytest.param("?! ... -- ::", id="signs alone"),
        pytest.param("1 22 7", id="short numbers"),
    ],
)
def test_a_text_that_asks_for_nothing_gives_no_word(text: str) -> None:
    assert words(text) == ()


def test_words_are_bounded_and_the_heaviest_stay() -> None:
    prose = " ".join(f"w{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}rd" for i in range(600))
    found = words(f"{prose} keepThisName")
    assert len(found) == MAX_WORDS
    assert "keepthisname" in {word.text for word in found}


@given(TEXT)
def test_the_same_text_gives_the_same_words_each_once(text: str) -> None:
    found = words(text)
    assert found == words(text)
    assert len({word.text for word in found}) == len(found) <= MAX_WORDS


@given(st.text(alphabet="abcXYZ_12 é日本", min_size=1, max_size=60))
def test_a_word_is_found_again_in_the_name_it_came_from(text: str) -> None:
    for word in words(text):
        pieces = {piece for token in text.split() for run in token.split() for piece in parts(run)}
        assert word.rank == "exact" or word.text in pieces


@given(TEXT)
def test_stems_are_never_empty(text: str) -> None:
    assert all(stem(piece) for piece in text.split() if piece)


@pytest.mark.parametrize("unit", ['"', "`", "a.", "a::", "-a ", "\\b", "A", "aB", "_", "x/", "日", "'a ", "“"])
def test_odd_texts_take_no_longer_than_their_length(unit: str) -> None:
    started = time.process_time()
    words(unit * 200_000)
    parts(unit * 200_000)
    assert time.process_time() - started < 20.0  # were it the square of the length, it would be hours


@settings(max_examples=50)
@given(st.text(max_size=20))
def test_any_run_may_be_asked_whether_it_is_a_name(token: str) -> None:
    assert is_name(token) in (True, False)
    assert not is_name("if") and is_name("a_b")
