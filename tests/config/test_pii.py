"""`[plugins.config.pii]`: what arrives, what is refused, when a failure refuses requests, and what people are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldpress.cli import check_warnings
from coldpress.cli.check_warnings import plugin_warnings
from coldpress.config.load import load
from coldpress.config.pii_keys import PiiKeys, PiiRuleKeys
from coldpress.config.settings import Settings
from coldpress.model.errors import ConfigError

ON = '[plugins]\norder = ["pii"]\n'


def read(folder: Path, text: str) -> Settings:
    path = folder / "coldpress.toml"
    path.write_text(text, encoding="utf-8")
    return load(path, environ={"HOME": "/home/someone"}, directory=folder)


def test_it_is_off_until_the_order_names_it(tmp_path: Path) -> None:
    assert read(tmp_path, "").plugins.pii is None
    assert read(tmp_path, ON).plugins.pii == PiiKeys()


def test_everything_arrives(tmp_path: Path) -> None:
    told = """
[plugins.config.pii]
action = "report"
kinds = ["email", "ip"]
allow = ["*@corp.com"]
allow_examples = false
on_failure = "closed"
seconds = 0.5
[[plugins.config.pii.tools]]
match = "kind:web"
action = "off"
"""
    assert read(tmp_path, ON + told).plugins.pii == PiiKeys(
        action="report",
        tools=(PiiRuleKeys(match="kind:web", action="off"),),
        kinds=("email", "ip"),
        allow=("*@corp.com",),
        allow_examples=False,
        on_failure="closed",
        seconds=0.5,
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('action = "mask"', "plugins.config.pii.action"),
        ('kinds = ["name"]', "kinds"),
        ("kinds = []", "nothing is looked for"),
        ("seconds = 0", "seconds"),
        ('tools = [{match = "kind:wbe", action = "off"}]', "fits no kind of tool"),
        ('tools = [{match = "a", action = "open"}]', "action"),
        ('mode = "x"', "mode"),
    ],
)
def test_what_does_not_hold_is_refused(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem.replace(".", r"\.")):
        read(tmp_path, f"{ON}[plugins.config.pii]\n{line}\n")


@pytest.mark.parametrize(
    ("keys", "closed"),
    [
        pytest.param(PiiKeys(), False, id="redaction alone"),
        pytest.param(PiiKeys(action="report"), False, id="a report alone"),
        pytest.param(PiiKeys(action="block"), True, id="what must not leave"),
        pytest.param(PiiKeys(tools=(PiiRuleKeys(match="a", action="block"),)), True, id="what must not, of one tool"),
        pytest.param(PiiKeys(action="block", on_failure="open"), False, id="open, as it is said"),
        pytest.param(PiiKeys(on_failure="closed"), True, id="closed, as it is said"),
    ],
)
def test_a_failure_refuses_where_something_must_not_leave(keys: PiiKeys, closed: bool) -> None:
    assert keys.fails_closed is closed


@pytest.mark.parametrize(("action", "told"), [("redact", "our own patterns alone"), ("block", "is refused")])
def test_what_is_missing_is_told_at_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, told: str
) -> None:
    settings = read(tmp_path, f'{ON}[plugins.config.pii]\naction = "{action}"\n')
    assert plugin_warnings(settings) == ()
    monkeypatch.setattr(check_warnings, "missing", lambda kinds: ("kingfisher-secret-scanner",))
    (warning,) = plugin_warnings(settings)
    assert told in warning and "kingfisher-secret-scanner" in warning and "coldpress[pii]" in warning


def test_providers_that_are_not_looked_at_are_told(tmp_path: Path) -> None:
    settings = read(tmp_path, f'{ON}[providers.openai]\noperation = "off"\n')
    (warning,) = plugin_warnings(settings)
    assert "does not see the requests of openai" in warning
