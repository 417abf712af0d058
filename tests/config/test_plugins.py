"""`[plugins]` in a settings file: what is on, what is approved, whose settings are whose, and what is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coldpress.config.load import load
from coldpress.config.plugin_keys import HOOK_SECONDS, IntentKeys
from coldpress.config.plugin_settings import Approval, PluginSettings
from coldpress.config.settings import Settings
from coldpress.model.errors import ConfigError


def read(folder: Path, text: str) -> Settings:
    path = folder / "coldpress.toml"
    path.write_text(text, encoding="utf-8")
    return load(path, environ={"HOME": "/home/someone"}, directory=folder)


def test_without_a_table_nothing_is_on(tmp_path: Path) -> None:
    settings = read(tmp_path, "").plugins
    assert settings == PluginSettings()
    assert (settings.order, settings.approved, settings.hook_seconds) == ((), (), HOOK_SECONDS)


def test_everything_arrives(tmp_path: Path) -> None:
    text = """
[plugins]
order = ["intent", "redact-hosts", "compactor"]
hook_seconds = 0.5

[plugins.approved.redact-hosts]
version = "1.2"
capabilities = ["read_results", "edit_results", "read_results"]

[plugins.config.redact-hosts]
suffixes = ["corp.example"]
nested = { most = 3 }

[plugins.config.intent]
mode = "infer"

[[plugins.config.compactor.tool_policies]]
match = "grep*"
mode = "keyword"
"""
    settings = read(tmp_path, text)
    plugins = settings.plugins
    assert plugins.order == ("intent", "redact-hosts", "compactor")
    assert plugins.others == ("redact-hosts",)
    assert plugins.is_on("compactor") and not plugins.is_on("pii")
    assert plugins.hook_seconds == 0.5
    assert plugins.approval("redact-hosts") == Approval("redact-hosts", "1.2", ("read_results", "edit_results"))
    assert plugins.approval("other") is None
    assert plugins.tables == {"redact-hosts": {"suffixes": ["corp.example"], "nested": {"most": 3}}}
    assert plugins.intent == IntentKeys(mode="infer")
    assert settings.policy.rules[0].modes == ("keyword",)
    assert not any("plugins" in warning for warning in settings.warnings if "default_policy" not in warning)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            "plugins.order = ['pii', 'intent', 'pii']",
            'plugins.order names "pii" more than once; keep one of them',
            id="a plugin that is named twice",
        ),
        pytest.param("plugins.order = 'pii'", 'plugins.order is "pii"; it must be a list of texts', id="no list"),
        pytest.param("plugins.order = [1]", "plugins.order[0] is 1; it must be text", id="a number for a name"),
        pytest.param(
            "plugins.hook_seconds = 0",
            "plugins.hook_seconds is 0; it must be a number of seconds, 0.001 or more",
            id="no time at all",
        ),
        pytest.param(
            "plugins.config.redact = 3", "plugins.config.redact is 3; it must be a table", id="a number for settings"
        ),
        pytest.param(
            "[plugins.config.intent]\nmod = 'infer'",
            "plugins.config.intent.mod is not a setting; did you mean plugins.config.intent.mode?",
            id="a misspelt key of a built-in plugin",
        ),
        pytest.param(
            "[plugins.config.schema_translator]\nx = 1",
            "plugins.config.schema_translator.x is not a setting; plugins.config.schema_translator may hold nothing",
            id="settings for a plugin without any",
        ),
        pytest.param(
            "[plugins.approved.redact]\nversion = '1.0'",
            "plugins.approved.redact.capabilities is missing; it must be one or a list of read_results",
            id="an approval for nothing in particular",
        ),
        pytest.param(
            "[plugins.approved.redact]\nversion = 1.0\ncapabilities = []",
            "plugins.approved.redact.version is 1.0; it must be text",
            id="a version that is a number",
        ),
        pytest.param(
            "[plugins.approved.redact]\nversion = '1'\ncapabilities = ['edit_result']",
            'plugins.approved.redact.capabilities[0] is "edit_result"; it must be one or a list of',
            id="a capability that there is not",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="empty"),
        pytest.param(" ", id="a space"),
        pytest.param("a b\nc", id="spaces and lines"),
        pytest.param("why?", id="a mark"),
        pytest.param("1st", id="a digit first"),
        pytest.param("-why", id="a dash first"),
        pytest.param("warum_nützlich", id="a letter beyond ASCII"),
        pytest.param("why\n", id="a line's end behind it"),
        pytest.param("w" * 65, id="one too long"),
    ],
)
def test_a_name_that_no_property_may_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, f"[plugins]\norder = ['intent']\n[plugins.config.intent]\nfield_name = {json.dumps(name)}\n")
    _, told = str(caught.value).split("plugins.config.intent.field_name is ")
    assert "; it must be " in told


@pytest.mark.parametrize("name", ["why", "_", "W", "a.b-c_9", "w" * 64])
def test_a_name_that_properties_have_is_taken(tmp_path: Path, name: str) -> None:
    text = f"[plugins]\norder = ['intent']\n[plugins.config.intent]\nfield_name = {json.dumps(name)}\n"
    assert read(tmp_path, text).plugins.intent.field_name == name


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            "plugins.order = ['keyword_compactor']\n[plugins.config.keyword_compacter]",
            "plugins.config.keyword_compacter is not used, since plugins.order does not name keyword_compacter; "
            "did you mean keyword_compactor?",
            id="a misspelt name",
        ),
        pytest.param(
            "[plugins.config.intent]",
            "plugins.config.intent is not used, since plugins.order does not name intent",
            id="a plugin that is not on",
        ),
        pytest.param(
            "[plugins.config.intnt]",
            "plugins.config.intnt is not used, since plugins.order does not name intnt; did you mean intent?",
            id="a misspelt name of one that is not on",
        ),
        pytest.param(
            "plugins.order = ['compactor']",
            "plugins.order: compactor has no tool_policies in plugins.config.compactor, so it makes nothing smaller",
            id="a compactor without rules",
        ),
    ],
)
def test_what_does_nothing_is_warned_of(tmp_path: Path, text: str, told: str) -> None:
    assert told in read(tmp_path, text).warnings
