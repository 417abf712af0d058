"""What a provider may be asked to do by itself is off until the settings say so, and what cannot be meant is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coldpress.config import Settings, load
from coldpress.engine.native import Native
from coldpress.model.errors import ConfigError

PAGE = Path(__file__).parents[2] / "docs/howto/native.md"


def loaded(directory: Path, text: str) -> Settings:
    file = directory / "coldpress.toml"
    file.write_text(text, "utf-8")
    return load(file, environ={"HOME": "/home/somebody"}, directory=directory)


def native(settings: Settings, name: str = "anthropic") -> Native:
    found = settings.provider(name)
    assert found is not None
    return found.native


def test_the_how_to_page_loads_as_it_is(tmp_path: Path) -> None:
    pieces = re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(pieces) >= 3
    for piece in pieces:
        assert loaded(tmp_path, piece).warnings == ()


def test_everything_is_off_by_default(tmp_path: Path) -> None:
    for provider in loaded(tmp_path, "").providers:
        assert provider.native == Native()
        assert provider.native.wished == ()
        assert not provider.native.diagnostics


def test_every_key_arrives(tmp_path: Path) -> None:
    text = """
    [providers.anthropic.native]
    clear_tool_uses = true
    clear_thinking = true
    clear_thinking_keep = 2
    clear_trigger_tokens = 80000
    clear_keep = 5
    exclude_tools = ["Edit", "Write"]
    compact_threshold_tokens = 150000
    memory_tool = true
    compaction_tokens = 200000
    compact_on_demand_tokens = 180000
    diagnostics = true
    clients = ["Pi", "codex_exec"]
    """
    assert native(loaded(tmp_path, text)) == Native(
        clear_tool_uses=True,
        clear_thinking=True,
        clear_thinking_keep=2,
        clear_trigger_tokens=80_000,
        clear_keep=5,
        exclude_tools=("Edit", "Write"),
        compact_threshold_tokens=150_000,
        memory_tool=True,
        compaction_tokens=200_000,
        compact_on_demand_tokens=180_000,
        diagnostics=True,
        clients=frozenset({"pi", "codex_exec"}),
    )
    assert native(loaded(tmp_path, text), "openai") == Native()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("compact_threshold_tokens = 49999", "tokens, 50000 or more"),
        ("compact_on_demand_tokens = 49999", "tokens, 50000 or more"),
        ("clear_trigger_tokens = 0", "tokens, 1 or more"),
        ("clear_thinking_keep = 0", "turns, 1 or more"),
        ("clear_tools = true", "did you mean providers.anthropic.native.clear_tool_uses"),
        ('exclude_tools = "Edit"', "list"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)):
        loaded(tmp_path, f"[providers.anthropic.native]\n{line}")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("compact_threshold_tokens = 60000", "compact_threshold_tokens is set and"),
        ("compaction_tokens = 60000", "compaction_tokens is set and"),
        ("memory_tool = true", "memory_tool is set and"),
        ("compact_on_demand_tokens = 60000\nclear_tool_uses = true", "does nothing beside clear_tool_uses"),
        ("clear_thinking_keep = 2", "does nothing without clear_thinking"),
    ],
)
def test_what_does_nothing_is_told(tmp_path: Path, line: str, says: str) -> None:
    (warning,) = loaded(tmp_path, f"[providers.anthropic.native]\n{line}").warnings
    assert says in warning
