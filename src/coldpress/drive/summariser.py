"""Ask a model for a summary: priced before it is sent, bounded in time, attempts and money, and declined in words."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from coldpress.config.summariser_settings import SummariserSettings
from coldpress.drive.model_calls import UNANSWERED, CallLimits, ModelCalls
from coldpress.drive.summariser_ask import Ask, Declined, Written
from coldpress.drive.summariser_post import Endpoint
from coldpress.measure.prices import Prices, Unpriced, cost_usd, prices_for
from coldpress.measure.tokens import counter_for
from coldpress.model.usage import Usage
from coldpress.wire.registry import FormatName
from coldpress.wire.transcript_request import LimitKey, transcript_request

log = logging.getLogger(__name__)

_OPENAI_HOST: Final = "api.openai.com"
_ESTIMATE_SHARE: Final = 0.9
"""Room for where an estimate and a tokenizer differ: nine texts in ten are within 15 %, long sums within a few."""

_FORMATS: Final[dict[str, FormatName]] = {"openai": "openai_chat", "anthropic": "anthropic"}


@dataclass(frozen=True, slots=True)
class _Question:
    """What would be sent. `long` says that the agent's request writes its prompt for the long lifetime."""

    model: str
    prompt_tokens: int
    output_tokens: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    continues: bool = False
    long: bool = False


class Summariser:
    """Asks one model. Use it on one event loop, from `open` to `close` or as an async context manager.

    Args:
        settings: of a kind that asks a model.
        clock: seconds since 1970, for prices.
        ticks: seconds of a clock that does not run backwards, for the breaker and the time limit.
        sleep: waits between two attempts.

    Raises:
        ValueError: the settings ask no model.
    """

    def __init__(
        self,
        settings: SummariserSettings,
        *,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if settings.kind not in _FORMATS:
            raise ValueError(f"summariser.kind is {settings.kind}, which asks no model")
        self._settings = settings
        self._format = _FORMATS[settings.kind]
        self._endpoint = Endpoint(settings.endpoint, self._format, settings.api_key, proxy=settings.proxy)
        self._clock = clock
        self._ticks = ticks
        self._calls = ModelCalls(
            self._endpoint,
            self._format,
            CallLimits(settings.timeout_seconds, settings.attempts, settings.rest_seconds),
            prices_of=self._prices,
            clock=clock,
            ticks=ticks,
            sleep=sleep,
        )
        self._is_failing = False

    async def open(self) -> None:
        """Make ready to ask."""
        await self._calls.open()

    async def close(self) -> None:
        """Close every connection; questions under way are not waited for."""
        await self._calls.close()

    async def __aenter__(self) -> Summariser:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def most_estimated_tokens(self) -> int:
        """The longest prompt that is not `too_large`, instruction and request included, as `tokens.estimate` counts.

        `most_input_tokens` is on the scale of the asked model, which may count the same text almost twice.
        """
        scale = counter_for(self._settings.model).family.scale
        return int(self._settings.most_input_tokens * _ESTIMATE_SHARE / scale)

    def estimate_usd(self, ask: Ask) -> float | Unpriced:
        """What a summary could cost at the most, in USD: nothing cached, all output used.

        Counts the whole prompt, some 20 MB a second. The first look-up of a price may take a quarter of a second.
        """
        return self._estimate(self._question(ask))

    async def summarise(self, ask: Ask) -> Written | Declined:
        """Ask, and wait for the answer no longer than `timeout_seconds`. Never raises for what a provider does.

        A question that is cancelled counts neither as a success nor as a failure.
        """
        started = self._ticks()
        # Counting and pricing a long transcript would hold up the event loop.
        question, refusal = await asyncio.to_thread(self._weigh, ask)
        if refusal is not None:
            return self._tell(refusal, started)
        outcome = await self._calls.call(question.body, model=question.model, started=started, headers=question.headers)
        return self._tell(outcome, started)

    def useful(self) -> None:
        """Take note that the last answer held a summary."""
        self._calls.useful()

    def useless(self) -> None:
        """Take note that the last answer held none: a model that keeps at that is not asked for a while."""
        self._calls.useless()

    def _weigh(self, ask: Ask) -> tuple[_Question, Declined | None]:
        """Make the question, and say why it may not be asked."""
        question = self._question(ask)
        return question, self._refusal(question)

    def _refusal(self, question: _Question) -> Declined | None:
        settings = self._settings
        if settings.needs_key and settings.api_key is None:
            return Declined("no_key", "the environment does not hold the key that summariser.api_key_env names")
        estimate = self._estimate(question)
        if isinstance(estimate, Unpriced):
            return Declined("unpriced", f"not known: {', '.join(estimate.missing)}; see summariser.pricing")
        if not question.continues and question.prompt_tokens > settings.most_input_tokens:
            over = f"{question.prompt_tokens} tokens, over summariser.most_input_tokens ({settings.most_input_tokens})"
            return Declined("too_large", f"the prompt has {over}")
        if estimate > settings.max_usd_per_call:
            over = f"{estimate:.4f} USD, over summariser.max_usd_per_call ({settings.max_usd_per_call:g})"
            return Declined("too_expensive", f"the summary could cost {over}")
        return None

    def _question(self, ask: Ask) -> _Question:
        settings, agents = self._settings, ask.continuation
        if settings.prefix == "conversation" and agents is not None and agents.format == self._format:
            tokens = ask.prompt_tokens
            if tokens is None:
                tokens = counter_for(agents.model).count(agents.body.decode("utf-8", "replace"))
            return _Question(
                model=agents.model,
                prompt_tokens=tokens,
                # Without a limit of the agent's the model's own holds, which nobody tells us.
                output_tokens=agents.max_output_tokens or settings.max_output_tokens,
                body=agents.body,
                headers=ask.headers,
                continues=True,
                long=b'"1h"' in agents.body,
            )
        limit_key: LimitKey = "max_completion_tokens" if self._endpoint.host == _OPENAI_HOST else "max_tokens"
        body = transcript_request(
            self._format,
            model=settings.model,
            system=ask.system,
            texts=ask.texts,
            request=ask.request,
            max_output_tokens=settings.max_output_tokens,
            limit_key=limit_key,
        )
        count = counter_for(settings.model).count
        tokens = sum(count(text) for text in (ask.system, *ask.texts, ask.request))
        return _Question(settings.model, tokens, settings.max_output_tokens, body)

    def _estimate(self, question: _Question) -> float | Unpriced:
        prices = self._prices(question.model)
        bills = [Usage(fresh=question.prompt_tokens, output=question.output_tokens)]
        if self._format == "anthropic":
            bills.append(replace(bills[0], fresh=0, write_short=question.prompt_tokens))
        if question.long:
            bills.append(replace(bills[0], fresh=0, write_long=question.prompt_tokens))
        costs = [cost_usd(usage, prices) for usage in bills]
        unpriced = next((cost for cost in costs if isinstance(cost, Unpriced)), None)
        return unpriced or max(cost for cost in costs if not isinstance(cost, Unpriced))

    def _prices(self, model: str) -> Prices | Unpriced:
        return prices_for(
            model,
            provider=None,
            at=datetime.fromtimestamp(self._clock(), UTC),
            overrides=self._settings.prices,
            table=self._settings.price_table,
        )

    def _tell(self, outcome: Written | Declined, started: float) -> Written | Declined:
        seconds = round(self._ticks() - started, 3)
        facts = {"kind": self._settings.kind, "seconds": seconds, "cost_usd": outcome.cost_usd}
        if isinstance(outcome, Written):
            self._is_failing = False
            log.info("summary written", extra=facts)
        else:
            is_news = outcome.reason in UNANSWERED and not self._is_failing
            self._is_failing = self._is_failing or is_news
            log.log(
                logging.WARNING if is_news else logging.INFO,
                "no summary from the model",
                extra={**facts, "reason": outcome.reason, "detail": outcome.detail},
            )
        return outcome
