"""Have a model summarise messages behind the requests, and give out only what was read, checked and found to hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from coldpress.config.settings import Settings
from coldpress.drive.aging import Question
from coldpress.drive.orders import MOST_USELESS, Ordered, Orders
from coldpress.drive.preparations import Finished, Preparations
from coldpress.drive.summaries import Digest
from coldpress.drive.summariser import Summariser
from coldpress.drive.summariser_ask import Ask, Declined, Written
from coldpress.engine.summary.bound import fitted
from coldpress.engine.summary.check import checked
from coldpress.engine.summary.completed import candidates_of, completed
from coldpress.engine.summary.listing import listing
from coldpress.engine.summary.prompt import Prompt, prompt
from coldpress.engine.summary.reply import Refused, read
from coldpress.engine.summary.screen import screened
from coldpress.engine.transcript import source_texts
from coldpress.measure.rates import Unpriced
from coldpress.model.conversation import Conversation
from coldpress.model.notes import Note
from coldpress.wire.continuation import Continuation, asked_to_summarise
from coldpress.wire.prefix import Reader
from coldpress.wire.span import Misread, splice

GRACE_SECONDS: Final = 1.0
"""Beyond the summariser's own time limit, so that it is the one to say that it was late, and what it may have cost."""


UNPAID: Final = ("busy", "breaker_open", "no_key", "unpriced", "too_large", "too_expensive")
"""Why nobody was asked: the next order may be for the same messages."""


@dataclass(frozen=True, slots=True)
class Order:
    """Messages of which a summary is ordered.

    Attributes:
        asked: the request that wants it.
        start, stop: the messages, half-open.
        task_stop: messages before it state the task.
        notes: durable facts, which the summary need not repeat.
        objection: says why a call of this cost, in US dollars, must not be made; `None` where it may.
    """

    asked: Question
    start: int
    stop: int
    task_stop: int
    notes: tuple[Note, ...]
    objection: Callable[[float], str | None]


@dataclass(frozen=True, slots=True)
class Failed:
    """No summary came of it: why, a fixed word, and what that cost in US dollars, `None` where that is not known."""

    why: str
    usd: float | None = 0.0

    @property
    def was_asked(self) -> bool:
        """Whether a model was asked, and gave nothing of use."""
        return self.why not in UNPAID and not self.why.startswith("gate_")


class ModelDigests:
    """Orders summaries, one at a time for each fork of a conversation. Use from one event loop.

    Args:
        settings: with a summariser that asks a model.
        summariser: asks it.
    """

    def __init__(self, settings: Settings, summariser: Summariser) -> None:
        self._settings = settings
        self._summariser = summariser
        self._preparations: Preparations[Digest | Failed] = Preparations()
        self._orders = Orders()
        self._opened = False

    @property
    def patience_seconds(self) -> float:
        """How long an urgent request waits for a summary at the most: a little longer than it may be written on."""
        return self._settings.summariser.timeout_seconds + GRACE_SECONDS

    def is_ready(self, branch: str, conversation: Conversation) -> bool:
        """Whether a summary of messages of this request is there, cheaply judged."""
        return self._ended(branch, conversation) is not None

    def is_under_way(self, branch: str, conversation: Conversation) -> bool:
        """Whether a summary of messages of this request is being written."""
        return self._running(branch, conversation) is not None

    def ready(self, branch: str, conversation: Conversation) -> Digest | Failed | None:
        """Give what came of the last order that was about messages of this request."""
        ended = self._ended(branch, conversation)
        end = self._preparations.finished(ended.name) if ended is not None else None
        if end is None:
            return None
        return end.result if isinstance(end, Finished) else Failed(f"fault_{end.what.lower()}", None)

    def asked_stop(self, branch: str, conversation: Conversation) -> int:
        """Say up to which message of this request a model was asked in vain so far; 0 for none.

        While a summary is being written it is 0: that one is waited for.
        """
        if self.is_under_way(branch, conversation):
            return 0
        return max((order.stop for order in self._orders.of(branch, conversation)), default=0)

    def may_ask(self, branch: str) -> bool:
        """Whether answers in this branch were of any use lately."""
        return self._orders.may_ask(branch)

    def applied(self, branch: str, conversation: Conversation) -> None:
        """Take note that a summary that a model wrote went out: its messages may be asked about again."""
        for order in self._orders.of(branch, conversation):
            self._forget(branch, order)
        self._orders.bound_useless(branch, 0)

    def relieved(self, branch: str) -> None:
        """Take note that the prompt came below its trigger without a model: it may be asked once more."""
        self._orders.bound_useless(branch, MOST_USELESS - 1)

    def told(self, branch: str, conversation: Conversation, failed: Failed) -> None:
        """Drop what came of the last order, since its failure was told; where a model was asked, that counts."""
        ended = self._ended(branch, conversation)
        if ended is None:
            return
        if failed.was_asked:
            self._orders.count_useless(branch)
            self._preparations.forget(ended.name)  # and it is remembered that these were asked about
        else:
            self._forget(branch, ended)

    def drop(self, branch: str, conversation: Conversation) -> Failed | None:
        """Drop a summary since one of more messages follows; gives what was paid for it, if it was any use."""
        ended = self._ended(branch, conversation)
        end = self._preparations.finished(ended.name) if ended is not None else None
        if ended is not None:
            self._preparations.forget(ended.name)
        if not isinstance(end, Finished) or not isinstance(end.result, Digest):
            return None
        self._orders.count_useless(branch)
        return Failed("outgrown", end.result.usd)

    async def order(self, order: Order) -> bool:
        """Have a summary written in the background; false where too many are being written."""
        if not self._opened:
            await self._summariser.open()
            self._opened = True
        branch, conversation = order.asked.branch, order.asked.conversation
        if self.is_under_way(branch, conversation):
            return True
        ordered = Ordered(order.stop, conversation.messages[order.stop - 1].chain)
        if self._preparations.start(ordered.name, order.start, lambda: self._written(order)) == "full":
            return False
        for forgotten in self._orders.add(branch, ordered):
            self._preparations.forget(forgotten.name)
        return True

    async def wait(self, branch: str, conversation: Conversation) -> None:
        """Wait until the order of a request has come to an end, or the time for it is over."""
        running = self._running(branch, conversation)
        if running is not None:
            await self._preparations.wait(running.name, self.patience_seconds)

    def _ended(self, branch: str, conversation: Conversation) -> Ordered | None:
        orders = self._orders.of(branch, conversation)
        return next((order for order in orders if self._preparations.finished(order.name) is not None), None)

    def _running(self, branch: str, conversation: Conversation) -> Ordered | None:
        orders = self._orders.of(branch, conversation)
        return next((order for order in orders if self._preparations.running(order.name)), None)

    def _forget(self, branch: str, order: Ordered) -> None:
        self._preparations.forget(order.name)
        self._orders.remove(branch, order)

    async def close(self) -> None:
        """Give up what is under way."""
        await self._preparations.close()
        if self._opened:
            await self._summariser.close()

    async def _written(self, order: Order) -> Digest | Failed:
        """Ask, read, check: an answer that is no summary, or of which nothing holds, is never shown to a model."""
        ask, objection = await asyncio.to_thread(self._ask, order)
        if objection is not None:
            return Failed(objection)
        answer = await self._summariser.summarise(ask)
        if isinstance(answer, Declined):
            return Failed(answer.reason, answer.cost_usd)
        digest = await asyncio.to_thread(_digest, order, answer)
        if isinstance(digest, Failed):
            self._summariser.useless()
        else:
            self._summariser.useful()
        return digest

    def _ask(self, order: Order) -> tuple[Ask, str | None]:
        """Write the question, and say what speaks against paying for it."""
        asked = prompt(
            order.asked.conversation,
            order.start,
            order.stop,
            task_stop=order.task_stop,
            most_tokens=self._summariser.most_estimated_tokens,
            notes=order.notes,
        )
        continuation = self._continuation(order, asked)
        texts = (asked.task, *asked.messages)
        ask = Ask(asked.instruction, texts, asked.request, continuation, headers=order.asked.headers)
        cost = self._summariser.estimate_usd(ask)
        # Where it has no price the summariser says so itself.
        return ask, None if isinstance(cost, Unpriced) else order.objection(cost)

    def _continuation(self, order: Order, asked: Prompt) -> Continuation | None:
        """Continue the agent's own request, if the settings say so and it shows the messages themselves.

        Behind a compaction it shows a summary in their place, and a summary is never made of a summary alone.
        """
        session, conversation = order.asked.session, order.asked.conversation
        if self._settings.summariser.prefix != "conversation" or session.rebuild is not None:
            return None
        sent = splice(conversation.body, session.edits)
        request = f"{asked.instruction}\n\n{listing(conversation, order.start, order.stop)}\n{asked.request}"
        try:
            shown = Reader[None](seed=0).read(sent, conversation.format, None).conversation
            return asked_to_summarise(shown, stop=order.stop, request=request)
        except (Misread, ValueError):
            return None


def _digest(order: Order, answer: Written) -> Digest | Failed:
    """Read an answer and keep what holds of it."""
    found = read(answer.text)
    if isinstance(found, Refused):
        return Failed(found.reason, answer.cost_usd)
    conversation = order.asked.conversation
    held = checked(found, source_texts(conversation))
    safe = screened(held.summary)
    # What is left of it must fit as well: nothing but items that are too long, or hold credentials, is no summary.
    if not len(fitted(candidates_of(safe.summary)).summary):
        return Failed("nothing_held", answer.cost_usd)
    kept = completed(safe.summary, conversation, order.start, order.stop, task_stop=order.task_stop)
    last = conversation.messages[order.stop - 1].chain
    return Digest(
        order.start,
        order.stop,
        last,
        kept.summary,
        kept.left_out,
        answer.model,
        answer.cost_usd,
        held.dropped + safe.dropped,
    )
