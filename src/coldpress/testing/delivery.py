"""Put an answer on the wire as scripted: event by event or cut anywhere, compressed, late, or broken off."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from coldpress.testing.refusal import Refusal, WireFormat
from coldpress.testing.script import BreakOff, Delivery, ErrorEvent, Fault

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Written:
    """An answer ready to go: its content type and its pieces; whether the connection breaks behind the last."""

    content_type: str
    pieces: tuple[bytes, ...]
    breaks: bool


def write_document(document: Mapping[str, object], *, delivery: Delivery, fault: Fault | None) -> Written:
    """Write one JSON document; `BreakOff` cuts it after so many bytes."""
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    breaks = isinstance(fault, BreakOff)
    if isinstance(fault, BreakOff):
        body = body[: fault.after]
    return Written("application/json", _cut([body], delivery), breaks)


def write_stream(
    events: Sequence[tuple[str, Mapping[str, object]]],
    *,
    wire: WireFormat,
    delivery: Delivery,
    fault: Fault | None,
    request_id: str,
) -> Written:
    """Write a stream of server-sent events; named on two wires alone; on the chat wire they end with `[DONE]`."""
    named = wire in ("anthropic", "openai_responses")
    lines = [_event(name if named else "", json.dumps(data, ensure_ascii=False)) for name, data in events]
    if wire == "openai_chat":
        lines.append(_event("", "[DONE]"))
    breaks = isinstance(fault, BreakOff)
    if isinstance(fault, BreakOff | ErrorEvent):
        lines = lines[: fault.after]
    if isinstance(fault, ErrorEvent):
        error = _error_data(fault, wire, request_id, number=len(lines))
        lines.append(_event("error" if named else "", json.dumps(error)))
    if delivery.crlf:
        lines = [line.replace("\n", "\r\n") for line in lines]
    pieces = _cut([line.encode("utf-8", "surrogatepass") for line in lines], delivery)
    return Written("text/event-stream; charset=utf-8", pieces, breaks)


def write_array(
    documents: Sequence[Mapping[str, object]], *, delivery: Delivery, fault: Fault | None, request_id: str
) -> Written:
    """Write a stream as one JSON array, as Gemini does where nobody asks for events."""
    listed = [json.dumps(document, ensure_ascii=False) for document in documents]
    breaks = isinstance(fault, BreakOff)
    if isinstance(fault, BreakOff | ErrorEvent):
        listed = listed[: fault.after]
    if isinstance(fault, ErrorEvent):
        listed.append(json.dumps(_error_data(fault, "gemini", request_id, number=len(listed))))
    pieces = [("[" if number == 0 else "\n,\r\n") + one for number, one in enumerate(listed)]
    if not breaks:
        pieces.append("\n]" if pieces else "[]")
    return Written(
        "application/json", _cut([piece.encode("utf-8", "surrogatepass") for piece in pieces], delivery), breaks
    )


async def send_pieces(written: Written, *, delivery: Delivery, sleep: Sleep) -> AsyncIterator[bytes]:
    """Give the pieces with the scripted waits between them, so that the loop can notice a client that has gone."""
    for piece in written.pieces:
        if delivery.event_delay_seconds:
            await sleep(delivery.event_delay_seconds)
        else:
            await asyncio.sleep(0)
        yield piece


def _error_data(fault: ErrorEvent, wire: WireFormat, request_id: str, *, number: int) -> Mapping[str, object]:
    if wire == "openai_responses":
        told = {"type": "error", "code": fault.kind, "message": fault.message, "param": None}
        return {**told, "sequence_number": number}
    if wire == "gemini":
        return Refusal(fault.message, status=503).document(wire, request_id)
    return Refusal(fault.message, kind=fault.kind).document(wire, request_id)


def _event(name: str, data: str) -> str:
    return (f"event: {name}\n" if name else "") + f"data: {data}\n\n"


def _cut(pieces: Sequence[bytes], delivery: Delivery) -> tuple[bytes, ...]:
    """Compress, then cut again, as the delivery says."""
    if delivery.gzip:
        stream = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        pieces = [stream.compress(piece) + stream.flush(zlib.Z_SYNC_FLUSH) for piece in pieces] + [stream.flush()]
    size = delivery.chunk_bytes
    if size is None:
        return tuple(piece for piece in pieces if piece)
    whole = b"".join(pieces)
    return tuple(whole[start : start + size] for start in range(0, len(whole), size))
