"""The bill of a ledger entry: at the prices of its moment, with the steps of other models, or what is missing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from coldpress.cli.bill import Biller
from coldpress.config.load import load
from coldpress.model.records import Outcome
from coldpress.model.usage import Usage
from coldpress.stores.base import LedgerEntry

from .conftest import receipt

MILLION = Usage(fresh=1_000_000, output=0)


def entry(at: str, model: str, *, provider: str = "deepseek", **outcome: object) -> LedgerEntry:
    received_at = datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()
    facts: dict[str, object] = {"usage": MILLION, **outcome}
    return LedgerEntry(
        receipt("r", received_at=received_at, provider=provider, model=model),
        Outcome("r", 200, "complete", 1.0, **facts),  # type: ignore[arg-type]
    )


@pytest.fixture
def biller(tmp_path: Path) -> Biller:
    return Biller(load(None, environ={}, directory=tmp_path))


@pytest.mark.parametrize(
    ("at", "usd"),
    [
        pytest.param("2026-07-21T12:00", 0.435, id="in July"),
        pytest.param("2026-11-30T12:00", 0.66, id="today"),
        pytest.param("2026-11-30T02:00", 1.32, id="today at a peak"),
    ],
)
def test_a_request_is_priced_at_its_moment(biller: Biller, at: str, usd: float) -> None:
    assert biller.bill(entry(at, "deepseek-v4-pro")).cost_usd == pytest.approx(usd)


def test_a_prompt_above_a_cliff_is_priced_as_a_whole(biller: Biller) -> None:
    bill = biller.bill(entry("2026-11-30", "claude-haiku-5-5", provider="anthropic"))
    assert bill.cost_usd == pytest.approx(0.5)


def test_steps_of_other_models_are_part_of_the_bill(biller: Biller) -> None:
    others = (("claude-opus-5-5", Usage(fresh=1_000_000, output=0)), ("claude-haiku-4-5", Usage(fresh=0, output=1_000)))
    bill = biller.bill(entry("2026-11-30", "claude-sonnet-5-5", provider="anthropic", others=others))
    assert bill.cost_usd == pytest.approx(2 + 4 + 0.005)


def test_one_step_without_a_price_leaves_the_whole_bill_open(biller: Biller) -> None:
    others = (("who-knows", MILLION),)
    bill = biller.bill(entry("2026-11-30", "claude-sonnet-5-5", provider="anthropic", others=others))
    assert (bill.cost_usd, bill.missing) == (None, ("rates for model who-knows at anthropic",))
    assert bill.prices is not None


def test_a_table_of_the_settings_holds_for_every_day(tmp_path: Path) -> None:
    biller = Biller(replace(load(None, environ={}, directory=tmp_path), prices="reference-2026-07"))
    bill = biller.bill(entry("2026-11-30T02:00", "deepseek-v4-pro"))
    assert bill.cost_usd == pytest.approx(0.435)
    assert bill.prices == "table reference-2026-07 for 2026-07-21"
