"""The benchmark of schedules prints what was compared, as text, as JSON and as a picture."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from lab.situations import layout

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "schedules.py"


@pytest.fixture(scope="module")
def schedules() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_of_schedules", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


TALKS = tuple(
    layout(
        [1_000, 2_000, *range(2_500, 2_500 + 500 * n, 500)], [(0, 600), (1, 700)], name=f"talk {n}", quotes=[(1, (0,))]
    )
    for n in range(8, 12)
)


def test_every_arm_of_every_tariff_is_in_the_table_the_json_and_the_picture(schedules: ModuleType) -> None:
    names = list(schedules.TARIFFS)
    found = tuple(schedules.compared(TALKS, schedules.own_arms(TALKS), names))
    assert len(found) == len(names) * 3
    values = json.loads(json.dumps([schedules.figures(one) for one in found]))
    assert {value["tariff"] for value in values} == set(names)
    assert set(values[0]["arms"]) >= {
        "control",
        "every turn",
        "reference gate",
        "cold points",
        "coldpress",
        "clairvoyant",
    }
    least = {arm: figures["cost_usd"] for arm, figures in values[0]["arms"].items()}
    assert min(least.values()) == least["clairvoyant"]
    text = "\n".join(schedules.table(one) for one in found)
    assert all(name in text for name in names)
    picture = ElementTree.fromstring(schedules.chart(found))
    bars = [node for node in picture.iter() if node.tag.endswith("rect")]
    assert len(bars) == 5 + 5 * len(found)


def test_rules_are_listed_from_the_best_to_the_worst(schedules: ModuleType) -> None:
    rules = schedules.rule_arms(TALKS)
    found = tuple(schedules.compared(TALKS, rules, ["claude-opus-5-5"]))
    lines = schedules.rules_table(found, tuple(rules)).splitlines()[2:]
    worst = [float(line.split()[-2]) for line in lines]
    assert len(lines) == len(rules)
    assert worst == sorted(worst)
