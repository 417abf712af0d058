"""A key that was pasted into the settings is shown by no error, no warning, no repr and no command."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from coldpress.cli.main import main
from coldpress.config.keys import ProviderKeys
from coldpress.config.load import load
from coldpress.config.masked import looks_like_key, shown, variable_problem
from coldpress.config.resolve_providers import SecretsNeed
from coldpress.config.summariser_keys import SummariserKeys
from coldpress.model.errors import ConfigError

KEYS = (
    pytest.param("sk-ant-api03-SECRETSECRETSECRET-4xQ", id="anthropic"),
    pytest.param("sk-ant-...SECRET", id="cut short"),
    pytest.param("sk-proj-SECRET9aB", id="openai"),
    pytest.param("gsk_SECRETq7Zr2vLmT0p", id="a name by its letters"),
    pytest.param("hf_SECRETSECRETSECRET", id="without a digit"),
    pytest.param("SECRET0f3c9a7be1d24f58a6b1c2d3e4", id="letters and digits alone"),
    pytest.param("not-a-name-SECRET", id="no name and no key"),
    pytest.param("SECRET WITH SPACES", id="spaces"),
    pytest.param("S" * 65 + "ECRET", id="longer than any name"),
)
TABLES = (
    pytest.param("[providers.anthropic]\napi_key_env = {key}\n", id="a built-in provider"),
    pytest.param('[providers.mine]\nurl = "https://llm.test"\napi_key_env = {key}\n', id="an own provider"),
    pytest.param('[summariser]\nkind = "openai"\nmodel = "small"\napi_key_env = {key}\n', id="the summariser"),
)
ELSEWHERE = (
    "[providers.mine]\nurl = {key}\n",
    "[providers.mine]\nurl = 'https://user:%s@llm.test'\n",
    "[providers.mine]\nurl = 'https://user:%s'\n",
    "[providers.mine]\nurl = 'https://llm.test/v1?key=%s'\n",
    "[providers.mine]\nurl = 'ftp://llm.test/%s'\n",
    "[providers]\nmine = {key}\n",
    "[summariser]\nkind = {key}\n",
    "[summariser]\nattempts = {key}\n",
    "[default_provider]\nopenai = {key}\n",
    "host = {key}\n",
    "operation = {key}\n",
    "{key} = 1\n",
    "[providers.{key}]\nformat = 'x'\n",
    "[notes]\nproject = ' %s'\n",
)


@pytest.mark.parametrize("secrets", ["required", "optional"])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("key", KEYS)
def test_in_the_place_of_a_variables_name_it_is_refused_unseen(
    tmp_path: Path, key: str, table: str, secrets: SecretsNeed
) -> None:
    path = tmp_path / "coldpress.toml"
    path.write_text(table.format(key=f'"{key}"'))
    with pytest.raises(ConfigError) as caught:
        load(path, environ={"HOME": "/h"}, directory=tmp_path, secrets=secrets)
    told = str(caught.value)
    assert "api_key_env looks like a key; write the name of the variable" in told or "api_key_env is no name" in told
    assert key not in told and "SECRET" not in told
    assert key not in repr(ProviderKeys(api_key_env=key)) + repr(SummariserKeys(api_key_env=key))


@pytest.mark.parametrize(
    "command", [("check",), ("serve",), ("doctor",), ("ledger", "list"), ("notes", "list")], ids=" ".join
)
@pytest.mark.parametrize("table", TABLES)
def test_no_command_prints_it(tmp_path: Path, table: str, command: tuple[str, ...]) -> None:
    path = tmp_path / "coldpress.toml"
    path.write_text(table.format(key='"sk-ant-api03-SECRET"'))
    told = CliRunner().invoke(main, [*command, "--config", str(path)])
    assert told.exit_code == 6
    assert "looks like a key" in told.stderr
    assert "SECRET" not in told.output + told.stderr


@pytest.mark.parametrize("text", ELSEWHERE)
def test_elsewhere_it_is_not_shown_either(tmp_path: Path, text: str) -> None:
    key = "sk-ant-api03-SECRET"
    path = tmp_path / "coldpress.toml"
    path.write_text(text.replace("{key}", f'"{key}"').replace("%s", key))
    with pytest.raises(ConfigError) as caught:
        load(path, environ={"HOME": "/h"}, directory=tmp_path)
    assert str(caught.value)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["ANTHROPIC_API_KEY", "OPENAI_API_KEY_2", "my_key", "_K", "hf_hub_access_token", "AZURE_OPENAI_KEY_EU1", "SUM_KEY"],
)
def test_names_of_variables_are_names(name: str) -> None:
    assert variable_problem(name) == ""


def test_a_variable_that_is_set_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "coldpress.toml"
    path.write_text('[providers.anthropic]\napi_key_env = "MY-KEY"\n')
    settings = load(path, environ={"HOME": "/h", "MY-KEY": "k"}, directory=tmp_path)
    assert settings.bare_path_provider("anthropic").api_key is not None


@pytest.mark.parametrize(
    "text", ["prot", "claude-haiku-4-5-20251001", "https://api.z.ai/api/paas/v4", "gpt-5.6", "0.0.0.0", "webshop"]
)
def test_common_values_are_shown_as_they_are(text: str) -> None:
    assert not looks_like_key(text)
    assert shown(text) == f'"{text}"'


def test_check_says_that_serve_would_refuse(tmp_path: Path) -> None:
    path = tmp_path / "coldpress.toml"
    path.write_text('[providers.anthropic]\napi_key_env = "NOT_SET_ANYWHERE"\n')
    checked = CliRunner().invoke(main, ["check", "--config", str(path)])
    served = CliRunner().invoke(main, ["serve", "--config", str(path)])
    assert (checked.exit_code, served.exit_code) == (0, 6)
    assert "coldpress serve does not start as it is" in checked.stderr
    assert "does not start" not in served.stderr
