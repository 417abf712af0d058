"""Remember what requests showed a provider, and say of each reply who is to answer for what it did not read."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import xxhash

from coldpress.drive.accounts import Accounts, missed_usd
from coldpress.drive.diagnosis import is_question
from coldpress.drive.exchange import Inbound
from coldpress.drive.memory import Lineage, Recent
from coldpress.drive.receipts import Sending
from coldpress.engine.misses import Case, attribute
from coldpress.engine.shown import (
    Compared,
    Outside,
    Put,
    Shown,
    compare,
    message_names,
    outside_of,
    packed,
    spoken,
)
from coldpress.engine.watch_prefix import head_bytes
from coldpress.measure.cache_rules import rules_for
from coldpress.model.conversation import Conversation, ToolCall
from coldpress.model.misses import Attribution
from coldpress.model.records import Belief, Outcome
from coldpress.model.usage import Usage

MOST_TRAILS: Final = 2_000
"""Names of conversations whose last requests are remembered, two for most: some 8 bytes a message and 16 for each text
of ours, four times."""

_MOST_REQUESTS: Final = 4
"""Of one conversation: its branches, and the models that take turns in it."""

_MOST_OUTSIDE: Final = 1_000
_MOST_OPEN: Final = 10_000

Trail = tuple[str, bytes]
"""Provider, and digest of the first message or of the first that calls a tool: these hold for a conversation whatever
its client changes in its head, the latter also where it writes its first message anew: calls have ids of their own."""


@dataclass(frozen=True, slots=True)
class _Open:
    """A request whose reply is awaited; `found` once it has come and something was missed."""

    trails: tuple[Trail, ...]
    shown: Shown
    case: Case
    found: Attribution | None = None


class Attributing:
    """Attributes the misses of one driver; safe to use from any thread.

    Args:
        accounts: prices.
    """

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._trails: Recent[Trail, tuple[Shown, ...]] = Recent(MOST_TRAILS)
        self._outside: Recent[bytes, Outside] = Recent(_MOST_OUTSIDE)
        self._open: Recent[str, _Open] = Recent(_MOST_OPEN)
        self._lock = threading.Lock()

    def sent(
        self,
        inbound: Inbound,
        conversation: Conversation,
        sending: Sending,
        *,
        lineage: Lineage,
        lifetime: float | None,
    ) -> None:
        """Remember a request that goes out, until its reply has ended.

        Args:
            inbound: the request.
            conversation: the same, read.
            sending: what goes out of it.
            lineage: what is known of its conversation.
            lifetime: how long its provider is believed to keep an unused prefix, in seconds; `None` where unknown.
        """
        trails, now = _trails(inbound.provider, conversation), self._shown(inbound, conversation, sending)
        compared = self._compared(trails, now, conversation)
        belief = sending.held.belief if sending.held is not None else Belief("unknown", "")
        rules = rules_for(conversation.head.model, inbound.provider) if conversation.head.model else None
        considered, model = sending.considered, conversation.head.model
        read_before = compared is not None and bool(compared.before.read)
        last_at = compared.before.at if compared is not None else lineage.last_at
        case = Case(
            compared,
            prompt=None,
            read=None,
            is_first=conversation.last_assistant < 0,
            idle_seconds=None if last_at is None else max(0.0, inbound.received_at - last_at),
            lifetime_seconds=lifetime,
            removed_tokens=considered.weighed.cut.removed_tokens if considered and considered.applied else 0,
            earlier_tokens=lineage.earlier_tokens,
            keeps_nothing=belief.why == "not_caching",
            seen_elsewhere=belief.why == "restarted" and compared is not None,
            caches=model is not None and (rules.kind != "none" if rules is not None else read_before),
            minimum_tokens=rules.minimum_tokens if rules is not None else 0,
            step_tokens=rules.step_tokens if rules is not None else 1,
            lookback_blocks=rules.lookback_blocks if rules is not None and rules.kind == "marks" else None,
        )
        with self._lock:
            self._open.note(inbound.request_id, _Open(trails, now, case))

    def replied(self, outcome: Outcome) -> Attribution | None:
        """Attribute what a reply missed, and remember what it left; the money is worked out by `priced`."""
        with self._lock:
            opened = self._open.get(outcome.request_id)
        if opened is None:
            return None
        elsewhere = outcome.failover is not None and outcome.failover.served
        if elsewhere or outcome.status is None or not 200 <= outcome.status < 300:
            with self._lock:
                self._open.pop(outcome.request_id, None)
            return None
        usage, prompt = outcome.usage, _prompt(outcome)
        case = replace(opened.case, prompt=prompt, read=usage.read, told=outcome.miss, cleared=bool(outcome.applied))
        found = attribute(case)
        shown = replace(
            opened.shown,
            at=opened.shown.at + outcome.duration_seconds,
            cached=_cached(usage, prompt),
            read=usage.read,
            cleared=bool(outcome.applied),
            reply_id=outcome.reply_id,
        )
        with self._lock:
            self._open.note(outcome.request_id, replace(opened, found=found))
            for trail in opened.trails:
                others = self._trails.get(trail, ())
                self._trails.note(trail, (shown, *others)[:_MOST_REQUESTS])
        return found

    def priced(self, outcome: Outcome) -> Outcome:
        """Give an outcome with its attribution; may wait for the price list where the books are not ready."""
        with self._lock:
            opened = self._open.pop(outcome.request_id, None)
        if opened is None or opened.found is None:
            return outcome
        found, tokens = opened.found, opened.found.tokens
        if tokens is not None:
            prices = self._accounts.prices(opened.trails[0][0], opened.shown.model, opened.shown.at)
            found = replace(found, usd=missed_usd(tokens, outcome.usage, prices, prompt_tokens=_prompt(outcome)))
        return replace(outcome, attribution=found)

    def last_reply(self, provider: str, conversation: Conversation) -> str | None:
        """Name the reply whose request has most in common with this one, as its provider names it."""
        known = self._known(_trails(provider, conversation))
        names = message_names(conversation.messages[spoken(conversation) :])
        same = [one for one in known if one.model == conversation.head.model]
        fitting = [one for one in same if names.startswith(one.messages)]
        found = max(fitting or same or known, key=_when, default=None)
        return found.reply_id if found is not None else None

    def _shown(self, inbound: Inbound, conversation: Conversation, sending: Sending) -> Shown:
        first = spoken(conversation)
        return Shown(
            inbound.received_at,
            conversation.head.model,
            conversation.head.exact,
            self._outside_of(conversation),
            message_names(conversation.messages[first:]),
            puts=packed(_puts(sending), first),
            added=_added(sending),
        )

    def _outside_of(self, conversation: Conversation) -> Outside:
        """Read what stands outside the messages, once for the same bytes."""
        named = _digest(head_bytes(conversation))
        with self._lock:
            known = self._outside.get(named)
        if known is None:
            known = outside_of(conversation)
            with self._lock:
                self._outside.note(named, known)
        return known

    def _compared(self, trails: Sequence[Trail], now: Shown, conversation: Conversation) -> Compared | None:
        """Find the earlier request that this one goes on from: behind the same head if there is one, most alike."""
        found = [compare(before, now, conversation) for before in self._known(trails)]
        return max(found, key=_likeness, default=None)

    def _known(self, trails: Sequence[Trail]) -> tuple[Shown, ...]:
        """Give what is remembered under the first of these names that anything is remembered under."""
        with self._lock:
            return next((known for trail in trails if (known := self._trails.get(trail))), ())


def _likeness(compared: Compared) -> tuple[bool, float, float]:
    return compared.is_same_head, compared.before.count * compared.same_share, compared.before.at


def _when(shown: Shown) -> float:
    return shown.at


def _trails(provider: str, conversation: Conversation) -> tuple[Trail, ...]:
    first, messages = spoken(conversation), conversation.messages
    named = (provider, messages[first].digest if first < len(messages) else b"")
    if conversation.format == "gemini":
        return (named,)  # where calls have no ids, those of two conversations may be the same
    calls = next((one for one in messages if any(isinstance(block, ToolCall) for block in one.blocks)), None)
    return (named,) if calls is None else (named, (provider, calls.digest))


def _puts(sending: Sending) -> list[Put]:
    """List what of ours stands in the messages. A cache mark is none: it is no part of the prompt."""
    puts = [
        Put(edit.message, "edit", b"%d/%d/" % (edit.standing.key.block, edit.standing.key.part) + edit.literal)
        for edit in sending.edits
    ]
    puts += [Put(call.message, "addition", call.literal) for call in sending.calls]
    if sending.rebuild is not None:
        # Both ends name it: one that takes out more behind the same beginning is another.
        placed = sending.rebuild
        puts.append(Put(placed.first, "summary", b"%d/" % (placed.stop - placed.first) + placed.literal))
    return puts


def _added(sending: Sending) -> bytes:
    """Name what of ours stands outside the messages, but for what asks for a diagnosis."""
    texts = [schema.tool.encode() + schema.literal for schema in sending.schemas]
    texts += [one.literal for one in sending.beside.additions if not is_question(one)]
    return _digest(texts) if texts else b""


def _digest(parts: Iterable[bytes | memoryview]) -> bytes:
    digest = xxhash.xxh3_128()
    for part in parts:
        digest.update(part)
    return digest.digest()


def _prompt(outcome: Outcome) -> int | None:
    return outcome.context_tokens if outcome.context_tokens is not None else outcome.usage.prompt


def _cached(usage: Usage, prompt: int | None) -> int | None:
    """Tokens of a prompt that its provider keeps: what was read and written, or all of it where writes are not told.

    Of a reply that took several steps the sums are more than its prompt.
    """
    if usage.read is None:
        return None
    if usage.write_short is None and usage.write_long is None:
        return prompt
    kept = usage.read + (usage.write_short or 0) + (usage.write_long or 0)
    return kept if prompt is None else min(kept, prompt)
