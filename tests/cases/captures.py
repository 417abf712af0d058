"""Requests that real clients put on the wire, as they were and grown by large tool results in the client's own hand."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bodies import conversation

from coldpress.engine.catalogue import classify
from coldpress.wire.registry import FORMATS, FormatName, recognise

HOP_BY_HOP = {"connection", "host", "accept-encoding", "content-length", "transfer-encoding", "keep-alive", "expect"}


@dataclass(frozen=True)
class Captured:
    """One request of a client."""

    client: str
    turn: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)
    format: FormatName

    def with_body(self, body: bytes) -> Captured:
        return Captured(self.client, self.turn, self.path, self.headers, body, self.format)


def captured(folder: Path, formats: Collection[FormatName] = FORMATS) -> Iterator[Captured]:
    """Every inference request of these formats, client by client, in order.

    What came compressed is written anew without spaces, as its client would have, and has no content encoding any more.
    """
    for file in sorted(folder.glob("*/turn*.json")):
        turn = json.loads(file.read_text())
        name = recognise(turn["method"], turn["path"].partition("?")[0])
        if name is None or name not in formats:
            continue
        headers = [(k, v) for k, v in turn["headers"] if k.lower() not in HOP_BY_HOP]
        if turn["raw_text"] is None:
            headers = [(k, v) for k, v in headers if k.lower() != "content-encoding"]
        yield Captured(file.parent.name, file.stem, turn["path"], tuple(headers), _body(turn), name)


def _body(turn: dict[str, Any]) -> bytes:
    if turn["raw_text"] is None:
        return json.dumps(turn["body"], ensure_ascii=False, separators=(",", ":")).encode()
    body: bytes = turn["raw_text"].encode()
    assert len(body) == turn["raw_len"]
    return body


def kept_headers(headers: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """The headers that matter: all but those of one hop and of the transfer, names in lower case, in order."""
    return [(k.lower(), v) for k, v in headers if k.lower() not in HOP_BY_HOP]


def grown(request: Captured, *, ascii_only: bool) -> Captured:
    """The same request with every tool result replaced by a large one that fits its tool."""
    found = conversation(request.body, request.format)
    pieces, at, number = list[bytes](), 0, 0
    for message in found.messages:
        for _, result in message.results:
            for literal in result.texts:
                number += 1
                kind = classify(result.call.name, found.arguments(result.call)).kind if result.call else "unknown"
                pieces.append(request.body[at : literal.span.start])
                pieces.append(json.dumps(_large(kind, number), ensure_ascii=ascii_only).encode())
                at = literal.span.end
    pieces.append(request.body[at:])
    return request.with_body(b"".join(pieces))


@cache
def _large(kind: str, number: int) -> str:
    if kind == "source":
        return "\n".join(f"{n:6}\tpärt_{number}_{n} = {n * 7 % 50}" for n in range(1, 500))
    return "\n".join(f"step {n} of «{number}»: built src/módulo_{n}/\U0001f600 and went on" for n in range(600))
