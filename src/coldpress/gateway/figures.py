"""Name every number of `/stats`: what it means, its unit, what it was taken over, and its metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge"]
"""A counter never falls while its source lives; a gauge may."""
EACH = "*"


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, or one for each word of a kind.

    Attributes:
        path: its place in `/stats`; `*` stands for any word, and is a label of the metric.
        metric: name, with `_total` where it is a counter.
        kind: counter or gauge.
        meaning: what it counts.
        unit: `requests`, `bytes`, ...
        over: what a sum was taken over, by its own place; empty where the number is a count that stands for itself.
        labels: names for the `*` of the path, in order.
    """

    path: str
    metric: str
    kind: Kind
    meaning: str
    unit: str
    over: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Value:
    """A number that was found, with a word for each label of its figure."""

    words: tuple[str, ...]
    number: float


def values(stats: object, figure: Figure) -> Iterator[Value]:
    """Find a figure's numbers in what `/stats` tells; what is not told, or is not a number, is left out."""
    yield from _found(stats, tuple(figure.path.split(".")), ())


def _found(at: object, path: tuple[str, ...], words: tuple[str, ...]) -> Iterator[Value]:
    if not path:
        if isinstance(at, int | float) and not isinstance(at, bool):
            yield Value(words, at)
        return
    if not isinstance(at, Mapping):
        return
    if path[0] != EACH:
        yield from _found(at.get(path[0]), path[1:], words)
        return
    for word in sorted(at):
        yield from _found(at[word], path[1:], (*words, str(word)))


def counter(path: str, metric: str, meaning: str, unit: str, *, over: str = "", labels: tuple[str, ...] = ()) -> Figure:
    """Name a number that only grows."""
    return Figure(path, f"coldpress_{metric}_total", "counter", meaning, unit, over, labels)


def gauge(path: str, metric: str, meaning: str, unit: str, *, over: str = "", labels: tuple[str, ...] = ()) -> Figure:
    """Name a number that may fall."""
    return Figure(path, f"coldpress_{metric}", "gauge", meaning, unit, over, labels)


def views(path: str, metric: str, meaning: str, *, labels: tuple[str, ...] = ()) -> tuple[Figure, ...]:
    """Name the six numbers of `coldpress.stores.amounts.Views`."""
    count, uncounted = f"{path}.count", f"{path}.uncounted"
    counted = f"{count} less {uncounted}"
    return (
        counter(count, metric, meaning, "views", labels=labels),
        counter(f"{path}.bytes_before", f"{metric}_bytes_before", "UTF-8, before.", "bytes", over=count, labels=labels),
        counter(f"{path}.bytes_after", f"{metric}_bytes_after", "UTF-8, as shown.", "bytes", over=count, labels=labels),
        counter(
            f"{path}.tokens_before",
            f"{metric}_tokens_before",
            "Before, estimated.",
            "tokens",
            over=counted,
            labels=labels,
        ),
        counter(
            f"{path}.tokens_after",
            f"{metric}_tokens_after",
            "As shown, estimated.",
            "tokens",
            over=counted,
            labels=labels,
        ),
        counter(uncounted, f"{metric}_uncounted", "Without an estimate of tokens.", "views", over=count, labels=labels),
    )


def amount(path: str, metric: str, meaning: str, over: str, *, labels: tuple[str, ...] = ()) -> tuple[Figure, ...]:
    """Name the three numbers of `coldpress.stores.amounts.Amount`; `over` says of what `replies` counts the known."""
    return (
        gauge(f"{path}.usd", f"{metric}_usd", meaning, "USD", over=f"{path}.replies", labels=labels),
        counter(f"{path}.replies", f"{metric}_priced", f"{over} that are in the sum.", "replies", labels=labels),
        counter(
            f"{path}.unpriced", f"{metric}_unpriced", f"{over} that are not: of unknown cost.", "replies", labels=labels
        ),
    )
