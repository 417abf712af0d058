"""When nothing may go: other modes of operation, a raw log that is required, a full disk, bound reasoning."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import provider
import pytest
from cases.talk import Json
from compacting import (
    FORMATS,
    Step,
    applied,
    batch_of,
    chains,
    compacted,
    growing,
    pressure_of,
    request,
    run,
    sent,
    up_to_messages_end,
    valid,
    windowed,
    written,
)
from support import pressing

from coldpress.config import Settings
from coldpress.config.notes_keys import NotesKeys
from coldpress.drive.aging import Question
from coldpress.drive.shrinking import Shrinker
from coldpress.drive.summaries import structural
from coldpress.engine.budget import Budget
from coldpress.model.edits import Batch, Standing
from coldpress.model.errors import StoreError
from coldpress.model.notes import Note, NoteScope
from coldpress.model.records import Operation, Receipt
from coldpress.stores.base import RawEvent
from coldpress.stores.memory import MemoryStore
from coldpress.wire.registry import FormatName

KEEP: Json = {"keep_turns": 2}
SETTINGS = windowed(12_000, budget={**KEEP, "stages": ("summary",)})
BOTH_STAGES = windowed(12_000, budget=KEEP)
STEPS = [run(n) for n in range(16)]


class FullDisk(MemoryStore):
    """A store that takes no batch while it is full, and notes in which order things were put."""

    def __init__(self) -> None:
        super().__init__(raw_log=True)
        self.full = False
        self.order: list[str] = []

    def put(
        self,
        originals: Sequence[tuple[str, str]],
        standings: Sequence[Standing],
        receipt: Receipt | None,
        batch: Batch | None = None,
        *,
        require_log: bool = False,
    ) -> Future[None]:
        self.order += [f"batch {receipt.request_id}"] if batch is not None and receipt is not None else []
        if self.full and batch is not None:
            failed = Future[None]()
            failed.set_exception(StoreError("the disk is full"))
            return failed
        return super().put(originals, standings, receipt, batch, require_log=require_log)

    def log_event(self, request_id: str, *args: Any, **more: Any) -> None:
        self.order.append(f"event {request_id}")
        super().log_event(request_id, *args, **more)


@pytest.mark.parametrize("operation", ["observe", "drain"])
@pytest.mark.parametrize("name", FORMATS)
def test_where_nothing_new_may_be_decided_the_reason_is_said(name: FormatName, operation: Operation) -> None:
    bodies = growing(name, STEPS)
    with pressing(replace(BOTH_STAGES, operation=operation, providers=_all(operation))) as press:
        found = sent(press, bodies, name)
        assert press.store.batches(chains(bodies[-1], name)) == {}
    told = [pressure_of(p) for p in found if p.receipt.pressure]
    assert told and {p.reason for p in told} == {operation}
    assert all(p.after_tokens == p.before_tokens for p in told)
    assert [p.body for p in found] == bodies


def _all(operation: Operation) -> Any:
    return tuple(replace(provider, operation=operation) for provider in BOTH_STAGES.providers)


@pytest.mark.parametrize("name", FORMATS)
def test_off_is_off(name: FormatName) -> None:
    bodies = growing(name, STEPS)
    with pressing(SETTINGS) as press:
        found = press.all(bodies, name, "off")
    assert [p.body for p in found] == bodies
    assert all(p.receipt.pressure is None for p in found)


@pytest.mark.parametrize("name", FORMATS)
def test_a_drained_gateway_keeps_a_rebuild_and_makes_no_other(name: FormatName) -> None:
    bodies = growing(name, STEPS)
    with pressing(SETTINGS) as press:
        found = sent(press, bodies[:9], name)
        n = compacted(found)[-1]
        drained = press.all(bodies[9:], name, "drain")
        again = press.all(bodies[n : n + 1], name, "observe")
    assert all(p.body.startswith(up_to_messages_end(found[n].body, name)) for p in drained)
    assert not any(map(applied, drained))
    assert again[0].body is bodies[n], "observe takes nothing out at all"


ASKED: dict[FormatName, str] = {
    "anthropic": "Your task is to create a detailed summary of the conversation so far, in a few sections.",
    "openai_chat": "CONTEXT CHECKPOINT COMPACTION. Write down where the work stands.",
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_client_that_compacts_itself_is_shown_everything_as_long_as_that_fits(name: FormatName) -> None:
    said = [*written(name, STEPS), {"role": "assistant", "content": "ok"}, {"role": "user", "content": ASKED[name]}]
    own, store = request(name, said, tools=()), MemoryStore()
    with pressing(SETTINGS, store) as press:
        found = sent(press, growing(name, STEPS), name)
        short = press(own, name)
        (after,) = sent(press, growing(name, [*STEPS, run(90, 5)])[-1:], name)
    with pressing(windowed(100_000), store) as wide:
        exact = wide(own, name)
    assert compacted(found)
    assert exact.body is own
    assert exact.receipt.notes == short.receipt.notes == ("client_compaction",)
    assert short.body.startswith(up_to_messages_end(found[-1].body, name)), "exact, it is longer than the window"
    assert not applied(short) and valid(short.body, name)
    assert after.body.startswith(up_to_messages_end(found[-1].body, name)), "and what stands still stands"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("stages", [("mask", "summary"), ("summary",)])
def test_without_the_raw_log_that_is_required_nothing_goes(name: FormatName, stages: Any) -> None:
    bodies = growing(name, STEPS)
    settings = windowed(12_000, budget={**KEEP, "stages": stages}, require_raw_log=True)
    with pressing(settings) as press:
        found = sent(press, bodies, name)
    told = [pressure_of(p) for p in found if p.receipt.pressure]
    assert told and {p.reason for p in told} == {"no_raw_log"}
    assert [p.body for p in found] == bodies


@pytest.mark.parametrize("name", FORMATS)
def test_with_the_raw_log_the_request_stands_in_it_before_anything_goes(name: FormatName) -> None:
    bodies, store = growing(name, STEPS), FullDisk()
    settings = replace(SETTINGS, require_raw_log=True, store=replace(SETTINGS.store, raw_log=True))
    with pressing(settings, store) as press:
        found = sent(press, bodies, name)
    cuts = compacted(found)
    assert cuts
    for n in cuts:
        assert store.order.index(f"event r{n}") < store.order.index(f"batch r{n}")
        events: list[RawEvent] = store.events(f"r{n}")
        assert [(e.direction, e.body) for e in events] == [("request", bodies[n])]


def test_notes_of_a_project_are_shown_without_the_raw_log() -> None:
    """They take nothing away; nor may a request look as though the store had failed."""
    store = MemoryStore()
    store.put_note(NoteScope("project:shop"), Note("a.md", "The port is 8080.", "user"), now=1.0)
    settings = replace(SETTINGS, require_raw_log=True, notes=NotesKeys(project="shop"))
    with pressing(settings, store) as press:
        (first,) = press.all(growing("anthropic", [])[:1])
    assert first.receipt.notes == ()
    assert "The port is 8080." in str(valid(first.body, "anthropic"))


def test_without_the_raw_log_that_is_required_no_aged_result_goes_either() -> None:
    steps = [provider.step(n) for n in range(14)]
    settings = provider.priced(provider.NO_CACHE, require_raw_log=True)
    with pressing(settings) as press, pressing(provider.priced(provider.NO_CACHE)) as free:
        turns = provider.talk(press, provider.growing(steps), provider.Provider())
        others = provider.talk(free, provider.growing(steps), provider.Provider())
    assert any(turn.applied for turn in others)
    assert [turn.sent for turn in turns] == [turn.body for turn in turns]
    assert {turn.prepared.receipt.notes for turn in turns} == {()}


@pytest.mark.parametrize("name", FORMATS)
def test_where_the_store_fails_the_prompt_goes_out_exact_and_the_next_request_tries_again(name: FormatName) -> None:
    bodies, store = growing(name, STEPS), FullDisk()
    with pressing(SETTINGS) as press:
        n = compacted(sent(press, bodies, name))[0]
    with pressing(SETTINGS, store) as press:
        assert [p.body for p in press.all(bodies[:n], name)] == bodies[:n]
        store.full = True
        (failed,) = press.all(bodies[n : n + 1], name)
        assert failed.body == bodies[n]
        assert pressure_of(failed).reason == "store_failed"
        assert pressure_of(failed).after_tokens == pressure_of(failed).before_tokens
        assert failed.receipt.cut is not None and failed.receipt.cut.reason == "store_failed"
        assert "store_failed" in failed.receipt.notes
        (retry,) = press.all(bodies[n : n + 1], name)
        store.full = False
        (same,) = press.all(bodies[n : n + 1], name)
        assert retry.body == same.body == bodies[n], "it went out exact and is not decided on again"
        (later,) = sent(press, bodies[n + 1 : n + 2], name)
        assert applied(later)
        assert batch_of(store, bodies[n + 1], name).rebuild is not None
        (behind,) = sent(press, bodies[n + 2 : n + 3], name)
        assert behind.body.startswith(up_to_messages_end(later.body, name))


@pytest.mark.parametrize("name", FORMATS)
def test_a_full_disk_keeps_the_rebuild_that_stands(name: FormatName) -> None:
    bodies, store = growing(name, STEPS), FullDisk()
    with pressing(SETTINGS, store) as press:
        found = sent(press, bodies[:8], name)
        n = compacted(found)[-1]
        store.full = True
        later = press.all(bodies[8:], name)
    assert all(p.body.startswith(up_to_messages_end(found[n].body, name)) for p in later)
    assert any(pressure_of(p).reason == "store_failed" for p in later if p.receipt.pressure)
    for prepared in later:
        valid(prepared.body, name)


def thinking(steps: Sequence[Step]) -> list[list[Json]]:
    """The messages of each request of a conversation whose replies carry signed reasoning."""
    listed = copy.deepcopy(written("anthropic", steps))
    for n, message in enumerate(listed):
        if message["role"] == "assistant":
            message["content"].insert(0, {"type": "thinking", "thinking": "", "signature": f"sig{n}" * 20})
    return [listed[: 1 + 2 * n] for n in range(len(steps) + 1)]


def bound(settings: Settings, model: str) -> list[Any]:
    bodies = [request("anthropic", said, model=model) for said in thinking(STEPS)]
    with pressing(settings) as press:
        found = sent(press, bodies, "anthropic")
    return [bodies, found]


def test_in_front_of_bound_reasoning_nothing_goes() -> None:
    bodies, found = bound(BOTH_STAGES, "claude-opus-5-5")
    assert [p.body for p in found] == bodies
    told = [pressure_of(p) for p in found if p.receipt.pressure]
    assert told and {p.reason for p in told} == {"binding_model"}


@pytest.mark.parametrize(
    ("model", "consent"), [("claude-opus-5-5", True), ("claude-sonnet-4-6", False)], ids=["consent", "binds nothing"]
)
def test_with_consent_or_on_a_model_that_binds_nothing_it_goes(model: str, consent: bool) -> None:
    _bodies, found = bound(replace(BOTH_STAGES, allow_thinking_loss=consent), model)
    assert any(map(applied, found))
    for prepared in found:
        if prepared.receipt.pressure is not None:
            assert pressure_of(prepared).after_tokens <= pressure_of(prepared).target_tokens


def test_a_conversation_that_changes_to_a_binding_model_keeps_its_rebuild_and_gets_no_other() -> None:
    """What stands keeps standing: the reasoning behind it was made on the rebuilt prompt."""
    listed = thinking(STEPS)
    with pressing(SETTINGS) as press:
        found = sent(press, [request("anthropic", said) for said in listed[:9]], "anthropic")
        n = compacted(found)[-1]
        later = sent(press, [request("anthropic", said, model="claude-opus-5-5") for said in listed[9:]], "anthropic")
    begin = up_to_messages_end(found[n].body, "anthropic").replace(b"house-model", b"claude-opus-5-5")
    assert all(p.body.startswith(begin) for p in later)
    assert not any(map(applied, later))


def test_a_summary_that_was_ready_before_the_reasoning_was_bound_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was ordered while the model bound nothing; the client has changed to one that does since."""
    shrink = Shrinker.shrink

    def with_summary(self: Shrinker, asked: Question, budget: Budget, notes: Any, **_: Any) -> Any:
        ready = structural(asked.conversation, 1, 7, task_stop=1, target_tokens=budget.target_tokens)
        return shrink(self, asked, budget, notes, digest=ready, patient=False)

    monkeypatch.setattr(Shrinker, "shrink", with_summary)
    listed = thinking(STEPS)
    for model, goes in (("house-model", True), ("claude-opus-5-5", False)):
        with pressing(SETTINGS) as press:
            found = sent(press, [request("anthropic", said, model=model) for said in listed], "anthropic")
        assert any(map(applied, found)) == goes
