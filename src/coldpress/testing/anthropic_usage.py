"""Write what a Messages answer is billed for: totals, the split of writes, and the steps where there were several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from coldpress.model.usage import Usage
from coldpress.testing.script import Aside

_EXECUTING = ("message", "fallback_message")


@dataclass(frozen=True, slots=True)
class Account:
    """The tokens of one answer.

    Attributes:
        total: what the top level says: the steps of the model that executes, without compaction.
        own: what is billed at the price of the asked model.
        others: what is billed at the prices of other models.
        steps: kind, usage and model of every step; empty where the answer took one, and none is listed then.
    """

    total: Usage
    own: Usage
    others: tuple[tuple[str, Usage], ...] = ()
    steps: tuple[tuple[str, Usage, str | None], ...] = ()

    @property
    def opening(self) -> Usage:
        """What is known when a stream begins: the prompt of the first step that executes."""
        return next((usage for kind, usage, _ in self.steps if kind in _EXECUTING), self.total)


def account(answer: Usage | None, aside: Aside) -> Account:
    """Bill an answer with the steps before it.

    Args:
        answer: of the step that answers, as the caches counted it; `None` where the answer is a summary alone.
        aside: the other steps, and the fallback model, if one answered.
    """
    before: list[tuple[str, Usage, str | None]] = [(s.kind, s.usage, s.model) for s in aside.steps]
    if answer is not None and not before and aside.served_by is None:
        return Account(answer, answer)
    if answer is None:
        steps = before
    elif aside.served_by is None:
        steps = [*before, ("message", answer, None)]
    else:
        # The declined attempt read the same prompt and said nothing.
        steps = [*before, ("message", replace(answer, output=0), None), ("fallback_message", answer, aside.served_by)]
    total = _sum([usage for kind, usage, _ in steps if kind in _EXECUTING])
    own = _sum([usage for _, usage, model in steps if model is None])
    others: dict[str, Usage] = {}
    for _, usage, model in steps:
        if model is not None:
            others[model] = others[model].plus(usage) if model in others else usage
    return Account(total, own, tuple(others.items()), tuple(steps))


def usage_fields(usage: Usage) -> dict[str, object]:
    """Write usage the Anthropic way: buckets that add up, with the writes split by lifetime."""
    short, long = usage.write_short or 0, usage.write_long or 0
    return {
        "input_tokens": usage.fresh or 0,
        "cache_creation_input_tokens": short + long,
        "cache_read_input_tokens": usage.read or 0,
        "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
        "output_tokens": usage.output or 0,
    }


def account_fields(told: Account) -> dict[str, object]:
    """Write the whole `usage` object."""
    fields = {**usage_fields(told.total), "service_tier": "standard"}
    if told.steps:
        fields["iterations"] = [_step_fields(*step) for step in told.steps]
    return fields


def closing_fields(told: Account) -> dict[str, object]:
    """Write the usage that ends a stream: running totals without the split of writes, and the steps."""
    return {key: value for key, value in account_fields(told).items() if key.endswith("_tokens") or key == "iterations"}


def _step_fields(kind: str, usage: Usage, model: str | None) -> dict[str, object]:
    return {"type": kind, **usage_fields(usage), **({} if model is None else {"model": model})}


def _sum(usages: Sequence[Usage]) -> Usage:
    total = Usage()
    for usage in usages:
        total = total.plus(usage)
    return total
