"""Name what one request showed a provider, by the client's part and by ours, so that two can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import msgspec
import xxhash

from coldpress.engine.watch_prefix import head_writing
from coldpress.model.conversation import Conversation, Message

NAME_BYTES: Final = 8
"""Of a message's digest: two messages of one conversation at one place never have the same by chance."""
_FEW_MESSAGES: Final = 32
"""Of so many messages each is looked for by itself: requests mostly part near their end."""
_PUT_BYTES: Final = 16
_PLACE_BYTES: Final = 4

Ours = Literal["edit", "summary", "addition"]
"""What of ours a request is sent with: another text for a result, messages in the place of others, the rest."""
_KINDS: Final[tuple[Ours, ...]] = ("edit", "summary", "addition")

HeadPart = Literal["model", "tools", "system", "settings", "key"]

_SETTINGS: Final = (
    "output_config",
    "speed",
    "reasoning",
    "reasoning_effort",
    "text",
    "response_format",
    "verbosity",
    "service_tier",
)
"""Members beside the messages that providers name as reasons of a miss: `speed` of Anthropic, the others of OpenAI's
`prompt_cache_diagnostics`. Reasoning and the choice of tools at Anthropic are in `Head.settings`."""


class Put(NamedTuple):
    """One text of ours in a request: the index of the message it stands in, what it is, and its bytes."""

    message: int
    kind: Ours
    text: bytes


@dataclass(frozen=True, slots=True)
class Outside:
    """What a client writes beside the messages: names of its tools, of settings of the cache, and its cache key."""

    tools: bytes = b""
    settings: bytes = b""
    key: bytes = b""


@dataclass(frozen=True, slots=True)
class Shown:
    """What one request showed, and what its reply told of it.

    Attributes:
        at: when it was sent, in seconds since 1970; once its reply has come, when that had ended.
        model: as it was asked for.
        system: names the system prompt to the letter.
        outside: what else stands outside the messages.
        messages: names of the client's messages, 8 bytes each, those of a system prompt in front left out.
        puts: what of ours stands in them, 16 bytes each, in their order: place, kind and name.
        added: names what of ours stands outside the messages and is part of the prompt; empty where nothing does.
        cached: prompt tokens that the provider keeps of it from then on, as its reply told; `None` where that is not
            known.
        read: prompt tokens that its reply read; `None` where it does not say.
        cleared: the provider changed the prompt by itself, or wrote a summary to go on from.
        reply_id: the provider's name for its reply.
    """

    at: float
    model: str | None
    system: bytes
    outside: Outside
    messages: bytes
    puts: bytes = b""
    added: bytes = b""
    cached: int | None = None
    read: int | None = None
    cleared: bool = False
    reply_id: str | None = None

    @property
    def count(self) -> int:
        """How many messages."""
        return len(self.messages) // NAME_BYTES

    @property
    def is_touched(self) -> bool:
        """Whether anything of ours was in it."""
        return bool(self.puts or self.added)


@dataclass(frozen=True, slots=True)
class Compared:
    """A request beside an earlier one of the same conversation.

    Attributes:
        before: the earlier one.
        head: what the client changed outside the messages, the outermost first.
        parted: it changed or took back a message that it had sent.
        added: we changed something outside the messages.
        ours: what we sent otherwise that had been sent before; `None` where nothing.
        touched: something of ours is in either of them.
        same_share: share of the client's bytes of this request that stood in the earlier one too, 0 to 1.
        kept_share: share of its bytes in front of the first message that we sent otherwise, or that the client did.
        head_share: share of its bytes in front of the first message.
        new_blocks: content blocks of the messages that are new.
    """

    before: Shown
    head: tuple[HeadPart, ...] = ()
    parted: bool = False
    added: bool = False
    ours: Ours | None = None
    touched: bool = False
    same_share: float = 1.0
    kept_share: float = 1.0
    head_share: float = 0.0
    new_blocks: int = 0

    @property
    def is_same_head(self) -> bool:
        """Whether both stand behind the same head."""
        return not self.head and not self.added


def spoken(conversation: Conversation) -> int:
    """Index of the first message that is no part of the system prompt; the number of messages where there is none."""
    messages = conversation.messages
    return next((index for index, one in enumerate(messages) if one.role != "system"), len(messages))


def message_names(messages: Sequence[Message]) -> bytes:
    """Name messages, for `Shown.messages`."""
    return b"".join([message.digest[:NAME_BYTES] for message in messages])


def packed(puts: Sequence[Put], first: int) -> bytes:
    """Name what of ours stands in messages, for `Shown.puts`.

    Args:
        puts: in any order.
        first: index of the message that is counted as the first.
    """
    found = sorted(
        max(0, put.message - first).to_bytes(_PLACE_BYTES, "big")
        + bytes([_KINDS.index(put.kind)])
        + xxhash.xxh3_128_digest(put.text)[: _PUT_BYTES - _PLACE_BYTES - 1]
        for put in puts
    )
    return b"".join(found)


def outside_of(conversation: Conversation) -> Outside:
    """Read what stands beside the messages; what cannot be read is named by the tools' names alone."""
    messages, body = conversation.messages, conversation.body
    named = "\0".join(conversation.head.tools).encode()
    writing = head_writing(conversation)
    if writing is None or not messages:
        return Outside(named, conversation.head.settings)
    outside = body[: messages[0].span.start] + body[messages[-1].span.end :]
    try:
        fields = msgspec.json.decode(outside, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return Outside(named, conversation.head.settings)
    told = (name.encode() + bytes(fields[name]) for name in _SETTINGS if name in fields)
    settings = b"\0".join((conversation.head.settings, *told)).strip(b"\0")
    key = bytes(fields.get("prompt_cache_key", b""))
    return Outside(_name(named + writing.tools.exact), _name(settings) if settings else b"", key)


def compare(before: Shown, now: Shown, conversation: Conversation) -> Compared:
    """Say what is otherwise in a request than in an earlier one of its conversation.

    Args:
        before: the earlier one.
        now: the request.
        conversation: the same request, for the sizes of its parts.
    """
    first, messages = spoken(conversation), conversation.messages
    shared = _shared(before.messages, now.messages)
    parted = shared < before.count
    at, kind = _first_put(before.puts, now.puts)
    ours = kind if at is not None and at < shared else None
    changed_at = shared if ours is None or at is None else at
    size = max(1, len(conversation.body))
    # Clients write what is shown in front of the messages behind them, too.
    begins = messages[first].span.start if first < len(messages) else 0
    outside = size - (messages[-1].span.end - begins if first < len(messages) else 0)
    kept = messages[first + changed_at - 1].span.end - begins if changed_at else 0
    return Compared(
        before,
        head=_head(before, now),
        parted=parted,
        added=before.added != now.added,
        ours=ours,
        touched=before.is_touched or now.is_touched,
        same_share=_same_bytes(before, conversation, first, shared, size) / size if parted else 1.0,
        kept_share=(outside + kept) / size,
        head_share=outside / size,
        new_blocks=sum(len(message.blocks) for message in messages[first + shared :]),
    )


def _head(before: Shown, now: Shown) -> tuple[HeadPart, ...]:
    pairs: tuple[tuple[HeadPart, object, object], ...] = (
        ("model", before.model, now.model),
        ("tools", before.outside.tools, now.outside.tools),
        ("system", before.system, now.system),
        ("settings", before.outside.settings, now.outside.settings),
        ("key", before.outside.key, now.outside.key),
    )
    return tuple(name for name, old, new in pairs if old != new)


def _shared(before: bytes, now: bytes) -> int:
    """How many leading messages are the same."""
    if now.startswith(before):
        return len(before) // NAME_BYTES
    low, high = 0, min(len(before), len(now)) // NAME_BYTES
    while low < high:
        middle = (low + high + 1) // 2
        end = middle * NAME_BYTES
        low, high = (middle, high) if before[:end] == now[:end] else (low, middle - 1)
    return low


def _first_put(before: bytes, now: bytes) -> tuple[int | None, Ours | None]:
    """Where the first text of ours stands that is not in both, and what it is."""
    if before == now:
        return None, None
    for start in range(0, max(len(before), len(now)), _PUT_BYTES):
        old, new = before[start : start + _PUT_BYTES], now[start : start + _PUT_BYTES]
        if old != new:
            put = min(one for one in (old, new) if one)
            return int.from_bytes(put[:_PLACE_BYTES], "big"), _KINDS[put[_PLACE_BYTES]]
    return None, None


def _same_bytes(before: Shown, conversation: Conversation, first: int, shared: int, size: int) -> int:
    """Bytes of a request that an earlier one had too: what was changed or is new, and nothing else, is left out."""
    names, later = before.messages, conversation.messages[first + shared :]
    if len(later) <= _FEW_MESSAGES:
        return size - sum(len(one.span) for one in later if not _has(names, one.digest[:NAME_BYTES]))
    known = {names[at : at + NAME_BYTES] for at in range(0, len(names), NAME_BYTES)}
    return size - sum(len(one.span) for one in later if one.digest[:NAME_BYTES] not in known)


def _has(names: bytes, name: bytes) -> bool:
    """Whether a message of this name is among those that are named one behind the other.

    For a few names a search in the bytes takes microseconds, where a set of all took most of the time of a comparison.
    """
    at = names.find(name)
    while at % NAME_BYTES and at >= 0:
        at = names.find(name, at + 1)
    return at >= 0


def _name(data: bytes) -> bytes:
    return xxhash.xxh3_128_digest(data)
