"""`[offload]` is resolved: whose address and prices, which path and format, whose key, and what is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldpress.config.load import load
from coldpress.config.offload_settings import OffloadSettings
from coldpress.config.settings import Settings
from coldpress.measure.rates import Rates
from coldpress.model.errors import ConfigError

HOME = {"HOME": "/home/somebody"}
ON = '[offload]\nenabled = true\nprovider = "{provider}"\nmodel = "small"\n'
NO_KEY = "every summary is declined (no_key)"


def read(directory: Path, text: str, **environ: str) -> Settings:
    file = directory / "coldpress.toml"
    file.write_text(text, encoding="utf-8")
    return load(file, environ={**HOME, **environ}, directory=directory)


def refusal(directory: Path, text: str, **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(directory, text, **environ)
    return str(caught.value)


@pytest.mark.parametrize(
    ("provider", "more", "endpoint", "speaks"),
    [
        pytest.param("deepseek", "", "https://api.deepseek.com/v1/chat/completions", "openai_chat", id="built in"),
        pytest.param(
            "deepseek-anthropic", "", "https://api.deepseek.com/anthropic/v1/messages", "anthropic", id="of one format"
        ),
        pytest.param(
            "anthropic", "", "https://api.anthropic.com/v1/messages", "anthropic", id="Anthropic speaks its own"
        ),
        pytest.param(
            "openrouter", "", "https://openrouter.ai/api/v1/chat/completions", "openai_chat", id="of both formats"
        ),
        pytest.param("zai", "", "https://api.z.ai/api/paas/v4/chat/completions", "openai_chat", id="another version"),
        pytest.param(
            "openrouter",
            'path = "/v1/messages"\n',
            "https://openrouter.ai/api/v1/messages",
            "anthropic",
            id="the path tells the format",
        ),
        pytest.param(
            "mine",
            '[providers.mine]\nurl = "https://llm.example.com/beta"\nformat = "openai"\n',
            "https://llm.example.com/beta/chat/completions",
            "openai_chat",
            id="an address that ends in a version",
        ),
        pytest.param(
            "mine",
            '[providers.mine]\nurl = "https://llm.example.com/x/"\nformat = "anthropic"\n',
            "https://llm.example.com/x/v1/messages",
            "anthropic",
            id="an address that ends in a slash",
        ),
        pytest.param(
            "mine",
            'path = "/ask"\n[providers.mine]\nurl = "https://llm.example.com"\nformat = "anthropic"\n',
            "https://llm.example.com/ask",
            "anthropic",
            id="a path of its own",
        ),
    ],
)
def test_where_the_model_is_asked(tmp_path: Path, provider: str, more: str, endpoint: str, speaks: str) -> None:
    got = read(tmp_path, ON.format(provider=provider) + more).offload
    assert (got.enabled, got.provider, got.model) == (True, provider, "small")
    assert (got.endpoint, got.format) == (endpoint, speaks)


class TestTheKey:
    def test_is_that_of_the_table(self, tmp_path: Path) -> None:
        text = ON.format(provider="groq") + 'api_key_env = "CHEAP"\n[providers.groq]\napi_key_env = "DEAR"\n'
        got = read(tmp_path, text, CHEAP="key-one", DEAR="key-two").offload
        assert got.api_key is not None and got.api_key.reveal() == "key-one"
        assert got.needs_key

    def test_is_else_that_of_the_provider(self, tmp_path: Path) -> None:
        settings = read(
            tmp_path, ON.format(provider="groq") + '[providers.groq]\napi_key_env = "DEAR"\n', DEAR="key-two"
        )
        assert settings.offload.api_key is not None and settings.offload.api_key.reveal() == "key-two"
        assert not any(NO_KEY in told for told in settings.warnings)

    def test_is_missed_in_words_where_there_is_none(self, tmp_path: Path) -> None:
        settings = read(tmp_path, ON.format(provider="groq"))
        assert settings.offload.api_key is None and settings.offload.needs_key
        (told,) = (told for told in settings.warnings if NO_KEY in told)
        assert "offload.api_key_env or providers.groq.api_key_env" in told

    @pytest.mark.parametrize(
        ("url", "needs_key"),
        [
            pytest.param("http://127.0.0.1:8000", False, id="an address of this machine"),
            pytest.param("http://[::1]:8000", False, id="the same in IPv6"),
            pytest.param("http://localhost:8000", False, id="localhost"),
            pytest.param("https://localhost.example.com", True, id="a name that only begins so"),
            pytest.param("http://10.0.0.1", True, id="another machine"),
        ],
    )
    def test_is_not_needed_on_this_machine(self, tmp_path: Path, url: str, needs_key: bool) -> None:
        settings = read(tmp_path, ON.format(provider="mine") + f'[providers.mine]\nurl = "{url}"\n')
        assert settings.offload.needs_key is needs_key
        assert any(NO_KEY in told for told in settings.warnings) is needs_key

    def test_that_is_named_and_not_there_stops_the_start(self, tmp_path: Path) -> None:
        text = ON.format(provider="groq") + 'api_key_env = "CHEAP"\n'
        assert "offload.api_key_env names CHEAP, which is not set" in refusal(tmp_path, text)

    def test_that_was_written_into_the_file_is_never_shown(self, tmp_path: Path) -> None:
        key = "sk-ant-api03-Zq8wAb12Cd34Ef56Gh78"
        told = refusal(tmp_path, ON.format(provider="groq") + f'api_key_env = "{key}"\n')
        assert "offload.api_key_env looks like a key" in told
        assert key not in told


@pytest.mark.parametrize(
    ("provider", "more", "is_off"),
    [
        pytest.param("deepseek", "", True, id="DeepSeek thinks unless told not to"),
        pytest.param("deepseek", "thinking = true\n", False, id="it may"),
        pytest.param("groq", "", False, id="others are not told"),
        pytest.param("groq", "thinking = false\n", True, id="unless the file says so"),
        pytest.param("mine", '[providers.mine]\nurl = "https://api.deepseek.com/beta"\n', True, id="by another name"),
    ],
)
def test_whether_thinking_is_switched_off(tmp_path: Path, provider: str, more: str, is_off: bool) -> None:
    assert read(tmp_path, ON.format(provider=provider) + more).offload.switches_thinking_off is is_off


def test_numbers_and_prices_are_taken_over(tmp_path: Path) -> None:
    text = (
        'prices = "reference-2026-07"\n'
        + ON.format(provider="mine")
        + "timeout_seconds = 5\nmax_tokens = 100\nmax_input_bytes = 9\n"
        + "concurrency = 2\nrpm = 3\nretries = 0\nrest_seconds = 1\n"
        + '[providers.mine]\nurl = "http://127.0.0.1:9"\n'
        + '[providers.mine.pricing."small"]\n'
        + "input_usd_per_mtok = 1\noutput_usd_per_mtok = 4\ncache_read_usd_per_mtok = 0.1\n"
    )
    got = read(tmp_path, text).offload
    assert (got.timeout_seconds, got.max_tokens, got.max_input_bytes) == (5, 100, 9)
    assert (got.concurrency, got.rpm, got.retries, got.rest_seconds) == (2, 3, 0, 1)
    assert got.prices["small"].at(0) == Rates(1, 0.1, 1, None, 4, "settings", "undated")
    assert got.price_table == "reference-2026-07"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("[offload]\nenabled = true\n", "offload.provider is missing", id="no provider"),
        pytest.param("[offload]\nenabled = true\n", "offload.model is missing", id="no model"),
        pytest.param(ON.format(provider="grok"), "did you mean groq?", id="an unknown provider"),
        pytest.param(
            ON.format(provider="groq") + 'path = "ask"\n', 'offload.path is "ask"; it must begin', id="no path"
        ),
        pytest.param(ON.format(provider="groq") + 'path = "/a?k=1"\n', "offload.path is", id="a query"),
        pytest.param(ON.format(provider="groq") + "rpm = 0\n", "offload.rpm is 0; it must be", id="no requests"),
        pytest.param(ON.format(provider="groq") + "concurrency = 0\n", "offload.concurrency is 0", id="none at a time"),
        pytest.param(ON.format(provider="groq") + "max_tokens = 1\n", "offload.max_tokens is 1", id="no room"),
        pytest.param(ON.format(provider="groq") + 'key = "x"\n', "offload.key", id="an unknown key"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, told: str) -> None:
    assert told in refusal(tmp_path, text)


@pytest.mark.parametrize("more", ["", 'provider = "nobody"\n', 'api_key_env = "UNSET"\nmodel = "small"\n'])
def test_a_table_that_is_not_enabled_asks_nothing_of_anybody(tmp_path: Path, more: str) -> None:
    settings = read(tmp_path, f"[offload]\n{more}")
    assert settings.offload == OffloadSettings()
    assert settings.warnings == ()


class TestTheReferenceFiles:
    def test_the_model_gated_arm_asks_the_cheaper_model_at_the_prices_of_the_file(self, shared: Path) -> None:
        settings = load(shared / "reference/model-gated-arm.json", environ=HOME)
        got = settings.offload
        assert (got.enabled, got.provider, got.model) == (True, "deepseek", "deepseek-v4-flash")
        assert (got.endpoint, got.format) == ("https://api.deepseek.com/beta/chat/completions", "openai_chat")
        assert got.prices[got.model].at(0) == Rates(0.14, 0.0028, 0.14, None, 0.28, "settings", "undated")
        assert got.switches_thinking_off
        assert any(NO_KEY in told for told in settings.warnings)

    def test_the_deterministic_arm_asks_nobody(self, shared: Path) -> None:
        settings = load(shared / "reference/deterministic-arm.json", environ=HOME)
        assert settings.offload == OffloadSettings()
        assert not any("offload" in told for told in settings.warnings)
