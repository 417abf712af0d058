"""A fault of ours costs what it was about and no more: not a reply, not its outcome, not an edit that stands."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from bodies import changed_literals
from cases.talk import chat, log, messages
from provider import LATER, Provider, growing, priced, step, talk
from support import Press, failed_quietly, pressing

from coldpress.drive import Inbound
from coldpress.drive.accounts import Accounts
from coldpress.drive.aging import Aging
from coldpress.drive.insight import Insight
from coldpress.model.records import Outcome
from coldpress.model.usage import Usage

STEPS = [step(n, log(f"n{n}", 700 if n % 3 == 0 else 60)) for n in range(14)]
BODIES = growing(STEPS)


@pytest.fixture
def press() -> Iterator[Press]:
    with pressing(priced()) as ready:
        yield ready


def fail(*_: object, **__: object) -> None:
    raise KeyError("a mistake of ours")


def outcome(press: Press, *, ready: bool = True) -> Outcome | None:
    """Send one request, let its reply end, and read what the ledger holds of it."""
    asyncio.run(press.driver.prepare(Inbound("r", 1.0, "anthropic", "anthropic", BODIES[3], None, {})))
    press.driver._accounts.ready = ready
    press.driver.finish(Outcome("r", 200, "complete", 1.0, Usage(fresh=5, read=7, output=3)))
    press.driver.close()
    entry = press.store.receipt("r")
    assert entry is not None
    return entry.outcome


@pytest.mark.parametrize("ready", [True, False], ids=["on the loop", "in a worker"])
@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param((Insight, "learn"), id="learn"),
        pytest.param((Insight, "priced"), id="priced"),
        pytest.param((Accounts, "prices"), id="prices"),
    ],
)
def test_what_cannot_be_learned_or_priced_is_written_down_all_the_same(
    mistake: tuple[type, str],
    ready: bool,
    press: Press,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(*mistake, fail)
    found = outcome(press, ready=ready)
    assert found is not None
    assert (found.usage.read, found.money) == (7, None)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR], "and said aloud"


def test_a_reply_that_ends_behind_the_end_of_the_workers_is_written_down(press: Press) -> None:
    asyncio.run(press.driver.prepare(Inbound("r", 1.0, "anthropic", "anthropic", BODIES[3], None, {})))
    press.driver.close()
    press.driver._accounts.ready = False
    press.driver.finish(Outcome("r", 200, "complete", 1.0, Usage(fresh=5, read=7, output=3)))
    entry = press.store.receipt("r")
    assert entry is not None
    assert entry.outcome is not None


@pytest.mark.parametrize("slow", [False, True], ids=["wrong", "slow"])
def test_where_aged_results_cannot_be_weighed_all_that_stands_goes_out(
    slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = priced()
    found = replace(found, limits=replace(found.limits, prepare_seconds=0.4)) if slow else found
    with pressing(found) as press:
        provider = Provider()
        before = talk(press, BODIES[:13], provider, pauses={10: LATER})
        assert before[10].applied
        original = Aging.look
        monkeypatch.setattr(Aging, "consider", (lambda *_: time.sleep(0.5)) if slow else fail)
        monkeypatch.setattr(Aging, "look", lambda self, asked: replace(original(self, asked), is_heavy=True))
        (turn,) = talk(press, BODIES[13:14], provider)
    assert not failed_quietly(turn.prepared)
    views = dict(changed_literals(before[-1].body, before[-1].sent))
    now = dict(changed_literals(turn.body, turn.sent))
    assert now.items() > views.items(), "the new result is pressed as well"


@pytest.mark.parametrize("body", [messages(), chat()], ids=["messages", "chat"])
def test_a_request_without_messages_goes_on_without_a_fault(body: bytes, press: Press) -> None:
    sent = press(body, "openai_chat" if b"function" in body else "anthropic")
    assert sent.body is body
    assert sent.receipt.notes == ()
