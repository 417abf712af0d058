"""The table of cache rules answers for every provider it names, and for no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldpress.config.builtin_providers import BUILTIN_PROVIDERS
from coldpress.measure import cache_rules
from coldpress.measure.cache_rules import CacheRules, rules_for


@pytest.mark.parametrize(
    ("model", "provider", "name", "minimum"),
    [
        pytest.param("claude-haiku-4-5-20251001", "anthropic", "anthropic", 4096, id="haiku 4.5"),
        pytest.param("claude-opus-4-7", "anthropic", "anthropic", 2048, id="opus 4.7"),
        pytest.param("claude-opus-4-7", "bedrock", "bedrock", 4096, id="the same on bedrock"),
        pytest.param("claude-sonnet-4-5", None, "anthropic", 1024, id="a model without its provider"),
        pytest.param("claude-opus-5", "anthropic", "anthropic", 512, id="opus 5"),
        pytest.param("claude-opus-5-5", "anthropic", "anthropic", 1024, id="opus 5.5, which is not listed"),
        pytest.param("amazon.nova-pro-v1:0", "bedrock", "bedrock-nova", 1024, id="nova"),
        pytest.param("gpt-5.6-sol", "openai", "openai-marks", 1024, id="gpt-5.6"),
        pytest.param("gpt-6-luna", None, "openai-marks", 1024, id="gpt-6"),
        pytest.param("gpt-5.3-codex", "openai", "openai-steps", 1024, id="before gpt-5.6"),
        pytest.param("deepseek-v4-pro", "deepseek", "deepseek", 64, id="deepseek"),
        pytest.param("gemini-2.5-pro", "gemini", "gemini", 2048, id="gemini 2.5"),
        pytest.param("gemini-4-argon", "google", "gemini", 4096, id="gemini 4"),
        pytest.param("google/gemini-3-pro-preview", "openrouter", "gemini", 2000, id="measured on gemini 3 pro"),
        pytest.param("anthropic/claude-sonnet-5", "openrouter", "anthropic", 1024, id="openrouter passes on"),
        pytest.param("grok-4.7", "xai", "xai", 128, id="xai"),
        pytest.param("kimi-k3.1-pro", "moonshot", "kimi-ttl", 1, id="kimi k3"),
        pytest.param("kimi-k2.7-code", "moonshot", "kimi", 1, id="kimi before k3"),
        pytest.param("any-model", "vllm", "vllm", 16, id="vllm serves any model"),
        pytest.param("claude-sonnet-5", "none", "none", 0, id="a server without a cache"),
    ],
)
def test_rules(model: str, provider: str | None, name: str, minimum: int) -> None:
    rules = rules_for(model, provider)
    assert rules is not None
    assert (rules.name, rules.minimum_tokens) == (name, minimum)


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        pytest.param("claude-sonnet-5", "my-own-proxy", id="a provider nobody has heard of"),
        pytest.param("llama-9", None, id="a model whose maker is not known"),
        pytest.param("llama-9", "openrouter", id="the same behind a provider that passes on"),
    ],
)
def test_unknown_is_not_no_cache(model: str, provider: str | None) -> None:
    assert rules_for(model, provider) is None


def test_marks_choose_between_caches_that_exclude_each_other() -> None:
    found = [rules_for("qwen3.8-max", "qwen", marked=marked) for marked in (False, True)]
    assert [rules.kind for rules in found if rules is not None] == ["steps", "marks"]


@pytest.mark.parametrize("provider", [p.name for p in BUILTIN_PROVIDERS if p.name != "openrouter"])
def test_every_built_in_provider_is_known(provider: str) -> None:
    assert rules_for("some-model", provider) is not None


ROWS = [value for value in vars(cache_rules).values() if isinstance(value, CacheRules)]


@pytest.mark.parametrize("rules", ROWS, ids=lambda rules: rules.name)
def test_rows_make_sense(rules: CacheRules) -> None:
    assert rules.source
    assert rules.step_tokens >= 1
    assert (rules.kind == "marks") == (rules.max_marks > 0)
    assert rules.lookback_blocks is None or rules.kind == "marks"
    assert rules.long_seconds is None or (rules.short_seconds or 0) < rules.long_seconds


PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "cache.md"


def span(seconds: float | None) -> str:
    if seconds is None:
        return "not said"
    return f"{seconds / 60:g} min" if seconds < 3600 else f"{seconds / 3600:g} h"


def line(rules: CacheRules) -> str:
    """The rules as a row of the page's table."""
    life = "none" if rules.kind == "none" else span(rules.short_seconds)
    life += f", {span(rules.long_seconds)}" if rules.long_seconds is not None else ""
    life += " at least" if rules.at_least else ""
    marks = f"{rules.max_marks}, {rules.lookback_blocks or 'no limit'}" if rules.kind == "marks" else "-"
    cells = (
        rules.name, rules.kind, rules.minimum_tokens, rules.step_tokens, life, marks,
        "yes" if rules.write_priced else "no", rules.source,
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


@pytest.mark.parametrize("rules", ROWS, ids=lambda rules: rules.name)
def test_the_page_shows_the_data(rules: CacheRules) -> None:
    assert line(rules) in PAGE.read_text(encoding="utf-8").splitlines()
