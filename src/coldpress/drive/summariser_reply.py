"""Judge what a summariser's endpoint answered: a usable text, a refusal, an error worth another try, and its cost."""

from __future__ import annotations

import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Final, assert_never

import msgspec

from coldpress.drive.summariser_ask import Declined, Written
from coldpress.drive.summariser_post import NotAnswered, Posted
from coldpress.measure.prices import Prices, Unpriced, cost_usd
from coldpress.wire.answer import read_answer, read_facts
from coldpress.wire.registry import FormatName
from coldpress.wire.span import Misread
from coldpress.wire.sse import TapResult

PricesOf = Callable[[str], Prices | Unpriced]

_FIRST_WAIT_SECONDS: Final = 1.0
"""Before a second attempt, doubled before each further one, where the endpoint does not say how long to wait."""

_WORD: Final = re.compile(r"[a-z_]{1,48}")
"""A kind of error, and nothing that could hold a key or a text."""


def read_reply(
    format_name: FormatName, body: bytes | None, *, model: str, prices_of: PricesOf, seconds: float
) -> Written | Declined:
    """Judge the body of a reply with status 200.

    Args:
        format_name: of the question.
        body: `None` where it was too long to be kept.
        model: that was asked.
        prices_of: prices by model name.
        seconds: since the question.
    """
    if body is None:
        return Declined("bad_reply", "the reply is far longer than a summary", None)
    try:
        answer = read_answer(format_name, body)
    except Misread:
        facts = read_facts(format_name, body)
        return Declined("bad_reply", "the reply has another shape", _paid(facts, model, prices_of), facts.usage)
    facts, paid = answer.facts, _paid(answer.facts, model, prices_of)
    match answer.ending:
        case "refused":
            return Declined("refused_by_provider", "the model, or a filter, refused to answer", paid, facts.usage)
        case "cut":
            said = "the answer was cut off at the limit of tokens that the settings give it"
            return Declined("stopped_early", said, paid, facts.usage)
        case "other":
            said = "the model called a tool or paused, or the reply does not say how it ended"
            return Declined("bad_reply", said, paid, facts.usage)
        case "complete" if answer.text.strip():
            return Written(answer.text, facts.usage, paid, facts.model or model, seconds)
        case "complete":
            return Declined("bad_reply", "the answer holds no text", paid, facts.usage)
        case _:
            assert_never(answer.ending)


def is_worth_another(posted: Posted | NotAnswered) -> bool:
    """Whether the same question may be answered the next time: a broken connection, 429 and 5xx."""
    return isinstance(posted, NotAnswered) or posted.status == 429 or 500 <= posted.status <= 599


def wait_seconds(posted: Posted | NotAnswered, attempt: int, *, now: float) -> float:
    """How long to wait before the next attempt: what `Retry-After` says, in seconds or as a date, else our own.

    Args:
        posted: what came of the last attempt.
        attempt: its number, from 1.
        now: seconds since 1970.
    """
    said = posted.retry_after.strip() if isinstance(posted, Posted) and posted.retry_after else ""
    if said.isascii() and said.isdigit():
        return float(said)
    try:
        until = parsedate_to_datetime(said).timestamp()
    except (ValueError, OverflowError):
        return _FIRST_WAIT_SECONDS * float(2 ** (attempt - 1))
    return max(0.0, until - now)


def describe(posted: Posted | NotAnswered, place: str) -> str:
    """Say for people what came instead of a summary; of the endpoint's own words only the kind of its error."""
    if isinstance(posted, NotAnswered):
        return posted.what
    word = _kind_of_error(posted.body or b"")
    return f"{place} answered {posted.status}" + (f" ({word})" if word else "")


class _Error(msgspec.Struct):
    type: str | None = None


class _Refusal(msgspec.Struct):
    error: _Error | None = None


def _kind_of_error(body: bytes) -> str | None:
    try:
        error = msgspec.json.decode(body, type=_Refusal).error
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    word = error.type if error else None
    return word if word is not None and _WORD.fullmatch(word) else None


def _paid(facts: TapResult, model: str, prices_of: PricesOf) -> float | None:
    """What a reply cost: the provider's own word, else its tokens at our prices; `None` where that is not known."""
    if facts.reported_usd is not None:
        return facts.reported_usd
    bills = [cost_usd(facts.usage, prices_of(model), prompt_tokens=facts.context_tokens)]
    bills += [cost_usd(usage, prices_of(other)) for other, usage in facts.others]
    known = [bill for bill in bills if not isinstance(bill, Unpriced)]
    return sum(known) if len(known) == len(bills) else None
