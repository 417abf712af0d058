"""Views by what a call was made for: which lines stay, what is counted, what is never touched, when there is none."""

from __future__ import annotations

import hashlib
import re
import sys
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.engine.reduce import Reduced, heading, keyword, relevance
from coldpress.engine.reduce.outline import outline
from coldpress.engine.words import words

GAP = re.compile(r"\[coldpress: (?:lines? (?:(\d+)-)?(\d+) left out(?:, ([\d,]+))?|([\d,]+) lines? left out)\]")
RERUN = "The same call can be made again."


def reduce(text: str, guidance: str, kind: str = "shell", **bounds: int) -> Reduced | None:
    bounds = {"fill_bytes": 0, **bounds}
    sha = hashlib.sha256(text.encode()).hexdigest()
    return keyword.reduce(text, kind=kind, called="Bash make", guidance=guidance, sha=sha, rerun=RERUN, **bounds)


def view(text: str, guidance: str, kind: str = "shell", **bounds: int) -> list[str]:
    """The lines of a view, the opening first."""
    made = reduce(text, guidance, kind, **bounds)
    assert made is not None
    assert made.recipe == ""
    assert 2 * len(made.text.encode()) < len(text.encode())
    return made.text.split("\n")


def left_out(line: str) -> tuple[int, int | None] | None:
    """How many lines a gap counts, and which is its first where it says so; `None` for other lines."""
    match = GAP.fullmatch(line)
    if match is None:
        return None
    if match[4] is not None:
        return int(match[4].replace(",", "")), None
    first = int(match[1] or match[2])
    return int(match[2]) - first + 1, first


LOG = [f"[{i:04}] compiling unit number {i} of the tree" for i in range(1000)]


def log(**at: str) -> str:
    """A log of 1,000 lines with some of them replaced, named `l` and their index."""
    lines = list(LOG)
    for name, line in at.items():
        lines[int(name[1:])] = line
    return "\n".join(lines) + "\n"


def test_a_matching_line_stands_between_two_lines_on_either_side() -> None:
    shown = view(log(l500="linked retry_limit into net.o"), "where is retry_limit set")
    assert shown[1:] == [
        LOG[0],
        "[coldpress: lines 2-498 left out, 497]",
        *LOG[498:500],
        "linked retry_limit into net.o",
        *LOG[501:503],
        "[coldpress: lines 504-999 left out, 496]",
        LOG[999],
    ]


def test_the_opening_says_what_was_looked_for_sizes_hash_and_how_to_get_it_all() -> None:
    text = log(l500="linked retry_limit into net.o")
    opening = view(text, "where is retry_limit set")[0]
    assert opening.startswith(
        "[coldpress: Bash make: a view chosen by `retry_limit`: 7 of 1,000 lines (1 matches, the rest is context), "
    )
    assert f"of {len(text):,} bytes" in opening
    assert "the source is intact, only this view is shortened" in opening
    assert hashlib.sha256(text.encode()).hexdigest() in opening
    assert opening.endswith(f". {RERUN}]")


def test_the_opening_tells_matches_from_what_fills_the_view() -> None:
    lines = {f"l{i}": f"retry_limit is read {i}" for i in (100, 300, 500, 700)}
    opening, *shown = view(log(**lines), "where is retry_limit set", fill_bytes=6144)
    assert f"`retry_limit`: {keyword.MAX_LINES} of 1,000 lines (4 match, the rest is context), about" in opening
    assert sum("retry_limit" in line for line in shown) == 4


@pytest.mark.parametrize(
    ("line", "guidance"),
    [
        pytest.param("set RetryLimit = 3", "where is RetryLimit", id="a name in camel case"),
        pytest.param("set retry-limit = 3", "where is retryLimit", id="a name written otherwise, by its pieces"),
        pytest.param("--> error E0308 there", "what causes E0308", id="an error code"),
        pytest.param("uses std::sync::Mutex<T>", "find std::sync::Mutex", id="a name with colons"),
        pytest.param("built src/net/retry.rs", "see /repo/src/net/retry.rs", id="the file of a path"),
        pytest.param("said: bad magic number!", 'the text "bad magic number"', id="a quoted string"),
        pytest.param("the caches were emptied", "is caching used", id="another form of a word"),
        pytest.param("警告: 接続に失敗しました", "接続エラーを探す", id="Japanese"),
        pytest.param("\x1b[1mretry\x1b[0m_\x1b[31mlimit\x1b[m = 3", "retry_limit", id="a name in colours"),
        pytest.param("set retry_limit = 3\r", "retry_limit", id="a line that ends in CR LF"),
        pytest.param("uses a.retry.limit.b", "find retry.limit", id="a name in a longer one"),
    ],
)
def test_what_matches_stays_byte_for_byte(line: str, guidance: str) -> None:
    assert line in view(log(l500=line), guidance)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("warning: unused variable `x`", id="a warning"),
        pytest.param("error: linking took long", id="an error"),
        pytest.param("test result: ok. 250 passed; 0 failed", id="a result"),
        pytest.param(LOG[0], id="the first line"),
        pytest.param(LOG[999], id="the last line"),
    ],
)
def test_what_tells_something_stays_whatever_is_looked_for(line: str) -> None:
    lines = {"l500": "retry_limit"} if line in LOG else {"l500": "retry_limit", "l200": line}
    assert line in view(log(**lines), "retry_limit")


@pytest.mark.parametrize("end", ["\x1b[0m", "\x1b[0m\n", "\x1b[0m\n\x1b[K", "\r\n\x1b[?25h"])
def test_a_log_may_end_in_a_line_that_only_a_terminal_acts_on(end: str) -> None:
    assert "linked retry_limit into net.o" in view(log(l500="linked retry_limit into net.o") + end, "retry_limit")


def test_where_little_matches_both_ends_fill_up_as_long_as_half_goes() -> None:
    text = log(l500="linked retry_limit into net.o")
    shown = view(text, "where is retry_limit set", fill_bytes=4096)
    assert shown[1:5] == LOG[:4] and shown[-4:] == LOG[-4:]
    assert "linked retry_limit into net.o" in shown
    assert 4000 < len("\n".join(shown[1:])) < 4200
    small = "\n".join([*LOG[:60], "linked retry_limit into net.o"])
    assert 2 * len("\n".join(view(small, "retry_limit", fill_bytes=4096))) < len(small)


def test_names_count_more_than_words_and_rare_words_more_than_frequent_ones() -> None:
    lines = {f"l{i}": f"module of the tree {i} again" for i in range(100, 300)}
    shown = view(log(**lines, l700="here retry_limit"), "how does retry_limit change the module", max_lines=20)
    assert "here retry_limit" in shown
    assert not any("module" in line for line in shown[1:])


def test_the_best_lines_stay_where_not_all_fit_and_the_rest_is_counted() -> None:
    lines = {f"l{i}": f"retry_limit is read {i}" for i in range(100, 500)}
    text = log(**lines, l900="retry_limit of back_off")
    shown = view(text, "retry_limit and back_off", max_lines=30, max_bytes=2000)
    assert "retry_limit of back_off" in shown
    assert sum(not line.startswith("[coldpress") for line in shown) <= 30
    assert len("\n".join(shown[1:]).encode()) <= 2000
    told = re.search(r", (\d+) more that match do not fit;", shown[0])
    assert told is not None
    assert int(told[1]) + sum("retry_limit" in line for line in shown[1:]) == 401


GREP = [f"src/pkg/mod_{f}.py:{n}:    value = call_{n % 7}({n})" for f in range(12) for n in range(3, 300, 4)]


def test_each_kept_line_of_a_search_has_its_own_number_and_its_neighbours_are_of_its_file() -> None:
    text = "\n".join([*GREP[:400], "src/pkg/odd.py:77:    settings({needle: 1})", *GREP[400:]])
    shown = view(text, '"settings" needle', "search")
    assert shown[1:] == [
        "src/pkg/mod_0.py",
        GREP[0].removeprefix("src/pkg/mod_0.py:"),
        "[coldpress: 399 lines left out]",
        "src/pkg/odd.py",
        "77:    settings({needle: 1})",
        f"[coldpress: {len(GREP) - 401 - 74} lines left out]",
        "src/pkg/mod_11.py",
        "[coldpress: 74 lines left out]",
        GREP[-1].removeprefix("src/pkg/mod_11.py:"),
    ]


def mixed_search(blocks: int, plain: int) -> list[str]:
    """Lines of a search with numbers, and others in between, so that less than half are numbered."""
    lines = []
    for n in range(1, blocks + 1):
        lines += [f"src/some/long/path/file_{n // 10}.py:{n}: value = compute({n})", "", f"   note about {n}"]
    return lines + [f"plain line {n}" for n in range(plain)]


@pytest.mark.parametrize(("blocks", "plain", "hits"), [(100, 40, (150,)), (60, 200, (0, 90, 379)), (30, 500, (588,))])
def test_gaps_tell_the_numbers_of_the_original_where_paths_were_put_above_lines(
    blocks: int, plain: int, hits: tuple[int, ...]
) -> None:
    lines = mixed_search(blocks, plain)
    for hit in hits:
        lines[hit] += " needle_xyz"
    gaps = [left_out(line) for line in view("\n".join(lines), "find needle_xyz", "search")[1:]]
    assert any(gap is not None and gap[1] is not None for gap in gaps)
    at = 0
    for line, gap in zip(view("\n".join(lines), "find needle_xyz", "search")[1:], gaps, strict=True):
        if gap is not None:
            assert gap[1] == at + 1
            at += gap[0]
        elif not line.startswith("src/") or line == lines[at]:
            assert lines[at].endswith(line)
            at += 1
    assert at == len(lines)


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("between", [["", "   a note", "   more"], ["--"], ["lib/other.rb"], ["a note", "", ""]])
def test_a_hit_stands_below_its_own_path_whatever_stands_between_hits(between: list[str], every: int) -> None:
    lines: list[str] = []
    for n in range(200):
        if n % every == 0:
            lines += between
        lines.append(f"src/path/file_{n // 10}.py:{n}: value = f({n}){' needle_xyz' if n in (105, 132) else ''}")
    shown = view("\n".join(lines), "find needle_xyz", "search")
    for hit in (105, 132):
        before = shown[: shown.index(f"{hit}: value = f({hit}) needle_xyz")]
        assert [line for line in before if line.startswith("src/")][-1] == f"src/path/file_{hit // 10}.py"


def test_numbers_of_dropped_neighbours_are_not_merged_into_kept_ones() -> None:
    """Public failure: `476: settings({a`, `497: x`, `535: y` became one line with one number."""
    lines = [f"{n}: x_{n} = fill({n})" for n in range(1, 400)]
    lines += ["476: settings({a", "497: x", "535: y"] + [f"{n}: z = fill({n})" for n in range(600, 800)]
    shown = view("lib/conf.rb\n" + "\n".join(lines), "the settings", "search")
    assert shown[1:] == [
        "lib/conf.rb",
        "1: x_1 = fill(1)",
        "[coldpress: 396 lines left out]",
        *lines[397:402],
        "[coldpress: 199 lines left out]",
        "799: z = fill(799)",
    ]


def test_a_hit_of_a_grouped_search_stands_below_its_files_heading() -> None:
    blocks = [[f"src/file_{f}.ts", *(f"{n}:  fill({n})" for n in range(1, 60)), ""] for f in range(20)]
    blocks[7][30] = "30:  needle()"
    shown = view("\n".join(line for block in blocks for line in block), "needle", "search")
    at = shown.index("30:  needle()")
    assert "src/file_7.ts" in shown[:at]
    assert [line for line in shown[:at] if line.startswith("src/")] == ["src/file_0.ts", "src/file_7.ts"]


def test_a_name_of_a_listing_stands_below_its_folder() -> None:
    blocks = [[f"./dir_{d}:", *(f"plain_{d}_{n}.txt" for n in range(50)), ""] for d in range(20)]
    blocks[9][25] = "needle.cfg"
    shown = view("\n".join(line for block in blocks for line in block), "needle.cfg", "listing")
    assert shown.index("./dir_9:") < shown.index("needle.cfg")
    assert "./dir_8:" not in shown


def test_equal_matches_are_spread_over_the_files() -> None:
    text = "\n".join(f"src/mod_{f}.py:{n}: call_it({n})" for f in range(30) for n in range(60))
    shown = view(text, "call_it", "search", max_lines=40)
    assert len({line for line in shown[1:] if line.startswith("src/")}) == 30
    assert sum(": call_it" in line for line in shown[1:]) >= 30


@pytest.mark.parametrize("unit", ["x = 1; ", "é日🙂 ", "{}"])
def test_a_very_long_line_is_cut_around_its_match(unit: str) -> None:
    text = unit * 6_000 + "needle_here(7)" + unit * 6_000
    shown = view(text, "find needle_here")
    assert len(shown) == 2
    pieces = re.split(r" \[coldpress: ([\d,]+) characters left out here\] ?", shown[1])
    kept, gone = pieces[::2], [int(count.replace(",", "")) for count in pieces[1::2]]
    assert all(piece in text for piece in kept)
    assert sum(map(len, kept)) + sum(gone) == len(text)
    assert "needle_here(7)" in shown[1]
    assert shown[1].startswith(unit)
    assert len(shown[1]) < 900


@pytest.mark.parametrize(
    ("text", "guidance", "kind"),
    [
        pytest.param(log(), "", "shell", id="no guidance"),
        pytest.param(log(), "find where the files are", "shell", id="a guidance of stop words"),
        pytest.param(log(), "retry_limit", "shell", id="nothing matches"),
        pytest.param(log(l5="a\0b", l500="retry_limit"), "retry_limit", "shell", id="a NUL"),
        pytest.param(log(l5="[coldpress: 3 lines left out]", l9="retry_limit"), "retry_limit", "shell", id="a marker"),
        pytest.param(log(l5="[12 lines truncated]", l9="retry_limit"), "retry_limit", "shell", id="cut by the client"),
        pytest.param(log(l500="retry_limit"), "retry_limit", "source", id="a source"),
        pytest.param(log(l500="retry_limit"), "retry_limit", "diff", id="a diff"),
        pytest.param(log(l500="retry_limit"), "retry_limit", "mutation", id="a change"),
        pytest.param(log(l500="retry_limit")[-1200:], "retry_limit", "shell", id="too little to gain"),
        pytest.param("\n".join(LOG[:80]), "compiling unit", "shell", id="more than half of it matches"),
        pytest.param("", "retry_limit", "shell", id="an empty text"),
        pytest.param("\n" * 5000, "retry_limit", "shell", id="empty lines"),
    ],
)
def test_there_is_no_view(text: str, guidance: str, kind: str) -> None:
    assert reduce(text, guidance, kind) is None


def test_a_view_is_not_viewed_again() -> None:
    made = reduce(log(l500="retry_limit"), "retry_limit")
    assert made is not None
    assert reduce(made.text + log(l500="retry_limit"), "retry_limit") is None


LINE = st.one_of(
    st.sampled_from(
        [
            "",
            "--",
            "src/a.py:12:needle = 1",
            "src/a.py-13-plain",
            "7: needle",
            "lib/b.rb",
            "error: needle",
            "x\r",
            "./d:",
        ]
    ),
    st.text(alphabet="ab_ Né日🙂:/.-12\t\r", max_size=40),
    st.builds(lambda n: f"line {n} of plain text that goes on for a while", st.integers(0, 99)),
)
TEXTS = st.builds(
    lambda lines, more, end: "\n".join([*lines, *more * 40]) + end,
    st.lists(LINE, min_size=1, max_size=60),
    st.lists(LINE, min_size=1, max_size=10),
    st.sampled_from(["", "\n", "\r\n", "\n\n"]),
)
KINDS = st.sampled_from(["shell", "search", "listing", "web", "mcp"])


@settings(max_examples=100, deadline=None)
@given(TEXTS, KINDS, st.integers(3, 130), st.integers(200, 9000), st.sampled_from([0, 4096]))
def test_what_holds_of_every_view(text: str, kind: str, max_lines: int, max_bytes: int, fill: int) -> None:
    guidance = "where is needle set, and the plain ab"
    bounds = {"max_lines": max_lines, "max_bytes": max_bytes, "fill_bytes": fill}
    made = reduce(text, guidance, kind, **bounds)
    assert made == reduce(text, guidance, kind, **bounds)
    if made is None:
        return
    assert 2 * len(made.text.encode()) < len(text.encode())
    assert reduce(made.text, guidance, kind) is None
    grouped = heading.press(text) if kind == "search" else None
    placed = heading.placed_lines(grouped.text, grouped.params) if grouped else {}
    added = frozenset(placed.values())
    original = (grouped.text if grouped else text).removesuffix("\n").split("\n")
    opening, *body = made.text.split("\n")
    assert len("\n".join(body).encode()) <= max_bytes
    at = shown = 0
    path = None
    for line in body:
        gap = left_out(line)
        while at in added and (gap is not None or line != original[at]):
            at += 1
        if gap is None:
            # Every line is the original's at the very place that the counts before it say.
            assert line == original[at]
            shown += at not in added
            # A line of a search stands below the path it had.
            path = at if at in added else path
            assert placed.get(at, path) == path
            at += 1
        else:
            assert gap[1] in (None, at + 1 - sum(line in added for line in range(at)))
            for _ in range(gap[0]):
                while at in added:
                    at += 1
                at += 1
    assert at == len(original)
    headings = outline(original, kind, placed).heading_lines
    assert shown - len(headings - added) <= max_lines
    assert f"{shown:,} of {len(original) - len(added):,} lines" in opening


@settings(max_examples=25, deadline=None)
@given(st.text(alphabet="aé日🙂 ", min_size=0, max_size=40), st.integers(600, 2500), st.integers(0, 2500))
def test_a_cut_line_is_pieces_of_the_original_at_every_place(unit: str, length: int, place: int) -> None:
    filler = (unit or "x") + "-"
    line = (filler * length)[:place] + " needle " + (filler * length)[:length]
    text = log(l500=line)
    made = reduce(text, "needle")
    assert made is not None
    made.text.encode()
    cut = next(one for one in made.text.split("\n")[1:] if "needle" in one)
    pieces = re.split(r" \[coldpress: ([\d,]+) characters left out here\] ?", cut)
    assert sum(map(len, pieces[::2])) + sum(int(n.replace(",", "")) for n in pieces[1::2]) == len(line)
    assert all(piece in line for piece in pieces[::2])


@pytest.mark.parametrize(
    "fits",
    [
        pytest.param(log(l500="needle")[:-1].ljust(keyword.MAX_SCORED_BYTES, "-"), id="bytes"),
        pytest.param("é" * (keyword.MAX_SCORED_BYTES // 2 - 5) + "\nneedle-.."[:10], id="bytes of two to a letter"),
        pytest.param("needle" + "\n" * keyword.MAX_SCORED_LINES, id="lines"),
    ],
)
def test_beyond_its_bound_a_text_has_no_view(fits: str) -> None:
    assert reduce(fits, "needle") is not None
    assert reduce(fits + "\n-", "needle") is None


ODD = {
    "one line of matches": "needle ",
    "numbers on one line": "a:1:",
    "lines of signs": "a-1-b\n",
    "colours": "\x1b[1m",
    "every line matches": "x needle y\n",
    "a name that goes on": "x needle y1",
    "one long name": "ab_cD9",
    "hits and context of a name": "d/x:1:needle\n/q/x-1-y\n",
    "context of many names": "d/x:1:needle\n" + "/y" + "/x-1-" * 60 + "\n",
    "empty lines": "\n",
}


def steps(text: str, kind: str) -> int:
    """How many functions are called, of Python's own as well, while a view is made."""
    called = 0

    def count(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        reduce(text, 'find needle "x needle" a-1-b', kind)
    finally:
        sys.setprofile(before)
    return called


@pytest.mark.parametrize("kind", ["shell", "search"])
@pytest.mark.parametrize("unit", ODD.values(), ids=ODD)
def test_twice_the_text_is_no_more_than_twice_the_work(unit: str, kind: str) -> None:
    count = min(8_000 // len(unit), 4_000)
    small = steps("needle\n" + unit * count, kind)
    assert steps("needle\n" + unit * (2 * count), kind) < 2.3 * small + 2_000


def test_paths_of_one_name_in_many_folders_are_not_compared_with_one_another() -> None:
    def text(count: int) -> str:
        hits = [f"d{n}/index.ts:1:x needle" for n in range(count)]
        return "\n".join([*hits, *(f"/q/z{n}/index.ts-1-x" for n in range(count))])

    assert steps(text(800), "search") < 2.3 * steps(text(400), "search")


def test_there_is_no_view_where_all_that_is_looked_for_stands_everywhere() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = [".".join(letters[at : at + size]) for at in range(20) for size in (3, 4, 5, 6)]
    guidance = " ".join(f'"{name}"' for name in names)
    line = ".".join(letters)
    most = relevance.MAX_PHRASE_LINES // len(names)
    rest = ["plain"] * (2 * most)
    scored = relevance.relevance([line] * (most // 2) + rest, words(guidance))
    assert scored is not None and scored.words
    assert relevance.relevance([line] * (2 * most) + rest, words(guidance)) is None
