"""Say what would be done about the length of a request if it came now, without sending anything."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import Literal

from coldpress.cli.check_budget import ANYBODY, Asker, ModelBudget
from coldpress.config.settings import Settings
from coldpress.config.summariser_settings import SummariserSettings
from coldpress.drive import Driver, Inbound, Prepared
from coldpress.drive.counting import Counting, ends_of
from coldpress.drive.memory import Lineage
from coldpress.engine.belief import Held
from coldpress.engine.budget import Budgets
from coldpress.engine.layout import Layout
from coldpress.engine.session import Session
from coldpress.model.conversation import Conversation
from coldpress.model.records import Belief, Pressure
from coldpress.stores.memory import MemoryStore

Verdict = Literal["window_unknown", "below_trigger", "not_compacted", "compacted"]

_PLENTY_SECONDS = 600.0
"""Nobody waits for an answer of the provider."""

_APPLIED = ("masked", "masked_short", "summarised")


@dataclass(frozen=True, slots=True)
class Now:
    """What would happen to a request that no gateway has seen before, in operation `press`. Tokens are estimates.

    Attributes:
        prompt_tokens: as the client wrote it.
        reason: of `not_compacted`: a word of `Pressure.reason`, a note of the receipt, or `no_stages` where
            the settings let nothing be done; empty otherwise.
        masked: results that would become one line.
        first_message: number of the first message that would be summarised, counted from 1; `last_message` likewise.
            `None` where none would. A model that writes summaries may be waited for first.
        after_tokens: what would be left, `None` where nothing would be done.
    """

    model: str | None
    messages: int
    prompt_tokens: int
    trigger_tokens: int | None
    urgent_tokens: int | None
    verdict: Verdict
    reason: str = ""
    masked: int = 0
    first_message: int | None = None
    last_message: int | None = None
    after_tokens: int | None = None


def happens_now(
    conversation: Conversation, found: ModelBudget | None, settings: Settings, asker: Asker = ANYBODY
) -> Now:
    """Let a driver decide on a request, with a store that is thrown away and rules instead of a model's summaries.

    Args:
        conversation: the request.
        found: the budget of its model, `None` where it names none.
        settings: as loaded.
        asker: whose request it is.
    """
    budget = found.budget if found else None
    now = Now(
        model=conversation.head.model,
        messages=len(conversation.messages),
        prompt_tokens=_tokens(conversation),
        trigger_tokens=budget.trigger_tokens if budget else None,
        urgent_tokens=budget.urgent_tokens if budget else None,
        verdict="window_unknown" if budget is None else "below_trigger",
    )
    if budget is None or found is None:
        return now
    if not budget.stages and now.prompt_tokens >= budget.trigger_tokens:
        return replace(now, verdict="not_compacted", reason="no_stages")
    # A window that a gateway has learned is not known to a new driver, so it is told.
    default = replace(settings.budgets.default, window_tokens=budget.window_tokens)
    budgets = Budgets(default, settings.budgets.rules)
    store = MemoryStore(raw_log=settings.store.raw_log)
    told = replace(
        settings,
        budgets=budgets,
        summariser=SummariserSettings(),
        limits=replace(settings.limits, prepare_seconds=_PLENTY_SECONDS),
    )
    driver = Driver(told, store)
    try:
        prepared = asyncio.run(driver.prepare(_inbound(conversation, found.provider, asker)))
    finally:
        driver.close()
    pressure = prepared.receipt.pressure
    if pressure is None:
        return replace(now, verdict="not_compacted", reason=note) if (note := _note(prepared)) else now
    return _with_pressure(now, pressure, conversation, store)


def _tokens(conversation: Conversation) -> int:
    layout = Counting().laid_out(Layout(), conversation, Session())
    return ends_of(layout, conversation, Lineage(), Held(Belief("unknown", "first_request")))[-1]


def _inbound(conversation: Conversation, provider: str, asker: Asker) -> Inbound:
    return Inbound(
        request_id="check",
        received_at=time.time(),
        provider=provider,
        format=conversation.format,
        body=conversation.body,
        operation="press",
        headers={"user-agent": asker.harness} if asker.harness else {},
        task=asker.task,
    )


def _note(prepared: Prepared) -> str:
    """Why nothing was looked at, in the ledger's word; empty where all was."""
    told = (note for note in prepared.receipt.notes if note not in ("head_changed", "volatile_head", "subscription"))
    return next(told, "")


def _with_pressure(now: Now, pressure: Pressure, conversation: Conversation, store: MemoryStore) -> Now:
    if pressure.reason not in _APPLIED:
        return replace(now, verdict="not_compacted", reason=pressure.reason)
    chains = [message.chain for message in conversation.messages]
    batch = store.batches(chains[-1:]).get(chains[-1])
    rebuild = batch.rebuild if batch is not None else None
    now = replace(now, verdict="compacted", masked=pressure.cleared, after_tokens=pressure.after_tokens)
    if rebuild is None or not rebuild.covered:
        return now
    last = chains.index(rebuild.last) + 1
    return replace(now, first_message=last - len(rebuild.covered) + 1, last_message=last)
