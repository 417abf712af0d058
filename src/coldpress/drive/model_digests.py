"""Have a model summarise messages behind the requests, and give out only what was read, checked and found to hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from coldpress.config.settings import Settings
from coldpress.drive.aging import Question
from coldpress.drive.preparations import Finished, Preparations
from coldpress.drive.summaries import Digest
from coldpress.drive.summariser import Summariser
from coldpress.drive.summariser_ask import Ask, Declined, Written
from coldpress.engine.summary.check import checked
from coldpress.engine.summary.completed import completed
from coldpress.engine.summary.listing import listing
from coldpress.engine.summary.prompt import Prompt, prompt
from coldpress.engine.summary.reply import Refused, read
from coldpress.engine.transcript import source_texts
from coldpress.measure.rates import Unpriced
from coldpress.model.conversation import Conversation
from coldpress.model.notes import Note
from coldpress.wire.continuation import Continuation, asked_to_summarise
from coldpress.wire.prefix import Reader
from coldpress.wire.span import Misread, splice

GRACE_SECONDS: Final = 1.0
"""Beyond the summariser's own time limit, so that it is the one to say that it was late, and what it may have cost."""


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


class ModelDigests:
    """Orders summaries, one at a time for each conversation. Use from one event loop.

    Args:
        settings: with a summariser that asks a model.
        summariser: asks it.
    """

    def __init__(self, settings: Settings, summariser: Summariser) -> None:
        self._settings = settings
        self._summariser = summariser
        self._preparations: Preparations[Digest | Failed] = Preparations()
        self._opened = False

    @property
    def patience_seconds(self) -> float:
        """How long an urgent request waits for a summary at the most: a little longer than it may be written on."""
        return self._settings.summariser.timeout_seconds + GRACE_SECONDS

    def is_ready(self, name: str) -> bool:
        """Whether a summary of a conversation is there, cheaply judged."""
        return self._preparations.finished(name) is not None

    def is_under_way(self, name: str) -> bool:
        """Whether a summary of a conversation is being written."""
        return self._preparations.running(name)

    def ready(self, name: str, conversation: Conversation) -> Digest | Failed | None:
        """Give what came of the last order, if it was about messages of this request."""
        end = self._preparations.finished(name)
        if end is None:
            return None
        if not isinstance(end, Finished):
            return Failed(f"fault_{end.what.lower()}", None)
        if isinstance(end.result, Failed):
            return end.result
        return end.result if end.result.holds(conversation) else None

    def forget(self, name: str) -> None:
        """Drop what came of the last order: it was used, or told."""
        self._preparations.forget(name)

    def drop(self, name: str) -> Failed | None:
        """Drop what came of the last order since another one follows; gives what was paid for it, if it was any use."""
        end = self._preparations.finished(name)
        self._preparations.forget(name)
        return (
            Failed("outgrown", end.result.usd) if isinstance(end, Finished) and isinstance(end.result, Digest) else None
        )

    async def order(self, order: Order) -> bool:
        """Have a summary written in the background; false where too many are being written."""
        if not self._opened:
            await self._summariser.open()
            self._opened = True
        name, last = order.asked.branch, order.asked.conversation.messages[order.stop - 1].chain
        return self._preparations.start(name, (order.start, last), lambda: self._written(order)) != "full"

    async def wait(self, name: str) -> None:
        """Wait until the order of a conversation has come to an end, or the time for it is over."""
        await self._preparations.wait(name, self.patience_seconds)

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
        return await asyncio.to_thread(_digest, order, answer)

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
    if not len(held.summary):
        return Failed("nothing_held", answer.cost_usd)
    kept = completed(held.summary, conversation, order.start, order.stop, task_stop=order.task_stop)
    last = conversation.messages[order.stop - 1].chain
    return Digest(
        order.start,
        order.stop,
        last,
        kept.summary,
        kept.left_out,
        answer.model,
        answer.cost_usd,
        held.dropped,
    )
