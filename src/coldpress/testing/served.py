"""What a strict upstream enforces, and an answer of it that is ready to send."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from coldpress.measure.cache import PrefixCache
from coldpress.model.usage import Usage
from coldpress.testing.chat_wire import CacheFields, Dialect
from coldpress.testing.delivery import Written
from coldpress.testing.jsonview import as_object
from coldpress.testing.offered import Offered, resolve
from coldpress.testing.refusal import Refusal, WireFormat, refusal_for
from coldpress.testing.script import Asked, Delivery, Disconnect, HttpError, Say, Script, StopReason, Turn

MIB = 1 << 20
_PLAIN = Delivery()


@dataclass(frozen=True, slots=True)
class Rules:
    """What a strict upstream enforces beyond the shape of requests.

    Attributes:
        check_signatures: verify thinking signatures. Off, recorded requests with foreign signatures are accepted.
        bind_thinking: refuse thinking whose prefix was changed, as the newest Claude models do; on the Gemini wire too,
            though its API is not known to.
        bind_reasoning: withhold reasoning items whose prefix or model was changed, as the newest GPT models do.
        require_key: answer 401 without an API key.
        max_body_bytes: larger bodies, compressed or not, are refused with 413.
        window_tokens: longer prompts are refused as too long.
        dialect: `deepseek` sends and demands `reasoning_content`, and reports hit and miss tokens.
        chat_cache: the prefix cache behind the chat wire; `None` for the dialect's usual one.
        cache_fields: what usage on the chat wire says of that cache.
    """

    check_signatures: bool = True
    bind_thinking: bool = False
    bind_reasoning: bool = False
    require_key: bool = False
    max_body_bytes: int = 32 * MIB
    window_tokens: int = 200_000
    dialect: Dialect = "openai"
    chat_cache: PrefixCache | None = None
    cache_fields: CacheFields = "usual"


@dataclass(frozen=True, slots=True)
class Served:
    """An answer to send. `close` asks for the connection to be closed without one."""

    status: int
    written: Written
    headers: tuple[tuple[str, str], ...] = ()
    delivery: Delivery = _PLAIN
    usage: Usage | None = None
    others: tuple[tuple[str, Usage], ...] = ()
    refusal: str | None = None
    close: bool = False


def refused(
    refusal: Refusal, wire: WireFormat, request_id: str, *, headers: tuple[tuple[str, str], ...] = ()
) -> Served:
    """Write a refusal in the shape of its wire."""
    written = Written("application/json", (refusal.body(wire, request_id),), breaks=False)
    return Served(refusal.status, written, headers, refusal=refusal.message)


def decode_json(raw: bytes) -> Mapping[str, object] | Refusal:
    """Read a request body, or give the refusal of one that is no JSON object."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return Refusal(f"The request body is not valid JSON: {error}")
    return as_object(value) if isinstance(value, dict) else Refusal("The request body must be a JSON object.")


def faulty(fault: HttpError | Disconnect, wire: WireFormat, request_id: str) -> Served:
    """Answer a request as its scripted fault says."""
    if isinstance(fault, Disconnect):
        return Served(0, Written("", (), breaks=True), close=True, refusal="connection closed without an answer")
    headers = () if fault.retry_after_seconds is None else (("retry-after", str(fault.retry_after_seconds)),)
    return refused(
        refusal_for(fault.status, wire, message=fault.message, kind=fault.kind), wire, request_id, headers=headers
    )


def choose(script: Script, asked: Asked, tools: Sequence[Offered]) -> Turn:
    """Let the script choose, and turn its intents into calls of tools the client has."""
    turn = script.choose(asked)
    try:
        return replace(turn, parts=tuple(resolve(part, tools) for part in turn.parts))
    except LookupError as missing:
        return replace(turn, parts=(Say(f"I cannot go on: {missing.args[0]}."),))


def stop_reason(turn: Turn, *, called: bool) -> StopReason:
    """Say why an answer ends, where its script does not."""
    return turn.stop_reason or ("tool_use" if called else "end_turn")


def encoding_header(delivery: Delivery) -> tuple[tuple[str, str], ...]:
    """Name how the answer's body is compressed."""
    return (("content-encoding", "gzip"),) if delivery.gzip else ()
