"""Turn a request that was sent into one that only has its prompt read from the cache again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from coldpress.model.conversation import Span
from coldpress.wire.addition import Addition, member
from coldpress.wire.format import Source, top_level
from coldpress.wire.registry import FormatName
from coldpress.wire.span import Misread, Patch, splice

_OPTIONS: Final = "prompt_cache_options"
_PREWARM: Final = "prewarm"


@dataclass(frozen=True, slots=True)
class _Value:
    span: Span
    literal: bytes


def refresh_body(body: bytes, format_name: FormatName) -> bytes | None:
    """Give the body of a request that reads the same prompt and has nothing answered.

    The prompt stays byte for byte. At Anthropic `max_tokens` becomes 0, at OpenAI `prompt_cache_options.prewarm` true;
    the answer is no stream.

    Args:
        body: as it was sent.
        format_name: its wire format.

    Returns:
        `None` where the format has nothing of the kind, or the client does not say what would have to be changed.

    Raises:
        Misread: the body cannot be read.

    >>> refresh_body(b'{"model":"m","max_tokens":9,"messages":[]}', "anthropic")
    b'{"model":"m","max_tokens":0,"messages":[]}'
    """
    source, fields = top_level(body)
    changes: list[Patch] = []
    match format_name:
        case "anthropic" if "max_tokens" in fields:
            changes.append(_Value(fields["max_tokens"], b"0"))
        case "openai_chat" | "openai_responses":
            changes.append(_prewarm(source, fields))
        case _:
            return None
    for key, literal in (("stream", b"false"), ("stream_options", b"null")):
        if key in fields and source.raw(fields[key]) != literal:
            changes.append(_Value(fields[key], literal))
    return splice(body, sorted(changes, key=lambda change: change.span.start))


def _prewarm(source: Source, fields: dict[str, Span]) -> Patch:
    options = fields.get(_OPTIONS)
    if options is None:
        return member(source.body, _OPTIONS, b'{"%s":true}' % _PREWARM.encode())
    if not source.is_object(options):
        raise Misread(f"{_OPTIONS} is no object")
    inner = source.members(options)
    if _PREWARM in inner:
        return _Value(inner[_PREWARM], b"true")
    end = options.end - 1
    return Addition(Span(end, end), (b"," if inner else b"") + b'"%s":true' % _PREWARM.encode())
