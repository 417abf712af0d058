"""F: what is shown of a result is as it was, what is not shown is counted, and all of it can be had back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from bodies import changed_literals
from cases.talk import Json, assistant, chat, chat_calls, chat_result, log, messages, one_result, result, use, user
from support import pressing, settings

from coldpress.engine.policy import DEFAULT_POLICY
from coldpress.stores.sqlite import SqliteStore

FIXED = re.compile(r"(\d[\d,]*) of (\d[\d,]*) lines")


def view_of(text: str, tool: str = "Bash", **arguments: Any) -> str | None:
    """What is sent for a result; `None` where it stays exact. The original must come back byte for byte."""
    body = one_result(text, tool, **arguments)
    with pressing() as press:
        prepared = press(body)
        changed = changed_literals(body, prepared.body)
        for line in prepared.receipt.lines:
            if line.reason == "pressed":
                assert press.store.recall(line.original).encode() == text.encode()
    return changed[0][1] if changed else None


def number(found: str) -> int:
    return int(found.replace(",", ""))


@pytest.mark.parametrize(("files", "context"), [(1, 0), (1, 3), (12, 0), (12, 4), (300, 0)])
def test_f01_every_search_line_keeps_its_own_number_and_dropped_lines_are_counted(files: int, context: int) -> None:
    lines = []
    for n in range(1, 900):
        sign = ":" if n % (context + 1) == 0 else "-"
        lines.append(f"src/part_{n % files}.ts{sign}{n * 3}{sign}  settings({{ key_{n}: {n} }}) // {'x' * 20}")
    view = view_of("\n".join(lines), "Grep", pattern="settings")
    assert view is not None
    hits = [line for line in lines if re.match(r"[^:]+:\d+:", line)]
    assert f"{len(hits):,} hits in {len({line.split(':')[0] for line in hits})} files" in view
    path, shown = "", list[str]()
    for line in view.split("\n"):
        found = re.fullmatch(r"(\d+)([:-])(.*)", line)
        if line.startswith("src/"):
            path = line.partition(" ")[0]
        elif found:
            shown.append(f"{path}{found[2]}{found[1]}{found[2]}{found[3]}")
    assert shown
    assert set(shown) <= set(lines)
    stated = FIXED.search(view)
    assert stated is not None
    assert (number(stated[1]), number(stated[2])) == (len(shown), len(lines))


DIFF = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,900 +1,900 @@\n" + "\n".join(
    f"{'-+ '[n % 3]}line {n} of the change" for n in range(900)
)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("Bash", {"command": "git diff"}, id="git diff"),
        pytest.param("Bash", {"command": "git show HEAD"}, id="git show"),
        pytest.param("Bash", {"command": "cd x && git log -p | head -2000"}, id="a log with patches"),
        pytest.param("Bash", {"command": "diff -u a b || true"}, id="diff"),
        pytest.param("Bash", {"command": "make review"}, id="a program nobody knows"),
        pytest.param("Bash", {"command": "cat change.patch"}, id="a patch that is read"),
        pytest.param("Read", {"file_path": "change.patch"}, id="a patch file"),
        pytest.param("Edit", {"file_path": "x.py"}, id="what an edit says of itself"),
        pytest.param("mcp__git__diff", {"ref": "HEAD"}, id="from a server"),
    ],
)
@pytest.mark.parametrize("commit", ["", "commit 1234567890\nAuthor: A <a@example.org>\n\n    Change x\n\n"])
def test_f03_a_unified_diff_stays_exact(tool: str, arguments: dict[str, str], commit: str) -> None:
    assert view_of(commit + DIFF, tool, **arguments) is None


CLIPPY = [
    "warning: this `if` has identical blocks",
    "   --> src/lib.rs:12:5",
    "12 |     if a { b } else { b }",
    "help: remove the `else`, or give it another block",
    "   = help: for further information visit https://rust-lang.github.io/rust-clippy/master/index.html#if_same",
    "   = note: `#[warn(clippy::if_same_then_else)]` on by default",
    "",
]


@pytest.mark.parametrize("place", [0, 300, 599])
def test_f05_what_a_warning_advises_is_kept(place: int) -> None:
    lines = [f"    Checking crate_{n} v0.{n}.1" for n in range(600)]
    lines[place:place] = CLIPPY
    view = view_of("\n".join(lines), command="cargo clippy")
    assert view is not None
    for line in CLIPPY[:-1]:
        assert line in view.split("\n")


@pytest.mark.parametrize("count", [250, 777, 5000])
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("colour", ["", "\x1b[32m"])
def test_f07_the_total_is_stated_and_the_rest_can_be_had_on_disk_too(
    count: int, end: str, colour: str, tmp_path: Path
) -> None:
    text = "\n".join(colour + line for line in log("a", count).split("\n")) + end
    body = one_result(text)
    store = SqliteStore(tmp_path / "s.sqlite3")
    with pressing(store=store) as press:
        ((_, view),) = changed_literals(body, press(body).body)
    store.close()
    first, *rest = view.split("\n")
    found = FIXED.search(first)
    assert found is not None
    assert number(found[2]) == count
    assert f"of {len(text.encode()):,} bytes" in first
    kept = [line for line in rest if not line.startswith("[coldpress")]
    left_out = sum(number(n) for n in re.findall(r"^\[coldpress: ([\d,]+) lines left out here", view, re.MULTILINE))
    assert (len(kept), len(kept) + left_out) == (number(found[1]), count)
    sha = re.search(r"\b[0-9a-f]{64}\b", first)
    assert sha is not None
    reopened = SqliteStore(tmp_path / "s.sqlite3")
    assert reopened.recall(sha[0]) == text
    reopened.close()


STRUCTURED = {"confidence": 0.91, "citations": [{"n": n, "quote": f"“quote {n}”", "page": n / 2} for n in range(900)]}


@pytest.mark.parametrize("tool", ["mcp__papers__search", "functions.mcp__a__b", "some_tool_nobody_knows", "Task"])
@pytest.mark.parametrize("indent", [None, 2])
def test_f09_structured_results_of_servers_and_unknown_tools_stay_as_they_are(tool: str, indent: int | None) -> None:
    text = json.dumps(STRUCTURED, indent=indent, ensure_ascii=False)
    assert view_of(text, tool, q="x") is None
    body = chat(chat_calls(("c1", tool, {"q": "x"})), chat_result("c1", text))
    with pressing() as press:
        assert press(body, "openai_chat").body is body


STRANGE = "héllo 日本語 🙂 e\u0301 \u200d👩‍👩‍👧 "


@pytest.mark.parametrize("offset", range(len(STRANGE.encode())))
@pytest.mark.parametrize("one_line", [True, False])
def test_f11_a_cut_at_every_byte_offset_gives_whole_characters_and_exact_counts(offset: int, one_line: bool) -> None:
    pieces = (f"{'x' * offset}{n}{STRANGE}" for n in range(700))
    text = ("" if one_line else "\n").join(pieces)
    view = view_of(text)
    assert view is not None
    assert view.encode().decode() == view
    assert "\ufffd" not in view
    if one_line:
        found = re.search(r"(.*) \[coldpress: ([\d,]+) characters left out here\] (.*)", view.split("\n")[1])
        assert found is not None
        assert text.startswith(found[1])
        assert text.endswith(found[3])
        assert len(found[1]) + number(found[2]) + len(found[3]) == len(text)
    else:
        lines = text.split("\n")
        assert all(line in lines or line.startswith("[coldpress") for line in view.split("\n"))
        assert f"of {len(text.encode()):,} bytes" in view


QUOTABLE = ["//  Talks", "\tx = 1  ", "a\u00a0b", "  - item", "``` ", "if (a)  {", "é\u0301", "trailing   "]


@pytest.mark.parametrize("quoted", QUOTABLE)
@pytest.mark.parametrize("again", [False, True])
def test_f13_what_an_agent_may_quote_from_a_source_keeps_every_byte(quoted: str, again: bool) -> None:
    lines = [f"{n:6}\tv{n} = {n}" for n in range(1, 300)]
    lines[40] = f"{41:6}\t{quoted}"
    read, text = use("t1", "Read", file_path="a.ts"), "\n".join(lines)
    said = [user("go"), assistant(read), user(result("t1", text))]
    if again:
        changed = [line.replace("v200 =", "changed =") for line in lines]
        changed[40] = f"{41:6}\t{quoted}"
        said += [assistant({**read, "id": "t2"}), user(result("t2", "\n".join(changed)))]
    with pressing() as press:
        sent = press.all([messages(*said[:3]), messages(*said)])[-1]
        views = [new for _, new in changed_literals(messages(*said), sent.body)]
    assert len(views) == 1 + again
    assert [line for line in views[0].split("\n") if line.split("\t", 1)[1:] == [quoted]]
    assert [line.split("\t", 1)[1] for line in views[0].split("\n")] == [line.split("\t", 1)[1] for line in lines]
    if again:
        assert "changed = 200" in views[1]


@pytest.mark.parametrize("tool", ["Bash", "WebFetch", "Grep", "Glob"])
def test_f15_no_word_is_taken_out_of_a_line_that_is_shown(tool: str) -> None:
    lines = [f"warning: approximately {n * 42} ms, possibly more, in step {n}" for n in range(900)]
    view = view_of("\n".join(lines), tool, command="bench", pattern="x", url="https://example.org")
    assert view is not None
    shown = [line for line in view.split("\n") if "ms" in line and not line.startswith("[coldpress")]
    assert len(shown) > 20
    assert set(shown) <= set(lines)


def test_f17_nothing_but_tool_results_is_ever_shortened_in_any_round() -> None:
    canaries = "The cap is $4,300, commit 9f2c1, and never touch prod. " * 400
    said: list[Json] = [user(canaries)]
    with pressing() as press:
        for n in range(5):
            said += [
                assistant(canaries, use(f"t{n}", "Bash", command=canaries)),
                user(result(f"t{n}", log(str(n))), canaries),
            ]
            body = messages(*said, system=canaries)
            sent = press(body)
            assert len(changed_literals(body, sent.body)) == n + 1


BINARY = "".join(chr(code) for code in (127, 69, 76, 70, 2, 1, 1, 0, 0, 0xFFFD, 3, 0, 62, 0, 0xFFFD, 0xFFFD)) * 2000


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("Bash", {"command": "curl -s https://example.org/x"}, id="shell"),
        pytest.param("WebFetch", {"url": "https://example.org/x"}, id="web"),
        pytest.param("Grep", {"pattern": "x"}, id="search"),
    ],
)
def test_f19_binary_is_replaced_by_its_type_size_and_hash(tool: str, arguments: dict[str, str]) -> None:
    view = view_of(BINARY, tool, **arguments)
    assert view is not None
    assert "\n" not in view
    assert "\0" not in view
    assert "\ufffd" not in view
    assert "binary" in view
    assert "ELF" in view
    assert f"{len(BINARY.encode()):,} bytes" in view
    assert re.search(r"\b[0-9a-f]{64}\b", view)
    assert "source is intact" in view


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        pytest.param(BINARY, "Read", {"file_path": "x"}, id="what a read gave is kept"),
        pytest.param(BINARY[:4000], "Bash", {"command": "curl x"}, id="a little"),
        pytest.param(
            "\0".join(f"src/file_{n}.c" for n in range(2000)), "Bash", {"command": "x -0"}, id="names and NULs"
        ),
        pytest.param(BINARY, "mcp__files__get", {"id": 1}, id="of a server"),
    ],
)
def test_f19_what_may_be_wanted_as_it_is_stays(text: str, tool: str, arguments: dict[str, object]) -> None:
    assert view_of(text, tool, **arguments) is None


def test_f19_images_and_documents_go_on_untouched() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA" * 9000}}
    body = messages(user("go"), assistant(use("t1")), user(result("t1", [image, {"type": "text", "text": log("a")}])))
    with pressing(settings(policy=DEFAULT_POLICY)) as press:
        assert len(changed_literals(body, press(body).body)) == 1
