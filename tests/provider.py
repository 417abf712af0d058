"""Answer for a provider: bill what the driver sends with a real simulated cache, and tell the driver what it cost."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cases.talk import assistant, log, messages, result, use, user
from support import Press, settings

from coldpress.config import Settings
from coldpress.drive import Inbound, Prepared
from coldpress.measure.cache import PrefixCache
from coldpress.measure.cache_rules import DEEPSEEK, CacheRules
from coldpress.measure.prices import cost_usd
from coldpress.measure.rates import Prices, Rates
from coldpress.model.records import Belief, Cut, Operation, Outcome
from coldpress.model.usage import Usage
from coldpress.testing.meter import Meter
from coldpress.wire.registry import FormatName

Json = dict[str, Any]
START = 1_790_000_000.0
SOON = 10.0
LATER = 900.0
"""A pause that no short-lived entry outlives."""

OUTPUT_TOKENS = 100
SYSTEM = "You are an agent that works on one repository and says in a word what it does. " * 330
"""About 5,300 tokens: a prompt that is long enough for every cache, and for its absence to prove something."""


MODEL = "house-model"
"""Of no known family: its tokens are taken to be those of the estimate, as the provider here counts them."""


def flat(read: float, write: float, fresh: float | None = None, *, model: str = MODEL) -> Prices:
    """One price for all lengths, USD per million tokens; output is free."""
    return Prices(
        model, ((0, Rates(write if fresh is None else fresh, read, write, write, 0.0, "test", "2026-11-30")),)
    )


CHEAP_READS = flat(0.3, 3.75, 3.0)
NO_CACHE = flat(3.0, 3.0)
TINY_READS = flat(0.003625, 0.435)
CLIFF = Prices(MODEL, ((0, CHEAP_READS.tiers[0][1]), (20_000, flat(0.6, 7.5, 6.0).tiers[0][1])))


def priced(prices: Prices | None = CHEAP_READS, operation: Operation = "press", **changes: Any) -> Settings:
    """The built-in settings with one model's prices at every provider; `None` leaves it unpriced."""
    found = settings(operation, **changes)
    own = () if prices is None else (prices,)
    return replace(found, providers=tuple(replace(provider, pricing=own) for provider in found.providers))


class Provider:
    """One upstream with its caches, on a clock of its own.

    Args:
        marked_seconds: see `Meter`.
        chat: rules of the cache behind the chat wire, and how long it keeps things.
        reports: `nothing` gives no usage at all, `no reads` leaves out what was read.
    """

    def __init__(
        self,
        *,
        marked_seconds: float | None = None,
        chat: CacheRules = DEEPSEEK,
        chat_seconds: float = 12 * 3600.0,
        reports: str = "all",
    ) -> None:
        self.now = START
        self.reports = reports
        automatic = PrefixCache(chat, short_seconds=chat_seconds)
        self._meter = Meter(lambda: self.now, automatic=automatic, marked_seconds=marked_seconds)

    def bill(self, body: bytes, name: FormatName = "anthropic") -> Usage:
        """Bill a request, on the clock as it stands."""
        request = json.loads(body)
        usage = self._meter.messages(request, dropped=()) if name == "anthropic" else self._meter.chat(request)
        return replace(usage, output=OUTPUT_TOKENS)

    def told(self, usage: Usage) -> Usage:
        """What of a bill this provider tells its clients."""
        match self.reports:
            case "nothing":
                return Usage()
            case "no reads":
                return Usage(fresh=usage.prompt, output=usage.output)
        return usage


@dataclass(frozen=True)
class Turn:
    """One request of a conversation: what the client wrote, what went out, what it was billed."""

    body: bytes = field(repr=False)
    prepared: Prepared
    usage: Usage

    @property
    def sent(self) -> bytes:
        return self.prepared.body

    @property
    def cut(self) -> Cut | None:
        return self.prepared.receipt.cut

    @property
    def why(self) -> str | None:
        """The reason of the decision on aged results; `None` where there was nothing to decide on."""
        return self.cut.reason if self.cut else None

    @property
    def applied(self) -> int:
        return self.cut.applied if self.cut else 0

    @property
    def belief(self) -> Belief:
        found = self.prepared.receipt.belief
        assert found is not None
        return found


def talk(
    press: Press,
    bodies: Iterable[bytes],
    provider: Provider,
    *,
    pauses: Mapping[int, float] | Sequence[float] | None = None,
    name: FormatName = "anthropic",
    operation: Operation | None = None,
    told: Mapping[str, Any] | None = None,
) -> list[Turn]:
    """Send requests one after the other and let the driver learn from each bill.

    Args:
        pauses: seconds before a request, by its number; `SOON` for those that are not named.
        told: fields of every outcome.
    """
    listed = dict(enumerate(pauses)) if isinstance(pauses, Sequence) else dict(pauses or {})

    async def run() -> list[Turn]:
        turns = []
        for number, body in enumerate(bodies):
            provider.now += listed.get(number, SOON)
            request = f"r{next(press.numbers)}-{id(press)}"
            headers = {"user-agent": "claude-cli/2.1"}
            served = "anthropic" if name == "anthropic" else "deepseek"
            prepared = await press.driver.prepare(
                Inbound(request, provider.now, served, name, body, operation, headers)
            )
            usage = provider.bill(prepared.body, name)
            press.driver.finish(Outcome(request, 200, "complete", 0.0, provider.told(usage), **(told or {})))
            turns.append(Turn(body, prepared, usage))
        return turns

    return asyncio.run(run())


def bill_usd(usages: Iterable[Usage], prices: Prices) -> float:
    """What usages cost together."""
    costs = [cost_usd(usage, prices) for usage in usages]
    assert all(isinstance(cost, float) for cost in costs)
    return sum(cost for cost in costs if isinstance(cost, float))


def step(
    number: int, output: str | None = None, *, tool: str = "Bash", said: str = "", **arguments: object
) -> list[Json]:
    """A call of the model and its result."""
    text = log(f"n{number}", 60) if output is None else output
    call = use(f"t{number}", tool, **arguments)
    return [assistant(said, call) if said else assistant(call), user(result(f"t{number}", text))]


def marked(said: Sequence[Json], *, marks: int = 1, **top: Any) -> bytes:
    """A request with cache marks as Claude Code sets them: on its system prompt and on the last block of the last
    message, or of the last `marks` ones."""
    copied = json.loads(json.dumps(list(said)))
    for message in copied[len(copied) - marks :]:
        message["content"][-1]["cache_control"] = {"type": "ephemeral"}
    system = [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}]
    return messages(*copied, **{"model": MODEL, "system": system, **top})


def saying(steps: Iterable[Sequence[Json]], *, first: Json | None = None) -> list[Json]:
    """The messages of a conversation: the task, and the steps one after the other."""
    return [first or user("Make the build pass."), *itertools.chain.from_iterable(steps)]


def growing(steps: Sequence[Sequence[Json]], *, first: Json | None = None, **top: Any) -> list[bytes]:
    """The requests of a conversation that grows by a step a request; the first holds the task alone."""
    return [marked(saying(steps[:number], first=first), **top) for number in range(len(steps) + 1)]
