"""The worked example on the page about money shows what the driver decides, request by request."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from coldpress.stores.memory import MemoryStore

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "money.md"
ROW = re.compile(r"^\| \**(\d+)\** \| (\w+)[^|]*\| (\d+) \| ([\d,]+) \| ([\d,]+) \| [^|]*\| \**`(\w+)`", re.MULTILINE)


@pytest.fixture(scope="module")
def played() -> MemoryStore:
    """The ledger of the example, played anew."""
    spec = importlib.util.spec_from_file_location("worked_example", ROOT / "benchmarks" / "worked_example.py")
    assert spec is not None
    assert spec.loader is not None
    example: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = example
    spec.loader.exec_module(example)
    store = MemoryStore()
    asyncio.run(example.play(example.default_settings(None), store))
    return store


@pytest.mark.parametrize("row", ROW.findall(PAGE.read_text(encoding="utf-8")), ids=lambda row: f"request {row[0]}")
def test_a_row_of_the_page_is_what_the_driver_decides(played: MemoryStore, row: tuple[str, ...]) -> None:
    entry = played.receipt(f"req-{row[0]}")
    assert entry is not None
    belief, cut = entry.receipt.belief, entry.receipt.cut
    assert belief is not None
    assert cut is not None
    decided = (belief.state, cut.candidates, f"{cut.removed_tokens:,}", f"{cut.rewrite_tokens:,}", cut.reason)
    assert decided == (row[1], int(row[2]), row[3], row[4], row[5])


def test_the_page_shows_a_cut_into_a_warm_cache_and_one_into_a_cold_one() -> None:
    assert {"pays", "cold", "waiting", "does_not_pay"} <= {row[-1] for row in ROW.findall(PAGE.read_text("utf-8"))}
