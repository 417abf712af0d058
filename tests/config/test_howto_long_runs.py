"""The blocks of docs/howto/long-runs.md do what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coldpress.config import Settings
from coldpress.config.load import load
from coldpress.engine.budget import Budget

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "long-runs.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def pages_settings(tmp_path: Path) -> list[Settings]:
    found = list[Settings]()
    for number, block in enumerate(blocks("toml")):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        found.append(load(path, environ={}, directory=tmp_path))
    return found


def budget(settings: Settings, *, model: str = "m", harness: str | None = None, task: str | None = None) -> Budget:
    found = settings.budgets.budget(model=model, harness=harness, task=task, nominal_tokens=200_000)
    assert found is not None
    return found


def test_the_settings_do_what_the_page_says(pages_settings: list[Settings]) -> None:
    window, rows, log, off = pages_settings
    assert all(settings.warnings == () for settings in pages_settings)
    assert budget(window).trigger_tokens == 78_000
    assert budget(rows).stages == ("mask", "summary")
    small = budget(rows, model="claude-haiku-4-5")
    assert (small.window_tokens, small.trigger, small.target, small.keep_turns) == (80_000, 0.6, 0.4, 4)
    assert budget(rows, task="review").stages == ("mask",)
    assert budget(rows, harness="my-batch-agent").stages == ()
    assert log.require_raw_log and log.store.raw_log
    assert budget(off).stages == ()


def test_the_session_is_compacted_and_gives_its_first_message_back(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = blocks("python")
    exec(compile(block, "long-runs.md", "exec"), {})
    told = capsys.readouterr().out.splitlines()
    applied = [line.split() for line in told if " summarised " in line]
    assert applied and all(int(after) < int(before) for _, _, before, after in applied)
    assert any(" masked " in line for line in told)
