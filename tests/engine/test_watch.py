"""A call is made again: whether that is because its result was taken away, or ordinary work."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from engine.watched import FORMATS, Call, Talk, bash, edit, read, talk
from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.session import AgedEdits, Session
from coldpress.engine.watch import NOTHING_WATCHED, Watch, watch
from coldpress.lab.importers.claude_code import read_file
from coldpress.lab.rebuild import requests
from coldpress.measure.tokens import estimate
from coldpress.model.edits import Edit, Standing
from coldpress.model.identity import EditKey
from coldpress.model.records import Finding
from coldpress.model.summary import Item, Summary
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName

OTHER = bash("git log --oneline")


def found(held: Talk, *batches: AgedEdits) -> tuple[Finding, ...]:
    """What is said of the last turn's messages."""
    _, findings = watch(NOTHING_WATCHED, held.conversation, held.session(*batches))
    return findings


def again(first: Call, *turns: Call, name: FormatName = "anthropic") -> list[str]:
    """The kinds of findings where the first call's result was masked on the next request."""
    held = talk([first, OTHER, *turns], name)
    return [finding.kind for finding in found(held, held.masks([0], at=1))]


LOOP = ["amnesia_loop"]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(read("/r/a.py"), read("/r/a.py"), id="the same read"),
        pytest.param(read("/r/a.py"), read("/r/./a.py", offset=40, limit=20), id="some lines of what was read whole"),
        pytest.param(read("/r/a.py", offset=1, limit=90), read("/r/a.py"), id="the whole of what was read in part"),
        pytest.param(read("/r/a.py"), bash("cat /r/a.py | head -50"), id="the same file by another tool"),
        pytest.param(read("/r/a.py"), bash("cd /r && sed -n '5,20p' a.py"), id="the same file from its folder"),
        pytest.param(bash("make test"), bash("make test"), id="the same command"),
        pytest.param(bash("make test"), bash("cd /r && make   test 2>&1 | tail -20"), id="moved about and shortened"),
        pytest.param(bash("pytest 'a b.py'"), bash('pytest "a b.py"; echo done'), id="quoted otherwise"),
        pytest.param(bash("make test", description="one"), bash("make test", description="two"), id="another remark"),
        pytest.param(bash("python - <<'E'\nprint(1)\nE"), bash("cd /r && python - <<'E'\nprint(1)\nE"), id="a script"),
        pytest.param(bash("grep -rn 'def f' src"), bash('rg "def f" src/ --no-heading'), id="the same search"),
        pytest.param(
            Call("Grep", {"pattern": "def f", "path": "src"}), bash("grep -r 'def f' src | head"), id="a tool's search"
        ),
        pytest.param(
            Call("WebFetch", {"url": "https://example.org/a", "prompt": "what"}),
            Call("WebFetch", {"url": "https://example.org/a/", "prompt": "how"}),
            id="the same page for another question",
        ),
        pytest.param(
            Call("mcp__db__query", {"sql": "select 1", "db": "x"}),
            Call("mcp__db__query", {"db": "x", "sql": "select 1", "limit": None}),
            id="keys in another order",
        ),
        pytest.param(Call("Task", {"prompt": "look"}), Call("Task", {"prompt": "look"}), id="the same sub-agent"),
    ],
)
def test_a_call_whose_result_was_taken_away_is_made_again(name: FormatName, first: Call, second: Call) -> None:
    assert again(first, second, name=name) == LOOP


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("first", "turns"),
    [
        pytest.param(read("/r/a.py"), [read("/r/b.py")], id="another file"),
        pytest.param(read("/r/a.py"), [read("/s/a.py")], id="another file of the same name"),
        pytest.param(
            read("/r/a.py", offset=1, limit=50), [read("/r/a.py", offset=51, limit=50)], id="the next page of a file"
        ),
        pytest.param(bash("sed -n '1,50p' a.py"), [bash("sed -n '51,99p' a.py")], id="the next page by a shell"),
        pytest.param(bash("make test"), [bash("make test-all")], id="another command"),
        pytest.param(bash("cd /a && make"), [bash("cd /b && make")], id="the same command in another folder"),
        pytest.param(bash("make > log"), [bash("make > other")], id="another file is written"),
        pytest.param(bash("python - <<'E'\nprint(1)\nE"), [bash("python - <<'E'\nprint(2)\nE")], id="another script"),
        pytest.param(bash("echo $(cat a)"), [bash("echo $(cat b)")], id="another substitution"),
        pytest.param(bash("grep -rn f src"), [bash("grep -rn g src")], id="another pattern"),
        pytest.param(bash("grep -rn f src"), [bash("grep -rvn f src")], id="the lines that do not match"),
        pytest.param(bash("grep -rn f src"), [bash("grep -rn f docs")], id="another place to search"),
        pytest.param(bash("pytest"), [edit("/r/a.py"), bash("pytest")], id="tests run again after an edit"),
        pytest.param(bash("pytest"), [bash("sed -i s/a/b/ a.py"), bash("pytest")], id="after an edit by a shell"),
        pytest.param(bash("git status"), [bash("git add -A"), bash("git status")], id="after a change of the index"),
        pytest.param(bash("git diff"), [edit("/r/a.py"), bash("git diff")], id="a diff after an edit"),
        pytest.param(read("/r/a.py"), [edit("/r/a.py"), read("/r/a.py")], id="a file that was changed"),
        pytest.param(
            read("/r/a.py"),
            [bash("cat > /r/a.py <<'E'\nx\nE"), read("/r/a.py")],
            id="a file that was written by a shell",
        ),
        pytest.param(bash("sleep 5; cat log"), [bash("sleep 5; cat log")], id="waiting"),
        pytest.param(bash("docker ps"), [bash("docker ps")], id="how a container stands"),
        pytest.param(bash("curl localhost:80"), [bash("curl localhost:80")], id="a running service"),
        pytest.param(Call("BashOutput", {"id": "1"}), [Call("BashOutput", {"id": "1"})], id="a job's log"),
        pytest.param(Call("TodoWrite", {"todos": []}), [Call("TodoWrite", {"todos": []})], id="a plan written again"),
        pytest.param(edit("/r/a.py"), [edit("/r/a.py")], id="the same edit, made for its effect"),
    ],
)
def test_ordinary_work_is_no_finding(name: FormatName, first: Call, turns: list[Call]) -> None:
    assert again(first, *turns, name=name) == []


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "turns",
    [
        pytest.param([edit("/r/b.py"), read("/r/a.py")], id="another file was changed"),
        pytest.param([edit("/r/a.py", failed=True), read("/r/a.py")], id="the change failed, since the text was gone"),
    ],
)
def test_a_file_is_read_again_though_it_did_not_change(name: FormatName, turns: list[Call]) -> None:
    assert again(read("/r/a.py"), *turns, name=name) == LOOP


def test_a_call_is_no_loop_while_its_last_result_is_shown() -> None:
    held = talk([read("/r/a.py"), OTHER, read("/r/a.py"), read("/r/a.py")])
    assert [f.messages for f in found(held, held.masks([0], at=1))] == []
    assert [f.messages for f in found(held, held.masks([0, 2], at=2))] == [(6, 8)]


def test_lines_that_another_read_still_shows_are_no_loss() -> None:
    held = talk([read("/r/a.py", offset=1, limit=20), read("/r/a.py"), read("/r/a.py", offset=1, limit=20)])
    assert found(held, held.masks([0], at=1)) == ()
    assert len(found(held, held.masks([0, 1], at=1))) == 1


def test_a_page_is_no_loss_while_the_page_before_it_is_shown() -> None:
    pages = [read("/r/a.py", offset=n, limit=50) for n in (1, 51, 101)]
    held = talk([*pages, pages[0]])
    assert found(held, held.masks([1], at=2)) == ()
    assert len(found(held, held.masks([0], at=2))) == 1


def test_the_very_call_goes_before_one_that_shows_some_of_its_lines() -> None:
    page = read("/r/a.py", offset=1, limit=50)
    held = talk([page, read("/r/a.py", offset=40, limit=20), OTHER, page])
    assert [f.messages for f in found(held, held.masks([0], at=2))] == [(2, 8)]


def test_a_call_made_in_the_reply_that_still_saw_the_result_is_no_loop() -> None:
    held = talk([read("/r/a.py"), read("/r/a.py")])
    assert found(held, held.masks([0], at=1)) == ()


def test_a_result_that_was_given_back_is_not_away() -> None:
    held = talk([read("/r/a.py"), OTHER, OTHER, read("/r/a.py")])
    assert found(held, held.masks([0], at=1), held.masks([0], at=2, mode="restore")) == ()


@pytest.mark.parametrize("mode", ["deterministic", "lossless", "dedupe"])
def test_a_view_that_shows_the_text_in_part_is_not_away(mode: str) -> None:
    held = talk([read("/r/a.py"), OTHER, read("/r/a.py")])
    assert found(held, held.masks([0], at=1, mode=mode)) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FORMATS)
def test_a_finding_names_tool_messages_and_tokens(name: FormatName) -> None:
    text = "\n".join(f"{n}\tvalue = {n}" for n in range(200))
    held = talk([read("/r/a.py"), OTHER, read("/r/a.py", text)], name)
    expected = Finding("amnesia_loop", "Read", (held.calls[0] + 1, held.calls[2] + 1), estimate(text))
    assert found(held, held.masks([0], at=1)) == (expected,)


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_rebuild_left_out_counts_and_what_it_carries_does_not(name: FormatName) -> None:
    held = talk([bash("make a", "log of a"), bash("make b", "log of b"), OTHER, bash("make a"), bash("make b")], name)
    state = Watch(held.results[2] + 1, held.conversation.messages[held.results[2]].chain)
    assert state.holds(held.conversation)
    batch = held.without(range(2), at=2, carried=[1])
    whole = watch_from(held, held.results[2] + 1, batch)
    assert [f.messages for f in whole] == [(held.calls[0] + 1, held.calls[3] + 1)]


def watch_from(held: Talk, messages: int, *batches: AgedEdits) -> tuple[Finding, ...]:
    """What is said of all messages from one on, where those before were seen on an earlier request."""
    before, _ = watch(NOTHING_WATCHED, cut(held, messages).conversation, held.session(*batches))
    return watch(before, held.conversation, held.session(*batches))[1]


def cut(held: Talk, messages: int) -> Talk:
    """The beginning of a conversation."""
    found = held.conversation
    shorter = type(found)(found.format, found.head, found.messages[:messages], found.body)
    calls = tuple(index for index in held.calls if index < messages)
    return Talk(shorter, calls, tuple(index for index in held.results if index < messages))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("item", "call", "retried"),
    [
        pytest.param(("no network", ("pip install foo",)), bash("cd /r && pip install foo 2>&1"), True, id="a command"),
        pytest.param(("`make x` hangs", ("make x", "timeout")), bash("make x | tail -3"), True, id="one quote of two"),
        pytest.param(("not there", ("/etc/x.toml",)), read("/etc/x.toml"), True, id="a file that is all it quotes"),
        pytest.param(("Read finds none", ("/a.py", "ENOENT")), read("/a.py"), True, id="a file read by the same tool"),
        pytest.param(("find it by grep", ("grep -rn foo src",)), bash("rg foo src"), True, id="a search"),
        pytest.param(("did not help", ("/a.py", "x = 1")), read("/a.py"), False, id="a file quoted for another reason"),
        pytest.param(("no network", ("pip install foo",)), bash("pip install bar"), False, id="another command"),
        pytest.param(("no network", ()), bash("pip install foo"), False, id="nothing is quoted"),
    ],
)
def test_what_the_summary_rules_out_is_tried_again(
    name: FormatName, item: tuple[str, tuple[str, ...]], call: Call, retried: bool
) -> None:
    held = talk([bash("one"), bash("two"), OTHER, call], name)
    summary = Summary(ruled_out=(Item(item[0], 2, item[1]),))
    findings = found(held, held.without(range(2), at=2, summary=summary))
    expected = (Finding("ruled_out_retried", call.tool, (2, held.calls[3] + 1)),) if retried else ()
    assert findings == expected


def test_only_the_summary_that_the_model_saw_rules_out() -> None:
    held = talk([bash("one"), bash("two"), bash("pip install foo")])
    summary = Summary(ruled_out=(Item("no network", 2, ("pip install foo",)),))
    assert found(held, held.without(range(1), at=2, summary=summary)) == ()


def test_nothing_is_kept_while_nothing_was_taken_away() -> None:
    held = talk([read("/r/a.py"), read("/r/a.py")])
    state, findings = watch(NOTHING_WATCHED, held.conversation, held.session())
    assert state is NOTHING_WATCHED
    assert findings == ()


def test_the_state_of_another_conversation_is_not_used() -> None:
    one, other = talk([read("/r/a.py"), OTHER]), talk([bash("ls"), OTHER, read("/r/a.py")])
    state, _ = watch(NOTHING_WATCHED, one.conversation, one.session(one.masks([0], at=1)))
    assert watch(state, other.conversation, other.session(other.masks([0], at=1)))[1] == ()


CALLS = st.sampled_from(
    [
        read("/r/a.py"),
        read("/r/a.py", offset=3, limit=9),
        read("/r/b.py"),
        bash("make"),
        bash("rg f src"),
        edit("/r/a.py"),
    ]
)


@given(st.lists(CALLS, min_size=2, max_size=12), st.data())
def test_request_by_request_finds_what_one_look_finds(turns: list[Call], data: st.DataObject) -> None:
    held = talk(turns)
    batches = [
        held.masks([turn for turn in range(at + 1) if data.draw(st.booleans())], at=at)
        for at in range(len(turns) - 1)
        if data.draw(st.booleans())
    ]
    state, findings = NOTHING_WATCHED, list[Finding]()
    for turn in range(len(turns)):
        now = cut(held, held.results[turn] + 1)
        state, more = watch(state, now.conversation, now.session(*(b for b in batches if b.at <= held.results[turn])))
        findings += more
    start = Watch(1, held.conversation.messages[0].chain)
    whole, at_once = watch(start, held.conversation, held.session(*batches))
    assert tuple(findings) == at_once
    assert len(findings) == len(set(findings)), "a call is counted once"
    assert not batches or state == whole


def test_recorded_agents_that_lost_nothing_repeat_few_calls(shared: Path) -> None:
    """Every result masked after 20 turns, of which these agents knew nothing: each finding is a plain repetition."""
    calls = findings = 0
    for path in sorted((shared / "trajectories" / "dev" / "claude-code-long").glob("*.jsonl")):
        for trajectory in read_file(path).trajectories:
            *_, body = requests(trajectory)
            state, found_here = _masked_by_age(body, turns=20)
            calls, findings = calls + len(state.made), findings + len(found_here)
    assert calls > 1_000
    assert findings < 0.02 * calls


def _masked_by_age(body: bytes, *, turns: int) -> tuple[Watch, Sequence[Finding]]:
    reader: Reader[None] = Reader(seed=1)
    conversation = reader.read(body, "anthropic", None).conversation
    listed = conversation.messages
    replies = [
        i for i, m in enumerate(listed) if m.role == "assistant" and (i == 0 or listed[i - 1].role != "assistant")
    ]
    batches = []
    for (begins, ends), at in zip(pairwise((0, *replies)), replies[turns:], strict=False):
        edits = [
            Edit(text.span, b'"x"', i, Standing(EditKey(listed[i].chain, block, text.part), "x", "mask", "0" * 64), 0)
            for i in range(begins, ends)
            for block, result in listed[i].results
            for text in result.texts
        ]
        batches.append(AgedEdits(at - 1, tuple(edits)))
    session = Session.of((), tuple(batches), (), tuple(replies), b"")
    return watch(Watch(1, listed[0].chain), conversation, session)
