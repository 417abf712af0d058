"""What is believed before a request goes out, and what its reply teaches of caches, counts, money and reasoning."""

from __future__ import annotations

import logging
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from coldpress.config.settings import Settings
from coldpress.drive.accounts import NO_TOKENS, Accounts, Broken, Removed, money
from coldpress.drive.aging import Considered
from coldpress.drive.attributing import Attributing
from coldpress.drive.exchange import Inbound
from coldpress.drive.memory import LifetimeKey, Lineage, Memory, Recent, Refused, after_reply, head_name
from coldpress.drive.reads import asks_long_life, entries_left
from coldpress.drive.receipts import Sending, lineage_of, root_of
from coldpress.engine.belief import Held, believe, sent_by_others
from coldpress.engine.misses import explains_read
from coldpress.measure.cache_rules import CacheRules, rules_for
from coldpress.measure.prices import Unpriced, cost_usd
from coldpress.measure.token_families import family_of
from coldpress.model.conversation import Conversation
from coldpress.model.edits import Edit, Saved
from coldpress.model.native import Applied
from coldpress.model.records import Belief, Cut, Outcome
from coldpress.stores.base import Store

log = logging.getLogger(__name__)

_HOUR_SECONDS: Final = 3600.0
_KEYS_KEPT: Final = 4_096

_OTHER_CACHE: Final = "cache of the second provider"
"""What is missing where that one served a request with edits."""

MOST_OPEN: Final = 10_000
"""Requests whose reply is awaited."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A request whose reply is awaited.

    `summariser_usd` is what summaries cost that this request tells of, `None` where not all of it is known.
    `had_events` says that something was taken out of the conversation before it, `cut_here` that it was on this one.
    """

    lineage: str
    root: bytes
    chain: bytes
    head: bytes
    provider: str
    model: str | None
    at: float
    lifetime: LifetimeKey
    held: Held
    removed: Removed | None
    cut: Cut | None
    broken: Broken | None
    counted_tokens: int | None
    summariser_usd: float | None = 0.0
    had_events: bool = False
    cut_here: bool = False


class Insight:
    """Learns from what was sent and what came back; safe to use from any thread.

    Args:
        settings: frozen settings.
        store: asked for what happened before this process.
        accounts: prices.
    """

    def __init__(self, settings: Settings, store: Store, accounts: Accounts) -> None:
        self._settings = settings
        self._store = store
        self._accounts = accounts
        self._memory = Memory()
        self._open: Recent[str, Opened] = Recent(MOST_OPEN)
        self._attributing = Attributing(accounts)

    def lineage(self, conversation: Conversation) -> Lineage:
        """What replies have told about a conversation."""
        found = self._memory.lineage(lineage_of(conversation))
        return replace(found, stopped=True) if self._memory.is_stopped(root_of(conversation)) else found

    def scale(self, conversation: Conversation) -> float:
        """The provider's tokens for one of `coldpress.measure.tokens.estimate`, as far as replies have told."""
        return family_of(conversation.head.model).scale * self.lineage(conversation).calibration.scale

    def stopped(self, conversation: Conversation) -> bool:
        """Whether the provider has dropped reasoning after an edit in this conversation."""
        return self.lineage(conversation).stopped

    def head_notes(self, conversation: Conversation, identity_before: bytes) -> tuple[str, ...]:
        """Say where the client changed what stands before the messages.

        The exact prompt is looked up by conversation, since where it stands before the messages a change of it leaves
        no known prefix to compare with.
        """
        head = conversation.head
        changed = ("head_changed",) if identity_before not in (b"", head.identity) else ()
        last = self.lineage(conversation).head
        if last != head.exact:
            self._memory.change(lineage_of(conversation), lambda known: replace(known, head=head.exact))
        return changed + (("volatile_head",) if last not in (b"", head.exact) else ())

    def believe(self, inbound: Inbound, conversation: Conversation) -> Held:
        """Say what the provider is believed to hold of a conversation; may ask the store, so it may block."""
        lineage = self._traced(conversation)
        now, key = inbound.received_at, (inbound.provider, conversation.head.model, lineage.long_writes)
        held = self._judged(conversation, key, now)
        if held.belief.why == "idle" and not lineage.long_writes and asks_long_life(conversation):
            # No reply has told yet what the client asks for.
            held = self._judged(conversation, (*key[:2], True), now)
        tokens, belief = held.tokens, held.belief
        read = tokens if belief.state == "warm" else 0 if belief.state == "cold" else None
        belief = Belief(belief.state, belief.why, belief.idle_seconds, belief.lifetime_seconds, read)
        return Held(belief, held.messages, held.entries, tokens, held.reported_messages)

    def _judged(self, conversation: Conversation, key: LifetimeKey, now: float) -> Held:
        name = lineage_of(conversation)
        known = self._memory.knowledge(conversation, name, key, documented=documented_lifetime(key))
        if known.ancestors and sent_by_others(conversation, known.ancestors[0].messages) is not None:
            trace = self._store.trace(name)
            if trace is not None and trace.last_at > self._memory.lineage(name).sent_at:
                known = replace(known, elsewhere_at=trace.last_at)
        return believe(conversation, head_name(conversation.head), known, now=now)

    def window(self, provider: str, model: str | None) -> int | None:
        """The window of a model in tokens, where a refusal has told it."""
        return self._memory.window((provider, model))

    def learn_window(self, provider: str, model: str | None, tokens: int) -> None:
        """Remember the window of a model, where a refusal has told that there is one."""
        self._memory.learn_window((provider, model), tokens)

    def was_sent(self, conversation: Conversation) -> bool:
        """Whether this very request went out before."""
        return self._memory.was_sent(conversation.messages[-1].chain)

    def note_sent(self, inbound: Inbound, conversation: Conversation, sending: Sending) -> None:
        """Remember a request that goes out, until its reply has ended."""
        entries = entries_left(conversation, inbound.provider, sending.mark)
        name = lineage_of(conversation)
        self._memory.note_sent(conversation, name=name, at=inbound.received_at, entries=entries)
        self.note_shown(inbound, conversation, sending)
        held = sending.held
        if held is None or not conversation.messages:
            return
        considered = sending.considered
        lineage = self._memory.lineage(name)
        self._memory.change(name, lambda seen: replace(seen, sent_at=max(seen.sent_at, inbound.received_at)))
        broken = _broken(considered, held)
        if considered is not None and considered.ends and considered.first_changed is not None:
            held = replace(held, tokens=_least(held.tokens, considered.ends[considered.first_changed]))
        opened = Opened(
            lineage=name,
            root=root_of(conversation),
            chain=conversation.messages[-1].chain,
            head=head_name(conversation.head),
            provider=inbound.provider,
            model=conversation.head.model,
            at=inbound.received_at,
            lifetime=(inbound.provider, conversation.head.model, lineage.long_writes),
            held=held,
            removed=_removed(sending, _read_before(conversation, held)),
            cut=sending.cut,
            broken=broken,
            counted_tokens=considered.counted_tokens if considered else None,
            summariser_usd=_spent(considered) if considered else 0.0,
            had_events=sending.had_events,
            cut_here=considered is not None and considered.applied,
        )
        self._open.note(inbound.request_id, opened)

    def note_shown(self, inbound: Inbound, conversation: Conversation, sending: Sending) -> None:
        """Remember what a request shows, so that what its reply does not read can be attributed.

        Nothing is done with some, and of others the server holds a history that nobody sees: those are left out.
        """
        if sending.operation == "off" or conversation.head.stateful:
            return
        lineage = self._memory.lineage(lineage_of(conversation))
        key = (inbound.provider, conversation.head.model, lineage.long_writes)
        lifetime = self._memory.lifetime(key, documented=documented_lifetime(key))
        self._attributing.sent(inbound, conversation, sending, lineage=lineage, lifetime=lifetime)

    def note_refreshed(self, chain: bytes, sent_at: float, answered_at: float, tokens: int | None) -> None:
        """Remember that the prefix of a request that came at `sent_at` was read again: it lives on from there."""
        self._memory.note_reply(chain, at=sent_at, replied_at=answered_at, tokens=tokens)

    def last_reply(self, inbound: Inbound, conversation: Conversation) -> str | None:
        """Name the reply before a request, as its provider does; `None` where that is not known."""
        found = self._attributing.last_reply(inbound.provider, conversation)
        if found is not None:
            return found
        lineage = self._traced(conversation)
        return lineage.reply_id if lineage.reply_from == inbound.provider else None

    def learn(self, outcome: Outcome) -> Opened | None:
        """Take note of how a request ended; gives what was known of it, `None` for a request that was not read."""
        missed = self._attributing.replied(outcome)
        opened = self._open.pop(outcome.request_id, None)
        if opened is None:
            return None
        if outcome.failover is not None and outcome.failover.served:
            # The provider that all of this is about has nothing of the request; what the other one holds nobody asks.
            self._memory.forget_sent(opened.chain, at=opened.at)
        elif outcome.status is not None and outcome.status < 300:
            self._memory.note_answered(opened.lineage, opened.model, opened.head, at=opened.at)
            prompt = outcome.context_tokens if outcome.context_tokens is not None else outcome.usage.prompt
            replied_at = opened.at + outcome.duration_seconds
            self._memory.note_reply(opened.chain, at=opened.at, replied_at=replied_at, tokens=prompt)
            self._memory.note_taken(opened.lineage, (opened.provider, opened.model), tokens=prompt)
            self._learn_caches(opened, outcome, explained=explains_read(missed))
        elif outcome.status is not None:
            self._memory.forget_sent(opened.chain, at=opened.at)
        if outcome.overflow is not None and (outcome.failover is None or not outcome.failover.served):
            refused = Refused(opened.chain, (opened.provider, opened.model), outcome.overflow)
            self._memory.note_refused(opened.lineage, refused)
        if outcome.edits_noticed:
            self._stop(opened, outcome)
        return opened

    def priced(self, opened: Opened | None, outcome: Outcome) -> Outcome:
        """Give an outcome with its money and its miss; may wait for the price list where the books are not ready."""
        outcome = self._attributing.priced(outcome)
        if opened is None:
            return outcome
        provider, model, removed, broken = opened.provider, opened.model, opened.removed, opened.broken
        elsewhere = outcome.failover is not None and outcome.failover.served
        if outcome.failover is not None and elsewhere:
            # Where edits were made, nobody knows what of them the other one would have held without.
            provider, model = outcome.failover.to, outcome.failover.model
            removed, broken = (removed if removed == Removed() else None), None
        worked_out = money(
            outcome,
            self._accounts.prices(provider, model, opened.at),
            lambda named: self._accounts.prices(provider, named, opened.at),
            removed,
            None if elsewhere else opened.cut,
            broken=broken,
            summariser_usd=opened.summariser_usd,
        )
        if elsewhere and removed is None and worked_out.bill_usd is not None:
            missing = (_OTHER_CACHE if word == NO_TOKENS else word for word in worked_out.unpriced)
            worked_out = replace(worked_out, unpriced=tuple(missing))
        applied = tuple(self._with_cost(one, provider, model, opened.at) for one in outcome.applied)
        return replace(outcome, money=worked_out, applied=applied)

    def _with_cost(self, applied: Applied, provider: str, model: str | None, at: float) -> Applied:
        """Say what a step of the provider's own cost, where it says what it took; it is part of the reply's bill."""
        bill = cost_usd(applied.usage, self._accounts.prices(provider, model, at))
        return applied if isinstance(bill, Unpriced) else replace(applied, usd=bill)

    def _learn_caches(self, opened: Opened, outcome: Outcome, *, explained: bool) -> None:
        """Learn how long prefixes are kept; `explained` where the client or we sent otherwise what was not read."""
        usage = outcome.usage
        if not usage.known:
            return
        if usage.read is not None:
            self._memory.learn_lifetime(
                opened.lifetime,
                opened.held,
                usage.read,
                documented=documented_lifetime(opened.lifetime),
                promised=_promised_lifetime(opened.lifetime),
                explained=explained,
            )
        self._memory.change(
            opened.lineage,
            lambda known: after_reply(
                known,
                opened.held,
                usage=usage,
                context_tokens=outcome.context_tokens,
                counted_tokens=opened.counted_tokens,
                explained=explained,
            ),
        )

    def _stop(self, opened: Opened, outcome: Outcome) -> None:
        facts = {
            "request": outcome.request_id,
            "conversation": opened.lineage,
            "why": ", ".join(outcome.transformations),
        }
        if not self._memory.is_stopped(opened.root):
            log.error("reasoning does not fit what stands before it: no new edits in this conversation", extra=facts)
        self._memory.stop(opened.root)

    def _traced(self, conversation: Conversation) -> Lineage:
        """What is known of a conversation; the ledger is asked where this process has not seen it begin."""
        name = lineage_of(conversation)
        lineage = self._memory.lineage(name)
        if lineage.traced:
            return lineage
        trace = self._store.trace(name) if conversation.last_assistant >= 0 else None
        earlier = self._memory.earlier_name(conversation) if trace is None else None
        if trace is None:
            # Behind a changed system prompt it has another name, and is the same provider's, client's and tokenizer's.
            before = self._memory.lineage(earlier) if earlier is not None else lineage
            found = replace(
                before,
                head=lineage.head,
                misses=0,
                prompt_tokens=None,
                counted_tokens=None,
                counted_prompt_tokens=None,
                traced=True,
            )
        else:
            usage = trace.last_usage
            if trace.transformations_seen:
                self._memory.stop(root_of(conversation))
            found = replace(
                lineage,
                traced=True,
                last_at=trace.last_at,
                reads_reported=None if usage is None else usage.read is not None,
                long_writes=bool(usage and usage.write_long),
                earlier_tokens=trace.context_tokens or (usage.prompt if usage is not None else None),
                reply_id=trace.reply_id,
                reply_from=trace.provider,
            )
        self._memory.change(name, lambda _: found)
        return found


@lru_cache(_KEYS_KEPT)
def documented_lifetime(key: LifetimeKey) -> float | None:
    """How long a provider is said to keep an unused prefix, in seconds; `None` where that is not known.

    Where only a least lifetime is promised, prefixes are taken to be gone after twice that, and an hour at least:
    calling a warm prefix cold costs a rewrite, calling a cold one warm costs no more than a chance.
    """
    seconds, rules = _promised_lifetime(key), _rules(key)
    return max(2 * seconds, _HOUR_SECONDS) if seconds is not None and rules and rules.at_least else seconds


def _promised_lifetime(key: LifetimeKey) -> float | None:
    rules = _rules(key)
    return rules.seconds("long" if key[2] else "short") if rules is not None else None


def _rules(key: LifetimeKey) -> CacheRules | None:
    provider, model, _ = key
    return rules_for(model, provider) if model else None


def _broken(considered: Considered | None, held: Held) -> Broken | None:
    if considered is None or not considered.ends or considered.first_changed is None or held.tokens is None:
        return None
    cut = considered.weighed.cut
    readable = held.tokens - cut.removed_tokens
    return Broken(
        readable=readable,
        kept=considered.ends[considered.first_changed],
        head=considered.ends[0],
        expected=readable - cut.rewrite_tokens,
        believed_held=held.belief.state == "warm",
    )


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def _read_before(conversation: Conversation, held: Held) -> int:
    """How many leading messages are read if the reply reads anything: without a belief, what the model has seen."""
    return held.messages if held.belief.state != "unknown" else max(0, conversation.last_assistant)


def _removed(sending: Sending, held_messages: int) -> Removed | None:
    """Tell the tokens that edits took out of the held prefix from those that they took out behind it."""
    tail = Saved.by(sending.edits[bisect_left(sending.edits, held_messages, key=_message_of) :])
    inside, behind = (sending.saved - tail).scaled(sending.scale), tail.scaled(sending.scale)
    return None if inside is None or behind is None else Removed(inside, behind)


def _message_of(edit: Edit) -> int:
    return edit.message


def _spent(considered: Considered) -> float | None:
    """What summaries cost that this request tells of, `None` where part of it is not known."""
    pressure = considered.pressure.summariser_usd if considered.pressure is not None else 0.0
    single = considered.offloaded.usd if considered.offloaded is not None else 0.0
    return None if pressure is None or single is None else pressure + single
