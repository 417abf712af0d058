"""`coldpress breakeven`: turns, the row behind them, the picture, and what it says of bad input."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .conftest import Run

CUT = ("--rewrite-tokens", "50000", "--removed-tokens", "20000")
JULY = ("--prices", "reference-2026-07")
DAY = ("--at", "2026-11-30T12:00")
FREE_READS = (
    "[providers.anthropic.pricing.local]\n"
    "input_usd_per_mtok = 1\n"
    "output_usd_per_mtok = 1\n"
    "cache_read_usd_per_mtok = 0\n"
)
NO_CACHE = FREE_READS.replace("read_usd_per_mtok = 0", "read_usd_per_mtok = 1")


def asked(run: Run, *arguments: str) -> dict[str, object]:
    told = run("breakeven", *arguments, "--json")
    assert told.exit_code == 0, told.stderr
    found: dict[str, object] = json.loads(told.stdout)
    return found


@pytest.mark.parametrize(("model", "turns"), [("deepseek-v4-pro", 298), ("deepseek-v4-flash", 123)])
def test_the_reference_experiment(run: Run, model: str, turns: int) -> None:
    found = asked(run, *JULY, "--model", model, *CUT)
    assert found["turns"] == turns
    assert found["prices"] == "table reference-2026-07 for 2026-07-21"


@pytest.mark.parametrize(
    ("more", "turns"),
    [
        pytest.param((), 29, id="short writes"),
        pytest.param(("--long-writes",), 48, id="long writes"),
        pytest.param(("--summariser-usd", "0.029"), 37, id="a summary"),
        pytest.param(("--rewrite-tokens", "10000"), 6, id="near the tail"),
        pytest.param(("--rewrite-tokens", "0"), 1, id="first sight or cold"),
    ],
)
def test_what_moves_the_turns(run: Run, more: tuple[str, ...], turns: int) -> None:
    assert asked(run, "--model", "claude-sonnet-5", *CUT, *DAY, *more)["turns"] == turns


def test_the_json_holds_the_row_of_every_prompt_length(run: Run) -> None:
    found = asked(run, "--model", "claude-haiku-5-5", *CUT, *DAY, "--prompt-tokens", "110000")
    assert found["turns"] == 2  # it falls below the cliff of 100,000
    rows = found["rates"]
    assert isinstance(rows, list)
    assert [row["above_tokens"] for row in rows] == [0, 100_000]
    assert [row["cache_write_long_usd_per_mtok"] for row in rows] == [0.2, 1.0]
    assert rows[0]["write_to_read"] == 12.5
    assert (rows[0]["turns"], rows[0]["turns_long_write"], rows[0]["turns_near_tail"]) == (29, 48, 6)
    assert rows[0]["turns_with_summary"] == 37


def test_the_text_says_turns_money_and_prices(run: Run) -> None:
    told = run("breakeven", "--model", "claude-opus-5-5", *CUT, *DAY)
    assert told.stdout.startswith("It pays after 61 turns, the one that rewrites included.\n")
    # 50,000 tokens at (5 - 0.2), then 20,000 at 0.2 USD per million.
    assert "It costs 0.240000 USD once and saves 0.004000 USD a turn" in told.stdout
    assert "Prices: claude-opus-5-5 at anthropic, genai-prices " in told.stdout


@pytest.mark.parametrize(
    ("settings", "verdict", "sentence"),
    [
        pytest.param(FREE_READS, (None, "never"), "cached reads are free here", id="free reads"),
        pytest.param(NO_CACHE, (1, "at_once"), "writing costs no more than reading here", id="no cache"),
    ],
)
def test_servers_where_the_formula_has_no_number(
    run: Run, home: Path, settings: str, verdict: tuple[int | None, str], sentence: str
) -> None:
    (home / "coldpress.toml").write_text(settings)
    found = asked(run, "--model", "local", *CUT)
    assert (found["turns"], found["verdict"]) == verdict
    assert sentence in run("breakeven", "--model", "local", *CUT).stdout


def test_a_table_that_is_asked_for_goes_before_the_settings(run: Run, home: Path) -> None:
    (home / "coldpress.toml").write_text(NO_CACHE.replace("local", '"deepseek-v4-pro"'))
    assert asked(run, "--model", "deepseek-v4-pro", *CUT)["turns"] == 1
    assert asked(run, "--model", "deepseek-v4-pro", *CUT, *JULY)["turns"] == 298


def test_a_table_of_the_settings_holds_without_being_asked_for(run: Run, home: Path) -> None:
    (home / "coldpress.toml").write_text('prices = "reference-2026-07"')
    assert asked(run, "--model", "deepseek-v4-pro", *CUT)["turns"] == 298


class TestThePicture:
    def test_a_png(self, run: Run, home: Path) -> None:
        told = run("breakeven", "--model", "claude-opus-5-5", *CUT, *DAY, "--plot", "curve.png")
        assert told.exit_code == 0
        assert (home / "curve.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        assert told.stderr == "drawn into curve.png\n"

    def test_an_svg_says_the_turns_and_is_the_same_each_time(self, run: Run, home: Path) -> None:
        for name in ("one.svg", "two.SVG"):
            assert asked(run, "--model", "claude-opus-5-5", *CUT, *DAY, "--plot", name)["plot"] == name
        drawn = (home / "one.svg").read_text(encoding="utf-8")
        assert "it pays after 61 turns" in drawn
        assert "this cut: 2.5, 61 turns" in drawn
        assert drawn == (home / "two.SVG").read_text(encoding="utf-8")

    def test_a_cut_that_never_pays_is_drawn_as_one(self, run: Run, home: Path) -> None:
        (home / "coldpress.toml").write_text(FREE_READS)
        assert run("breakeven", "--model", "local", *CUT, "--plot", "never.svg").exit_code == 0
        assert "it never pays" in (home / "never.svg").read_text(encoding="utf-8")

    def test_a_cut_that_rewrites_nothing_is_drawn(self, run: Run, home: Path) -> None:
        cut = ("--rewrite-tokens", "0", "--removed-tokens", "5")
        assert run("breakeven", "--model", "claude-opus-5-5", *cut, *DAY, "--plot", "now.svg").exit_code == 0
        assert "it pays after 1 turn" in (home / "now.svg").read_text(encoding="utf-8")

    def test_without_matplotlib_it_says_what_to_install(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        told = run("breakeven", "--model", "claude-opus-5-5", *CUT, "--plot", "curve.png")
        assert (told.exit_code, told.stdout) == (1, "")
        assert "pip install 'coldpress[plot]'" in told.stderr

    def test_a_folder_that_is_not_there(self, run: Run) -> None:
        told = run("breakeven", "--model", "claude-opus-5-5", *CUT, "--plot", "no/such/curve.png")
        assert told.exit_code == 1
        assert "no/such/curve.png cannot be written" in told.stderr


@pytest.mark.parametrize(
    ("arguments", "exit_code", "sentence"),
    [
        pytest.param(
            ("--model", "claude-opus-5-6", *CUT), 1, "Did you mean claude-opus-5-5", id="a model that is nearly known"
        ),
        pytest.param(
            ("--model", "deepseek-v5", *CUT, *JULY), 1, "The table has deepseek-v4-pro", id="not in the table"
        ),
        pytest.param(
            ("--model", "gpt-4", *CUT), 1, "cache_read rate for model gpt-4", id="a model whose reads have no price"
        ),
        pytest.param(
            ("--model", "m", "--provider", "antropic", *CUT), 1, "did you mean anthropic?", id="a provider mistyped"
        ),
        pytest.param(
            ("--model", "gpt-6-sol", "--long-writes", *CUT),
            1,
            "cache_write_long_usd_per_mtok in the settings",
            id="long writes without a price",
        ),
        pytest.param(("--model", "m", *CUT, "--prices", "july"), 2, "reference-2026-07", id="an unknown table"),
        pytest.param(
            ("--model", "m", "--rewrite-tokens", "-1", "--removed-tokens", "1"), 2, "-1 is not in the range", id="R < 0"
        ),
        pytest.param(
            ("--model", "m", "--rewrite-tokens", "1", "--removed-tokens", "0"), 2, "0 is not in the range", id="D = 0"
        ),
        pytest.param(("--model", "m", *CUT, "--summariser-usd", "-0.1"), 2, "not in the range", id="S < 0"),
        *(
            pytest.param(
                ("--model", "claude-opus-5-5", *CUT, "--summariser-usd", number),
                2,
                "'--summariser-usd'",
                id=f"S {number}",
            )
            for number in ("nan", "inf", "-inf", "1e999")
        ),
        pytest.param(("--model", "", *CUT), 2, "name of the model is empty", id="a model without a name"),
        pytest.param(
            ("--model", "deepseek-v5", *CUT, *JULY),
            1,
            "goes before the settings: leave it out",
            id="a table goes first",
        ),
        pytest.param(
            ("--model", "claude-opus-5-5", *CUT, "--prompt-tokens", "69999"),
            2,
            "a prompt of 69999 tokens is shorter",
            id="a prompt shorter than its parts",
        ),
        pytest.param(("--model", "m", *CUT, "--plot", "curve.jpg"), 2, "neither .png nor .svg", id="another picture"),
        pytest.param(("--model", "m", *CUT, "--at", "noon"), 2, "'noon' is no time", id="no time"),
        pytest.param(CUT, 2, "--model", id="no model"),
    ],
)
def test_bad_input(run: Run, arguments: tuple[str, ...], exit_code: int, sentence: str) -> None:
    told = run("breakeven", *arguments)
    assert (told.exit_code, told.stdout) == (exit_code, "")
    assert sentence in told.stderr
