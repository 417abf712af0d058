"""The one line in the place of an old result: what it says, what it never does, how long it may be."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.catalogue import Kind
from coldpress.engine.markers import MARK, is_marked
from coldpress.engine.reduce import mask, pays

LOG = "\n".join(f"step {i}: compiling module number {i}" for i in range(1000)) + "\n"
RERUN = "The same call can be made again to see all of it."


def sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def masked(text: str = LOG, kind: Kind = "shell", called: str = "Bash make all", rerun: str | None = RERUN) -> str:
    reduced = mask.reduce(text, kind=kind, called=called, sha=sha(text), rerun=rerun)
    assert reduced is not None
    assert reduced.recipe == ""
    return reduced.text


def test_it_says_what_was_called_what_came_back_and_how_to_get_it_again() -> None:
    assert masked() == (
        "[coldpress: Bash make all: 1,000 lines, 37,780 bytes came back, no longer shown; the source is intact, only"
        f" this view is shortened; SHA-256 begins {sha(LOG)[:12]}. The same call can be made again to see all of it.]"
    )
    assert masked() == masked()


def test_it_promises_nothing_that_it_was_not_given() -> None:
    assert "again" not in masked(rerun=None)
    assert "again" not in masked(rerun=" ")
    assert masked(rerun=None).endswith(f"{sha(LOG)[:12]}.]")


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        pytest.param("x" * 5_000, "1 line, 5,000 bytes", id="one line without an end"),
        pytest.param("x" * 5_000 + "\n", "1 line, 5,001 bytes", id="one line"),
        pytest.param("x\n" * 2_500, "2,500 lines, 5,000 bytes", id="many lines"),
        pytest.param("日本" * 500, "1 line, 3,000 bytes", id="bytes, not characters"),
        pytest.param("\udcff" * 1_000, "1 line, 3,000 bytes", id="what is no text still has a size"),
    ],
)
def test_it_counts_lines_and_bytes(text: str, counted: str) -> None:
    assert f": {counted} came back" in masked(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param(LOG, "mutation", id="what a change gave back"),
        pytest.param(LOG, "plan", id="a plan"),
        pytest.param(LOG, "memory", id="a memory"),
        pytest.param(LOG, "diff", id="a diff"),
        pytest.param("", "shell", id="nothing"),
        pytest.param("short\n" * 60, "shell", id="less than a marker and 256 bytes"),
        pytest.param(LOG + "\n[coldpress: 12 lines left out here]\n" + LOG, "shell", id="a view of ours"),
        pytest.param("[Old tool result content cleared]", "shell", id="what a client took away"),
        pytest.param(f"{LOG}[... omitted 12 of 99 lines ...]\n{LOG}", "shell", id="what a client has shortened"),
    ],
)
def test_it_leaves_alone(text: str, kind: Kind) -> None:
    assert mask.reduce(text, kind=kind, called="Bash make", sha=sha(text), rerun=RERUN) is None


@pytest.mark.parametrize(
    ("called", "shown"),
    [
        pytest.param("", "shell", id="a call without a name is called by its kind"),
        pytest.param("Bash a\n  b\tc", "Bash a b c", id="on one line"),
        pytest.param("Bash \x1b[31mred\x00\u2028end", "Bash [31mred end", id="without control characters"),
        pytest.param("Bash \ud83d broken", "Bash broken", id="without half a character"),
        pytest.param('Grep "a b" src', 'Grep "a b" src', id="closed quotes stay"),
        pytest.param('Grep "a b src', "Grep a b src", id="an open quote goes"),
        pytest.param("Bash echo '" + "x" * 200 + "'", "Bash echo " + "x" * 66 + "…", id="cut inside a quote"),
        pytest.param("WebFetch " + "日" * 60, "WebFetch " + "日" * 22 + "…", id="cut between characters"),
    ],
)
def test_a_call_is_named_in_a_few_printable_words(called: str, shown: str) -> None:
    assert masked(called=called).startswith(f"[coldpress: {shown}: 1,000 lines")


WORDS = st.text(max_size=400)


@given(
    text=st.text(max_size=40).flatmap(lambda part: st.integers(0, 200).map(lambda times: part * times)),
    called=WORDS,
    rerun=st.none() | WORDS,
    kind=st.sampled_from(["shell", "source", "search", "listing", "web", "mcp", "unknown"]),
)
def test_whatever_it_is_given_it_gives_one_bounded_line_that_is_known_as_ours(
    text: str, called: str, rerun: str | None, kind: Kind
) -> None:
    reduced = mask.reduce(text, kind=kind, called=called, sha=sha(text), rerun=rerun)
    if reduced is None:
        return
    line = reduced.text
    assert line.startswith(MARK)
    assert line.isprintable()
    assert len(line.encode()) <= mask.MAX_BYTES
    assert all(line.count(quote) % 2 == 0 for quote in "\"'`")
    assert pays(text, line)
    assert is_marked(line)
    assert mask.reduce(line * 10, kind=kind, called=called, sha=sha(line), rerun=rerun) is None
    assert re.search(rf"SHA-256 begins {sha(text)[:12]}\.", line)
