"""Ask a cheaper model for summaries of single results: once each, within limits, at a known cost."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from coldpress.config.offload_settings import OffloadSettings
from coldpress.drive.model_calls import UNANSWERED, CallLimits, ModelCalls
from coldpress.drive.offload_jobs import Job, Jobs
from coldpress.drive.offload_kept import KeptSummaries, Summary
from coldpress.drive.offload_turns import Turns
from coldpress.drive.offload_types import UNUSABLE, Bill, Failed, Made, Reason, Wanted
from coldpress.drive.summariser_ask import Declined, Written
from coldpress.drive.summariser_ask import Reason as AskReason
from coldpress.drive.summariser_post import Endpoint
from coldpress.engine.offload_check import Refused, checked
from coldpress.engine.offload_prompt import (
    INSTRUCTION,
    LEAST_CHARACTERS,
    OffloadPrompt,
    identity,
    most_characters,
    prompt,
)
from coldpress.engine.reduce.reduced import size_bytes
from coldpress.measure.prices import Prices, Unpriced, prices_for
from coldpress.measure.tokens import counter_for
from coldpress.model.identity import EditKey
from coldpress.stores.base import Store
from coldpress.wire.transcript_request import LimitKey, transcript_request

__all__ = ["Bill", "Failed", "Made", "Offload", "Wanted"]

log = logging.getLogger(__name__)

LEAST_OUTPUT_TOKENS: Final = 5
"""Of the shortest answer that is an extract."""

_OPENAI_HOST: Final = "api.openai.com"
_MTOK: Final = 1_000_000


class Offload:
    """Summaries of single results. `ask` and `close` belong to one event loop; all else is safe from any thread.

    Args:
        settings: that are enabled.
        store: keeps what was made.
        clock: seconds since 1970, for prices.
        ticks: seconds of a clock that does not run backwards, for limits.
        sleep: waits for a turn, and between two attempts.

    Raises:
        ValueError: the settings ask no model.
    """

    def __init__(
        self,
        settings: OffloadSettings,
        store: Store,
        *,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if not settings.enabled:
            raise ValueError("offload.enabled is false, which asks no model")
        self._settings = settings
        self._kept = KeptSummaries(store)
        self._clock = clock
        self._ticks = ticks
        self._turns = Turns(concurrency=settings.concurrency, rpm=settings.rpm, ticks=ticks, sleep=sleep)
        endpoint = Endpoint(settings.endpoint, settings.format, settings.api_key, proxy=settings.proxy)
        self._limit_key: LimitKey = "max_completion_tokens" if endpoint.host == _OPENAI_HOST else "max_tokens"
        self._calls = ModelCalls(
            endpoint,
            settings.format,
            CallLimits(settings.timeout_seconds, settings.retries + 1, settings.rest_seconds),
            prices_of=self._prices,
            clock=clock,
            ticks=ticks,
            sleep=sleep,
            turn=self._turns.start,
        )
        self._jobs = Jobs(self._run)
        self._is_failing = False

    @property
    def timeout_seconds(self) -> float:
        """How long `ask` takes at the most where its caller has no less patience."""
        return self._settings.timeout_seconds

    def wanted(self, key: EditKey, *, tool: str, arguments: str, text: str, guidance: str) -> Wanted | None:
        """Name a summary; `None` where the result is too long for the settings, or too short for any to be worth it."""
        if self._unfit(text) is not None:
            return None
        settings = self._settings
        name = identity(
            tool=tool,
            arguments=arguments,
            text=text,
            guidance=guidance,
            model=settings.model,
            max_tokens=settings.max_tokens,
        )
        return Wanted(key, name, tool, arguments, text, guidance)

    def expected_usd(self, text_tokens: int) -> float | Unpriced:
        """Say the least that one summary can cost, in USD: no gate that refuses this would let the real cost pass.

        The instruction, which every question begins with, at the cheapest price that the provider has for input; the
        result itself fresh, since what stands before it differs; and the shortest output that is an extract.

        Args:
            text_tokens: of the result, as `coldpress.measure.tokens.estimate` counts.
        """
        prices = self._prices(self._settings.model)
        if isinstance(prices, Unpriced):
            return prices
        counter = counter_for(self._settings.model)
        fixed_tokens, result_tokens = counter.count(INSTRUCTION), round(text_tokens * counter.family.scale)
        rates = prices.at(fixed_tokens + result_tokens)
        fresh = min(rates.input_usd_per_mtok, rates.cache_write_usd_per_mtok)
        cheapest = min(fresh, rates.cache_read_usd_per_mtok)
        micro_usd = fixed_tokens * cheapest + result_tokens * fresh + LEAST_OUTPUT_TOKENS * rates.output_usd_per_mtok
        return micro_usd / _MTOK

    def kept(self, identities: Sequence[bytes]) -> dict[bytes, Made]:
        """Give the summaries that were made before, at no cost; may read the store."""
        return {
            name: Made(one.text, 0.0, cached=True, dropped=one.dropped)
            for name, one in self._kept.find(identities).items()
        }

    async def ask(
        self, wanted: Sequence[Wanted], *, patience_seconds: float | None = None
    ) -> dict[bytes, Made | Failed]:
        """Have summaries written, and give what came of each by its identity.

        What is kept is given at once. A question that is under way already is waited for and not put again. What has
        not come in time is `late` and kept when it comes; what has not even been let out is `busy` and dropped.

        Args:
            wanted: each identity once or more often.
            patience_seconds: how long to wait in all; `timeout_seconds` of the settings where it is not given.
        """
        names = [one.identity for one in wanted]
        answers: dict[bytes, Made | Failed] = dict(await asyncio.to_thread(self.kept, names)) if names else {}
        jobs: dict[bytes, Job] = {}
        for one in wanted:
            if one.identity in answers or one.identity in jobs:
                continue
            refused = self._kept.refused(one.identity)
            if refused is not None:
                answers[one.identity] = Failed(refused)
            else:
                jobs[one.identity] = self._jobs.join(one)
        try:
            if jobs:
                patience = self.timeout_seconds if patience_seconds is None else patience_seconds
                tasks = [job.task for job in jobs.values() if job.task is not None]
                await asyncio.wait(tasks, timeout=patience)
            answers |= {name: self._jobs.answer(job) for name, job in jobs.items()}
        finally:
            for job in jobs.values():
                self._jobs.leave(job)
        return answers

    def take_unbilled(self) -> tuple[Bill, ...]:
        """Give, once, what questions cost that ended after everybody had stopped waiting for them."""
        return self._jobs.take_unbilled()

    async def close(self) -> None:
        """Give up what is under way, whose cost nobody will tell, and close every connection."""
        await self._jobs.close()
        await self._calls.close()

    async def _run(self, job: Job) -> Made | Failed:
        refusal = self._refusal(job.wanted)
        # Looking for credentials in a long text would hold up the event loop.
        asked = await asyncio.to_thread(self._prompt, job.wanted) if refusal is None else None
        if asked is None:
            return Failed(refusal or "holds_secret")
        if self._calls.is_resting:
            return Failed("breaker_open")
        await self._calls.open()
        if not await self._turns.take(self._settings.timeout_seconds):
            return Failed("busy")
        job.has_turn = True
        try:
            outcome = await self._calls.call(self._body(asked), model=self._settings.model, started=self._ticks())
        finally:
            self._turns.release()
        answer = await asyncio.to_thread(self._judged, job.wanted, asked, outcome)
        self._learn(job.wanted, outcome, answer)
        return answer

    def _refusal(self, wanted: Wanted) -> Reason | None:
        settings = self._settings
        if settings.needs_key and settings.api_key is None:
            return "no_key"
        if isinstance(self._prices(settings.model), Unpriced):
            return "unpriced"
        return self._unfit(wanted.text)

    def _unfit(self, text: str) -> Reason | None:
        if size_bytes(text) > self._settings.max_input_bytes:
            return "too_large"
        room = most_characters(text, max_tokens=self._settings.max_tokens)
        return "too_small" if room < LEAST_CHARACTERS else None

    def _prompt(self, wanted: Wanted) -> OffloadPrompt | None:
        return prompt(
            tool=wanted.tool,
            arguments=wanted.arguments,
            text=wanted.text,
            guidance=wanted.guidance,
            max_tokens=self._settings.max_tokens,
        )

    def _body(self, asked: OffloadPrompt) -> bytes:
        settings = self._settings
        return transcript_request(
            settings.format,
            model=settings.model,
            system=asked.instruction,
            texts=asked.parts,
            request=asked.request,
            max_output_tokens=settings.max_tokens,
            limit_key=self._limit_key,
            marked=False,  # the next question is about another text
            thinking_off=settings.switches_thinking_off,
        )

    def _judged(self, wanted: Wanted, asked: OffloadPrompt, outcome: Written | Declined) -> Made | Failed:
        """Check what was written, and keep it where it holds."""
        if isinstance(outcome, Declined):
            was_sent = outcome.reason != "breaker_open"
            return Failed(_reason(outcome.reason), outcome.cost_usd, outcome.usage, asked=was_sent)
        extract = checked(outcome.text, text=wanted.text, shown=asked.shown)
        if isinstance(extract, Refused):
            return Failed(extract.reason, outcome.cost_usd, outcome.usage, asked=True)
        summary = Summary(extract.text, extract.dropped, outcome.model, outcome.cost_usd, outcome.usage)
        stays = self._kept.keep(wanted.identity, summary)
        return Made(stays.text, outcome.cost_usd, False, stays.dropped, outcome.usage, asked=True)

    def _learn(self, wanted: Wanted, outcome: Written | Declined, answer: Made | Failed) -> None:
        """Remember what is of no use, and tell the log."""
        if isinstance(answer, Made):
            self._calls.useful()
        elif answer.reason in UNUSABLE:
            self._kept.refuse(wanted.identity, answer.reason)
            if isinstance(outcome, Written):
                self._calls.useless()
        facts = {"provider": self._settings.provider, "model": self._settings.model, "cost_usd": answer.usd}
        if isinstance(answer, Made):
            self._is_failing = False
            log.info("result summarised", extra={**facts, "dropped": answer.dropped})
            return
        is_news = answer.reason in UNANSWERED and not self._is_failing
        self._is_failing = self._is_failing or is_news
        detail = outcome.detail if isinstance(outcome, Declined) else ""
        log.log(
            logging.WARNING if is_news else logging.INFO,
            "no summary of a result from the model",
            extra={**facts, "reason": answer.reason, "detail": detail},
        )

    def _prices(self, model: str) -> Prices | Unpriced:
        settings = self._settings
        return prices_for(
            model,
            provider=settings.provider,
            at=datetime.fromtimestamp(self._clock(), UTC),
            overrides=settings.prices,
            table=settings.price_table,
        )


def _reason(word: AskReason) -> Reason:
    """Translate; `too_expensive` is the summariser's own bound on a call; here `max_input_bytes` bounds it."""
    return "too_large" if word == "too_expensive" else word
