"""Work out which part of a conversation a provider summarises, and put its summary in that place; blocking."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from coldpress.config.settings import Settings
from coldpress.drive.accounts import Accounts
from coldpress.drive.aging import Considered, Question
from coldpress.drive.counting import Counting, ends_of
from coldpress.drive.memory import Lineage
from coldpress.drive.on_demand_ask import Order, Sent
from coldpress.engine.binding import editable_from
from coldpress.engine.cut import Weighed
from coldpress.engine.gate import Terms, settle
from coldpress.engine.layout import Layout
from coldpress.engine.on_demand import SUMMARY_TOKENS, Sum, objection, refers, stops, write
from coldpress.engine.plan import placed_batch
from coldpress.engine.session import PlacedRebuild
from coldpress.measure.economics import Prompt, Removal
from coldpress.measure.prices import Prices, Unpriced, cost_usd
from coldpress.measure.tokens import counter_for
from coldpress.model.conversation import Conversation
from coldpress.model.edits import Batch
from coldpress.model.records import Cut, Outcome
from coldpress.model.usage import Usage
from coldpress.wire.on_demand import summary_body
from coldpress.wire.span import Misread

INSTRUCTION_TOKENS: Final = 500
"""Taken for what the provider puts behind the conversation to have it summarised."""


@dataclass(frozen=True, slots=True)
class Made:
    """A summary that has come.

    Attributes:
        stop: messages that it stands for.
        provider: who wrote it.
        conversation: of the request that it was asked after.
        rebuild: what stood there then in the place of messages; `None` where nothing did.
        message: JSON text to send in their place.
        text: what the summary says.
    """

    stop: int
    provider: str
    conversation: Conversation = field(repr=False)
    rebuild: PlacedRebuild | None = field(repr=False)
    message: str = field(repr=False)
    text: str = field(repr=False)

    def is_about(self, conversation: Conversation) -> bool:
        """Whether a request begins with the very messages that it stands for, and has more behind them."""
        last, messages = self.stop - 1, conversation.messages
        return len(messages) > self.stop and messages[last].chain == self.conversation.messages[last].chain


class Swapping:
    """Works on one conversation after the other; safe to use from any thread.

    Args:
        settings: frozen settings.
        accounts: prices and forecasts.
    """

    def __init__(self, settings: Settings, accounts: Accounts) -> None:
        self._settings = settings
        self._accounts = accounts
        self._counting = Counting()

    def order(
        self,
        sent: Sent,
        outcome: Outcome,
        lineage: Lineage,
        routes: tuple[Prices, ...] | Unpriced,
        *,
        requests: float,
    ) -> Order | str:
        """Choose what is summarised and write the request for it, or give the word for why there is none.

        Args:
            sent: the request that was answered.
            outcome: of it, with the tokens of its prompt.
            lineage: what replies have told.
            routes: prices of every upstream that may serve the conversation.
            requests: that are expected to come.
        """
        if isinstance(routes, Unpriced) or not routes:
            return "no_price"
        conversation, session, usage = sent.conversation, sent.session, outcome.usage
        layout = self._counting.laid_out(Layout(), conversation, session)
        scale, prompt = lineage.calibration.scale, outcome.context_tokens or usage.prompt or 0
        ends = layout.ends(head_tokens=max(0, prompt - round(scale * layout.sums[-1])), scale=scale)
        is_cached = bool(usage.read or usage.write_short or usage.write_long)
        long = bool(usage.write_long) or lineage.long_writes
        terms = Terms(routes=routes, requests=requests, state="warm" if is_cached else "cold", long=long)
        floor = editable_from(conversation, allow_thinking_loss=self._settings.allow_thinking_loss)
        why = None
        for stop in stops(conversation, session, floor=floor):
            usd = _price(ends[stop], routes[0], is_cached=is_cached)
            refused = objection(Sum(ends[0], ends[stop], ends[-1]), terms, usd)
            if refused is None:
                return self._written(sent, stop, long=long)
            why = why or refused  # what speaks against taking the most of it
        return why or "nothing_to_take"

    def _written(self, sent: Sent, stop: int, *, long: bool) -> Order | str:
        try:
            return Order(stop, summary_body(sent.conversation, sent.sending.splices, stop, long=long))
        except Misread:
            return "unreadable"

    def swapped(self, asked: Question, made: Made) -> Considered | str | None:
        """Decide on a request for which a summary has come.

        Returns:
            The decision; `None` where the request does not begin with what was summarised, so that the summary is kept
            for one that does; or the word for why it will not be used.
        """
        conversation, session, stop = asked.conversation, asked.session, made.stop
        then, messages = made.conversation, conversation.messages
        if asked.provider != made.provider or not made.is_about(conversation):
            return None
        if (conversation.head.model, conversation.head.exact) != (then.head.model, then.head.exact):
            return "head_changed"
        if session.rebuild != made.rebuild:
            return "overtaken"
        floor = editable_from(conversation, allow_thinking_loss=self._settings.allow_thinking_loss)
        if refers(conversation, session, stop, floor=floor):
            return "referred_to"
        counter = counter_for(conversation.head.model)
        counted = sum(self._counting.tokens(conversation, at, counter) for at in range(stop))
        written = write(
            conversation,
            session,
            stop,
            message=made.message,
            text=made.text,
            tokens=round(counted / counter.family.scale),
        )
        layout = self._counting.layout(asked.name, conversation, session)
        ends = ends_of(layout, conversation, asked.lineage, asked.held)
        batch = Batch(messages[-1].chain, written.restores, written.rebuild)
        at = {message.chain: index for index, message in enumerate(messages)}
        placed = placed_batch(conversation, at, batch, len(messages) - 1)
        after = self._counting.laid_out(layout, conversation, session.with_aged((placed,)))
        left = after.ends(head_tokens=ends.head_tokens, scale=ends.scale)[-1]
        if left >= ends[-1]:
            return "no_gain"
        cut = self._cut(asked, Sum(ends[0], ends[stop], ends[-1]), ends[-1] - left)
        return Considered(Weighed((), cut), ends, round(after.sums[-1]), written=written)

    def _cut(self, asked: Question, tokens: Sum, freed: int) -> Cut:
        """Say what the swap frees and what it rewrites; what the summary cost stands in an entry of its own."""
        routes = self._accounts.routes(asked.provider, asked.conversation.head.model, asked.at)
        requests = self._accounts.requests_to_come(asked.harness, len(asked.session.replies))
        state, long = asked.held.belief.state, asked.lineage.long_writes
        terms = Terms(routes=routes, requests=requests, state=state, long=long, rent_share=None)
        is_warm = asked.held.belief.state == "warm"
        cached = min(asked.held.tokens or 0, tokens.prompt) if is_warm else 0
        cut = settle(Prompt(tokens.prompt, cached), [Removal(tokens.head, freed)], terms).cut
        return replace(cut, reason="on_demand", candidates=1, applied=1, removed_tokens=freed)


def _price(summarised_tokens: int, prices: Prices, *, is_cached: bool) -> float:
    """What a summary of so many tokens is expected to cost; unknown rates make it too dear."""
    read, fresh = (summarised_tokens, INSTRUCTION_TOKENS) if is_cached else (0, summarised_tokens + INSTRUCTION_TOKENS)
    usage = Usage(fresh=fresh, read=read, write_short=0, write_long=0, output=SUMMARY_TOKENS)
    usd = cost_usd(usage, prices)
    return float("inf") if isinstance(usd, Unpriced) else usd
