"""Find out how long prompts to a model may be, who says so, and from how many tokens on what is done about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from coldpress.cli.open_store import opened
from coldpress.config.settings import Settings
from coldpress.engine.binding import binds
from coldpress.engine.budget import Budget
from coldpress.library.formats import by_name, provider_of
from coldpress.measure.prices import Unpriced, prices_for
from coldpress.measure.windows import window_tokens
from coldpress.model.errors import FormatError
from coldpress.stores.base import LedgerEntry

WindowSource = Literal["rule", "settings", "learned", "price_data", "unknown"]
"""Who says how long a prompt may be: a rule of the settings (`[[budgets]]`), their defaults (`[budget]`), the provider
when it refused a prompt (by the ledger), or the price data."""

_REQUESTS: Final = 1_000
"""Ledger entries that are looked at."""

_MOST_MODELS: Final = 8


@dataclass(frozen=True, slots=True)
class ModelBudget:
    """What holds for requests to a model, of the client and the task that were asked about.

    Attributes:
        provider: by whose word the price data is read: who served it last, else who most likely does.
        source: who says how long a prompt may be.
        budget: `None` where nobody does: then nothing is done.
        learned_at: when a refusal told the window, in seconds since 1970; `None` where none did. A gateway knows it
            only if it runs since then.
        rule: position of the rule that holds, from 0, `None` where none does.
        other_rules: other rules for the model that name a client or a task, by position.
        binds: whether the model's reasoning is bound to what stands before it.
    """

    model: str
    provider: str
    source: WindowSource
    budget: Budget | None
    learned_at: float | None
    rule: int | None
    other_rules: tuple[int, ...]
    binds: bool


@dataclass(frozen=True, slots=True)
class SummariserView:
    """Who writes summaries; nothing of its key but whether it is there.

    Attributes:
        kind: `structural` asks no model; then nothing below means anything.
        priced: whether its price is known; without one it is not asked.
        key: `none` where none is needed, else whether it was `found` or is `missing`.
    """

    kind: str
    model: str
    priced: bool
    timeout_seconds: float
    key: Literal["none", "found", "missing"]


@dataclass(frozen=True, slots=True)
class Asker:
    """Whose requests are asked about: a client's product name and a class of task, `None` where none is named."""

    harness: str | None = None
    task: str | None = None


ANYBODY: Final = Asker()


def budgets_of(settings: Settings, models: Sequence[str], asker: Asker = ANYBODY) -> tuple[ModelBudget, ...]:
    """Find the budgets of models, of those in the ledger lately where none is named, the most frequent first."""
    entries = _lately(settings)
    counted = Counter(entry.receipt.model for entry in entries if entry.receipt.model)
    names = tuple(dict.fromkeys(models)) or tuple(model for model, _ in counted.most_common(_MOST_MODELS))
    return tuple(_budget_of(settings, model, entries, asker) for model in names)


def _lately(settings: Settings) -> list[LedgerEntry]:
    if not settings.store.path.exists():
        return []
    with opened(settings) as store:
        return store.receipts(limit=_REQUESTS, lineage=None, before=None)


def _budget_of(settings: Settings, model: str, entries: Sequence[LedgerEntry], asker: Asker) -> ModelBudget:
    own = [entry for entry in entries if entry.receipt.model == model]
    provider = own[0].receipt.provider if own else likely_provider(settings, model)
    learned, learned_at = _learned([entry for entry in own if entry.receipt.provider == provider])
    budgets = settings.budgets
    rule = budgets.rule(model=model, harness=asker.harness, task=asker.task)
    nominal = window_tokens(model, provider=provider)
    known = min((tokens for tokens in (nominal, learned) if tokens is not None), default=None)
    source: WindowSource = "unknown"
    if rule is not None and rule.window_tokens is not None:
        source = "rule"
    elif budgets.default.window_tokens is not None:
        source = "settings"
    elif known is not None:
        source = "price_data" if known == nominal else "learned"
    more_said = (
        place
        for place, other in enumerate(budgets.rules)
        if other is not rule
        and (other.harness is not None or other.task is not None)
        and other.matches(model=model, harness=other.harness, task=other.task)
    )
    return ModelBudget(
        model=model,
        provider=provider,
        source=source,
        budget=budgets.budget(model=model, harness=asker.harness, task=asker.task, nominal_tokens=known),
        learned_at=learned_at,
        rule=None if rule is None else budgets.rules.index(rule),
        other_rules=tuple(more_said),
        binds=binds(model),
    )


def likely_provider(settings: Settings, model: str) -> str:
    """Name who most likely serves a model, as the settings call it."""
    try:
        return provider_of(model, by_name(model), settings)
    except FormatError:
        return provider_of(model, "openai_chat", settings)


def _learned(entries: Sequence[LedgerEntry]) -> tuple[int | None, float | None]:
    """Read from entries, newest first, which window a refusal told, unless a longer prompt was taken since."""
    longest = 0
    for entry in entries:
        outcome = entry.outcome
        if outcome is None:
            continue
        told = (found.tokens for found in outcome.findings if found.kind == "window_overflow")
        tokens = next((tokens for tokens in told if tokens is not None), None)
        if tokens is not None:
            return (tokens, entry.receipt.received_at) if tokens >= longest else (None, None)
        if outcome.status is not None and outcome.status < 300:
            longest = max(longest, outcome.context_tokens or outcome.usage.prompt or 0)
    return None, None


def summariser_view(settings: Settings) -> SummariserView:
    """Say who writes summaries."""
    told = settings.summariser
    if told.kind == "structural":
        return SummariserView(told.kind, "", priced=True, timeout_seconds=0.0, key="none")
    now = datetime.now(UTC)
    prices = prices_for(told.model, provider=None, at=now, overrides=told.prices, table=told.price_table)
    key: Literal["none", "found", "missing"] = "none"
    if told.needs_key:
        key = "missing" if told.api_key is None else "found"
    return SummariserView(told.kind, told.model, not isinstance(prices, Unpriced), told.timeout_seconds, key)


def budget_object(found: ModelBudget) -> dict[str, object]:
    """Give a model's budget as plain values under names that stay; numbers are `None` where nothing is done."""
    budget = found.budget
    return {
        "model": found.model,
        "provider": found.provider,
        "window_tokens": budget.window_tokens if budget else None,
        "window_source": found.source,
        "learned_at": found.learned_at,
        "trigger_tokens": budget.trigger_tokens if budget else None,
        "target_tokens": budget.target_tokens if budget else None,
        "urgent_tokens": budget.urgent_tokens if budget else None,
        "keep_turns": budget.keep_turns if budget else None,
        "stages": list(budget.stages) if budget else [],
        "max_generations": budget.max_generations if budget else None,
        "min_gain": budget.min_gain if budget else None,
        "rule": found.rule,
        "other_rules": list(found.other_rules),
        "binds_reasoning": found.binds,
    }


def compaction_object(settings: Settings) -> dict[str, object]:
    """Give what holds for compaction whatever the model, as plain values under names that stay."""
    return {
        "summariser": asdict(summariser_view(settings)),
        "notes": {"project": settings.notes.project, "shown": settings.notes.show},
        "require_raw_log": settings.require_raw_log,
        "raw_log": settings.store.raw_log,
        "allow_thinking_loss": settings.allow_thinking_loss,
    }
