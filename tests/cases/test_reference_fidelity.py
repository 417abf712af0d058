"""F and R for what goes by its purpose: views by keyword and another model's summaries, in both formats."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cases.exposed import FORMATS, Exposed, Mode, conversation, expose
from cases.talk import log
from cases.test_fidelity import BINARY, CLIPPY, DIFF, QUOTABLE, STRANGE, STRUCTURED, number
from click.testing import CliRunner

from coldpress.cli.main import main
from coldpress.engine.reduce import keyword
from coldpress.stores.sqlite import SqliteStore
from coldpress.wire.registry import FormatName

MODES: tuple[Mode, ...] = ("keyword", "model")
TOTALS = re.compile(r"(\d[\d,]*) of (\d[\d,]*) lines")
LEFT_OUT = re.compile(r"^\[coldpress: (?:lines \d+-\d+ left out, ([\d,]+)|(?:line \d+|([\d,]+) lines?) left out)\]$")


def left_out(line: str) -> int | None:
    """How many lines a line of a view stands for; `None` where it is one of the result's own."""
    found = LEFT_OUT.fullmatch(line)
    return None if found is None else number(found[1] or found[2] or "1")


def grep(files: int, context: int, lines: int = 900) -> list[str]:
    """A search with lines of context; few hits are about what it was made for."""
    found = []
    for n in range(1, lines):
        sign = ":" if n % (context + 1) == 0 else "-"
        about = "settings" if n % 45 == 0 else "nothing"
        path = f"src/part_{n % files}.ts{sign}" if files else ""
        found.append(f"{path}{n * 3}{sign}  {about}({{ key_{n}: {n} }}) // {'x' * 20}")
    return found


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("files", "context"), [(0, 0), (1, 0), (1, 3), (12, 0), (12, 2), (300, 0)])
def test_f01_a_view_by_keyword_keeps_every_line_its_own_number_and_counts_the_others(
    files: int, context: int, name: FormatName
) -> None:
    lines = grep(files, context)
    view = expose("keyword", "\n".join(lines), name=name).view
    opening, *body = view.split("\n")
    path, shown, gone = "", list[str](), 0
    for line in body:
        count = left_out(line)
        found = re.fullmatch(r"(\d+)([:-])(.*)", line)
        if count is not None:
            gone += count
        elif line in lines:
            shown.append(line)
        elif found is None:
            path = line.partition(" ")[0]
            assert path in {one.split(".ts")[0] + ".ts" for one in lines}
        else:
            shown.append(f"{path}{found[2]}{found[1]}{found[2]}{found[3]}")
    assert shown == [line for line in lines if line in set(shown)], "each as it was, in its order"
    assert {line for line in lines if "settings" in line} <= set(shown)
    stated = TOTALS.search(opening)
    assert stated is not None
    assert (number(stated[1]), number(stated[2])) == (len(shown), len(lines)) == (len(shown), len(shown) + gone)


@pytest.mark.parametrize("name", FORMATS)
def test_f01_a_summary_names_no_line_by_another_s_number(name: FormatName) -> None:
    lines = grep(12, 0)
    true = [line for line in lines if "settings" in line][:5]
    wrong = [re.sub(r":(\d+):", lambda found: f":{int(found[1]) + 1}:", line) for line in true[:2]]
    made = expose("model", "\n".join(lines), name=name, answer="\n".join([*true, *wrong]))
    assert made.view.split("\n")[1:] == true
    assert "2 statements without a source left out" in made.view
    assert expose("model", "\n".join(lines), name=name, answer="\n".join(wrong)).views == (None, None, None)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("Bash", {"command": "git diff"}, id="git diff"),
        pytest.param("Bash", {"command": "make review"}, id="a program nobody knows"),
        pytest.param("Read", {"file_path": "change.patch"}, id="a patch file"),
        pytest.param("Edit", {"file_path": "x.py"}, id="what an edit says of itself"),
        pytest.param("mcp__git__diff", {"ref": "HEAD"}, id="from a server"),
    ],
)
def test_f03_a_diff_stays_exact_and_nobody_is_asked_to_summarise_it(
    tool: str, arguments: dict[str, str], name: FormatName, mode: Mode
) -> None:
    made = expose(mode, DIFF, tool, name=name, answer="line 1 of the change", **arguments)
    assert (made.views, made.questions) == ((None,) * 3, ())


@pytest.mark.parametrize("place", [0, 300, 599])
@pytest.mark.parametrize("name", FORMATS)
def test_f05_what_a_warning_advises_is_shown_whatever_was_looked_for(place: int, name: FormatName) -> None:
    lines = [f"    Checking crate_{n} v0.{n}.1" for n in range(600)]
    lines[place:place] = CLIPPY
    view = expose(
        "keyword", "\n".join(lines), "Bash", name=name, said="Is crate_77 checked?", command="cargo clippy"
    ).view
    assert "    Checking crate_77 v0.77.1" in view.split("\n")
    assert {line for line in CLIPPY if "help: " in line or "warning: " in line} <= set(view.split("\n"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("end", ["", "\n"])
def test_f07_the_total_is_stated_and_all_of_it_can_be_had_from_disk(
    mode: Mode, name: FormatName, end: str, tmp_path: Path
) -> None:
    lines = [f"{n:3}: module_{n} {'was rebuilt' if n % 50 == 7 else 'is as it was'} ({'y' * 30})" for n in range(250)]
    text = "\n".join(lines) + end
    file = tmp_path / "s.sqlite3"
    with SqliteStore(file) as store:
        made = expose(
            mode, text, "WebFetch", name=name, store=store, answer=lines[7], said="What was rebuilt?", url="u"
        )
    opening, *rest = made.view.split("\n")
    assert f"of {len(text.encode()):,} bytes" in opening
    assert "250 lines" in opening
    if mode == "keyword":
        stated = TOTALS.search(opening)
        assert stated is not None
        counts = [left_out(line) for line in rest]
        shown = sum(count is None for count in counts)
        assert (number(stated[1]), shown + sum(count or 0 for count in counts)) == (shown, 250)
        assert {lines[n] for n in range(7, 250, 50)} <= set(rest)
    sha = re.search(r"\b[0-9a-f]{64}\b", opening)
    assert sha is not None
    told = CliRunner().invoke(main, ["recall", sha[0], "--store", str(file)])
    assert (told.exit_code, told.stdout_bytes) == (0, text.encode())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FORMATS)
def test_f09_json_within_the_budget_stays_and_what_is_cut_is_not_taken_for_whole(mode: Mode, name: FormatName) -> None:
    small = json.dumps({**STRUCTURED, "citations": STRUCTURED["citations"][:5]}, ensure_ascii=False)  # type: ignore[index]
    answer = "quote 450 is on page 225.0, the one that was looked for."
    asked: Any = {"name": name, "answer": answer, "said": "Where is quote 450?", "q": "quote 450"}
    assert len(small) < 512
    assert expose(mode, small, "mcp__papers__search", **asked).views == (None,) * 3
    large = json.dumps({**STRUCTURED, "citations": STRUCTURED["citations"][:500]}, indent=2, ensure_ascii=False)  # type: ignore[index]
    opening, *lines = expose(mode, large, "mcp__papers__search", **asked).view.split("\n")
    assert "only this view is shortened" in opening
    with pytest.raises(json.JSONDecodeError):
        json.loads("\n".join(lines))
    if mode == "keyword":
        assert [line for line in lines if left_out(line) is None and line not in large.split("\n")] == []


def strange(offset: int, end: str) -> tuple[list[str], str]:
    """Lines of all kinds of characters, moved on by some bytes, and the text of them."""
    pieces = [f"{'x' * offset}{n}{STRANGE}{'🙂 wanted 日本' if n % 90 == 5 else ''}" for n in range(180)]
    return pieces, end.join(pieces)


def is_whole(view: str, pieces: list[str], text: str) -> None:
    """All that is shown stood there, in whole characters, and what is not is counted."""
    assert view.encode().decode() == view
    assert "\ufffd" not in view
    assert f"of {len(text.encode()):,} bytes" in view
    if "\n" in text:
        assert all(line in pieces for line in view.split("\n")[1:] if left_out(line) is None)
        return
    parts = re.split(r" ?\[coldpress: ([\d,]+) characters left out here\] ?", view.split("\n")[1])
    assert all(piece in text for piece in parts[::2])
    assert sum(map(len, parts[::2])) + sum(number(count) for count in parts[1::2]) == len(text)


@pytest.mark.parametrize("end", ["", "\n"], ids=["one line", "lines"])
def test_f11_a_view_holds_whole_characters_and_exact_counts_wherever_it_is_cut(end: str) -> None:
    for offset in range(0, len(STRANGE.encode()), 3 if end else 1):
        pieces, text = strange(offset, end)
        made = keyword.reduce(text, kind="search", called="é🙂", guidance="wanted 日本", sha="0" * 64, rerun=None)
        assert made is not None
        is_whole(made.text, pieces, text)


@pytest.mark.parametrize("end", ["", "\n"], ids=["one line", "lines"])
@pytest.mark.parametrize("name", FORMATS)
def test_f11_so_it_is_in_a_request(end: str, name: FormatName) -> None:
    pieces, text = strange(3, end)
    is_whole(expose("keyword", text, name=name, said="Where is it wanted 日本?", pattern="wanted").view, pieces, text)


@pytest.mark.parametrize("quoted", QUOTABLE)
@pytest.mark.parametrize("mode", MODES)
def test_f13_a_line_that_is_shown_keeps_every_byte(quoted: str, mode: Mode) -> None:
    lines = [f"value_{n} = {n}  # nothing of interest" for n in range(300)]
    wanted = f"{quoted}retry_budget  = 1\t{quoted}"
    lines[40] = wanted
    answer = f"The budget is set once:\n{wanted}\nNothing else is about it."
    name = FORMATS[QUOTABLE.index(quoted) % 2]
    made = expose(mode, "\n".join(lines), name=name, answer=answer, said="Where is retry_budget?")
    assert wanted in made.view.split("\n")


def test_f15_a_summary_that_says_for_certain_what_was_in_doubt_loses_that_sentence() -> None:
    lines = [f"warning: step {n} took approximately {n * 42} ms, possibly more" for n in range(100, 190)]
    lines += ["The limit is 7300 ms.", "~5150 ms were measured, up to 6200 ms may be"]
    honest = [
        "Step 100 took approximately 4200 ms.",
        "Step 101 took about 4242 ms, possibly more.",
        "The limit is 7300 ms.",
    ]
    certain = "Step 102 took 4284 ms. The measured time was 5150 ms."
    for name in FORMATS:
        made = expose("model", "\n".join(lines), name=name, answer="\n".join([*honest, *honest[:2], certain]))
        assert made.view.split("\n")[1:] == [*honest, *honest[:2]]
        assert "2 statements without a source left out" in made.view


@pytest.mark.parametrize("tool", ["Bash", "WebFetch", "Grep", "mcp__timer__all"])
@pytest.mark.parametrize("name", FORMATS)
def test_f15_no_word_is_taken_out_of_a_line_that_is_shown(tool: str, name: FormatName) -> None:
    lines = [
        f"{'warmup' if n % 77 == 7 else 'other'} {n} took approximately {n * 42} ms, possibly more {'z' * 20}"
        for n in range(900)
    ]
    asked: Any = {"command": "bench warmup"} if tool == "Bash" else {"q": "warmup"}
    made = expose("keyword", "\n".join(lines), tool, name=name, said="What of the warmup?", **asked)
    shown = [line for line in made.view.split("\n")[1:] if left_out(line) is None]
    assert set(lines[7::77]) <= set(shown)
    assert set(shown) <= set(lines)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("tool", ["Bash", "Grep", "mcp__files__get"])
def test_f19_binary_is_named_by_type_size_and_hash_and_sent_to_no_other_model(
    mode: Mode, name: FormatName, tool: str
) -> None:
    asked = {"command": "curl x"} if tool == "Bash" else {"pattern": "ELF"}
    made = expose(mode, BINARY, tool, name=name, answer="It is an ELF program.", **asked)
    assert made.questions == ()
    assert f"binary data, by its first bytes an ELF program, {len(BINARY.encode()):,} bytes" in made.view
    assert re.search(r"\b[0-9a-f]{64}\b", made.view)
    assert not set(made.view) & {"\0", "\ufffd", "\n"}


@pytest.mark.parametrize("mode", MODES)
def test_f19_names_with_nuls_between_them_stay(mode: Mode) -> None:
    made = expose(mode, "\0".join(f"src/file_{n}.c" for n in range(2000)), "Glob", answer="src/file_7.c is there.")
    assert (made.views, made.questions) == ((None,) * 3, ())


def test_what_is_too_short_is_never_sent_to_another_model() -> None:
    made: Exposed = expose("model", log("a", 6), answer="step 1 of a")
    assert (made.views, made.questions) == ((None,) * 3, ())
    assert len(conversation("anthropic", "x")) == 4
