"""Turn a provider's usage fields into buckets that do not overlap, and into the parts that other models are paid for.

Two kinds. *Additive*: Anthropic counts cached tokens beside `input_tokens`. *Subset*: the OpenAI family counts them
inside `prompt_tokens`, DeepSeek as hits and misses of it, Gemini inside `promptTokenCount`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from coldpress.model.usage import Usage
from coldpress.wire.usage_fields import CacheSplit, PromptDetails, Step, WireUsage, merge

_TICKS_PER_USD = 10_000_000_000
"""xAI's unit of money, docs.x.ai "Cost Tracking", November 2026."""

_ANSWERING = ("message", "fallback_message")


@dataclass(frozen=True, slots=True)
class Bill:
    """What one reply is billed for.

    Attributes:
        usage: tokens at the price of the model that was asked.
        others: tokens at the prices of other models, by model, in order of their first step.
        context_tokens: prompt as last shown to the model; `None` where it was not reported.
        reported_usd: what the provider says the reply cost, in US dollars; `None` where it does not say.
    """

    usage: Usage = field(default_factory=Usage)
    others: tuple[tuple[str, Usage], ...] = ()
    context_tokens: int | None = None
    reported_usd: float | None = None


class UsageFields:
    """Usage fields gathered over one reply.

    Args:
        format_name: wire format of the exchange; decides between the additive and the subset kind.
    """

    __slots__ = ("_anthropic", "_seen")

    def __init__(self, format_name: str) -> None:
        self._anthropic = format_name == "anthropic"
        self._seen = WireUsage()

    def merge(self, later: WireUsage) -> None:
        """Take over what `later` has; what it lacks stays as it was."""
        merge(self._seen, later)

    @property
    def compactions(self) -> tuple[Usage, ...]:
        """Tokens of each sampling step that wrote a summary, of Anthropic's replies; they are part of the bill."""
        steps = self._seen.iterations or () if self._anthropic else ()
        return tuple(_additive(step) for step in steps if step.type == "compaction")

    def bill(self, model: str | None) -> Bill:
        """Give the disjoint buckets of everything that was seen.

        Args:
            model: the model that the reply names, to tell its own steps from those of others.
        """
        seen = self._seen
        usage = _additive(seen) if self._anthropic else _subset(seen)
        bill = Bill(usage, (), usage.prompt, _reported_usd(seen))
        return _by_steps(bill, seen.iterations or [], model) if self._anthropic and _complete(seen.iterations) else bill


def _additive(seen: WireUsage | Step) -> Usage:
    short, long = _writes(seen.cache_creation_input_tokens, *_split(seen.cache_creation))
    details = None if isinstance(seen, Step) else seen.output_tokens_details
    reasoning = details.thinking_tokens if details else None
    return Usage(seen.input_tokens, seen.cache_read_input_tokens, short, long, seen.output_tokens, reasoning)


def _split(split: CacheSplit | None) -> tuple[int | None, int | None]:
    return (split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens) if split else (None, None)


def _writes(total: int | None, short: int | None, long: int | None) -> tuple[int | None, int | None]:
    """Split written tokens by lifetime so that the parts add up to the total, where one was reported.

    The split of a stream comes once, at its beginning, and the total again at its end, so they may differ.
    """
    if short is None and long is None:
        return total, None
    short, long = short or 0, long or 0
    if total is None:
        return short, long
    if total < short + long:
        long = min(long, total)
        return total - long, long
    # What the split does not place was written with the marks that the rest was written with.
    return (0, total) if long and not short else (total - long, long)


def _complete(steps: Sequence[Step] | None) -> bool:
    """Whether every step can be billed. A list that cannot be read whole says less than the totals do."""
    return bool(steps) and all(s.input_tokens is not None and s.output_tokens is not None for s in steps or ())


def _by_steps(totals: Bill, steps: Sequence[Step], model: str | None) -> Bill:
    """Bill a reply by its steps, each at the price of the model that took it.

    The totals beside them leave out compaction and other models, and have counted the prompts of all steps at one
    time and that of the first only at another, so the steps are what is billed (platform.claude.com, "Compaction at a
    token threshold" and "Advisor tool", November 2026).
    """
    fallbacks = {step.model for step in steps if step.type == "fallback_message"}
    own: Usage | None = None
    others: dict[str, Usage] = {}
    context: int | None = None
    for step in steps:
        usage = _additive(step)
        if step.type in _ANSWERING:
            context = usage.prompt
        other = _other_model(step, model, fallbacks)
        if other is None:
            own = usage if own is None else own.plus(usage)
        else:
            others[other] = others[other].plus(usage) if other in others else usage
    if own is None:
        own = Usage(0, 0, 0, None, 0)  # every step is listed, and none of them was the asked model's
    elif not fallbacks:
        own = _with_output_of(totals.usage, own)
    return Bill(own, tuple(others.items()), context, totals.reported_usd)


def _with_output_of(totals: Usage, own: Usage) -> Usage:
    """Take from the totals what only they tell: how much output was reasoning, and output that came after the steps."""
    output = max(totals.output or 0, own.output or 0)
    reasoning = totals.reasoning if totals.reasoning is None or totals.reasoning <= output else None
    return replace(own, output=output, reasoning=reasoning)


def _other_model(step: Step, model: str | None, fallbacks: set[str | None]) -> str | None:
    """Name the model that a step is priced by, where the step names one that may not be the asked one.

    A fallback that answers gives the reply its name. Then every step that names a model is priced by that name: it is
    right also where it is the asked model's, and there may have been several fallbacks.
    """
    if step.model is None or step.type in ("advisor_message", "fallback_message"):
        return step.model
    return step.model if fallbacks or (model is not None and step.model != model) else None


def _subset(seen: WireUsage) -> Usage:
    details = [d for d in (seen.prompt_tokens_details, seen.input_tokens_details) if d is not None]
    prompt, read = _prompt(seen), _read(seen, details)
    short, long = _subset_writes(seen, details)
    cached = (read or 0) + (short or 0) + (long or 0)
    if prompt is None:
        return Usage(None, read, short, long, *_output(seen, None))
    if _beside(seen, prompt, read or 0, cached):
        return Usage(prompt, read, short, long, *_output(seen, prompt + cached))
    if cached > prompt:
        # Some servers count what was written as read too: as written is the dearer of the two.
        read, cached = prompt - (cached - (read or 0)), prompt
    return Usage(prompt - cached, read, short, long, *_output(seen, prompt))


def _prompt(seen: WireUsage) -> int | None:
    for count in (seen.prompt_tokens, seen.input_tokens):
        if count is not None:
            return count
    if seen.prompt_token_count is not None:
        return seen.prompt_token_count + (seen.tool_use_prompt_token_count or 0)
    hits, misses = seen.prompt_cache_hit_tokens, seen.prompt_cache_miss_tokens
    return None if hits is None or misses is None else hits + misses


def _read(seen: WireUsage, details: Sequence[PromptDetails]) -> int | None:
    """The first positive count, else the first count at all: servers fill fields they do not use with zero."""
    counts = (
        seen.cached_tokens,
        seen.prompt_cache_hit_tokens,
        *(d.cached_tokens for d in details),
        seen.cached_content_token_count,
        seen.cache_read_input_tokens,
    )
    known = [count for count in counts if count is not None]
    return next((count for count in known if count > 0), known[0] if known else None)


def _subset_writes(seen: WireUsage, details: Sequence[PromptDetails]) -> tuple[int | None, int | None]:
    totals = [seen.cache_creation_input_tokens]
    splits = [_split(seen.cache_creation)]
    for part in details:
        totals += [part.cache_write_tokens, part.cache_creation_input_tokens, part.cache_creation_tokens]
        splits += [_split(part.cache_creation), _split(part.cache_creation_token_details)]
        if (ttl := part.cache_write_tokens_details) is not None:
            splits.append((ttl.ttl_30m_tokens, ttl.ttl_12h_tokens))
    known = [total for total in totals if total is not None]
    split = next((pair for pair in splits if pair != (None, None)), (None, None))
    return _writes(next((t for t in known if t > 0), known[0] if known else None), *split)


def _beside(seen: WireUsage, prompt: int, read: int, cached: int) -> bool:
    """Whether the prompt leaves cached tokens out, though the wire is one where it holds them.

    Some models of xAI do so; it shows where more was read or written than the prompt has, or in the total.
    """
    if read > prompt or cached - read > prompt:
        return True
    total, output = _total(seen), _told_output(seen)
    if not cached or total is None or output is None or cached == _reasoning(seen):
        return False
    return total == prompt + cached + output


def _output(seen: WireUsage, prompt: int | None) -> tuple[int | None, int | None]:
    """Give output with reasoning inside it, and reasoning.

    xAI and Gemini leave reasoning out of `completion_tokens`, Gemini without naming it, and count it in the total.
    """
    reasoning = _reasoning(seen)
    output = _told_output(seen)
    if output is None and seen.thoughts_token_count and seen.total_token_count is not None and prompt is not None:
        # Cut while it thought, or in the middle of a stream: a count of no candidates is left out.
        output = max(seen.thoughts_token_count, seen.total_token_count - prompt)
    if output is None:
        return None, reasoning
    total = _total(seen)
    if total is not None and prompt is not None and total > prompt + output:
        hidden = total - prompt - output
        return output + hidden, hidden if reasoning is None else reasoning
    if reasoning is not None and reasoning > output:
        return output + reasoning, reasoning
    return output, reasoning


def _total(seen: WireUsage) -> int | None:
    return seen.total_tokens if seen.total_tokens is not None else seen.total_token_count


def _told_output(seen: WireUsage) -> int | None:
    """Give the output as it is told: of Gemini answers and thoughts, which it counts apart."""
    for count in (seen.completion_tokens, seen.output_tokens):
        if count is not None:
            return count
    if seen.candidates_token_count is None:
        return None
    return seen.candidates_token_count + (seen.thoughts_token_count or 0)


def _reasoning(seen: WireUsage) -> int | None:
    for details in (seen.completion_tokens_details, seen.output_tokens_details):
        if details is not None and details.reasoning_tokens is not None:
            return details.reasoning_tokens
    return seen.thoughts_token_count


def _reported_usd(seen: WireUsage) -> float | None:
    """What the provider says it charges: OpenRouter's `cost`, xAI's ticks.

    With a key of the user's own, OpenRouter's `cost` is its fee alone, and the provider behind it is paid beside it.
    """
    if seen.cost_in_usd_ticks is not None:
        return seen.cost_in_usd_ticks / _TICKS_PER_USD
    if seen.cost is None or not seen.is_byok:
        return seen.cost
    upstream = seen.cost_details.upstream_inference_cost if seen.cost_details else None
    return None if upstream is None else seen.cost + upstream
