"""Read what came of a request (a reply, its usage, or an SDK's error) as the outcome that the driver learns from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coldpress.library.plain import Dumpable, encode, member, plain
from coldpress.model.errors import MessageError, ReplyError
from coldpress.model.records import Outcome
from coldpress.model.usage import Usage
from coldpress.wire.overflow import overflow_in
from coldpress.wire.registry import FormatName
from coldpress.wire.sse import UsageTap

_COUNTS = ("input_tokens", "prompt_tokens", "promptTokenCount")
"""A key of every usage object; none of a reply."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a request ended, and the reply as JSON for the raw log, empty where there is none."""

    outcome: Outcome
    raw: bytes = field(repr=False)


def read_reply(reply: object, *, request_id: str, format_name: FormatName, seconds: float) -> Ended:
    """Read a reply.

    Args:
        reply: an SDK's message or completion, or its dict; usage alone, as an SDK's object, a dict or `Usage`; or the
            exception that the SDK raised.
        request_id: whose reply it is.
        format_name: its wire format.
        seconds: from the request to the reply.

    Raises:
        ReplyError: it is none of these.
    """
    if isinstance(reply, BaseException):
        return Ended(_failed(reply, request_id, seconds), b"")
    if isinstance(reply, Usage):
        usage = Outcome(request_id, 200, "complete", seconds, reply, context_tokens=reply.prompt)
        return Ended(usage, b"")
    if not isinstance(reply, Mapping | Dumpable):
        raise ReplyError(
            f"a reply cannot be a {type(reply).__name__}; give what the SDK returned, its usage, or the error it raised"
        )
    if any(member(reply, name) is not None for name in _COUNTS) and member(reply, "usage") is None:
        reply = {"usage": plain(reply)}
    try:
        raw = encode(reply, "the reply")
    except MessageError as error:
        raise ReplyError(str(error)) from error
    tap = UsageTap(format_name, "application/json")
    tap.feed(raw)
    read = tap.end()
    outcome = Outcome(
        request_id=request_id,
        status=200,
        ended="error_event" if read.error_event else "complete",
        duration_seconds=seconds,
        usage=read.usage,
        others=read.others,
        context_tokens=read.context_tokens,
        miss=read.miss,
        transformations=read.transformations,
        reported_usd=read.reported_usd,
        stop=read.stop,
    )
    return Ended(outcome, raw)


def _failed(error: BaseException, request_id: str, seconds: float) -> Outcome:
    """Both SDKs put the status into `status_code`, the body into `body`; an error without a status had no answer."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        overflow = overflow_in(status, _body_of(error))
        return Outcome(request_id, status, "complete", seconds, overflow=overflow)
    return Outcome(request_id, None, "upstream_failed", seconds)


def _body_of(error: BaseException) -> bytes:
    """Give what an error says: the provider's body as the SDK keeps it, else its own words."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping | list):
        try:
            return encode(body, "the error")
        except MessageError:
            pass  # not what came over the wire
    return str(error).encode("utf-8", "replace")


def text_of(answer: object) -> str:
    """Give the text of an answer: a text, a message of either format, or a whole reply.

    Raises:
        ReplyError: there is none.
    """
    found = _text(answer)
    if found is None or not found.strip():
        raise ReplyError(
            f"a sub-agent handed back {'no text' if found is not None else f'a {type(answer).__name__}'}; "
            "give the text of its last answer, or its last message"
        )
    return found


def _text(answer: object) -> str | None:
    if isinstance(answer, str):
        return answer
    choices = member(answer, "choices")
    if isinstance(choices, list) and choices:
        return _text(member(choices[0], "message"))
    content = member(answer, "content")
    if isinstance(content, list | tuple):
        texts = [text for block in content if isinstance(text := member(block, "text"), str)]
        return "\n\n".join(texts)
    return content if isinstance(content, str) else None
