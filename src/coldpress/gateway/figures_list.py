"""List the numbers of `/stats`, in the order of its reference page."""

from __future__ import annotations

import inspect
from typing import Final

from coldpress.gateway.figures import Figure, counter, gauge
from coldpress.gateway.figures_edits import EDITS, REASONS, REMOVED
from coldpress.gateway.figures_limits import LIMITS
from coldpress.gateway.figures_misses import MISSES
from coldpress.gateway.figures_native import NATIVE
from coldpress.gateway.figures_parts import CAPTURE, COMPACTIONS, PLUGINS, SUMMARISER, USAGE
from coldpress.gateway.stats import Counters

_AT_NOW: Final = {
    "active": "exchanges running now.",
    "in_flight_bytes": "memory that request bodies take now.",
    "in_flight_peak_bytes": "the most that request bodies took since start.",
}


def _said_of_counters() -> dict[str, str]:
    """What the class of the counters says of each: there is one place to say it."""
    told: dict[str, str] = {}
    _, _, attributes = inspect.cleandoc(Counters.__doc__ or "").partition("Attributes:\n")
    for line in inspect.cleandoc(attributes).splitlines():
        name, _, meaning = line.partition(": ")
        told[name] = meaning
    return told


def _transport() -> tuple[Figure, ...]:
    said = {name: said for name, said in _said_of_counters().items() if name not in _AT_NOW}
    counted = (
        counter(f"transport.{name}", f"transport_{name}", _sentence(meaning), _unit(name))
        for name, meaning in said.items()
    )
    now = (
        gauge(f"transport.{name}", f"transport_{name}", _sentence(meaning), _unit(name))
        for name, meaning in _AT_NOW.items()
    )
    return (*counted, *now)


def _sentence(meaning: str) -> str:
    return meaning[:1].upper() + meaning[1:]


def _unit(name: str) -> str:
    return "bytes" if name.endswith("bytes") else "exchanges"


PROCESS: Final = (
    gauge("uptime_seconds", "uptime_seconds", "Since the process started.", "seconds"),
    *_transport(),
)
"""Since the process started."""

_D = "decisions"

REQUESTS: Final = (
    gauge(f"{_D}.since", "since_timestamp_seconds", "When the oldest request came, since 1970.", "seconds"),
    counter(f"{_D}.requests", "requests", "Requests that were read and decided on.", "requests"),
    counter(
        f"{_D}.operations.*",
        "requests_by_operation",
        "The same, by what the gateway was allowed to do.",
        "requests",
        labels=("operation",),
    ),
    counter(f"{_D}.providers.*", "requests_by_provider", "The same, by provider.", "requests", labels=("provider",)),
    counter(
        f"{_D}.lineages",
        "conversations",
        "Conversations; one that comes back after all its entries have expired counts anew.",
        "conversations",
    ),
    counter(f"{_D}.body_bytes", "body_bytes", "Request bodies as clients sent them.", "bytes", over=f"{_D}.requests"),
    counter(f"{_D}.sent_bytes", "sent_bytes", "Request bodies as they went upstream.", "bytes", over=f"{_D}.requests"),
    counter(f"{_D}.ended.*", "requests_ended", "Exchanges by how they closed.", "requests", labels=("ended",)),
    counter(
        f"{_D}.edits_noticed",
        "edits_noticed",
        "Replies that tell that reasoning no longer fits the text before it: dropped, or let pass where a stricter "
        "account would be refused.",
        "replies",
        over=f"{_D}.usage.answered",
    ),
    counter(f"{_D}.findings.*", "findings", "What watchers noticed, by kind.", "findings", labels=("kind",)),
    counter(
        f"{_D}.unrecorded",
        "unrecorded",
        "Ledger rows, raw events and kept texts that this process could not store since it started.",
        "rows",
    ),
)

STORED: Final = (
    gauge(f"{_D}.stored.*.rows", "stored_rows", "What is held now, by part.", "rows", labels=("part",)),
    gauge(f"{_D}.stored.*.size_bytes", "stored_bytes", "The same, as the bounds count it.", "bytes", labels=("part",)),
    gauge(f"{_D}.stored.expired", "stored_expired", "Expired originals that are remembered by name.", "originals"),
)

SECTIONS: Final[tuple[tuple[str, tuple[Figure, ...]], ...]] = (
    ("The process", PROCESS),
    ("Limits, spend and failover", LIMITS),
    ("Requests", REQUESTS),
    ("Edits", EDITS),
    ("What they removed", REMOVED),
    ("Eligible results and reasons", REASONS),
    ("Compactions", COMPACTIONS),
    ("Summaries of single results", SUMMARISER),
    ("Captured calls", CAPTURE),
    ("Plugins", PLUGINS),
    ("Tokens and money", USAGE),
    ("Missed caches", MISSES),
    ("What providers do by themselves", NATIVE),
    ("What is held", STORED),
)
FIGURES: Final[tuple[Figure, ...]] = tuple(figure for _, figures in SECTIONS for figure in figures)
