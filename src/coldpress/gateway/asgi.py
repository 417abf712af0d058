"""The few words of ASGI that the gateway and its HTTP server exchange."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypedDict

RawHeaders = list[tuple[bytes, bytes]]


class Scope(TypedDict):
    """One HTTP request as the server read it. Header names are lower case; `raw_path` keeps its escapes."""

    type: str
    method: str
    raw_path: bytes
    query_string: bytes
    headers: RawHeaders


class Received(TypedDict, total=False):
    """What `receive` gives: a piece of the body (`http.request`) or the end of the client (`http.disconnect`)."""

    type: str
    body: bytes
    more_body: bool


Receive = Callable[[], Awaitable[Received]]
Send = Callable[[Mapping[str, object]], Awaitable[None]]
