"""A rebuild that drops what was forbidden, or what the last summary knew, is found out; one that keeps it is not."""

from __future__ import annotations

import json

import pytest
from cases.talk import Json, assistant, chat, messages, result, use, user
from engine.watched import FORMATS

from coldpress.engine.rebuild import Writing, write
from coldpress.engine.session import Session
from coldpress.engine.signals import signals
from coldpress.engine.watch_rebuild import drift, kept_texts, lost_signals
from coldpress.model.conversation import Conversation, Text
from coldpress.model.records import Finding
from coldpress.model.summary import Item, Summary
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName

NOTHING = '{"role":"user","content":"[summary] work went on"}'


@pytest.mark.parametrize(
    "said",
    [
        "Never push to main.",
        "Please do not touch the lock file!",
        "Don't run the migrations on production",
        "- **Do NOT** edit `vendor/`",
        "You must not call the billing API.",
        "The token may never leave this machine.",
        "Only edit files under src/.",
        "Use only the standard library.",
        "Spend at most 5 USD.",
        "no more than three retries",
        "The cap is 250 EUR per order.",
        "Limit: 20 requests a minute",
        "Ask before you deploy; deploying without my approval is not allowed.",
        "Stop when the second test fails.",
        "Fix the bug, but don't change the public interface.",
    ],
)
def test_a_prohibition_or_limit_is_seen(said: str) -> None:
    assert list(signals(f"Hello there. {said}\nThe rest is fine."))


@pytest.mark.parametrize(
    "said",
    [
        "I don't know why the build is slow.",
        "We never had this problem before.",
        "It only happens on Windows.",
        "The build does not start.",
        "Please have a look at the parser.",
        "```\nnever mind: code, at most 3\n```",
        "<system-reminder>Never mention this. Do not reply.</system-reminder>",
        "<command-name>/never do that</command-name>",
        "The commit was made in 2019 and has 14 files.",
    ],
)
def test_other_prose_is_no_prohibition(said: str) -> None:
    assert list(signals(said)) == []


def conversation(listed: list[Json], name: FormatName = "anthropic") -> Conversation:
    reader: Reader[None] = Reader(seed=1)
    body = messages(*listed) if name == "anthropic" else chat(*listed)
    return reader.read(body, name, None).conversation


def said_by(role: str, *texts: str) -> list[Json]:
    """A task, then texts between replies, then a last exchange."""
    listed: list[Json] = [{"role": "user", "content": "the task"}]
    for text in texts:
        listed += [{"role": "assistant", "content": "working"}, {"role": role, "content": text}]
    return [*listed, {"role": "assistant", "content": "done"}, {"role": "user", "content": "go on"}]


@pytest.mark.parametrize("name", FORMATS)
def test_a_rebuild_that_drops_a_prohibition_is_found_out(name: FormatName) -> None:
    found = conversation(said_by("user", "Go on. Never push to main.", "Looks fine."), name)
    assert lost_signals(found, range(1, 5), NOTHING) == (Finding("stop_signal_lost", "user", (3,)),)


@pytest.mark.parametrize("name", FORMATS)
def test_our_own_rebuild_keeps_what_users_say(name: FormatName) -> None:
    found = conversation(said_by("user", "Go on. Never push to `main`.", "Spend at most 5 USD — “please”."), name)
    kept = [(i, b) for i in range(1, 5) for b, t in enumerate(found.messages[i].blocks) if isinstance(t, Text)]
    users = tuple((i, b) for i, b in kept if found.messages[i].role == "user")
    written = write(found, Session(), Writing(1, 5, users, "[summary]"))
    assert lost_signals(found, range(1, 5), written.rebuild.literal) == ()
    dropped = write(found, Session(), Writing(1, 5, users[:1], "[summary]"))
    assert lost_signals(found, range(1, 5), dropped.rebuild.literal) == (Finding("stop_signal_lost", "user", (5,)),)


@pytest.mark.parametrize(
    ("listed", "lost"),
    [
        pytest.param(said_by("user", "never push to main", "Never push to MAIN!"), 2, id="each message that says it"),
        pytest.param(
            [*said_by("user", "Never push to main."), *said_by("user")[1:-1], user("never push to  *main*.")],
            0,
            id="said again in the tail",
        ),
        pytest.param(said_by("assistant", "I must not push to main."), 0, id="the model's own words"),
        pytest.param(said_by("system", "Do not push."), 1, id="the system's"),
    ],
)
def test_what_counts_as_lost(listed: list[Json], lost: int) -> None:
    assert len(lost_signals(conversation(listed), range(1, 5), NOTHING)) == lost


@pytest.mark.parametrize(("tool", "lost"), [("TodoRead", True), ("memory", True), ("Bash", False), ("Read", False)])
def test_plans_and_memories_forbid_too_and_other_results_do_not(tool: str, lost: bool) -> None:
    listed = [
        user("the task"),
        assistant(use("t1", tool, command="view", path="/memories/rules.md")),
        user(result("t1", "1. do not deploy on Friday\n2. test")),
        assistant("done"),
        user("go on"),
    ]
    found = lost_signals(conversation(listed), range(1, 3), NOTHING)
    assert found == ((Finding("stop_signal_lost", tool, (3,)),) if lost else ())


OLD = Summary(
    goal=(Item("ship release 4.2", 1, ("4.2",)),),
    decisions=(Item("we use sqlite since it needs no server", 4),),
    constraints=(Item("never touch billing.py", 6, ("billing.py",)),),
    plan=(Item("now at step 3", 8, ("step 3",)),),
    artifacts=(Item("wrote out/report-77.csv with id 9f3a", 8, ("out/report-77.csv", "9f3a")),),
    questions=(Item("which port", 8),),
)


@pytest.mark.parametrize(
    ("after", "shown", "lost"),
    [
        pytest.param(OLD, [], [], id="the same items"),
        pytest.param(
            Summary(), [], [("goal", 1), ("decisions", 4), ("constraints", 6), ("artifacts", 8)], id="an empty one"
        ),
        pytest.param(
            None,
            ["4.2", "billing.py", "we use sqlite since it needs no server", "out/report-77.csv 9f3a"],
            [],
            id="shown",
        ),
        pytest.param(
            Summary(artifacts=(Item("out/report-77.csv", 8, ("out/report-77.csv",)), Item("4.2 of billing.py", 9))),
            [],
            [("decisions", 4), ("artifacts", 8)],
            id="one quote of two is gone",
        ),
    ],
)
def test_items_that_are_kept_nowhere_have_drifted(
    after: Summary | None, shown: list[str], lost: list[tuple[str, int]]
) -> None:
    assert [(f.where, *f.messages) for f in drift(OLD, after, shown)] == lost


def test_the_texts_that_stay_are_those_around_the_gap_and_in_it() -> None:
    found = conversation(said_by("user", "in the gap"))
    texts = "\n".join(kept_texts(found, range(1, 3), json.dumps({"role": "user", "content": 'a "quoted"\nnote'})))
    assert 'a "quoted"\nnote' in texts
    assert "the task" in texts
    assert "go on" in texts
    assert "in the gap" not in texts
