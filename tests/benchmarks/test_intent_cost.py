"""What the field for the reason of a call adds to a request and costs in a session is what a reader works out."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from coldpress.lab.tariffs import Tariff
from coldpress.measure.rates import Prices, Rates

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "intent_cost.py"
TARIFF = Tariff("made up", Prices("m", ((0, Rates(4.0, 1.0, 5.0, None, 20.0, "made up", "2026-11-30")),)), 300.0)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("intent_cost", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def tool(name: str, **properties: object) -> dict[str, object]:
    return {"name": name, "description": "Works.", "input_schema": {"type": "object", "properties": properties}}


def request(*tools: object) -> dict[str, object]:
    return {"model": "claude-sonnet-4-6", "tools": list(tools), "messages": [{"role": "user", "content": "Go."}]}


def test_the_first_request_with_tools_of_each_folder_counts(script: ModuleType, tmp_path: Path) -> None:
    bodies: dict[str, object] = {
        "one/turn1.json": {"path": "/v1/messages?beta=true", "body": request()},
        "one/turn2.json": {"path": "/v1/messages?beta=true", "body": request(tool("a"), tool("b"))},
        "one/turn3.json": {"path": "/v1/messages?beta=true", "body": request(tool("c"))},
        "two/turn1.json": request(tool("d")),
        "two/turn2.json": {"path": "/v1/models", "body": None},
    }
    for name, body in bodies.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(body))
    found = script.first_requests([*tmp_path.glob("*/*.json")])
    assert [(client, sorted(read.head.tools)) for client, read in found] == [("one", ["a", "b"]), ("two", ["d"])]


def test_a_field_of_a_tools_own_is_none_that_is_added(script: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "turn.json"
    file.write_text(json.dumps(request(tool("a"), tool("b", intent={"type": "string"}))))
    ((client, read),) = script.first_requests([file])
    found = script.added(client, read, requests=10)
    assert (found.tools, found.with_field, found.native) == (2, 1, 1)
    assert 40 <= found.tokens <= 70
    assert found.bytes > 200


def test_the_head_is_written_once_and_read_with_every_other_request(script: ModuleType) -> None:
    assert script.head_usd(TARIFF, tokens=1_000_000, requests=10) == 5 + 9 * 1


def test_a_reason_is_put_out_then_written_then_read(script: ModuleType) -> None:
    # Three replies: three outputs; the first two go back and are written; the first is read once more.
    assert script.reasons_usd(TARIFF, tokens=1_000_000, requests=3) == 3 * 20 + 2 * 5 + 1 * 1
