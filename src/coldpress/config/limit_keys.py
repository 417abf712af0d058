"""The keys of `[limits]`: what one process takes on before it refuses, waits or passes through."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from coldpress.config.about import say

Unpriced = Literal["refuse", "allow"]

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitKeys:
    """What one process takes on before it refuses or passes through."""

    body_bytes: int = field(
        default=32 * _MIB,
        metadata=say("Largest request body as sent; a larger one is answered with 413.", unit="bytes", least=1),
    )
    expanded_body_bytes: int = field(
        default=64 * _MIB,
        metadata=say(
            "Largest compressed request body once expanded; a larger one is answered with 413.", unit="bytes", least=1
        ),
    )
    in_flight_bytes: int = field(
        default=256 * _MIB,
        metadata=say(
            "Request bodies held at one time; what does not fit is refused as overloaded.", unit="bytes", least=1
        ),
    )
    connect_seconds: float = field(
        default=10.0, metadata=say("Longest wait for a connection to a provider.", unit="seconds", least=0.001)
    )
    idle_seconds: float = field(
        default=600.0,
        metadata=say("Longest silence of a provider in the middle of an exchange.", unit="seconds", least=0.001),
    )
    client_seconds: float = field(
        default=60.0,
        metadata=say("Longest silence of a client in the middle of its body.", unit="seconds", least=0.001),
    )
    shutdown_seconds: float = field(
        default=10.0,
        metadata=say("How long running exchanges may go on after a stop is asked for.", unit="seconds", least=0),
    )
    prepare_seconds: float = field(
        default=2.0,
        metadata=say(
            "Longest time for reading and pressing; past it the client's own bytes go on.", unit="seconds", least=0.001
        ),
    )
    concurrency: int | None = field(
        default=None,
        metadata=say(
            "Inference requests that providers have at one time, each until its reply has ended. Further ones wait in "
            "their order.",
            unit="requests",
            least=1,
            example="10",
            unset="no limit",
        ),
    )
    rpm: int | None = field(
        default=None,
        metadata=say(
            "Inference requests that go to providers in any 60 seconds. Further ones wait in their order.",
            unit="requests per minute",
            least=1,
            example="100",
            unset="no limit",
        ),
    )
    wait_seconds: float = field(
        default=30.0,
        metadata=say(
            "Longest wait under `concurrency` and `rpm`; a request that would wait longer is answered with 429.",
            unit="seconds",
            least=0,
        ),
    )
    daily_usd: float | None = field(
        default=None,
        metadata=say(
            "Spend on a UTC day, summaries included, from which on inference requests are answered with 429 until the "
            "day is over. Requests that run then go to their end.",
            unit="USD",
            least=0,
            example="20.0",
            unset="no limit",
        ),
    )
    unpriced: Unpriced = field(
        default="refuse",
        metadata=say(
            "What `daily_usd` does with a request whose price is not known: `refuse` answers it with 403, `allow` lets "
            "it through and counts it as of unknown cost."
        ),
    )
