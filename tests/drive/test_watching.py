"""What the watchers remember from request to request."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from engine.watched import FORMATS, bash, read, talk

import coldpress.engine.watch
from coldpress.drive.watching import MOST_WATCHED, Watching
from coldpress.engine.belief import Held
from coldpress.engine.catalogue import Classified, classify
from coldpress.engine.session import AgedEdits, Session
from coldpress.model.conversation import Conversation
from coldpress.model.records import Belief, Outcome
from coldpress.model.summary import Item, Summary
from coldpress.model.usage import Usage
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName

WARM = Held(Belief("warm", "within_lifetime"), 9, (), 50_000)
TURNS = [read("/r/a.py"), bash("git log"), read("/r/a.py"), bash("make")]


def upto(found: Conversation, messages: int) -> Conversation:
    return replace(found, messages=found.messages[:messages])


@pytest.mark.parametrize("name", FORMATS)
def test_a_call_is_reported_on_the_request_that_shows_it_and_never_again(name: FormatName) -> None:
    held, watching = talk(TURNS, name), Watching()
    session = held.session(held.masks([0], at=1))
    kinds = [[f.kind for f in watching.look("one", upto(held.conversation, end + 1), session)] for end in held.results]
    assert kinds == [[], [], ["amnesia_loop"], []]
    assert watching.look("one", held.conversation, session) == (), "the same request again"


def test_after_a_restart_only_the_last_reply_counts_as_new() -> None:
    held = talk(TURNS)
    session = held.session(held.masks([0], at=1))
    assert Watching().look("one", held.conversation, session) == ()
    assert len(Watching().look("one", upto(held.conversation, held.results[2] + 1), _upto(session, 6))) == 1


def _upto(session: Session, messages: int) -> Session:
    return Session.of((), session.aged, (), tuple(i for i in session.replies if i < messages), b"")


def test_forks_do_not_share_what_they_do_not_share() -> None:
    watching, stem = Watching(), TURNS[:2]
    first, second = talk([*stem, read("/r/a.py")]), talk([*stem, bash("ls"), read("/r/a.py")])
    for held in (first, second):
        end = held.results[-2] + 1
        session = held.session(held.masks([0], at=1))
        watching.look("one", upto(held.conversation, end), _upto(session, end))
        assert [f.messages for f in watching.look("one", held.conversation, session)] == [(2, held.calls[-1] + 1)]
    assert watching.look("one", first.conversation, first.session(first.masks([0], at=1))) == ()


def _fork(path: str, turns: int = 30) -> tuple[Conversation, Session]:
    """A request that continues from what one process has read of a conversation in its own way."""
    held = talk([read("/r/a.py"), *(bash(f"step {number}") for number in range(turns)), read(path)])
    return replace(held.conversation, known=held.calls[-1]), held.session(held.masks([0], at=turns))


def test_forks_of_a_long_conversation_look_at_what_they_share_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, watching = list[str](), Watching()

    def counted(name: str, arguments: str) -> Classified:
        looked.append(name)
        return classify(name, arguments)

    monkeypatch.setattr(coldpress.engine.watch, "classify", counted)
    kinds, counts = [], []
    for path in ("/r/b.py", "/r/a.py", "/r/c.py", "/r/a.py"):
        conversation, session = _fork(path)
        looked.clear()
        kinds.append([finding.kind for finding in watching.look("one", conversation, session)])
        counts.append(len(looked))
    assert kinds == [[], ["amnesia_loop"], [], []], "the last one is the second again"
    assert counts == [32, 1, 1, 0]


def test_what_was_looked_at_on_another_branch_is_not_reported_again() -> None:
    watching, found = Watching(), []
    turns = [read("/r/a.py"), *(bash(f"step {number}") for number in range(30)), read("/r/a.py")]
    for behind in ([], [bash("make one")], [bash("make two")]):
        held = talk([*turns, *behind])
        session = held.session(held.masks([0], at=30))
        found.append(len(watching.look("one", replace(held.conversation, known=3), session)))
    assert found == [1, 0, 0], "the last one goes on from a request whose state the second one took along"


def test_only_a_conversation_that_nobody_has_looked_at_for_long_is_work_for_a_thread() -> None:
    watching = Watching()
    conversation, session = _fork("/r/b.py")
    assert watching.is_behind("one", conversation, session)
    assert not watching.is_behind("one", conversation, Session()), "nothing was taken away"
    watching.look("one", conversation, session)
    assert not watching.is_behind("one", conversation, session)
    assert not watching.is_behind("one", *_fork("/r/a.py")), "a fork"
    assert watching.is_behind("two", *_fork("/r/a.py", turns=60)), "another conversation"


def head(*, spaced: bool = False, text: str = "Be brief.") -> Conversation:
    whole = {"model": "m", "system": text, "tools": [{"name": "A"}], "messages": [{"role": "user", "content": "hi"}]}
    body = json.dumps(whole, separators=None if spaced else (",", ":")).encode()
    return Reader[None](seed=1).read(body, "anthropic", None).conversation


def test_a_head_is_compared_with_the_last_one_of_its_lineage() -> None:
    watching = Watching()
    heads = [head(), head(), head(spaced=True), head(spaced=True, text="Be long."), head(spaced=True)]
    found = [[f.where for f in watching.look("one", one, Session())] for one in heads]
    assert found == [[], [], ["tools"], [], []]
    assert watching.look("other", head(spaced=True), Session()) == ()


def test_a_rebuild_is_checked_for_stop_signals_and_drift() -> None:
    turns = [replace(bash("one"), said="Never push to main."), bash("two"), bash("three")]
    held, watching = talk(turns), Watching()
    batch = held.without(range(2), at=2, summary=Summary())
    assert batch.rebuild is not None
    assert [f.kind for f in watching.rebuilt(held.conversation, batch.rebuild, before=None)] == ["stop_signal_lost"]
    before = Summary(artifacts=(Item("made", 2, ("out/x.csv",)), Item("kept", 2, ("three",))))
    found = watching.rebuilt(held.conversation, batch.rebuild, before=before)
    assert [(f.kind, f.where) for f in found] == [("stop_signal_lost", "user"), ("drift", "artifacts")]
    noted = watching.rebuilt(held.conversation, batch.rebuild, before=before, notes=["see out/x.csv"])
    assert [f.kind for f in noted] == ["stop_signal_lost"]


@pytest.mark.parametrize(
    ("outcome", "event_before", "cut_here", "dropped"),
    [
        pytest.param(Outcome("r", 200, "complete", 1.0, Usage(read=1_000)), True, False, True, id="after an event"),
        pytest.param(Outcome("r", 200, "complete", 1.0, Usage(read=50_000)), True, False, False, id="all was read"),
        pytest.param(Outcome("r", 200, "complete", 1.0, Usage(read=1_000)), False, False, False, id="no event"),
        pytest.param(Outcome("r", 200, "complete", 1.0, Usage(read=1_000)), True, True, False, id="the cut itself"),
        pytest.param(Outcome("r", 529, "complete", 1.0, Usage(read=0)), True, False, False, id="refused"),
        pytest.param(Outcome("r", None, "client_gone", 1.0, Usage(read=0)), True, False, False, id="no answer"),
    ],
)
def test_reads_are_judged_after_an_event(outcome: Outcome, event_before: bool, cut_here: bool, dropped: bool) -> None:
    found = Watching().reply(outcome, WARM, event_before=event_before, cut_here=cut_here)
    assert [(f.kind, f.tokens) for f in found] == ([("cached_tokens_dropped", 49_000)] if dropped else [])


def test_nothing_is_remembered_of_calls_while_nothing_was_taken_away() -> None:
    held, watching = talk(TURNS), Watching()
    watching.look("one", held.conversation, held.session())
    assert len(watching) == 0


def test_what_is_remembered_is_bounded_and_one_conversation_takes_one_place() -> None:
    watching = Watching()
    for number in range(MOST_WATCHED + 20):
        held = talk([read(f"/r/{number}.py"), bash("ls"), bash("make")])
        for end in held.results[1:]:
            watching.look(str(number), upto(held.conversation, end + 1), held.session(held.masks([0], at=1)))
        assert len(watching) == min(number + 1, MOST_WATCHED)


def test_many_threads_at_a_time() -> None:
    watching, barrier = Watching(), threading.Barrier(8)
    held = [talk([read(f"/r/{n}.py"), bash("ls"), read(f"/r/{n}.py")]) for n in range(8)]

    def one(number: int) -> int:
        barrier.wait()
        found, batch = 0, held[number].masks([0], at=1)
        for end in held[number].results:
            seen = upto(held[number].conversation, end + 1)
            found += len(watching.look(str(number), seen, _upto(held[number].session(batch), end + 1)))
        return found

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(8))) == [1] * 8


def test_a_batch_without_edits_is_no_loss() -> None:
    held = talk(TURNS[:3])
    assert Watching().look("one", held.conversation, held.session(AgedEdits(held.results[1], ()))) == ()
