"""`coldpress check` says where a spend cap is not kept, and `ledger show` what came of a failover."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from stores.samples import outcome, receipt

from coldpress.cli.main import main
from coldpress.model.records import Failover, Money
from coldpress.model.usage import Usage
from coldpress.stores.sqlite import SqliteStore

CAP = "[limits]\ndaily_usd = 1.0\n"
SECOND = '[providers.anthropic]\nfailover = "openrouter"\n[providers.openrouter]\napi_key_env = "NOT_SET"\n'


def warnings(home: Path, text: str, *arguments: str) -> list[str]:
    file = home / "coldpress.toml"
    file.write_text(text, "utf-8")
    store = home / "s.sqlite3"
    done = CliRunner().invoke(main, ["check", *arguments, "--config", str(file), "--store", str(store), "--json"])
    assert done.exit_code == 0, done.output
    return [one for one in json.loads(done.stdout)["warnings"] if "limits" in one or "fail over" in one]


def filled(home: Path, *bills: float | None) -> None:
    with SqliteStore(home / "s.sqlite3") as store:
        for number, bill in enumerate(bills):
            store.put([], [], receipt(str(number)))
            one = replace(outcome(str(number), Usage(fresh=1)), money=Money(bill_usd=bill))
            store.add_outcome(one)


@pytest.mark.parametrize(
    ("text", "bills", "says"),
    [
        pytest.param(CAP, (0.5,), [], id="kept"),
        pytest.param(CAP, (0.75, 0.5), ["1.25 USD were spent today"], id="reached"),
        pytest.param(CAP.replace("1.0", "0.0005"), (0.00091,), ["0.00091 USD were spent today"], id="less than a cent"),
        pytest.param(CAP, (0.5, None, None), ["2 of today's requests are of unknown cost"], id="unpriced replies"),
        pytest.param("", (2.0, None), [], id="no cap"),
        pytest.param(CAP, (), [], id="no store yet"),
    ],
)
def test_what_was_spent_today(tmp_path: Path, text: str, bills: tuple[float | None, ...], says: list[str]) -> None:
    if bills:
        filled(tmp_path, *bills)
    told = warnings(tmp_path, text, "Bash")
    assert len(told) == len(says)
    assert all(word in one for one, word in zip(told, says, strict=True))


def test_a_model_without_a_price_is_named_with_what_becomes_of_it(tmp_path: Path) -> None:
    (refused,) = warnings(tmp_path, CAP, "--model", "claude-of-nobody")
    assert "claude-of-nobody at anthropic" in refused and "are refused" in refused
    (_, counted) = warnings(tmp_path, CAP + 'unpriced = "allow"', "--model", "claude-of-nobody")
    assert "are not in the sum" in counted
    assert warnings(tmp_path, CAP, "--model", "claude-sonnet-4-5") == []


def test_a_model_that_cannot_fail_over_is_named(tmp_path: Path) -> None:
    named = SECOND.replace("failover =", 'failover_model = "vendor/of-nobody"\nfailover =')
    (told,) = warnings(tmp_path, named, "--model", "claude-sonnet-4-5")
    assert "vendor/of-nobody at openrouter" in told and "claude-sonnet-4-5" in told and "never fail over" in told
    rates = "input_usd_per_mtok = 1.0\noutput_usd_per_mtok = 2.0\ncache_read_usd_per_mtok = 0.1\n"
    priced = f'[providers.openrouter.pricing."vendor/of-nobody"]\n{rates}'
    assert warnings(tmp_path, named + priced, "--model", "claude-sonnet-4-5") == []


def test_the_ledger_shows_who_served(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "s.sqlite3") as store:
        store.put([], [], receipt("r"))
        store.add_outcome(replace(outcome("r"), failover=Failover("openrouter", "529", "served", "vendor/m", 200)))
    done = CliRunner().invoke(main, ["ledger", "show", "r", "--store", str(tmp_path / "s.sqlite3")])
    assert "served: to openrouter after 529, asked for vendor/m, answered 200" in done.stdout
