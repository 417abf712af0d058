"""Write the numbers of `/stats` in the text format that Prometheus reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from coldpress.gateway.figures import Figure, Value, values
from coldpress.gateway.figures_list import FIGURES

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
# A scraper keeps a series for each word for as long as it runs: 200 tools and `other`, as the store names them.
MOST_WORDS: Final = 201
OTHER: Final = "other"


class Metrics(Collector):
    """Gives the numbers anew each time it is asked."""

    def __init__(self, read: Callable[[], dict[str, object]]) -> None:
        """Take `read`, which gives what `/stats` tells; it may block."""
        self._read = read
        # One of our own: the library's shared one brings figures of the interpreter, and of whoever else uses it.
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        """Write all numbers; blocks as `read` does."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Give every figure that has a number now."""
        stats = self._read()
        build = GaugeMetricFamily("coldpress_build_info", "The version, in a label; always 1.", labels=("version",))
        build.add_metric((str(stats["version"]),), 1)
        yield build
        for figure in FIGURES:
            found = _bounded(values(stats, figure))
            if found:
                yield _family(figure, found)


def _bounded(found: Iterable[Value]) -> dict[tuple[str, ...], float]:
    """Keep the first words of each label, and sum the rest up as `other`."""
    kept: dict[tuple[str, ...], float] = defaultdict(float)
    for value in found:
        fits = value.words in kept or len(kept) < MOST_WORDS
        kept[value.words if fits else (OTHER,) * len(value.words)] += value.number
    return kept


def _family(figure: Figure, found: dict[tuple[str, ...], float]) -> Metric:
    meaning = figure.meaning + (f" Over {figure.over}." if figure.over else "")
    family: CounterMetricFamily | GaugeMetricFamily
    if figure.kind == "counter":
        family = CounterMetricFamily(figure.metric, meaning, labels=figure.labels)
    else:
        family = GaugeMetricFamily(figure.metric, meaning, labels=figure.labels)
    for words, number in found.items():
        family.add_metric(words, number)
    return family
