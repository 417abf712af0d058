"""What the driver makes of a request that a second provider served: its money, and nothing else."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from cases.talk import assistant, log, messages, result, use, user
from provider import CHEAP_READS, MODEL, flat
from support import settings

from coldpress.config import Settings
from coldpress.drive import Driver, Inbound
from coldpress.drive.accounts import Accounts
from coldpress.measure.prices import Unpriced
from coldpress.measure.rates import Prices
from coldpress.model.records import Failover, Outcome, Receipt
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore

AT = 1_790_000_000.0
DEAR = flat(3.0, 37.5, 30.0)
"""Ten times as much."""

SERVED = Failover("groq", "429", "served", MODEL, 200)


def with_second(first: Prices | None = CHEAP_READS, second: Prices | None = DEAR, model: str | None = None) -> Settings:
    """`anthropic`, with `groq` standing in for it."""
    changed = {
        "anthropic": {"pricing": () if first is None else (first,), "failover": "groq", "failover_model": model},
        "groq": {"pricing": () if second is None else (second,)},
    }
    found = settings()
    rows = (replace(provider, **changed.get(provider.name, {})) for provider in found.providers)  # type: ignore[arg-type]
    return replace(found, providers=tuple(rows))


def routes(found: Settings) -> tuple[Prices, ...] | Unpriced:
    return Accounts(found, MemoryStore()).routes("anthropic", MODEL, AT)


def test_every_provider_that_may_serve_is_a_route() -> None:
    assert routes(with_second()) == (CHEAP_READS, DEAR)


def test_a_second_one_without_a_price_is_none_since_nothing_goes_there() -> None:
    assert routes(with_second(second=None)) == (CHEAP_READS,)


def test_without_a_price_at_the_first_there_is_no_route() -> None:
    assert isinstance(routes(with_second(first=None)), Unpriced)


def test_the_second_ones_price_is_that_of_the_model_it_is_asked_for() -> None:
    named = flat(1.0, 2.0, model="vendor/other")
    assert routes(with_second(second=named, model="vendor/other")) == (CHEAP_READS, named)


class Told:
    """One conversation through a real driver: each request with what became of it."""

    def __init__(self, found: Settings) -> None:
        self.store = MemoryStore()
        self.driver = Driver(found, self.store)
        self.turns = [user("Do it."), assistant(use("t0")), user(result("t0", "short"))]
        self.at = AT
        self.number = 0

    def ask(
        self, failover: Failover | None, usage: Usage, *, after: float = 10.0, lines: int = 5
    ) -> tuple[Receipt, Outcome]:
        """Send the conversation as it stands, let it end, and let it grow."""
        self.at += after
        self.number += 1
        inbound = Inbound(str(self.number), self.at, "anthropic", "anthropic", self._body(), None, {})
        prepared = asyncio.run(self.driver.prepare(inbound))
        self.driver.finish(Outcome(str(self.number), 200, "complete", 1.0, usage, failover=failover))
        name = f"t{self.number}"
        self.turns += [assistant(use(name)), user(result(name, log(name, lines)))]
        self.store.flush()
        entry = self.store.receipt(str(self.number))
        assert entry is not None and entry.outcome is not None
        assert not [note for note in prepared.receipt.notes if note.startswith("pass_through")]
        return entry.receipt, entry.outcome

    def _body(self) -> bytes:
        return messages(*self.turns, model=MODEL)


USAGE = Usage(fresh=1000, read=50_000, write_short=2000, write_long=0, output=10)


def test_the_bill_is_the_second_ones_and_without_edits_nothing_is_unknown() -> None:
    told = Told(with_second())
    _, own = told.ask(None, USAGE)
    _, other = told.ask(SERVED, USAGE)
    assert own.money is not None and other.money is not None
    assert own.money.bill_usd is not None
    assert other.money.bill_usd == pytest.approx(10 * own.money.bill_usd)
    assert other.money.net_usd == 0 and other.money.unpriced == ()
    spent = told.driver.spent(told.store._clock())
    assert (spent.usd, spent.replies) == (pytest.approx(11 * own.money.bill_usd), 2)


def test_nothing_is_learned_of_the_first_ones_cache() -> None:
    """A request that was served elsewhere leaves its cache as it was: it grows cold from its own last one on."""
    told = Told(with_second())
    told.ask(None, USAGE)
    before, _ = told.ask(None, USAGE, after=100)
    assert before.belief is not None and before.belief.state == "warm"
    # Read in full, and not at all: of neither may anything stay.
    for _ in range(3):
        told.ask(SERVED, replace(USAGE, read=0), after=250)
    last, _ = told.ask(None, USAGE, after=10)
    assert last.belief is not None
    assert (last.belief.state, last.belief.why) == ("cold", "idle")
    assert last.belief.idle_seconds == pytest.approx(760, abs=1)


@pytest.mark.parametrize("failover", [None, SERVED], ids=["its own", "served elsewhere"])
def test_no_watcher_takes_the_second_ones_cache_for_a_fault(failover: Failover | None) -> None:
    """After a cut that went out cold, a reply that reads nothing tells of a fault; another provider's tells nothing."""
    told = Told(with_second())
    for _ in range(12):
        told.ask(None, USAGE, lines=60)
    cut, _ = told.ask(None, USAGE, after=1000, lines=60)
    assert cut.cut is not None and cut.cut.reason == "cold"
    told.ask(None, USAGE, lines=60)
    _, last = told.ask(failover, replace(USAGE, read=0))
    assert [found.kind for found in last.findings] == ([] if failover else ["cached_tokens_dropped"])


def test_a_request_that_failed_twice_is_the_first_ones_as_ever() -> None:
    told = Told(with_second())
    receipt, outcome = told.ask(Failover("groq", "429", "refused", MODEL, 401), USAGE)
    assert outcome.money is not None and "claude" not in outcome.money.prices
    assert outcome.money.bill_usd == pytest.approx((1000 * 3.0 + 50_000 * 0.3 + 2000 * 3.75) / 1e6)
    assert receipt.provider == "anthropic"
