"""`[summariser]` in a settings file: defaults, addresses, the key by reference, prices, and what is refused."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from coldpress.config.load import load
from coldpress.config.resolve_providers import SecretsNeed
from coldpress.config.settings import Settings
from coldpress.config.summariser_keys import SummariserKeys
from coldpress.config.summariser_settings import SummariserSettings
from coldpress.measure.rates import Rates
from coldpress.model.errors import ConfigError

KEY = "sk-a-key-nobody-may-see"
SMALL = '[summariser]\nkind = "openai"\nmodel = "small"\n'


def read(folder: Path, text: str, *, secrets: SecretsNeed = "required", **environ: str) -> Settings:
    path = folder / "coldpress.toml"
    path.write_text(text, encoding="utf-8")
    return load(path, environ={"HOME": "/home/someone", **environ}, directory=folder, secrets=secrets)


def refusal(folder: Path, text: str, **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(folder, text, **environ)
    return str(caught.value)


def test_without_a_table_no_model_is_asked(tmp_path: Path) -> None:
    settings = read(tmp_path, "")
    assert settings.summariser == SummariserSettings()
    assert settings.summariser.kind == "structural"
    assert settings.warnings == ()


def test_every_number_of_the_file_arrives(tmp_path: Path) -> None:
    given = {
        "timeout_seconds": 12.5,
        "attempts": 5,
        "rest_seconds": 77.0,
        "max_output_tokens": 999,
        "most_input_tokens": 12_345,
        "max_usd_per_call": 0.25,
    }
    text = SMALL + 'prefix = "conversation"\n' + "".join(f"{name} = {value}\n" for name, value in given.items())
    got = read(tmp_path, text).summariser
    assert {name: getattr(got, name) for name in given} == given
    assert (got.kind, got.model, got.prefix) == ("openai", "small", "conversation")
    defaults = SummariserKeys()
    numbers = {key.name for key in fields(SummariserKeys) if isinstance(getattr(defaults, key.name), int | float)}
    assert numbers == set(given)  # a new number must come here too
    assert all(value != getattr(defaults, name) for name, value in given.items())


@pytest.mark.parametrize(
    ("kind", "url", "expected"),
    [
        pytest.param("anthropic", None, "https://api.anthropic.com/v1/messages", id="Anthropic's own"),
        pytest.param("openai", None, "https://api.openai.com/v1/chat/completions", id="OpenAI's own"),
        pytest.param("anthropic", "https://a.example", "https://a.example/v1/messages", id="as for a provider"),
        pytest.param("openai", "https://a.example/api/", "https://a.example/api/v1/chat/completions", id="a path"),
        pytest.param("openai", "https://a.example/v1", "https://a.example/v1/chat/completions", id="a base with v1"),
        pytest.param(
            "openai", "https://a.example/p/v4", "https://a.example/p/v4/chat/completions", id="another version"
        ),
        pytest.param("openai", "https://a.example/v1beta/openai/chat/completions", None, id="the whole call"),
        pytest.param("anthropic", "https://a.example/v1/messages", None, id="the whole call of messages"),
        pytest.param(
            "openai", "https://a.example/vision", "https://a.example/vision/v1/chat/completions", id="no version"
        ),
    ],
)
def test_addresses(tmp_path: Path, kind: str, url: str | None, expected: str | None) -> None:
    line = f'url = "{url}"\n' if url else ""
    got = read(tmp_path, f'[summariser]\nkind = "{kind}"\nmodel = "m"\n{line}')
    assert got.summariser.endpoint == (expected or url)
    assert got.warnings == ()


@pytest.mark.parametrize(
    ("url", "environ", "expected"),
    [
        pytest.param(
            "https://a.example", {"HTTPS_PROXY": "http://p.example:3128"}, "http://p.example:3128", id="named"
        ),
        pytest.param("https://a.example", {"all_proxy": "p.example:1"}, "http://p.example:1", id="for all, bare"),
        pytest.param("http://a.example", {"HTTPS_PROXY": "http://p.example"}, None, id="of the other scheme"),
        pytest.param("https://a.example", {}, None, id="none"),
        pytest.param(
            "https://a.example", {"HTTPS_PROXY": "http://p", "NO_PROXY": "b.example, .example"}, None, id="exempt"
        ),
        pytest.param("https://a.example:8443", {"HTTPS_PROXY": "http://p", "no_proxy": "*"}, None, id="all exempt"),
        pytest.param("http://127.0.0.1:80", {"HTTP_PROXY": "http://p"}, None, id="this machine"),
    ],
)
def test_a_proxy_is_taken_from_the_environment(
    tmp_path: Path, url: str, environ: dict[str, str], expected: str | None
) -> None:
    assert read(tmp_path, f'{SMALL}url = "{url}"', **environ).summariser.proxy == expected


def test_a_password_of_a_proxy_is_not_shown(tmp_path: Path) -> None:
    got = read(tmp_path, SMALL, HTTPS_PROXY="http://someone:hidden@p.example").summariser
    assert got.proxy is not None and "hidden" in got.proxy
    assert "hidden" not in repr(got)


class TestKeys:
    def test_a_key_is_found_by_the_name_of_its_variable_and_never_shown(self, tmp_path: Path) -> None:
        got = read(tmp_path, SMALL + 'api_key_env = "SMALL_KEY"', SMALL_KEY=f" {KEY}\n")
        assert got.summariser.needs_key
        assert got.summariser.api_key is not None and got.summariser.api_key.reveal() == KEY
        assert KEY not in repr(got)
        assert "Secret(SMALL_KEY)" in repr(got.summariser)

    def test_one_that_is_not_set_is_an_error_or_for_commands_that_send_nothing_a_warning(self, tmp_path: Path) -> None:
        text = SMALL + 'api_key_env = "SMALL_KEY"'
        told = "summariser.api_key_env names SMALL_KEY, which is not set or empty in the environment"
        assert f"{told}; set it, or take the line out so that no key is sent" in refusal(tmp_path, text)
        lenient = read(tmp_path, text, secrets="optional")
        assert [told in warning for warning in lenient.warnings] == [True]
        assert (lenient.summariser.needs_key, lenient.summariser.api_key) == (True, None)

    def test_one_that_no_header_can_carry_is_refused_and_not_shown(self, tmp_path: Path) -> None:
        told = refusal(tmp_path, SMALL + 'api_key_env = "SMALL_KEY"', SMALL_KEY=f"{KEY}\u00e9")
        assert "summariser.api_key_env: the value of SMALL_KEY holds characters" in told
        assert KEY not in told

    def test_a_key_in_the_file_is_refused(self, tmp_path: Path) -> None:
        assert "summariser.api_key is not a setting" in refusal(tmp_path, f'{SMALL}api_key = "{KEY}"')


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param('kind = "openai"', 'summariser.model is missing; kind = "openai" asks a model', id="no model"),
        pytest.param('kind = "gemini"', 'summariser.kind is "gemini"; it must be one of', id="an unknown kind"),
        pytest.param(
            'kind = "openai"\nmodel = "m"\nurl = "https://u:p@a.example"',
            "summariser.url holds a user name",
            id="a password",
        ),
        pytest.param('kind = "openai"\nmodel = "m"\nurl = "a.example"', "must begin with http", id="no scheme"),
        pytest.param("timeout_seconds = 0", "summariser.timeout_seconds is 0; it must be", id="no time"),
        pytest.param("attempts = 0", "summariser.attempts is 0; it must be", id="no attempt"),
        pytest.param(
            "max_output_tokens = 10", "summariser.max_output_tokens is 10; it must be", id="no room to answer"
        ),
        pytest.param("max_usd_per_call = -1", "summariser.max_usd_per_call is -1; it must be", id="negative money"),
        pytest.param(
            'prefix = "all"', 'summariser.prefix is "all"; it must be one of transcript, conversation', id="prefix"
        ),
    ],
)
def test_what_is_wrong_is_refused(tmp_path: Path, text: str, told: str) -> None:
    assert told in refusal(tmp_path, f"[summariser]\n{text}\n")


def test_prices_are_those_of_a_providers_table(tmp_path: Path) -> None:
    prices = (
        '[summariser.pricing."small"]\ninput_usd_per_mtok = 1\noutput_usd_per_mtok = 4\ncache_read_usd_per_mtok = 0.1\n'
    )
    got = read(tmp_path, 'prices = "reference-2026-07"\n' + SMALL + prices).summariser
    assert got.prices["small"].at(0) == Rates(1.0, 0.1, 1.0, None, 4.0, "settings", "undated")
    assert got.price_table == "reference-2026-07"
    wrong = refusal(tmp_path, SMALL + prices + 'as_of = "soon"\n')
    assert 'summariser.pricing."small".as_of is "soon"' in wrong


def test_a_model_without_a_kind_is_told(tmp_path: Path) -> None:
    (warning,) = read(tmp_path, '[summariser]\nmodel = "m"\nurl = "https://a.example"').warnings
    assert warning.startswith("summariser.url, model without kind: no model is asked")


def test_plain_http_to_another_machine_is_told(tmp_path: Path) -> None:
    assert read(tmp_path, SMALL + 'url = "http://127.0.0.1:8080"').warnings == ()
    (warning,) = read(tmp_path, SMALL + 'url = "http://llm.example.com"').warnings
    assert warning.startswith("summariser.url is plain http to another machine")


def test_the_settings_of_the_how_to_load(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "summariser.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    got = [
        read(tmp_path, block, ANTHROPIC_API_KEY="k", DEEPSEEK_API_KEY="k", secrets="required").summariser
        for block in blocks
    ]
    assert [(one.kind, one.prefix) for one in got] == [
        ("anthropic", "transcript"),
        ("openai", "transcript"),
        ("anthropic", "conversation"),
    ]
    assert all(one.api_key is not None or not one.needs_key for one in got)
