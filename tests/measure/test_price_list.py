"""The built-in list: names as clients send them, look-alikes, days, hours, and what loading it costs."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from coldpress.config.builtin_providers import BUILTIN_PROVIDERS
from coldpress.measure import price_list
from coldpress.measure.price_names import PROVIDER_ALIASES
from coldpress.measure.prices import Prices, prices_for

MONDAY = datetime(2026, 11, 30, 12, tzinfo=UTC)


def at(day: str, hour: int = 12, minute: int = 0) -> datetime:
    return datetime.fromisoformat(day).replace(hour=hour, minute=minute, tzinfo=UTC)


def input_usd(model: str, provider: str | None, moment: datetime) -> float:
    found = prices_for(model, provider=provider, at=moment)
    assert isinstance(found, Prices)
    return found.at(0).input_usd_per_mtok


class TestNames:
    @pytest.mark.parametrize(
        ("model", "provider", "listed"),
        [
            pytest.param("claude-opus-5-5", "anthropic", "anthropic/claude-opus-5-5", id="as the maker writes it"),
            pytest.param("Claude-Opus-5-5", "anthropic", "anthropic/claude-opus-5-5", id="upper case"),
            pytest.param("claude-opus-5-5", None, "anthropic/claude-opus-5-5", id="no provider: by the name"),
            pytest.param("claude-opus-5-5", "my-gateway", "anthropic/claude-opus-5-5", id="a provider nobody knows"),
            pytest.param("claude-opus-5-5-20260901", "anthropic", "anthropic/claude-opus-5-5", id="a compact date"),
            pytest.param(
                "claude-sonnet-4-20250514", "anthropic", "anthropic/claude-sonnet-4-0", id="an old dated name"
            ),
            pytest.param("claude-opus-5-5-latest", "anthropic", "anthropic/claude-opus-5-5", id="-latest"),
            pytest.param("gpt-6-sol-2026-10-01", "openai", "openai/gpt-6-sol", id="a date with dashes"),
            pytest.param("gpt-5.3-codex-2026-02-05", "openai", "openai/gpt-5.3-codex", id="a date the list lacks"),
            pytest.param("claude-opus-5-5@20260901", "google", "google/claude-opus-5-5", id="Vertex's date"),
            pytest.param("claude-fable-5-1", "google", "google/claude-fable-5-1", id="not the shorter one it holds"),
            pytest.param(
                "us.anthropic.claude-opus-4-5-20251101-v1:0",
                "bedrock",
                "aws/regional.anthropic.claude-opus-4-5-v1:0",
                id="Bedrock's region, date and version",
            ),
            pytest.param("models/gemini-3.8-flash", None, "google/gemini-3.8-flash", id="Gemini's resource path"),
            pytest.param("gemini-4-argon-001", None, "google/gemini-4-argon", id="a build number"),
            pytest.param("anthropic/claude-opus-5.5", None, "anthropic/claude-opus-5-5", id="OpenRouter's maker"),
            pytest.param(
                "anthropic/claude-opus-5.5",
                "openrouter",
                "openrouter/anthropic/claude-opus-5.5",
                id="OpenRouter itself",
            ),
            pytest.param(
                "openrouter/anthropic/claude-opus-5.5",
                None,
                "openrouter/anthropic/claude-opus-5.5",
                id="litellm through OpenRouter",
            ),
            pytest.param("anthropic/claude-opus-5-5", "anthropic", "anthropic/claude-opus-5-5", id="litellm's prefix"),
            pytest.param("xai/grok-4.7", None, "x-ai/grok-4.7", id="litellm's name of xAI"),
            pytest.param("z-ai/glm-5.3", None, "zai/GLM-5.3", id="OpenRouter's name of Z.ai"),
            pytest.param("groq/openai/gpt-oss-120b", None, "groq/openai/gpt-oss-120b", id="a prefix before a maker"),
            pytest.param("openai/gpt-oss-120b", "groq", "groq/openai/gpt-oss-120b", id="a maker that is no prefix"),
            pytest.param("azure/gpt-6-sol", None, "azure/gpt-6-sol", id="a host that sells at the maker's prices"),
            pytest.param("deepseek-v4-pro", "deepseek-anthropic", "deepseek/deepseek-v4-pro", id="our own second name"),
            pytest.param("minimax-m2.1-highspeed", None, "minimax/MiniMax-M2.1-highspeed", id="the list's own id"),
        ],
    )
    def test_found(self, model: str, provider: str | None, listed: str) -> None:
        found = price_list.find(model, provider)
        assert found is not None
        assert f"{found.provider}/{found.model}" == listed

    @pytest.mark.parametrize(
        ("model", "provider"),
        [
            pytest.param("deepseek-v4-pro-distill-8b", "deepseek", id="a distilled model"),
            pytest.param("deepseek-v4-pro2", "deepseek", id="a longer number"),
            pytest.param("kimi-k2.55", None, id="another version that begins alike"),
            pytest.param("claude-sonnet-4-6-fast", "anthropic", id="a variant of its own price"),
            pytest.param("claude-opus-5-6", "anthropic", id="a version that is not listed"),
            pytest.param("my-claude-opus-4-5", None, id="something before the name"),
            pytest.param("my-claude-fable-5", "google", id="something before a name that the list looks for anywhere"),
            pytest.param("turbo4-mini", "azure", id="a word that ends like a name"),
            pytest.param("my-team/claude-opus-4-5", None, id="a prefix nobody knows"),
            pytest.param("claude-fable-5-7", "google", id="a newer one that holds a listed name"),
            pytest.param("gpt-6.1", "openai", id="a family without its member"),
            pytest.param("claude-opus-5-5", "openai", id="a model of another maker at a known provider"),
            pytest.param("gemini-3.6-flash-tts", "google", id="speech"),
            pytest.param("", None, id="no name"),
            pytest.param("/", None, id="no name behind the prefix"),
        ],
    )
    def test_a_look_alike_has_no_price(self, model: str, provider: str | None) -> None:
        assert price_list.find(model, provider) is None

    def test_nearest_names_what_was_meant(self) -> None:
        assert price_list.nearest("claude-opus-5-6", None)[0] == "claude-opus-5-5"
        assert price_list.nearest("gpt6-sol", "openai")[0] == "gpt-6-sol"
        assert price_list.nearest("zzzz", None) == ()

    @pytest.mark.parametrize("name", sorted({*PROVIDER_ALIASES, *(row.name for row in BUILTIN_PROVIDERS)}))
    def test_every_provider_of_ours_is_in_the_list(self, name: str) -> None:
        assert price_list.provider_id(name) is not None


class TestDaysAndHours:
    @pytest.mark.parametrize(
        ("model", "provider", "day", "usd"),
        [
            pytest.param("deepseek-v4-pro", "deepseek", "2026-08-16", 0.435, id="DeepSeek before the change"),
            pytest.param("deepseek-v4-pro", "deepseek", "2026-08-17", 0.66, id="DeepSeek on the day of the change"),
            pytest.param("gemini-4-argon", "google", "2026-11-30", 2.0, id="Gemini before it doubles"),
            pytest.param("gemini-4-argon", "google", "2026-12-01", 4.0, id="Gemini doubled"),
            pytest.param("gemini-3.8-flash", "google", "2026-12-31", 0.75, id="Flash before it doubles"),
            pytest.param("gemini-3.8-flash", "google", "2027-01-01", 1.5, id="Flash doubled"),
            pytest.param("mistral-large-4", "mistral", "2026-10-28", 1.36, id="Mistral before the cut"),
            pytest.param("mistral-large-4", "mistral", "2026-10-29", 0.7, id="Mistral after it"),
        ],
    )
    def test_prices_change_on_a_day(self, model: str, provider: str, day: str, usd: float) -> None:
        assert input_usd(model, provider, at(day)) == usd

    @pytest.mark.parametrize(
        ("moment", "usd"),
        [
            pytest.param(at("2026-11-30", 0, 59), 0.66, id="before the first peak"),
            pytest.param(at("2026-11-30", 1), 1.32, id="its first minute"),
            pytest.param(at("2026-11-30", 3, 59), 1.32, id="its last minute"),
            pytest.param(at("2026-11-30", 4), 0.66, id="between the peaks"),
            pytest.param(at("2026-11-30", 6), 1.32, id="the second peak"),
            pytest.param(at("2026-11-30", 10), 0.66, id="after it"),
            pytest.param(at("2026-11-28", 2), 0.66, id="no peak on Saturday"),
            pytest.param(at("2026-11-29", 7), 0.66, id="no peak on Sunday"),
            pytest.param(at("2026-11-27", 7), 1.32, id="a peak on Friday"),
            pytest.param(at("2026-07-21", 2), 0.435, id="no peak before peaks were brought in"),
            pytest.param(
                datetime(2026, 11, 30, 10, tzinfo=timezone(timedelta(hours=8))), 1.32, id="ten in Beijing is two in UTC"
            ),
            pytest.param(
                datetime(2026, 11, 30, 2, tzinfo=timezone(timedelta(hours=8))), 0.66, id="Monday there is Sunday in UTC"
            ),
        ],
    )
    def test_prices_change_by_the_hour(self, moment: datetime, usd: float) -> None:
        assert input_usd("deepseek-v4-pro", "deepseek", moment) == usd

    def test_source_says_the_hours_and_as_of_the_day(self) -> None:
        found = prices_for("deepseek-v4-pro", provider="deepseek", at=at("2026-11-30", 7))
        assert isinstance(found, Prices)
        assert found.label == f"{price_list.version()} (06:00 to 10:00 UTC) for 2026-11-30"

    def test_the_days_of_change_are_known(self) -> None:
        found = price_list.find("mistral-large-4", "mistral")
        assert found is not None
        assert found.changes() == (date(2026, 10, 20), date(2026, 10, 29))


class TestTiers:
    @pytest.mark.parametrize(
        ("model", "provider", "prompt_tokens", "expected"),
        [
            pytest.param("claude-haiku-5-5", "anthropic", 100_000, (0.1, 0.01, 0.125, 0.2, 0.5), id="Haiku, short"),
            pytest.param("claude-haiku-5-5", "anthropic", 100_001, (0.5, 0.05, 0.625, 1.0, 2.5), id="Haiku, long"),
            pytest.param("gpt-6.1-sol", "openai", 272_001, (4.0, 0.2, 5.0, None, 15.0), id="GPT, long"),
            pytest.param("grok-4.7", "xai", 200_001, (4.0, 1.0, 4.0, None, 12.0), id="Grok, long"),
            pytest.param("gemini-3.1-pro-preview", "google", 200_001, (4.0, 0.4, 4.0, None, 18.0), id="Gemini, long"),
            pytest.param("MiniMax-M3", None, 512_001, (0.6, 0.12, 0.6, None, 2.4), id="MiniMax, long"),
        ],
    )
    def test_a_cliff(
        self, model: str, provider: str | None, prompt_tokens: int, expected: tuple[float | None, ...]
    ) -> None:
        found = prices_for(model, provider=provider, at=MONDAY)
        assert isinstance(found, Prices)
        rates = found.at(prompt_tokens)
        assert (
            rates.input_usd_per_mtok,
            rates.cache_read_usd_per_mtok,
            rates.cache_write_usd_per_mtok,
            rates.cache_write_long_usd_per_mtok,
            rates.output_usd_per_mtok,
        ) == expected


def test_every_row_of_the_whole_list_can_be_read() -> None:
    for provider in price_list.providers():
        for model in price_list.models(provider):
            found = price_list.find(model, provider)
            assert found is not None, f"{provider}/{model}"
            for row in found.rows:
                assert bool(row.tiers) != bool(row.missing)
                assert row.missing or Prices(model, row.tiers)


def test_the_list_is_loaded_by_the_first_look_up_only() -> None:
    code = (
        "import sys, threading\n"
        "from coldpress.measure import prices\n"
        "assert 'genai_prices' not in sys.modules\n"
        "thread = threading.Thread(target=prices.warm); thread.start(); thread.join()\n"
        "assert 'genai_prices.data' in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
