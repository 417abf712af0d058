"""Simulate when aged results are masked over a recorded conversation, and what its whole input then costs.

Open-loop: recorded requests keep their times and their replies. The cache is a model of one conversation: what was
sent last is read again if the next request comes within the lifetime, and the rest of the prompt is written. Where
an edit changes what was sent, the read ends before it: behind the head, or at the end of an earlier request. At a
provider with marks that must be a prompt that was really sent and of which nothing changed since: a rewrite leaves one
such end, its own. Elsewhere any request's end will do. Outside of the lifetime, or with another model, the whole
prompt is written. Minimum lengths, rounding and the limit of a mark's lookback are left out (an editor sets a mark of
his own before his edit).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from operator import or_

from coldpress.lab.layout import Layout
from coldpress.lab.tariffs import Tariff
from coldpress.measure.economics import Prompt, Removal

_TOKENS_PER_MTOK = 1_000_000


@dataclass(frozen=True, slots=True)
class Aging:
    """Requests on which a result is shown exact before it may be masked, 1 or more; `None`: it never may.

    A result that first appears in request 3 may be masked from request 3 + its age on.
    """

    source_turns: int | None
    other_turns: int = 6


@dataclass(frozen=True, slots=True)
class Candidate:
    """A result that is masked some time or never.

    `first` is the request it first appears in, `due` the first one on which it may be masked; `index` is its place
    among what it was made of: the layout's removables, or the results that a driver listed.
    """

    first: int
    due: int
    before_tokens: int
    saved_tokens: int
    index: int


@dataclass(frozen=True, slots=True)
class Offered:
    """Which results may be masked when, and what is read of prompts without a mask: as a driver and a cache said.

    Attributes:
        candidates: in the order of the prompt.
        on: those that may be masked on each request, as bits: bit k for `candidates[k]`.
        read_tokens: what is read of each request if nothing was ever masked.
        reads_anywhere: whether a read can end at the end of any request, or only where a prompt ended that was really
            sent, and behind the head.
    """

    candidates: tuple[Candidate, ...]
    on: tuple[int, ...]
    read_tokens: tuple[int, ...]
    reads_anywhere: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """What was sent of a conversation: the set masked, and the requests (as bits) at whose ends a read can end."""

    masked: int
    ends: int


@dataclass(frozen=True)
class Situation:
    """A conversation under an aging rule and a tariff. Sets of candidates are bit masks, bit k for `candidates[k]`."""

    layout: Layout
    aging: Aging | Offered
    tariff: Tariff
    _saved: dict[int, int] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """The results that may be masked on some request, in the order of the prompt."""
        if isinstance(self.aging, Offered):
            return self.aging.candidates
        found = []
        for index, one in enumerate(self.layout.removables):
            age = self.aging.source_turns if one.kind == "source" else self.aging.other_turns
            if age is not None and one.first + age < len(self.layout.prompt_tokens):
                due = max(one.first + age, self.layout.own)
                found.append(Candidate(one.first, due, one.before_tokens, one.saved_tokens, index))
        return tuple(found)

    @cached_property
    def offered(self) -> tuple[int, ...]:
        """Candidates that may be masked on each request."""
        if isinstance(self.aging, Offered):
            return self.aging.on
        due = [0] * len(self.layout.prompt_tokens)
        for k, one in enumerate(self.candidates):
            due[one.due] |= 1 << k
        return tuple(accumulate(due, or_))

    @cached_property
    def before(self) -> tuple[int, ...]:
        """Candidates that first appear before each request."""
        found = [0] * (len(self.layout.prompt_tokens) + 1)
        for k, one in enumerate(self.candidates):
            found[one.first + 1] |= 1 << k
        return tuple(accumulate(found, or_))

    @cached_property
    def cold(self) -> tuple[bool, ...]:
        """Whether nothing of each request is held any more but its head at most.

        Where no reads are given, the first own request reads what was reported.
        """
        own = self.layout.own
        if isinstance(self.aging, Offered):
            head = self.layout.head_tokens
            return tuple(request >= own and read <= head for request, read in enumerate(self.aging.read_tokens))
        at, held = self.layout.sent_at, self.tariff.held_seconds(asked_long=self.layout.long)
        return tuple(
            request > own and (changed or at[request] - at[request - 1] > held)
            for request, changed in enumerate(self.layout.changed)
        )

    @cached_property
    def read_tokens(self) -> tuple[int, ...]:
        """What is read of each request if nothing was ever masked; 0 for those before the first own one."""
        if isinstance(self.aging, Offered):
            return self.aging.read_tokens
        own, prompts = self.layout.own, self.layout.prompt_tokens
        found = [0] * len(prompts)
        found[own] = min(self.layout.first_read_tokens, prompts[own])
        for request in range(own + 1, len(prompts)):
            found[request] = 0 if self.cold[request] else prompts[request - 1]
        return tuple(found)

    @cached_property
    def reach(self) -> tuple[int, ...]:
        """How many of the earlier requests' ends lie in what is read of each request if nothing was ever masked.

        Where reads are not given, the first own request is taken to reach all of them.
        """
        prompts, own = self.layout.prompt_tokens, self.layout.own
        if isinstance(self.aging, Aging):
            return tuple(0 if self.cold[request] else request for request in range(len(prompts)))
        reads = self.read_tokens
        return tuple(
            0 if request < own or self.cold[request] else bisect_right(prompts, reads[request], 0, request)
            for request in range(len(prompts))
        )

    @property
    def reads_anywhere(self) -> bool:
        """Whether a read can end at the end of any request, sent like that or not."""
        return self.aging.reads_anywhere if isinstance(self.aging, Offered) else self.tariff.reads_anywhere

    def saved(self, masked: int) -> int:
        """Tokens that a set of candidates frees."""
        known = self._saved.get(masked)
        if known is None:
            known = sum(self.candidates[k].saved_tokens for k in bits_of(masked))
            self._saved[masked] = known
        return known

    def end(self, request: int, masked: int) -> int:
        """Tokens up to the end of a request as it is sent with a set masked; 0 for the one before the first."""
        if request < 0:
            return 0
        return self.layout.prompt_tokens[request] - self.saved(masked & self.before[request + 1])

    @property
    def begin(self) -> Sent:
        """Give what was sent before the first own request."""
        return Sent(0, (1 << self.layout.own) - 1)

    def held(self, request: int, sent: Sent) -> int:
        """Tokens of a request that would be read if nothing new were masked."""
        reach = self.reach[request]
        readable = sent.ends & ((1 << reach) - 1)
        if not reach or readable >> (reach - 1):
            return max(0, self.read_tokens[request] - self.saved(sent.masked & self.before[reach]))
        return self.end(readable.bit_length() - 1, sent.masked) if readable else self.layout.head_tokens

    def read_before(self, first: int, sent: Sent) -> int:
        """Tokens of the prefix that can be read if what the request `first` added changes."""
        ends = sent.ends & ((1 << first) - 1)
        return self.end(ends.bit_length() - 1, sent.masked) if ends else self.layout.head_tokens

    def cost_usd(self, request: int, sent: Sent, new: int) -> float:
        """Price the input of one request; `new` is masked from this request on."""
        read = self.held(request, sent)
        if new:
            read = min(read, self.read_before(self.first_of(new), sent))
        tokens = self.end(request, sent.masked | new)
        read_rate, write_rate = self.tariff.read_and_write(tokens, asked_long=self.layout.long)
        read = min(read, tokens)
        return (read_rate * read + write_rate * (tokens - read)) / _TOKENS_PER_MTOK

    def after(self, request: int, sent: Sent, new: int) -> Sent:
        """Give what was sent once a request has been."""
        own_end = 1 << request
        if self.reads_anywhere:
            return Sent(sent.masked | new, 2 * own_end - 1)
        # What a read falls short of, its reply not being there yet, can be read later.
        ends = 0 if self.cold[request] else sent.ends
        if new:
            ends &= (1 << self.first_of(new)) - 1
        return Sent(sent.masked | new, ends | own_end)

    def first_of(self, candidates: int) -> int:
        """Give the request in which the first of some candidates appears."""
        return self.candidates[(candidates & -candidates).bit_length() - 1].first


@dataclass(frozen=True, slots=True)
class View:
    """What an arm sees of a request: the past, and no more.

    Attributes:
        situation: of which it may use what is known at this request.
        request: its index.
        prompt: as it would be sent without a new edit.
        removals: of the results that are of age and still exact, in the order of the prompt.
    """

    situation: Situation
    request: int
    prompt: Prompt
    removals: tuple[Removal, ...]

    @property
    def is_cold(self) -> bool:
        """Whether nothing is held."""
        return self.situation.cold[self.request]


Arm = Callable[[View], int | None]
"""Decides on a request: every removal from the given index on is masked, none for `None`."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a schedule cost over one conversation, input only.

    Attributes:
        cost_usd: of all own requests.
        cold_usd: of those whose prefix was not held.
        cuts: requests on which something was newly masked, and `cold_cuts` of them with a cold cache.
        masked: what was masked at each own request, as bits.
    """

    cost_usd: float
    cold_usd: float
    cuts: int
    cold_cuts: int
    masked: tuple[int, ...]


def play(situation: Situation, arm: Arm) -> Run:
    """Let an arm decide on every own request of a conversation, in order."""
    return replay(situation, lambda request, sent: _chosen(situation, arm, request, sent))


def replay(situation: Situation, newly_masked: Callable[[int, Sent], int]) -> Run:
    """Bill a conversation. `newly_masked` gives, for a request and what was sent before, what is masked from it on."""
    sent, cost, cold, cuts, cold_cuts = situation.begin, 0.0, 0.0, 0, 0
    history = []
    for request in range(situation.layout.own, len(situation.layout.prompt_tokens)):
        new = newly_masked(request, sent)
        usd = situation.cost_usd(request, sent, new)
        is_cold = situation.cold[request]
        cost, cold = cost + usd, cold + usd * is_cold
        cuts, cold_cuts = cuts + bool(new), cold_cuts + bool(new and is_cold)
        sent = situation.after(request, sent, new)
        history.append(sent.masked)
    return Run(cost, cold, cuts, cold_cuts, tuple(history))


def _chosen(situation: Situation, arm: Arm, request: int, sent: Sent) -> int:
    offered = tuple(bits_of(situation.offered[request] & ~sent.masked))
    start = arm(view(situation, request, sent, offered))
    return 0 if start is None else sum(1 << k for k in offered[start:])


def view(situation: Situation, request: int, sent: Sent, offered: tuple[int, ...]) -> View:
    """Show a request to an arm, in the terms of `coldpress.measure.economics`."""
    removals = []
    for k in offered:
        one = situation.candidates[k]
        sent_before = one.before_tokens - situation.saved(sent.masked & ((1 << k) - 1))
        removals.append(Removal(sent_before, one.saved_tokens, waited=request - one.due))
    ends = (situation.end(earlier, sent.masked) for earlier in bits_of(sent.ends))
    prompt = Prompt(
        tokens=situation.end(request, sent.masked),
        cached_tokens=situation.held(request, sent),
        readable=(situation.layout.head_tokens, *ends) if removals else None,
    )
    return View(situation, request, prompt, tuple(removals))


def bits_of(mask: int) -> Iterator[int]:
    """Give the places of the bits that are set, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
