"""Assemble a request body from messages, and find in what the driver sends instead whose message each one is."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from coldpress.library.plain import check, copied, encode, member
from coldpress.model.conversation import Span
from coldpress.model.errors import MessageError, RequestError
from coldpress.wire.span import elements

_BEHIND = b"]}"

OWN_KEYS: Final = ("messages", "system", "tools", "model")
"""Top-level values of a request that have an argument of their own."""


@dataclass(frozen=True, slots=True)
class Written:
    """A value as JSON text, with a copy to tell whether a later request's value is the same.

    The copy shares its texts with the value, so that comparing them costs no more than a look. It is `None` where
    the value holds objects of an SDK, which may be changed in place without a trace.
    """

    raw: bytes
    copy: object


@dataclass(frozen=True, slots=True)
class Body:
    """A request as it would go to a provider.

    Attributes:
        data: the bytes; everything else stands before the messages, so that it belongs to the cached prefix.
        head: what stands before the messages.
        messages: each message.
    """

    data: bytes = field(repr=False)
    head: Written = field(repr=False)
    messages: tuple[Written, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Piece:
    """A message that is sent: the caller's own at `source`, or a new one, `raw` as JSON text.

    `source` of a changed message is the caller's that it stands for; `None` where it stands for several or for none.
    """

    source: int | None
    raw: bytes | None = field(default=None, repr=False)

    def value(self) -> dict[str, object]:
        """Decode a new message; a fresh dict each time, so that nobody's changes to it reach another request."""
        assert self.raw is not None
        found: dict[str, object] = json.loads(self.raw)
        return found


def require_request(messages: object, extra: object) -> None:
    """Refuse what is no list of messages, and other values that would take the place of what has its own argument.

    Raises:
        MessageError: `messages` is no list; a generator could be read only once.
        RequestError: `extra` is no mapping of names to values, or holds one of `OWN_KEYS`.
    """
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise MessageError(
            f"messages is {_of_type(messages)}; give a list with the whole conversation, such as list(messages)"
        )
    if extra is None:
        return
    if not isinstance(extra, Mapping) or not all(isinstance(name, str) for name in extra):
        raise RequestError(f"extra is {_of_type(extra)}; give a dict of top-level values of the request by their names")
    taken = [name for name in OWN_KEYS if name in extra]
    if taken:
        raise RequestError(f"extra holds {', '.join(taken)}; give compact that as the argument of the same name")


def _of_type(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def write(head: Mapping[str, object], messages: Sequence[object], known: Body | None) -> Body:
    """Write a request.

    Args:
        head: model, system prompt, tools and other top-level values; those that are `None` are left out.
        messages: dicts or SDK objects.
        known: an earlier request; what is the same at the same place is not written again.

    Raises:
        MessageError: a message is none, or holds what no request can carry.
    """
    if not messages:
        raise MessageError("messages is empty; a request has at least one")
    opening = known.head if known is not None and head == known.head.copy else _write_head(head)
    earlier = known.messages if known is not None else ()
    written = tuple(
        earlier[index] if index < len(earlier) and message == earlier[index].copy else _write_message(message, index)
        for index, message in enumerate(messages)
    )
    return Body(opening.raw + b",".join(one.raw for one in written) + _BEHIND, opening, written)


def _write_head(head: Mapping[str, object]) -> Written:
    said = {name: value for name, value in head.items() if value is not None}
    for name, value in said.items():
        check(value, name)
    fields = [encode(name, name) + b":" + encode(value, name) + b"," for name, value in said.items()]
    return Written(b"{" + b"".join(fields) + b'"messages":[', copied(dict(head)))


def _write_message(message: object, index: int) -> Written:
    where = f"messages[{index}]"
    if isinstance(message, str | bytes) or member(message, "role") is None:
        raise MessageError(f"{where} is {_say(message)}; a message is a dict or an SDK object with a role")
    if not isinstance(member(message, "role"), str):
        raise MessageError(f"{where}.role is {member(message, 'role')!r}; it must be a text such as 'user'")
    check(message, where)
    return Written(encode(message, where), copied(message))


def _say(message: object) -> str:
    return "without a role" if isinstance(message, Mapping) else f"a {type(message).__name__}"


def pieces(body: Body, sent: bytes) -> tuple[Piece, ...]:
    """Say for every message that is sent whose it is.

    Messages in front that are the same, and messages at the end that are, are told by their place. What is left over
    in between stands for the caller's messages one for one where there are as many; else only where it is the same.

    Raises:
        ValueError: what is sent does not begin as the body does, or is no request.
    """
    head = body.head.raw
    if not sent.startswith(head) or not sent.endswith(_BEHIND):
        raise ValueError("what is sent is not the caller's request with other messages")
    raws = [sent[at.start : at.end] for at in elements(sent, Span(len(head) - 1, len(sent) - 1))]
    own = [message.raw for message in body.messages]
    most = min(len(raws), len(own))
    front = next((i for i in range(most) if raws[i] != own[i]), most)
    back = next((i for i in range(most - front) if raws[-1 - i] != own[-1 - i]), most - front)
    until, own_until = len(raws) - back, len(own) - back
    inner = _inner(raws[front:until], own, front, own_until)
    return (
        *(Piece(index) for index in range(front)),
        *inner,
        *(Piece(index) for index in range(own_until, len(own))),
    )


def _inner(raws: list[bytes], own: Sequence[bytes], start: int, stop: int) -> list[Piece]:
    if len(raws) == stop - start:
        return [Piece(start + i, None if raw == own[start + i] else raw) for i, raw in enumerate(raws)]
    places: dict[bytes, list[int]] = defaultdict(list)
    for index in range(stop - 1, start - 1, -1):
        places[own[index]].append(index)
    found, last = [], start - 1
    for raw in raws:
        later = places.get(raw, [])
        while later and later[-1] <= last:
            later.pop()
        if later:
            last = later.pop()
            found.append(Piece(last))
        else:
            found.append(Piece(None, raw))
    return found
