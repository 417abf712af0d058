"""`coldpress prices`: what holds, from where, since when, and which models a list shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coldpress.cli.price_overview import newest

from .conftest import Run

OURS = (
    '[providers.deepseek.pricing."deepseek-v4-pro"]\ninput_usd_per_mtok = 1\noutput_usd_per_mtok = 2\n'
    'cache_read_usd_per_mtok = 0.5\nas_of = "2026-11-01"\n'
    '[[providers.deepseek.pricing."deepseek-v4-pro".tiers]]\nabove_tokens = 1000\noutput_usd_per_mtok = 3\n'
)
NOON = ("--at", "2026-11-30T12:00")


def asked(run: Run, *arguments: str) -> dict[str, object]:
    told = run("prices", *arguments, "--json")
    assert told.exit_code == 0, told.stderr
    found: dict[str, object] = json.loads(told.stdout)
    return found


def inputs(found: dict[str, object]) -> list[float]:
    tiers = found["tiers"]
    assert isinstance(tiers, list)
    return [tier["input_usd_per_mtok"] for tier in tiers]


class TestOneModel:
    @pytest.mark.parametrize(
        ("at", "usd", "since", "until"),
        [
            pytest.param("2026-08-16T12:00", 0.435, None, "2026-08-17", id="before a change"),
            pytest.param("2026-08-17", 0.66, "2026-08-17", None, id="from the day of the change"),
            pytest.param("2026-11-30T02:00", 1.32, "2026-08-17", None, id="at a peak"),
            pytest.param("2026-11-30T10:00+08:00", 1.32, "2026-08-17", None, id="at a peak, in Beijing's time"),
            pytest.param("2026-11-28T02:00", 0.66, "2026-08-17", None, id="on a Saturday"),
        ],
    )
    def test_day_and_hour(self, run: Run, at: str, usd: float, since: str | None, until: str | None) -> None:
        found = asked(run, "deepseek-v4-pro", "--at", at)
        assert inputs(found) == [usd]
        assert (found["since"], found["until"], found["from"], found["provider"]) == (since, until, "list", "deepseek")

    def test_every_row_of_the_list_is_shown(self, run: Run) -> None:
        rows = asked(run, "deepseek-v4-pro", *NOON)["rows"]
        assert isinstance(rows, list)
        assert [(row["since"], row["hours_utc"], row["weekdays_only"]) for row in rows] == [
            (None, None, False),
            ("2026-08-17", None, False),
            ("2026-08-17", ["01:00", "04:00"], True),
            ("2026-08-17", ["06:00", "10:00"], True),
        ]
        assert "01:00-04:00 Mon-Fri" in run("prices", "deepseek-v4-pro", *NOON).stdout

    def test_cliffs(self, run: Run) -> None:
        assert inputs(asked(run, "claude-haiku-5-5", *NOON)) == [0.1, 0.5]
        assert "> 100,000" in run("prices", "claude-haiku-5-5", *NOON).stdout

    def test_the_provider_decides(self, run: Run) -> None:
        assert inputs(asked(run, "glm-5.3", "--provider", "zai", *NOON)) == [1.4]
        assert inputs(asked(run, "glm-5.3", *NOON)) == [1.103]

    def test_a_table(self, run: Run) -> None:
        found = asked(run, "deepseek-v4-pro", "--prices", "reference-2026-07")
        assert inputs(found) == [0.435]
        assert (found["from"], found["since"], found["until"]) == ("table", None, "2026-08-17")

    def test_prices_of_the_settings_and_what_they_take_the_place_of(self, run: Run, home: Path) -> None:
        (home / "coldpress.toml").write_text(OURS)
        found = asked(run, "deepseek-v4-pro", *NOON)
        assert (found["from"], found["provider"], found["since"]) == ("settings", "deepseek", "2026-11-01")
        assert inputs(found) == [1.0, 1.0]
        replaced = found["replaces"]
        assert isinstance(replaced, dict)
        assert inputs(replaced) == [0.66]
        text = run("prices", "deepseek-v4-pro", *NOON).stdout
        assert text.startswith("deepseek-v4-pro at deepseek, from the settings: settings for 2026-11-01\n")
        assert "Without the settings, genai-prices " in text

    def test_settings_of_one_provider_say_nothing_of_another(self, run: Run, home: Path) -> None:
        (home / "coldpress.toml").write_text(OURS)
        assert asked(run, "deepseek-v4-pro", "--provider", "azure", *NOON)["from"] == "list"

    def test_an_unknown_model(self, run: Run) -> None:
        told = run("prices", "claude-opus-55")
        assert (told.exit_code, told.stdout) == (1, "")
        assert "Did you mean claude-opus-5-5" in told.stderr

    def test_the_settings_are_no_advice_where_a_table_goes_before_them(self, run: Run) -> None:
        told = run("prices", "claude-opus-5-5", "--prices", "reference-2026-07")
        assert (told.exit_code, told.stdout) == (1, "")
        assert "--prices names (reference-2026-07) goes before the settings: leave it out" in told.stderr
        assert "--prices" not in run("prices", "claude-opus-55").stderr

    @pytest.mark.parametrize("name", ["", "  "], ids=["empty", "blank"])
    def test_a_name_without_letters_is_a_usage_error(self, run: Run, name: str) -> None:
        told = run("prices", name)
        assert (told.exit_code, told.stdout) == (2, "")
        assert "the name of the model is empty" in told.stderr


class TestTheList:
    def models(self, run: Run, *arguments: str) -> list[tuple[str | None, str]]:
        listed = asked(run, *NOON, *arguments)["models"]
        assert isinstance(listed, list)
        return [(row["provider"], row["model"]) for row in listed]

    def test_settings_and_tables_come_first_then_the_newest_of_each_family(self, run: Run, home: Path) -> None:
        (home / "coldpress.toml").write_text(OURS)
        found = self.models(run)
        assert found[:3] == [("deepseek", "deepseek-v4-pro"), (None, "deepseek-v4-pro"), (None, "deepseek-v4-flash")]
        assert ("anthropic", "claude-opus-5-5") in found
        assert ("anthropic", "claude-opus-5") not in found
        assert ("x-ai", "grok-4.7") in found
        assert len(found) < 100

    def test_all_is_the_whole_list(self, run: Run) -> None:
        found = self.models(run, "--all")
        assert ("anthropic", "claude-opus-5") in found
        assert len(found) > 500

    def test_one_provider_has_all_its_models(self, run: Run) -> None:
        found = self.models(run, "--provider", "deepseek")
        assert ("deepseek", "deepseek-flash") in found
        assert {provider for provider, _ in found} == {"deepseek"}

    def test_a_table_alone(self, run: Run) -> None:
        found = self.models(run, "--prices", "reference-2026-07")
        assert found == [(None, "deepseek-v4-pro"), (None, "deepseek-v4-flash")]

    def test_the_text_is_a_table(self, run: Run) -> None:
        head, *rows = run("prices", *NOON, "--prices", "reference-2026-07").stdout.splitlines()
        assert head.split()[:3] == ["provider", "model", "prompt"]
        assert len(rows) == 2
        assert rows[0].split()[:6] == ["-", "deepseek-v4-pro", "from", "0", "0.435", "0.003625"]

    def test_an_unknown_provider(self, run: Run) -> None:
        told = run("prices", "--provider", "opnai")
        assert (told.exit_code, told.stdout) == (1, "")
        assert "did you mean openai?" in told.stderr


@pytest.mark.parametrize(
    ("models", "kept"),
    [
        pytest.param(("gpt-5.6-sol", "gpt-6-sol", "gpt-6.1-sol"), ("gpt-6.1-sol",), id="decimals"),
        pytest.param(("grok-4-0709", "grok-4.20", "grok-4.7"), ("grok-4.7",), id="a build is no version"),
        pytest.param(("gpt-oss-20b", "gpt-oss-120b"), ("gpt-oss-20b", "gpt-oss-120b"), id="sizes are no versions"),
        pytest.param(("gpt-5", "gpt-5-mini"), ("gpt-5", "gpt-5-mini"), id="another family"),
        pytest.param(("gpt-image-2", "gpt-5"), ("gpt-5",), id="pictures are left out"),
    ],
)
def test_newest_of_each_family(models: tuple[str, ...], kept: tuple[str, ...]) -> None:
    assert newest(models) == kept
