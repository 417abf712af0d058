"""`/metrics`: the numbers of `/stats`, each of them, in the text that Prometheus reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace

import pytest
from gateway.test_serve import get
from gateway.world import ANTHROPIC_PATH, NotingDriver, answering, ok, post, raw, run, world
from prometheus_client.parser import text_string_to_metric_families
from stores.samples import applied, attribution, line, native, outcome, pressure, receipt

from coldpress.gateway.figures import Figure, values
from coldpress.gateway.figures_list import FIGURES, SECTIONS
from coldpress.gateway.metrics import MOST_WORDS, Metrics
from coldpress.gateway.stats import Counters
from coldpress.model.plugins import PluginNote
from coldpress.model.records import Capture, Cut, Finding, Money, Offloaded
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore

ODD = 'mcp__"odd"\\tool\n\u00e9'
LABELS = re.compile(r"\*")
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def filled() -> MemoryStore:
    """A store in which every number that `/stats` tells is there."""
    store = MemoryStore()
    lines = [
        line(),
        line(ODD, reason="plugin", tokens=False),
        replace(line("Grep", reason="exposed"), mode="keyword"),
        line("Grep", reason="no_match"),
        line("Grep", reason="restored"),
        line("Read", reason="observe"),
    ]
    first = replace(
        receipt("1", lines=lines, reused=2, cut=Cut("ordered", candidates=4, applied=1)),
        prompt_tokens=900,
        removed_tokens=150,
        plugins=(PluginNote("pii", "before_request", 0.125, 2), PluginNote("pii", "on_tool_call", 0.25, 0, "slow")),
        offload=Offloaded(3, 2, 1, ("too_long",), 900, 80, 0.25, "applied"),
        pressure=pressure(cleared=3, summarised=2, summary="ab", summariser="model", refused=("no_time",), dropped=1),
        findings=(Finding("drift", "plan"),),
        native=native(),
    )
    store.put([], [], first)
    unpriced = Offloaded(1, 1, usd=None, why="final_gate:does_not_pay")
    store.put(
        [], [], replace(receipt("2", cut=Cut("waiting", candidates=2)), offload=unpriced, pressure=pressure("no_gain"))
    )
    usage = Usage(fresh=10, read=90, write_short=4, write_long=3, output=5, reasoning=2)
    money = Money(0.5, 0.25, 0.625, 0.125, "p")  # net below zero
    captures = (Capture("Bash", "captured", restored=True), Capture(ODD, "absent"))
    store.add_outcome(replace(outcome("1", usage), money=money, captures=captures, attribution=attribution()))
    store.add_outcome(replace(outcome("2"), attribution=attribution("us", "edit", 900, None), applied=applied()))
    return store


@dataclass
class FilledDriver(NotingDriver):
    def stats(self) -> dict[str, object]:
        return filled().totals().as_object()


def leaves(value: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a JSON value, by its place."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def samples(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def expected(told: object) -> Samples:
    return {
        (figure.metric, tuple(sorted(zip(figure.labels, value.words, strict=True)))): value.number
        for figure in FIGURES
        for value in values(told, figure)
    }


@pytest.mark.parametrize("which", ["port", "control_port"])
def test_both_pages_tell_the_same_and_nothing_is_left_out(which: str) -> None:
    async def scenario() -> None:
        async with world(answering(ok(b"12345")), driver=FilledDriver()) as w:
            await w.ask(post(ANTHROPIC_PATH, b"123"))
            await w.ask(raw("GET", "/v1/models"))
            await w.idle()
            port = getattr(w.serving, which)
            stats, metrics = await get(port, "/stats"), await get(port, "/metrics")
            head = await get(port, "/metrics", "HEAD")
        assert (metrics.status, metrics.header(b"content-type")) == (200, b"text/plain; version=0.0.4; charset=utf-8")
        assert (head.status, head.body) == (200, b"")
        told = json.loads(stats.body)
        found = samples(metrics.body.decode())
        (version,) = [labels for name, labels in found if name == "coldpress_build_info"]
        assert version == (("version", told["version"]),)
        del found["coldpress_build_info", version]
        uptime = "coldpress_uptime_seconds", ()
        assert found.pop(uptime) >= told.pop("uptime_seconds")
        assert found == expected(told)
        # The list of figures is held against the page itself: each number of it has one place in the list.
        assert len(found) == len(list(leaves(told)))
        assert sorted(found.values()) == sorted(number for _, number in leaves(told))
        assert found["coldpress_transport_requests_total", ()] == 2
        assert found["coldpress_results_eligible_by_tool_total", (("tool", ODD),)] == 1
        assert found["coldpress_money_usd", (("figure", "net"),)] == -0.5

    run(scenario())


def test_the_list_names_each_number_of_a_full_page_once() -> None:
    told = {"decisions": filled().totals().as_object()}
    places: list[str] = []
    for figure in FIGURES:
        for value in values(told, figure):
            words = iter(value.words)
            places.append(LABELS.sub(lambda _, words=words: next(words), figure.path))  # type: ignore[misc]
    assert sorted(places) == sorted(path for path, _ in leaves(told))
    unused = [
        figure.path for figure in FIGURES if figure.path.startswith("decisions") and not list(values(told, figure))
    ]
    assert not unused, "the list names what no page tells"


def test_the_text_is_what_prometheus_parses_with_a_type_and_a_meaning_for_each_name() -> None:
    told = {"version": "1", "decisions": filled().totals().as_object()}
    text = Metrics(lambda: told).text().decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    for figure in FIGURES:
        if list(values(told, figure)):
            family = families[figure.metric.removesuffix("_total")]
            assert family.type == figure.kind and family.documentation.startswith(figure.meaning.split("\n")[0])
    assert not [line for line in text.splitlines() if "_created" in line or line.startswith(("python_", "process_"))]


def test_metrics_are_read_anew_each_time() -> None:
    told: dict[str, object] = {"version": "1", "uptime_seconds": 1.0}
    metrics = Metrics(lambda: told)
    assert samples(metrics.text().decode())["coldpress_uptime_seconds", ()] == 1.0
    told["uptime_seconds"] = 2.0
    assert samples(metrics.text().decode())["coldpress_uptime_seconds", ()] == 2.0


def test_words_of_a_label_are_bounded_and_none_is_lost() -> None:
    told = {"version": "1", "decisions": {"findings": {f"kind {n:04}": 1 for n in range(MOST_WORDS + 50)}}}
    found = samples(Metrics(lambda: told).text().decode())
    numbers = {labels[0][1]: number for (name, labels), number in found.items() if name == "coldpress_findings_total"}
    assert len(numbers) == MOST_WORDS + 1 and numbers["other"] == 50


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.path)
def test_names_are_well_formed(figure: Figure) -> None:
    assert re.fullmatch(r"coldpress_[a-z_]+[a-z]", figure.metric)
    assert figure.metric.endswith("_total") == (figure.kind == "counter")
    assert len(figure.labels) == figure.path.count("*")
    assert figure.meaning.endswith((".", ")")) and figure.unit
    for place in figure.over.split(" less ") if figure.over else ():
        assert place in {one.path for one in FIGURES}, "a sum stands over a number of the same page"


def test_each_metric_and_each_place_has_one_name() -> None:
    names = [figure.metric for figure in FIGURES]
    assert len(set(names)) == len(names) == len({figure.path for figure in FIGURES})
    assert sum(len(figures) for _, figures in SECTIONS) == len(FIGURES)


def test_every_counter_of_the_transport_is_told() -> None:
    paths = {figure.path for figure in FIGURES}
    assert {f"transport.{row.name}" for row in fields(Counters)} <= paths
