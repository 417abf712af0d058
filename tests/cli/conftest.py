"""A command line in a folder of its own, and a store with something in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from coldpress.cli.main import main
from coldpress.model.edits import Standing
from coldpress.model.identity import EditKey, original_sha
from coldpress.model.records import Line, Outcome, Receipt
from coldpress.model.usage import Usage
from coldpress.stores.sqlite import SqliteStore

Run = Callable[..., Result]

ORIGINAL = "first line\r\n\tzweite Zeile: äöü 日本語 🙂\nno line end"
KNOWN_MODEL = "claude-sonnet-4-5"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory and home, with nothing of the machine's own settings."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(home: Path) -> Run:
    """Run `coldpress` with some arguments."""

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    return call


def line(**changes: object) -> Line:
    facts: dict[str, object] = {
        "tool": "Bash",
        "kind": "shell",
        "mode": "deterministic",
        "reason": "pressed",
        "rule": "kind:shell",
        "original": original_sha(ORIGINAL),
        "bytes_before": 12_000,
        "bytes_after": 2_000,
    }
    return Line(**{**facts, **changes})  # type: ignore[arg-type]


def receipt(request_id: str, **changes: object) -> Receipt:
    facts: dict[str, object] = {
        "request_id": request_id,
        "received_at": 1_790_000_000.0,
        "provider": "anthropic",
        "format": "anthropic",
        "model": KNOWN_MODEL,
        "lineage": "a" * 24,
        "harness_session": None,
        "operation": "press",
        "messages": 3,
        "body_bytes": 50_000,
        "sent_bytes": 40_000,
    }
    return Receipt(**{**facts, **changes})  # type: ignore[arg-type]


@pytest.fixture
def store_path(home: Path) -> Path:
    """A store with one original and three requests: priced, without usage, and without an end."""
    path = home / "store.sqlite3"
    store = SqliteStore(path)
    standing = Standing(EditKey(b"c" * 32, 0, 0), "[short]", "deterministic", original_sha(ORIGINAL))
    first = receipt("req-priced", lines=(line(),), received_at=1_790_000_000.0)
    store.put([(original_sha(ORIGINAL), ORIGINAL)], [standing], first)
    store.put([], [], receipt("req-no-usage", received_at=1_790_000_001.0, reused=1, lineage="b" * 24))
    store.put([], [], receipt("req-running", received_at=1_790_000_002.0, model=None))
    usage = Usage(fresh=1_000, read=100_000, write_short=2_000, write_long=0, output=500)
    store.add_outcome(Outcome("req-priced", 200, "complete", 1.25, usage))
    store.add_outcome(Outcome("req-no-usage", 529, "upstream_failed", 0.5))
    store.flush()
    store.close()
    return path
