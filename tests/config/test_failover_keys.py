"""Which provider may stand in for which, and when a cap says that it cannot be kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coldpress.config import Settings, load
from coldpress.model.errors import ConfigError

PAGE = Path(__file__).parents[2] / "docs/howto/limits.md"
KEYS = {"HOME": "/home/somebody", "OPENROUTER_API_KEY": "sk-or", "K": "sk-k"}
OWN = '[providers.openrouter]\napi_key_env = "OPENROUTER_API_KEY"\n'


def loaded(directory: Path, text: str, **more: object) -> Settings:
    file = directory / "coldpress.toml"
    file.write_text(text, "utf-8")
    return load(file, environ=KEYS, directory=directory, **more)  # type: ignore[arg-type]


def test_the_how_to_page_loads_as_it_is(tmp_path: Path) -> None:
    first, second, third = re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    limits = loaded(tmp_path, first).limits
    assert (limits.concurrency, limits.rpm, limits.wait_seconds, limits.daily_usd) == (10, 100, 30.0, 20.0)
    assert limits.unpriced == "refuse"
    groq = loaded(tmp_path, first).provider("groq")
    assert groq is not None and (groq.concurrency, groq.rpm) == (4, 50)
    assert loaded(tmp_path, first).warnings == ()
    (warning,) = loaded(tmp_path, second).warnings
    assert 'limits.unpriced is "allow"' in warning and "20" in warning
    anthropic = loaded(tmp_path, third).provider("anthropic")
    assert anthropic is not None and anthropic.failover == "openrouter"
    assert loaded(tmp_path, third).warnings == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param('[providers.anthropic]\nfailover = "openrouter"', "has no key of its own", id="no key"),
        pytest.param('[providers.anthropic]\nfailover = "openroter"\n' + OWN, "did you mean openrouter", id="a typo"),
        pytest.param(
            '[providers.openai]\nfailover = "deepseek-anthropic"\n[providers.deepseek-anthropic]\napi_key_env = "K"',
            "speaks anthropic and not openai_chat",
            id="another wire format",
        ),
        pytest.param(
            '[providers.openai]\nfailover = "zai"\n[providers.zai]\napi_key_env = "K"',
            "begin with /v4 and not with /v1",
            id="another version",
        ),
        pytest.param(
            '[providers.anthropic]\nfailover = "openrouter"\n' + OWN + 'operation = "observe"',
            "whose operation is observe and not press",
            id="another operation",
        ),
        pytest.param(
            '[providers.anthropic]\nfailover = "openrouter"\napi_key_env = "K"\n' + OWN + 'failover = "anthropic"',
            "goes in a circle (anthropic -> openrouter -> anthropic)",
            id="two in a circle",
        ),
        pytest.param(
            '[providers.openrouter]\nfailover = "openrouter"\napi_key_env = "K"',
            "goes in a circle (openrouter -> openrouter)",
            id="itself",
        ),
        pytest.param(
            '[providers.openrouter]\nfailover = "openrouter"',
            "goes in a circle (openrouter -> openrouter)",
            id="itself, without a key",
        ),
        pytest.param(
            '[providers.anthropic]\nfailover = "openrouter"\n[providers.openrouter]\napi_key_env = "NOT_SET"',
            "set it, or take the line out together with providers.anthropic.failover, which cannot do without",
            id="a key that is not set",
        ),
        pytest.param(
            '[providers.anthropic]\nfailover = "mine"\n'
            '[providers.mine]\nurl = "http://127.0.0.1:8000"\napi_key_env = "NOT_SET"',
            "take the line out so that the client's own key passes through",
            id="a key that is not set, on this machine",
        ),
        pytest.param('[providers.anthropic]\nfailover_model = "m"', "stands without", id="a model without a provider"),
    ],
)
def test_what_cannot_stand_in_is_an_error_at_start_up(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)
    (problem,) = str(caught.value).splitlines()
    assert says in problem


def test_a_chain_is_no_circle(tmp_path: Path) -> None:
    text = (
        '[providers.anthropic]\nfailover = "openrouter"\n'
        + OWN
        + 'failover = "xai"\n[providers.xai]\napi_key_env = "K"'
    )
    assert loaded(tmp_path, text).warnings == ()


def test_one_on_this_machine_needs_no_key(tmp_path: Path) -> None:
    text = '[providers.anthropic]\nfailover = "mine"\n[providers.mine]\nurl = "http://127.0.0.1:8000"'
    mine = loaded(tmp_path, text).provider("mine")
    assert mine is not None and mine.api_key is None


def test_a_key_that_the_environment_lacks_is_an_error_for_serve_alone(tmp_path: Path) -> None:
    text = '[providers.anthropic]\nfailover = "openrouter"\n[providers.openrouter]\napi_key_env = "NOT_SET"'
    with pytest.raises(ConfigError, match="NOT_SET"):
        loaded(tmp_path, text)
    (warning,) = loaded(tmp_path, text, secrets="optional").warnings
    assert "NOT_SET" in warning


def test_a_cap_says_which_providers_it_does_not_see(tmp_path: Path) -> None:
    (warning,) = loaded(tmp_path, '[limits]\ndaily_usd = 1.0\n[providers.groq]\noperation = "off"').warnings
    assert "requests to groq are relayed unread" in warning and "are refused" in warning
    (warning,) = loaded(tmp_path, 'operation = "off"\n[limits]\ndaily_usd = 1.0').warnings
    assert "every provider" in warning
    assert loaded(tmp_path, 'operation = "off"').warnings == ()
