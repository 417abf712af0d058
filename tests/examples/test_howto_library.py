"""The blocks of the how-to run as they stand, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coldpress.testing import Script, StrictUpstream

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "library.md"


def test_the_pages_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 7
    monkeypatch.chdir(tmp_path)
    with StrictUpstream(Script()) as upstream:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        exec(compile("\n\n".join(blocks), str(PAGE), "exec"), {})
        assert len(upstream.inference) == 2 and all(exchange.refusal is None for exchange in upstream.inference)
    assert (tmp_path / "agent.sqlite3").is_file()
