"""Compare the simulated prefix cache with what providers reported on recorded runs.

Given are the text and times of the requests, and how many tokens each prompt had. Predicted is the split of those
tokens into read, written and fresh, and with it the input bill.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from statistics import median

from coldpress.lab.cache_clients import Client
from coldpress.lab.cache_prompts import Note, Prompt, prompts
from coldpress.measure.cache import PrefixCache
from coldpress.measure.cache_rules import CacheRules, rules_for
from coldpress.measure.prices import Unpriced, cost_usd, prices_for
from coldpress.model.trajectory import Trajectory
from coldpress.model.usage import Usage

NOTABLE_TOKENS = 2000
"""A read that is wrong by more than this is listed."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One request: what its usage was said to be, and what it was foretold to be; the input bill of each in USD.

    A bill is `None` where the model has no price. `cold_usd` is the simulated one, had its whole prefix been lost.
    """

    chain: str
    turn: int
    sent_at: float
    model: str
    reported: Usage
    simulated: Usage
    reported_usd: float | None
    simulated_usd: float | None
    cold_usd: float | None
    notes: tuple[Note, ...]

    @property
    def scored(self) -> bool:
        """Whether it was foretold: of a run's opening the reported read sizes the head, so it is left out."""
        return "opening" not in self.notes

    @property
    def read_error(self) -> int:
        """Tokens that were foretold to be read and were not; negative where more was read."""
        return (self.simulated.read or 0) - (self.reported.read or 0)

    @property
    def warm(self) -> bool:
        """Whether there was a prefix to lose, by the rules."""
        return (self.simulated.read or 0) > NOTABLE_TOKENS

    @property
    def lost(self) -> bool:
        """Whether less than half was read of a prefix that should have been warm: something unrecorded happened."""
        return self.read_error > NOTABLE_TOKENS and 2 * (self.reported.read or 0) < (self.simulated.read or 0)

    @property
    def lived_on(self) -> bool:
        """Whether more than twice as much was read as should have been left."""
        return -self.read_error > NOTABLE_TOKENS and 2 * (self.simulated.read or 0) < (self.reported.read or 0)


@dataclass(frozen=True, slots=True)
class Session:
    """One recording, its requests in order, and who served them."""

    name: str
    provider: str
    requests: tuple[Compared, ...]

    @property
    def scored(self) -> tuple[Compared, ...]:
        """The requests that were foretold."""
        return tuple(request for request in self.requests if request.scored)

    def tokens(self, bucket: str) -> tuple[int, int]:
        """Reported and simulated tokens of one bucket of `Usage` over the scored requests."""
        return _sum(self.scored, bucket)

    @property
    def read_error(self) -> float | None:
        """How far off the read tokens are, as a share of those reported, sign kept; `None` where none were."""
        reported, simulated = self.tokens("read")
        return (simulated - reported) / reported if reported else None

    @property
    def bill_error(self) -> float | None:
        """How far off the input bill is, as a share of the reported one, sign kept; `None` where unpriced."""
        return _bill_error(self.scored)

    @property
    def notable(self) -> tuple[Compared, ...]:
        """Scored requests whose read is far off, the worst first."""
        found = [request for request in self.scored if abs(request.read_error) > NOTABLE_TOKENS]
        return tuple(sorted(found, key=lambda request: -abs(request.read_error)))


@dataclass(frozen=True, slots=True)
class Check:
    """All sessions together."""

    sessions: tuple[Session, ...]
    scored: tuple[Compared, ...] = field(repr=False)

    def tokens(self, bucket: str) -> tuple[int, int]:
        """Reported and simulated tokens of one bucket of `Usage`."""
        return _sum(self.scored, bucket)

    @property
    def bills_usd(self) -> tuple[float, float]:
        """Reported and simulated input bill of the priced requests."""
        return _bills(self.scored)

    @property
    def bill_error(self) -> float | None:
        """As `Session.bill_error`."""
        return _bill_error(self.scored)

    @property
    def plain_bill_error(self) -> float | None:
        """As `bill_error`, without requests that `lost` their prefix or found one that `lived_on`: the rest's fit."""
        return _bill_error([request for request in self.scored if not (request.lost or request.lived_on)])

    @property
    def unpriced(self) -> int:
        """Requests left out of the bills."""
        return sum(request.reported_usd is None for request in self.scored)

    @property
    def read_errors(self) -> tuple[float, ...]:
        """Size of each session's error in read tokens as a share, ascending; sessions without a read are left out."""
        return tuple(sorted(abs(s.read_error) for s in self.sessions if s.read_error is not None))

    @property
    def median_read_error(self) -> float | None:
        """The median of `read_errors`."""
        return median(self.read_errors) if self.read_errors else None


def check_session(
    name: str, trajectories: Sequence[Trajectory], client: Client, count: Callable[[str], int]
) -> Session:
    """Simulate one recording and set the result beside what was reported.

    Args:
        name: to know it by.
        trajectories: all of the recording: they share a cache.
        client: which program made it.
        count: estimates the tokens of a text, see `coldpress.lab.cache_prompts.prompts`.
    """
    caches: dict[str, PrefixCache] = {}
    found = []
    for prompt in prompts(trajectories, client, count):
        cache = caches.get(prompt.model)
        if cache is None:
            rules = rules_for(prompt.model, client.provider)
            if rules is None:
                continue
            cache = caches[prompt.model] = PrefixCache(rules, short_seconds=_seconds(rules, client))
        simulated = cache.send(
            prompt.pieces,
            scope=prompt.scope,
            messages_scope=prompt.messages_scope,
            now=prompt.sent_at,
            answered_at=prompt.answered_at,
        )
        if prompt.reported is not None:
            found.append(_compared(prompt, prompt.reported, simulated, client))
    return Session(name, client.provider, tuple(found))


def together(sessions: Sequence[Session]) -> Check:
    """Add sessions up."""
    return Check(tuple(sessions), tuple(request for session in sessions for request in session.scored))


def _seconds(rules: CacheRules, client: Client) -> float | None:
    return client.believed_seconds if rules.short_seconds is None else None


def _compared(prompt: Prompt, reported: Usage, simulated: Usage, client: Client) -> Compared:
    at = datetime.fromtimestamp(prompt.sent_at, UTC)
    prices = prices_for(prompt.model, provider=client.provider, at=at)

    def input_usd(usage: Usage) -> float | None:
        usd = cost_usd(replace(usage, output=0, reasoning=None), prices)
        return None if isinstance(usd, Unpriced) else usd

    return Compared(
        chain=prompt.chain,
        turn=prompt.turn,
        sent_at=prompt.sent_at,
        model=prompt.model,
        reported=reported,
        simulated=simulated,
        reported_usd=input_usd(reported),
        simulated_usd=input_usd(simulated),
        cold_usd=input_usd(_cold(simulated)),
        notes=prompt.notes,
    )


def _cold(usage: Usage) -> Usage:
    """Write again what was read, for as long as the rest was written; where writes are not reported it is fresh."""
    read = usage.read or 0
    if usage.write_long:
        return replace(usage, read=0, write_long=usage.write_long + read)
    if usage.write_short is not None:
        return replace(usage, read=0, write_short=usage.write_short + read)
    return replace(usage, read=0, fresh=(usage.fresh or 0) + read)


def _sum(requests: Sequence[Compared], bucket: str) -> tuple[int, int]:
    return (
        sum(getattr(request.reported, bucket) or 0 for request in requests),
        sum(getattr(request.simulated, bucket) or 0 for request in requests),
    )


def _bills(requests: Sequence[Compared]) -> tuple[float, float]:
    priced = [(r.reported_usd, r.simulated_usd) for r in requests]
    both = [(one, two) for one, two in priced if one is not None and two is not None]
    return sum(one for one, _ in both), sum(two for _, two in both)


def _bill_error(requests: Sequence[Compared]) -> float | None:
    reported, simulated = _bills(requests)
    return (simulated - reported) / reported if reported else None
