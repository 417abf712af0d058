"""The demonstration's second part: in a small window requests are refused without coldpress, and fit with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from coldpress.cli.demo_view import small_window_lines
from coldpress.cli.main import main
from coldpress.demo.small_window import SmallWindow


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What `coldpress demo --json` says."""
    folder = tmp_path_factory.mktemp("demo")
    told = CliRunner(env={"XDG_DATA_HOME": str(folder)}).invoke(main, ["demo", "--json"])
    assert told.exit_code == 0, told.output
    return json.loads(told.stdout)


def test_without_coldpress_the_upstream_refuses_from_some_request_on(found: Any) -> None:
    small = found["small_window"]
    first, last = small["refused_off"][0], small["requests"]
    assert first > 1 and small["refused_off"] == list(range(first, last + 1)), "prompts only grow"
    assert small["refusal_off"].endswith(f"tokens > {small['window_tokens']} maximum")
    assert small["peak_off_tokens"] > small["window_tokens"]


def test_with_coldpress_every_request_fits_by_masks_and_summaries(found: Any) -> None:
    small = found["small_window"]
    assert small["refused_press"] == []
    assert 0 < small["peak_press_tokens"] <= small["window_tokens"]
    assert small["masked"] > 0 and small["summaries"] > 0 and small["summarised"] > 1


def test_the_first_part_is_not_touched_by_it(found: Any) -> None:
    assert found["identical_outside_edits"] and found["recalled_exactly"]
    assert found["requests"] == found["small_window"]["requests"]
    assert found["tokens_press"] < found["tokens_off"]


def test_what_did_not_fit_is_counted_on_either_side() -> None:
    small = SmallWindow(1_000, 900, 900, 3, (), (2,), None, 0, 0, 0)
    told = "\n".join(small_window_lines(small))
    assert "without coldpress: all 3 requests fit" in told
    assert "with coldpress: 2 of 3 requests fit" in told
    assert "in the place of" not in told
