"""Find the model that a request names, and put another name in its place; every other byte stays."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from coldpress.model.conversation import Span
from coldpress.wire.registry import Address
from coldpress.wire.span import Misread, mask_lone_surrogates, members, splice


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model's name, and where its literal stands in the body."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class _Name:
    span: Span
    literal: bytes


def named_model(body: bytes) -> NamedModel | None:
    """Find it; `None` where the body is no JSON object, repeats a key, or names none.

    >>> named_model(b'{"model": "m", "messages": []}')
    NamedModel(name='m', span=Span(start=10, end=13))
    """
    try:
        try:
            span = members(body, Span(0, len(body))).get("model")
        except Misread:
            span = members(mask_lone_surrogates(body), Span(0, len(body))).get("model")
        return None if span is None else NamedModel(msgspec.json.decode(body[span.start : span.end], type=str), span)
    except (Misread, msgspec.MsgspecError):
        return None


def model_asked(body: bytes | None, address: Address) -> str | None:
    """Name the model that a request asks for: that of its address, which goes before any name in the body.

    Args:
        body: of the request; `None` where nobody can read it.
        address: what its path tells.
    """
    if address.model is not None:
        return address.model
    found = named_model(body) if body is not None else None
    return None if found is None else found.name


def with_model(body: bytes, found: NamedModel, name: str) -> bytes:
    """Put another name in its place; the very same object where it is the name already."""
    return body if name == found.name else splice(body, (_Name(found.span, msgspec.json.encode(name)),))
