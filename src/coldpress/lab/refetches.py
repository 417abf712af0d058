"""Estimate what it would have cost an agent to get hidden results again, when it used what stood in nothing sent.

Open-loop: the recorded agent saw the results and went on. Here what a reply lost is answered by the cheapest way out:
the same calls once more, all in one reply, and then the recorded one. Input alone, as in every bill.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from coldpress.lab.evidence import Looked
from coldpress.lab.evidence_sources import Source, Use
from coldpress.measure.cache_rules import CacheRules
from coldpress.measure.prices import cost_usd
from coldpress.measure.rates import Prices, Unpriced
from coldpress.model.errors import ConfigError
from coldpress.model.usage import Usage

CALL_TOKENS: Final = 120
"""A call as later prompts hold it: a name, a path and a range, and a line of prose. An assumption, for each result."""


@dataclass(frozen=True, slots=True)
class Refetches:
    """Results that would have been fetched again, `uses` says for which use each; and what that comes to."""

    uses: tuple[Use, ...] = field(default=(), repr=False)
    usd: float = 0.0

    @property
    def count(self) -> int:
        """How many: results, of which one reply may fetch several."""
        return len(self.uses)


def refetches(
    looked: Sequence[Looked],
    usages: Sequence[Usage],
    *,
    prices: Prices,
    rules: CacheRules,
    tokens_of: Callable[[str, Source], int],
) -> Refetches:
    """Charge a run for every hidden result that a reply used.

    For each reply, to a request `n`, let `m` be the results that it lost and that are not carried already, `T` the
    tokens of one of them (the newest that holds what was lost), and `C` = `CALL_TOKENS`:

    * where `m` is not 0, one more request, however many they are: what the provider then holds of prompt `n` is read,
      the rest of it sent fresh, and the sum of `T + C` over the `m` results written;
    * on each of the `k - 1` requests behind `n` in its conversation, `T + C` tokens more for each result: read where
      that request read half of its prompt or more, else written. `k` is the number of requests that showed the result
      exact before it was hidden, at least 1: the arm is taken to hide it again at the same age.

    The calls' own output is left out; as input of later prompts it is the `C`. That the calls go in one reply is the
    cheapest way: an agent that calls one by one sends a request more for each.

    All that is lost meanwhile and stands in the same result costs nothing more. Written means fresh where writes have
    no price of their own or the prompt is too short to be kept. What a provider holds of a prompt is what it read and
    wrote of it; the whole of it where it reports no writes and it is long enough. Left out: the cut that hides the
    result again, and what else an agent may do that misses something. Lifetimes are as they were: the extra request
    comes at once.

    Args:
        looked: the requests of one run, in the order of time.
        usages: what the provider reports of each, as sent.
        prices: of the model.
        rules: of the provider's cache.
        tokens_of: a result of a conversation, on the provider's scale.

    Raises:
        ConfigError: a price is missing.
        ValueError: there are not as many requests as usages.
    """
    is_long = any(usage.write_long for usage in usages)
    charges: dict[str, _Charges] = {}
    for one, usage in zip(looked, usages, strict=True):
        known = charges.get(one.conversation)
        if known is None:
            if not one.lost:
                continue
            known = charges[one.conversation] = _Charges(prices, rules, is_long=is_long)
        known.request(one, usage, tokens_of)
    found = charges.values()
    return Refetches(tuple(use for one in found for use in one.uses), sum(one.usd for one in found))


@dataclass(frozen=True, slots=True)
class _Carried:
    """A result that was fetched again: the last request that carries it, and its tokens with the call's."""

    call: str
    until: int
    tokens: int


class _Charges:
    """What one conversation is charged."""

    def __init__(self, prices: Prices, rules: CacheRules, *, is_long: bool) -> None:
        self.uses: list[Use] = []
        self.usd = 0.0
        self._prices = prices
        self._rules = rules
        self._is_long = is_long
        self._carried: list[_Carried] = []

    def request(self, looked: Looked, usage: Usage, tokens_of: Callable[[str, Source], int]) -> None:
        """Charge one request for what it carries, and for what has to be fetched on sight of its reply."""
        self._carried = [one for one in self._carried if one.until >= looked.turn]
        prompt = usage
        if self._carried:
            warm = 2 * (usage.read or 0) >= (usage.prompt or 0)
            more = sum(one.tokens for one in self._carried)
            prompt = _plus(usage, more, "read" if warm else self._written(usage))
            self.usd += self._usd(prompt) - self._usd(usage)
        fetched = 0
        for lost in looked.lost:
            source = lost.use.source
            if any(one.call == source.call for one in self._carried):
                continue
            tokens = tokens_of(looked.conversation, source) + CALL_TOKENS
            fetched += tokens
            self.uses.append(lost.use)
            self._carried.append(_Carried(source.call, looked.turn + lost.shown_turns - 1, tokens))
        if fetched:
            self.usd += self._usd(_plus(self._again(prompt), fetched, self._written(prompt)))

    def _again(self, usage: Usage) -> Usage:
        """Send a prompt once more, right behind itself."""
        whole = usage.prompt or 0
        held = (usage.read or 0) + (usage.write_short or 0) + (usage.write_long or 0)
        keeps = self._rules.kind != "none" and whole >= self._rules.minimum_tokens
        if keeps and held == (usage.read or 0):
            held = whole
        return Usage(fresh=whole - held, read=held)

    def _written(self, usage: Usage) -> _Bucket:
        """Say where new tokens behind a prompt go."""
        if not self._rules.write_priced or (usage.prompt or 0) < self._rules.minimum_tokens:
            return "fresh"
        return "write_long" if self._is_long else "write_short"

    def _usd(self, usage: Usage) -> float:
        found = cost_usd(replace(usage, output=0), self._prices)
        if isinstance(found, Unpriced):
            raise ConfigError(f"prices of {self._prices.model} lack {', '.join(found.missing)}; give them")
        return found


_Bucket = Literal["fresh", "read", "write_short", "write_long"]


def _plus(usage: Usage, tokens: int, bucket: _Bucket) -> Usage:
    """Add tokens to one bucket of a prompt."""
    match bucket:
        case "fresh":
            return replace(usage, fresh=(usage.fresh or 0) + tokens)
        case "read":
            return replace(usage, read=(usage.read or 0) + tokens)
        case "write_short":
            return replace(usage, write_short=(usage.write_short or 0) + tokens)
        case "write_long":
            return replace(usage, write_long=(usage.write_long or 0) + tokens)
