"""R: a marker promises only what can be had, says that nothing is lost, and what has expired is told so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from bodies import changed_literals
from cases.talk import (
    DEDUPE_LOGS,
    assistant,
    chat,
    chat_calls,
    chat_result,
    listing,
    log,
    messages,
    one_result,
    result,
    use,
    user,
)
from click.testing import CliRunner
from support import pressing, settings

from coldpress.cli.main import main
from coldpress.engine.policy import DEFAULT_POLICY, Policy, Rule
from coldpress.model.errors import ExpiredOriginal
from coldpress.stores.base import DAY_SECONDS, Bounds
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore

AGAIN = "can be made again"
OWN = Policy(
    (Rule("bash", ("deterministic",), first_pass=True, rerun="Run it again with Bash."), *DEFAULT_POLICY.rules)
)


@pytest.mark.parametrize(
    ("tools", "policy", "promise"),
    [
        pytest.param(("Bash", "Read"), DEFAULT_POLICY, AGAIN, id="the tool is offered"),
        pytest.param(("Read",), DEFAULT_POLICY, None, id="another tool is offered"),
        pytest.param((), DEFAULT_POLICY, None, id="no tool is offered"),
        pytest.param(("bash",), DEFAULT_POLICY, None, id="a tool of nearly the same name"),
        pytest.param(("Bash",), OWN, "Run it again with Bash.", id="the settings' own sentence"),
        pytest.param(("Read",), OWN, None, id="the settings' own sentence, tool not offered"),
    ],
)
@pytest.mark.parametrize("wire", ["anthropic", "openai_chat"])
def test_r01_no_marker_promises_a_tool_that_the_request_does_not_offer(
    tools: Sequence[str], policy: Policy, promise: str | None, wire: str
) -> None:
    if wire == "anthropic":
        body = one_result(log(), tools=tools, command="make")
    else:
        said = ({"role": "user", "content": "go"}, chat_calls(("c", "Bash", {"command": "make"})))
        body = chat(*said, chat_result("c", log()), tools=tools)
    with pressing(settings(policy=policy)) as press:
        sent = press(body, wire).body  # type: ignore[arg-type]
    ((_, view),) = changed_literals(body, sent, wire)  # type: ignore[arg-type]
    opening = view.split("\n")[0]
    if promise is None:
        assert "again" not in opening
        assert "Bash" not in opening
    else:
        assert promise in opening
    for tool in ("recall", "retrieve", "expand"):
        assert tool not in opening.lower(), "no tool of ours is offered, so none is named"


def test_r01_a_tool_taken_back_later_changes_no_byte_of_what_stands() -> None:
    said = [user("go"), assistant(use("t1")), user(result("t1", log("a")))]
    more = [*said, assistant(use("t2")), user(result("t2", log("b")))]
    with pressing() as press:
        first, second = press(messages(*said)), press(messages(*more, tools=("Read",)))
    (_, before), *_ = changed_literals(messages(*said), first.body)
    (_, after), (_, new) = changed_literals(messages(*more, tools=("Read",)), second.body)
    assert after == before
    assert AGAIN in before
    assert AGAIN not in new


def test_r03_every_marker_says_that_the_source_is_intact_and_only_this_view_is_shortened() -> None:
    changed = listing("a").replace("a_77 ", "other ")
    hits = "\n".join(f"src/f{n % 9}.py:{n}: def name_{n}(value): return value" for n in range(900))
    paths = "\n".join(f"src/dir_{n % 30}/file_{n}.py" for n in range(900))
    results = [
        ("Bash", {"command": "make"}, log("a")),
        ("Bash", {"command": "make"}, log("a") + "\nand one more line of it"),
        ("Grep", {"pattern": "x"}, hits),
        ("Glob", {"pattern": "**"}, paths),
        ("WebFetch", {"url": "u"}, "\n".join(f"A paragraph, number {n}, of the page." for n in range(900))),
        ("Read", {"file_path": "a.py"}, listing("a")),
        ("Read", {"file_path": "a.py"}, listing("a")),
        ("Read", {"file_path": "a.py"}, changed),
    ]
    said = [user("go")]
    for number, (tool, arguments, output) in enumerate(results):
        said += [assistant(use(f"t{number}", tool, **arguments)), user(result(f"t{number}", output))]
    with pressing(settings(policy=DEDUPE_LOGS)) as press:
        sent = press.all([messages(*said[: 2 * n + 1]) for n in range(1, len(results) + 1)])[-1]
    views = [new for _, new in changed_literals(messages(*said), sent.body)]
    assert len(views) >= 6
    openings = [line for view in views for line in view.split("\n") if line.startswith("[coldpress")]
    views_told = [o for o in openings if "a shortened view" in o]
    repeats_told = [o for o in openings if re.search("(is|are) the same", o)]
    assert len(views_told) >= 3
    assert len(repeats_told) >= 3
    for opening in views_told + repeats_told:
        assert "the source is intact" in opening
        assert "only this view is shortened" in opening or "this view only leaves out the repeat" in opening


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_r05_an_expired_original_says_that_it_expired_and_how_to_get_it_again(kind: str, tmp_path: Path) -> None:
    now = [0.0]
    bounds = Bounds(originals_days=1.0)
    path = tmp_path / "s.sqlite3"
    store = (
        MemoryStore(bounds=bounds, clock=lambda: now[0])
        if kind == "memory"
        else SqliteStore(path, bounds=bounds, clock=lambda: now[0])
    )
    body = one_result(log(), command="make")
    with pressing(store=store) as press:
        first = press(body)
        sha = first.receipt.lines[0].original
        assert store.recall(sha) == log()
        store.flush()
        now[0] = 3 * DAY_SECONDS
        store.sweep(now[0])
        with pytest.raises(ExpiredOriginal) as expired:
            store.recall(sha[:16])
        again = press(body)
    assert "expired" in str(expired.value)
    assert "Bash" in str(expired.value)
    assert "again" in str(expired.value)
    assert again.body == first.body, "what stands, stands, although it cannot be recalled"
    store.close()
    if kind == "file":
        told = CliRunner().invoke(main, ["recall", sha, "--store", str(path)])
        assert told.exit_code == 4
        assert told.stdout == ""
        assert "expired" in told.stderr
        assert "again" in told.stderr
