"""The blocks of docs/howto/plugins.md do what the page says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from coldpress.config.load import load
from coldpress.config.plugin_keys import HOOK_SECONDS
from coldpress.model.plugins import CAPABILITIES
from coldpress.plugins.access import LEAST_MOST_BYTES, MOST_GROWTH
from coldpress.plugins.hookspecs import HOOK_NAMES
from coldpress.plugins.member import MOST_FAULTS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "plugins.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_plugin_of_the_page_passes_the_test_of_the_page() -> None:
    plugin, test = blocks("python")
    names: dict[str, Any] = {"__name__": "shout"}
    for source in (plugin, test):
        exec(compile(source, "docs/howto/plugins.md", "exec", dont_inherit=True), names)
    assert names["edits"].results, "the page's assertions ran"


def test_the_settings_of_the_page_load(tmp_path: Path) -> None:
    order, approved, entry_point = blocks("toml")
    file = tmp_path / "coldpress.toml"
    file.write_text(order + approved)
    settings = load(file, environ={}, directory=tmp_path).plugins
    assert settings.order == ("intent", "redact-hosts")
    assert settings.approval("redact-hosts") is not None
    assert tomllib.loads(entry_point)["project"]["entry-points"]["coldpress.plugins"] == {"shout": "shout:plugin"}


def test_the_page_names_every_capability_and_hook_and_the_limits_that_hold() -> None:
    table = re.findall(r"^\| `([a-z_]+)` \|", PAGE, re.MULTILINE)
    assert tuple(table) == CAPABILITIES
    assert tuple(re.findall(r"^\| `([a-z_]+)\(", PAGE, re.MULTILINE)) == HOOK_NAMES
    assert f"`plugins.hook_seconds` ({HOOK_SECONDS:g})" in PAGE
    assert (MOST_FAULTS, MOST_GROWTH, LEAST_MOST_BYTES) == (3, 4, 64 * 1024)
    assert "After three faults in a row" in PAGE and "four times the bytes of the original, or 64 KiB" in PAGE
