"""Promise: a request that was sent is sent again as it was, also by a process that would decide on it otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from bodies import conversation
from cases.talk import log
from compacting import FORMATS, Call, Step, applied, faultless, growing, prose, run, windowed
from provider import LATER, Provider, priced, step, talk
from provider import growing as growing_steps
from support import Press, pressing

from coldpress.config import Settings
from coldpress.config.notes_keys import NotesKeys
from coldpress.drive import Inbound, Prepared
from coldpress.engine.budget import BudgetRule, Budgets
from coldpress.model.notes import Note, NoteScope
from coldpress.model.overflow import Overflow
from coldpress.model.records import Operation, Outcome
from coldpress.model.usage import Usage
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.wire.registry import FormatName

WINDOW_TOKENS = 6_000
SMALL = windowed(WINDOW_TOKENS, budget={"keep_turns": 2})
LARGE = windowed(100_000, budget={"keep_turns": 2})
UNKNOWN = replace(LARGE, budgets=Budgets(BudgetRule(keep_turns=2)))
NOTED = replace(LARGE, notes=NotesKeys(project="shop"))
REFUSAL = Overflow(prompt_tokens=None, window_tokens=WINDOW_TOKENS)
EVERY_FORMAT = pytest.mark.parametrize("name", FORMATS)


def nothing(_: Store) -> None:
    """Nothing happens in between."""


def a_note(store: Store) -> None:
    """Somebody writes a note of the project."""
    store.put_note(NoteScope("project:shop"), Note("facts.md", "The port is 8443.\n", "user"), now=1.0)


@dataclass(frozen=True)
class Case:
    """Two processes that would decide otherwise on the last request of a conversation.

    Attributes:
        id: of the test.
        first, second: what they run with; `operation` is the first one's.
        steps: of the conversation, the whole of it with the last request.
        meanwhile: what happens between them.
        big_first: one large reply comes first, and little behind it.
        refused: the second one has had another conversation refused, which told it the window.
    """

    id: str
    first: Settings = SMALL
    second: Settings = SMALL
    steps: int = 9
    operation: Operation = "press"
    meanwhile: Callable[[Store], None] = nothing
    big_first: bool = False
    refused: bool = False

    def bodies(self, name: FormatName) -> list[bytes]:
        """The requests of the conversation."""
        if not self.big_first:
            return growing(name, [run(n, 30) for n in range(self.steps)])
        large = Step(tuple(Call(f"c{n}", log(f"n{n}", 60)) for n in range(3)))
        return growing(name, [large, *(prose(n, 8) for n in range(1, self.steps))])


CASES = (
    Case("another window", first=LARGE),
    Case("drained before", operation="drain"),
    Case("observed before", operation="observe"),
    Case("nothing could be done a moment before", big_first=True, steps=3),
    Case("told of a small window by a refusal", first=UNKNOWN, second=UNKNOWN, refused=True),
    Case("a new note", first=NOTED, second=NOTED, steps=0, meanwhile=a_note),
)


def send(press: Press, body: bytes, name: FormatName, operation: Operation = "press", **told: object) -> Prepared:
    """Send a request, and have its reply learned from."""

    async def prepared() -> Prepared:
        number = next(press.numbers)
        request = f"r{number}-{id(press)}"
        found = await press.driver.prepare(Inbound(request, float(number), "anthropic", name, body, operation, {}))
        outcome = Outcome(request, 200, "complete", 1.0, Usage())
        press.driver.finish(replace(outcome, **told))  # type: ignore[arg-type]
        return found

    return asyncio.run(prepared())


def first_process(case: Case, bodies: list[bytes], name: FormatName, store: Store) -> list[Prepared]:
    """What the first process sends."""
    with faultless(), pressing(case.first, store) as press:
        return [send(press, body, name, case.operation) for body in bodies]


def second_process(case: Case, body: bytes, name: FormatName, store: Store) -> Prepared:
    """What the second process sends for one request."""
    with faultless(), pressing(case.second, store) as press:
        if case.refused:
            (other,) = growing(name, [], task="Write the changelog.")
            send(press, other, name, status=400, overflow=REFUSAL)
        return send(press, body, name)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
@EVERY_FORMAT
def test_another_process_sends_it_as_it_was(name: FormatName, case: Case, kind: str, tmp_path: Path) -> None:
    bodies = case.bodies(name)
    without: Store = MemoryStore()
    first_process(case, bodies[:-1], name, without)
    case.meanwhile(without)
    other = second_process(case, bodies[-1], name, without)

    store: Store = SqliteStore(tmp_path / "store.db") if kind == "sqlite" else MemoryStore()
    found = first_process(case, bodies, name, store)
    case.meanwhile(store)
    if kind == "sqlite":
        store.close()
        store = SqliteStore(tmp_path / "store.db")
    again = second_process(case, bodies[-1], name, store)

    assert other.body != found[-1].body, "it would be decided on otherwise, had it not been sent"
    assert again.body == found[-1].body
    assert store.batches([conversation(bodies[-1], name).messages[-1].chain]) == {}
    store.close()


def test_a_cold_cache_changes_nothing_about_a_request_that_was_sent() -> None:
    bodies = growing_steps([step(n) for n in range(12)])
    provider, store = Provider(), MemoryStore()
    with pressing(priced(), store) as press:
        *_, last = talk(press, bodies[:-1], provider)
    with pressing(priced(), store) as press:
        (again, following) = talk(press, bodies[-2:], provider, pauses=[LATER, LATER])
    assert (last.applied, again.applied) == (0, 0)
    assert again.sent == last.sent
    assert following.why == "cold", "what follows is decided on as ever"


@EVERY_FORMAT
def test_what_follows_it_is_decided_on_as_ever_and_that_stands(name: FormatName) -> None:
    bodies = CASES[0].bodies(name)
    store = MemoryStore()
    first_process(CASES[0], bodies[:-1], name, store)

    with faultless(), pressing(SMALL, store) as press:
        again, following = send(press, bodies[-2], name), send(press, bodies[-1], name)

    assert (applied(again), applied(following)) == (False, True)
    with faultless(), pressing(LARGE, store) as press:
        assert send(press, bodies[-1], name).body == following.body


@EVERY_FORMAT
def test_one_that_was_too_long_is_made_to_fit_once_this_process_is_told_so(name: FormatName) -> None:
    """Another process sent it, and what it was told died with it."""
    bodies = CASES[0].bodies(name)
    store = MemoryStore()
    first = first_process(CASES[0], bodies, name, store)[-1]

    with faultless(), pressing(LARGE, store) as press:
        second = send(press, bodies[-1], name, status=400, overflow=REFUSAL)
        third = send(press, bodies[-1], name)

    assert second.body == first.body
    assert applied(third)
    with faultless(), pressing(LARGE, store) as press:
        assert send(press, bodies[-1], name).body == third.body
