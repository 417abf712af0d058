"""Keep the books: what a model costs, how many requests are to come, what a reply cost with our edits and without."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from coldpress.config.settings import Settings
from coldpress.drive.memory import SMALLEST_PREFIX_TOKENS, Recent
from coldpress.measure.forecast import SessionLength, Survival
from coldpress.measure.prices import Prices, Rates, Unpriced, cost_usd, prices_for
from coldpress.measure.prices import warm as warm_prices
from coldpress.model.records import Cut, Money, Outcome
from coldpress.model.usage import Usage
from coldpress.stores.base import Store

_PRICE_SECONDS = 300
"""Some prices change on the hour: a look-up is remembered for no longer than this."""

MOST_HARNESSES = 64
"""Clients whose forecast is remembered: they name themselves, so there may be any number of them."""

FORECAST_SECONDS = 600.0
QUIET_SECONDS = 6 * 3600.0
"""A conversation without a request for this long counts as ended."""

NO_TOKENS = "tokens of an edit"
"""What is missing where nobody counted them."""

_MTOK = 1_000_000

_NEARLY_ALL = 0.9
_PAST_HEAD_SHARE = 0.2
_FEWEST_PAST_HEAD = 1_024
"""How much of what was kept of a prefix must be read, and must stand behind the head, to tell that it was held."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Tokens that the edits of one request took out of it, on the provider's scale.

    Attributes:
        held: of these, how many stood in the prefix that was believed to be held.
        tail: how many stood behind it, and would have been written.
    """

    held: int = 0
    tail: int = 0


@dataclass(frozen=True, slots=True)
class Broken:
    """The prefix that new edits of one request broke, as it stands before the reply tells whether it was held at all.

    Attributes:
        readable: tokens that would have been read without them if the prefix is held, less what they removed.
        kept: tokens before the first of them, `head` of these before the first message.
        expected: tokens that are read in spite of them if the prefix is held.
        believed_held: whether the prefix was believed to be held.
    """

    readable: int
    kept: int
    head: int
    expected: int
    believed_held: bool

    def rewritten(self, usage: Usage) -> int:
        """Tokens that were written again and would have been read, as far as a reply can tell.

        A prefix that was believed to be gone was held after all where the reply read nearly all that was kept of it.
        That the head alone was read tells nothing: other conversations keep it alive. One that was believed to be held
        was gone where nothing was read of it.
        """
        read = usage.read or 0
        if self.believed_held and not read and self.expected >= SMALLEST_PREFIX_TOKENS:
            return 0
        past_head = self.kept - self.head >= max(_FEWEST_PAST_HEAD, _PAST_HEAD_SHARE * self.kept)
        if not self.believed_held and not (past_head and read >= _NEARLY_ALL * self.kept):
            return 0
        return max(0, min(_written(usage), self.readable - read))


class Accounts:
    """Prices and forecasts for one driver; safe to use from any thread.

    Args:
        settings: with the prices of the user.
        store: with the lengths of earlier sessions.
        clock: seconds since 1970.

    Attributes:
        ready: whether look-ups are quick enough for an event loop.
    """

    def __init__(self, settings: Settings, store: Store, *, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._store = store
        self._clock = clock
        self._prices: dict[tuple[str, str, int], Prices | Unpriced] = {}
        self._curves: Recent[str | None, tuple[float, Survival]] = Recent(MOST_HARNESSES)
        self._lock = threading.Lock()
        self.ready = False

    def warm(self) -> None:
        """Load what the first look-ups would wait for; `ready` is true afterwards. For a thread."""
        warm_prices()
        self.ready = True

    def prices(self, provider: str, model: str | None, at: float) -> Prices | Unpriced:
        """What a model costs at a moment, in seconds since 1970; quick once `ready`."""
        if model is None:
            return Unpriced(("the request names no model",))
        key = (provider, model, int(at // _PRICE_SECONDS))
        found = self._prices.get(key)
        if found is None:
            known = self._settings.provider(provider)
            found = prices_for(
                model,
                provider=provider,
                at=datetime.fromtimestamp(at, UTC),
                overrides=known.prices if known else {},
                table=self._settings.prices,
            )
            if len(self._prices) > 1_000:
                self._prices.clear()
            self._prices[key] = found
        return found

    def routes(self, provider: str, model: str | None, at: float) -> tuple[Prices, ...] | Unpriced:
        """What a model costs at each provider that may serve it: its own, and the one that would stand in for that.

        Nothing fails over to where the price is not known.
        """
        own = self.prices(provider, model, at)
        if isinstance(own, Unpriced):
            return own
        known = self._settings.provider(provider)
        if known is None or known.failover is None:
            return (own,)
        other = self.prices(known.failover, known.failover_model or model, at)
        return (own,) if isinstance(other, Unpriced) else (own, other)

    def requests_to_come(self, harness: str | None, so_far: int) -> float:
        """Expected further requests of a conversation, the one at hand included, behind `so_far` earlier ones."""
        curve = self._curves.get(harness)
        expected = curve[1].remaining(so_far) if curve else None
        return self._settings.expected_applications if expected is None else expected

    def refresh_forecast(self, harness: str | None, workers: Executor) -> None:
        """Have the curve of a harness read anew in the background, where it is missing or old."""
        now = self._clock()
        with self._lock:
            known = self._curves.get(harness)
            if known is not None and now - known[0] < FORECAST_SECONDS:
                return
            self._curves.note(harness, (now, known[1] if known else Survival.of(())))
        workers.submit(self._read_curve, harness, now)

    def load_forecast(self, harness: str | None) -> None:
        """Read the curve of a harness now; blocking."""
        self._read_curve(harness, self._clock())

    def _read_curve(self, harness: str | None, now: float) -> None:
        lengths = self._store.session_lengths(harness=harness, now=now, quiet_seconds=QUIET_SECONDS)
        curve = Survival.of(SessionLength(requests, ended) for requests, ended in lengths)
        with self._lock:
            self._curves.note(harness, (now, curve))


def money(
    outcome: Outcome,
    prices: Prices | Unpriced,
    prices_of: Callable[[str], Prices | Unpriced],
    removed: Removed | None,
    cut: Cut | None,
    *,
    broken: Broken | None = None,
    summariser_usd: float | None = 0.0,
) -> Money:
    """Work a reply out in dollars: its bill, and what the same request would have cost without our edits.

    The counterfactual puts the removed tokens back where they stood: those of the held prefix as read, if the reply
    read anything at all, the others as written like the rest. What a warm cut wrote again would have been read.

    A provider that reports its price is believed: that is the bill.

    Args:
        outcome: with what the provider reported.
        prices: of the model that was asked.
        prices_of: prices of another model, for steps that one took.
        removed: `None` where the edits' tokens were not counted.
        cut: the decision about aged results, if one was made on this request.
        broken: the prefix that it broke; `None` where it broke none, or what was held is not known.
        summariser_usd: what the summaries cost of which this request's receipt tells, taken or not; `None` where that
            is not known, or not of all: then neither is what was saved.
    """
    found = _without_summaries(outcome, prices, prices_of, removed, cut, broken=broken)
    if summariser_usd is None:
        return replace(found, unpriced=(*found.unpriced, "summariser"))
    return replace(found, summariser_usd=summariser_usd)


def _without_summaries(
    outcome: Outcome,
    prices: Prices | Unpriced,
    prices_of: Callable[[str], Prices | Unpriced],
    removed: Removed | None,
    cut: Cut | None,
    *,
    broken: Broken | None,
) -> Money:
    usage = outcome.usage
    length = usage.prompt if outcome.context_tokens is None else outcome.context_tokens
    with_edits = cost_usd(usage, prices, prompt_tokens=length)
    bill = with_edits if outcome.reported_usd is None else outcome.reported_usd
    for model, other in outcome.others if outcome.reported_usd is None else ():
        step = cost_usd(other, prices_of(model))
        bill = bill if isinstance(bill, Unpriced) else step if isinstance(step, Unpriced) else bill + step
    label = "" if isinstance(prices, Unpriced) else prices.label
    if outcome.reported_usd is not None:
        label = f"bill: the provider's own; {label}"
    if isinstance(bill, Unpriced):
        return Money(prices=label, unpriced=bill.missing)
    if removed is None or isinstance(prices, Unpriced):
        return Money(bill, prices=label, unpriced=(NO_TOKENS,))
    if broken is not None:
        rewritten = broken.rewritten(usage)
    else:
        rewritten = min(_written(usage), cut.rewrite_tokens) if cut is not None and cut.reason == "pays" else 0
    if rewritten and broken is not None and not broken.believed_held:
        removed = Removed(removed.held + removed.tail)
    whole = (length or 0) + removed.held + removed.tail
    without = cost_usd(_put_back(usage, removed, rewritten), prices, prompt_tokens=whole)
    if isinstance(without, Unpriced) or isinstance(with_edits, Unpriced):
        return Money(bill, prices=label, unpriced=("rates of the longer prompt",))
    rewrite_usd = rewritten * _above_read(usage, prices.at(length or 0)) / _MTOK
    return Money(bill, without - with_edits + rewrite_usd, rewrite_usd, prices=label)


def missed_usd(tokens: int, usage: Usage, prices: Prices | Unpriced, *, prompt_tokens: int | None) -> float | None:
    """What tokens of a prompt cost above their price as a read, since they were not read; `None` where unknown.

    Args:
        tokens: how many.
        usage: of the reply: whether it wrote them for long, for short or not at all.
        prices: of the model that was asked.
        prompt_tokens: length of the prompt, on which the rates may depend.
    """
    if isinstance(prices, Unpriced) or prompt_tokens is None:
        return None
    return tokens * _above_read(usage, prices.at(prompt_tokens)) / _MTOK


def _put_back(usage: Usage, removed: Removed, rewritten: int) -> Usage:
    """The usage of the same request without our edits."""
    as_read = removed.held if usage.read else 0
    read = max(0, (usage.read or 0) + as_read + rewritten)
    return _with_written(usage, removed.held - as_read + removed.tail - rewritten, read=read)


def _written(usage: Usage) -> int:
    return (usage.fresh or 0) + (usage.write_short or 0) + (usage.write_long or 0)


def _with_written(usage: Usage, tokens: int, *, read: int) -> Usage:
    """Set what was read; add tokens to the bucket that holds most of the rest, or take them off where negative."""
    sizes = {name: getattr(usage, name) or 0 for name in ("fresh", "write_short", "write_long")}
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        change = max(tokens, -sizes[name])
        sizes[name] += change
        tokens -= change
    written = {name: size for name, size in sizes.items() if size or getattr(usage, name) is not None}
    return replace(usage, read=read, **written)


def _above_read(usage: Usage, rates: Rates) -> float:
    """What writing costs above reading, USD per million tokens."""
    write = rates.write_usd_per_mtok(long=bool(usage.write_long) and (usage.write_long or 0) > (usage.write_short or 0))
    if not (usage.write_short or usage.write_long):
        write = rates.input_usd_per_mtok
    return max(0.0, (rates.cache_write_usd_per_mtok if write is None else write) - rates.cache_read_usd_per_mtok)
