"""Consider the aged results of a request: count what has to be counted, and ask the gate on what is known now."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from coldpress.config.settings import Settings
from coldpress.drive.accounts import Accounts
from coldpress.drive.memory import Lineage, Recent
from coldpress.drive.reads import Reads
from coldpress.engine import aged as aged_results
from coldpress.engine.aged import Aged, View
from coldpress.engine.belief import Held
from coldpress.engine.binding import editable_from
from coldpress.engine.cut import Weighed, weigh
from coldpress.engine.gate import Terms
from coldpress.engine.layout import message_ends
from coldpress.engine.policy import Rule, RuleMode
from coldpress.engine.session import Seen, Session
from coldpress.measure.prices import Unpriced
from coldpress.measure.token_families import family_of
from coldpress.measure.tokens import Counter, counter_for
from coldpress.measure.weights import weigh as weigh_message
from coldpress.model.conversation import Conversation
from coldpress.model.edits import Edit
from coldpress.model.identity import EditKey
from coldpress.model.records import Cut, Line, Operation
from coldpress.wire.marks import Insertion

MOST_COUNTED: Final = 100_000
"""Messages whose tokens are remembered."""

COUNT_BYTES: Final = 8 * 1024
"""More uncounted bytes than this are counted in a thread."""

MOST_VIEWS: Final = 20_000
"""Aged results whose view is remembered."""

_BYTES_PER_HEAD_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class Question:
    """A request of which the aged results are to be considered.

    Attributes:
        conversation: the request.
        session: the state after it, with everything decided at first sight.
        provider: who serves it.
        harness: the client's product name.
        lineage: what replies have told about the conversation.
        held: what the provider is believed to hold.
        at: seconds since 1970.
        operation: only `press` makes edits.
    """

    conversation: Conversation
    session: Session
    provider: str
    harness: str | None
    lineage: Lineage
    held: Held
    at: float
    operation: Operation


@dataclass(frozen=True, slots=True)
class Considered:
    """What came of it.

    Attributes:
        weighed: the decision.
        ends: tokens of the prompt up to the end of each message before the decision, on the provider's scale; empty
            where nothing was counted.
        counted_tokens: of the messages as they are sent, as we count them.
        scale: the provider's tokens for one of `coldpress.measure.tokens.estimate`.
        mark: a cache mark of ours that goes with the decision.
    """

    weighed: Weighed
    ends: tuple[int, ...] = ()
    counted_tokens: int | None = None
    scale: float = 1.0
    mark: Insertion | None = None

    @property
    def lines(self) -> tuple[Line, ...]:
        """The ledger's lines for what becomes smaller now."""
        return tuple(aged.view.line for aged in self.weighed.chosen)


class Aging:
    """Considers requests one after the other; safe to use from any thread.

    Args:
        settings: with the rules.
        accounts: for prices and forecasts.
    """

    def __init__(self, settings: Settings, accounts: Accounts) -> None:
        self._settings = settings
        self._accounts = accounts
        self._counted: Recent[tuple[bytes, str], int] = Recent(MOST_COUNTED)
        self._families: set[str] = set()
        ages = (rule.age for rule in settings.policy.rules if rule.aged_mode is not None)
        self._youngest = min(ages, default=sys.maxsize)
        self._views: Recent[tuple[EditKey, str, RuleMode, bool], View | None] = Recent(MOST_VIEWS)

    def is_heavy(self, conversation: Conversation) -> bool:
        """Whether considering a request is work for a thread: much to count, or a vocabulary or price list to load."""
        family = family_of(conversation.head.model).name
        if family not in self._families or not self._accounts.ready:
            return True
        total = 0
        for message in reversed(conversation.messages):
            if (message.digest, family) in self._counted:
                break
            total += len(message.span)
        return total > COUNT_BYTES

    def may_have_aged(self, session: Session) -> bool:
        """Whether any result of the conversation is old enough that something could be done, cheaply judged."""
        if not session.seen:
            return False
        return session.age(session.seen[0].message) >= self._youngest or any(seen.left for seen in session.seen)

    def consider(self, asked: Question) -> Considered | None:
        """Decide on the aged results of a request; `None` where there are none."""
        conversation = asked.conversation
        candidates = aged_results.aged(asked.session, self._settings.policy, self._view_of(conversation))
        if not candidates:
            return None
        terms = self._terms(asked)
        if isinstance(terms, Cut):
            return Considered(Weighed((), replace(terms, candidates=len(candidates))))
        counter = counter_for(conversation.head.model)
        self._families.add(counter.family.name)
        tokens = [self._tokens(conversation, index, counter) for index in range(len(conversation.messages))]
        calibration = asked.lineage.calibration
        scale = counter.family.scale * calibration.scale
        ends = message_ends(
            [calibration.scale * count for count in tokens],
            asked.session.edits,
            head_tokens=_head_tokens(asked),
            scale=scale,
        )
        reads = Reads.of(conversation, asked.session, asked.held, ends, asked.provider)
        weighed, mark = self._weighed(asked, candidates, reads, terms, scale)
        freed = sum(aged.view.freed_tokens for aged in weighed.chosen)
        return Considered(weighed, ends, _counted(tokens, asked.session.edits, freed, counter), scale, mark)

    def _weighed(
        self, asked: Question, candidates: Sequence[Aged], reads: Reads, terms: Terms, scale: float
    ) -> tuple[Weighed, Insertion | None]:
        """Ask the gate; where a warm cut would go, once more with the client's marks, which are costly to read."""
        ask = functools.partial(
            weigh,
            candidates,
            reads.ends,
            asked.held,
            terms,
            scale=scale,
            floor=editable_from(asked.conversation, allow_thinking_loss=self._settings.allow_thinking_loss),
            operation=asked.operation,
        )
        weighed = ask(readable=reads.hopeful)
        if not weighed.chosen or asked.held.belief.state == "cold" or not reads.needs_marks:
            return weighed, None
        marked = reads.marked()
        weighed = ask(readable=marked.ends())
        mark = marked.mark(weighed.chosen[0].seen.message) if weighed.chosen else None
        return (replace(weighed, cut=replace(weighed.cut, mark=True)) if mark else weighed), mark

    def _terms(self, asked: Question) -> Terms | Cut:
        """What the gate decides on, or the reason why it cannot."""
        prices = self._accounts.prices(asked.provider, asked.conversation.head.model, asked.at)
        if isinstance(prices, Unpriced):
            return Cut("unpriced")
        if asked.held.belief.state == "unknown":
            return Cut("unknown_cache")
        if not asked.lineage.reads_reported:
            return Cut("unknown_usage")
        return Terms(
            routes=(prices,),
            requests=self._accounts.requests_to_come(asked.harness, len(asked.session.replies)),
            state=asked.held.belief.state,
            long=asked.lineage.long_writes,
        )

    def _view_of(self, conversation: Conversation) -> aged_results.ViewOf:
        offered = frozenset(conversation.head.tools)

        def view_of(seen: Seen, rule: Rule, mode: RuleMode) -> View | None:
            shown = seen.standing.mode if seen.standing else "exact"
            key = (seen.key, shown, mode, seen.tool in offered)
            if key in self._views:
                return self._views.get(key)
            view = aged_results.view(conversation, seen, rule, mode)
            self._views.note(key, view)
            return view

        return view_of

    def _tokens(self, conversation: Conversation, index: int, counter: Counter) -> int:
        key = (conversation.messages[index].digest, counter.family.name)
        found = self._counted.get(key)
        if found is None:
            found = weigh_message(conversation, index, counter).tokens
            self._counted.note(key, found)
        return found


def _head_tokens(asked: Question) -> int:
    """Tokens before the first message: what the last reply reported beyond the messages, else by the bytes."""
    lineage, conversation = asked.lineage, asked.conversation
    if lineage.prompt_tokens is not None and lineage.counted_tokens is not None:
        return max(0, lineage.prompt_tokens - lineage.calibration.scaled(lineage.counted_tokens))
    inside = sum(len(message.span) for message in conversation.messages)
    return max(0, len(conversation.body) - inside) // _BYTES_PER_HEAD_TOKEN


def _counted(tokens: Sequence[int], edits: Sequence[Edit], freed_tokens: int, counter: Counter) -> int:
    saved = freed_tokens + sum(edit.standing.saved_tokens or 0 for edit in edits)
    return max(0, sum(tokens) - round(saved * counter.family.scale))
