"""O: stopping, running for long, and changing settings never surprise anybody."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bodies import changed_literals
from cases.talk import assistant, log, messages, one_result, result, use, user
from cases.through import send
from click.testing import CliRunner
from support import pressing, settings

from coldpress.cli.main import main
from coldpress.drive.memory import MOST_LINEAGES
from coldpress.model.errors import ExpiredOriginal
from coldpress.stores.base import Bounds
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing import StrictUpstream

VARIABLES = ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "ANTHROPIC_API_BASE", "OPENAI_API_BASE", *VARIABLES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Serve:
    """A `coldpress serve` of its own process."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from coldpress.cli.main import main; main()", "serve", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.guard = threading.Timer(120, self.process.kill)
        self.guard.start()
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.communicate()[1]

    def until(self, part: str) -> str:
        assert self.process.stderr is not None
        told = ""
        for line in self.process.stderr:
            told += line
            if part in line:
                break
        return told

    def stop(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        _, told = self.process.communicate()
        return told


@contextmanager
def serve(*arguments: str) -> Iterator[Serve]:
    server = Serve(*arguments)
    try:
        yield server
    finally:
        server.guard.cancel()
        server.process.kill()
        server.process.communicate()


def test_o01_a_gateway_that_stops_says_how_clients_reach_their_provider_again(home: Path) -> None:
    with serve("--port", "0") as server:
        server.until("coldpress ledger list")
        told = server.stop()
    assert "stopped" in told
    for variable in VARIABLES:
        assert f"{variable}" in told
    assert "unset" in told


@pytest.mark.parametrize("variable", VARIABLES)
def test_o01_check_names_the_variable_that_points_at_a_gateway_which_is_gone(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    with serve("--port", "0") as server:
        server.until("coldpress ledger list")
        port = int(server.url.rpartition(":")[2])
        (home / "coldpress.toml").write_text(f"port = {port}")
        monkeypatch.setenv(variable, f"http://127.0.0.1:{port}/v1")
        told = CliRunner().invoke(main, ["check"])
        assert "does not answer" not in told.stdout
        assert variable not in told.stderr
        server.stop()
    told = CliRunner().invoke(main, ["check"])
    assert "does not answer" in told.stdout
    assert re.search(rf"{variable} points clients at .*:{port}.*unset {variable}", told.stderr)


def test_o03_a_store_under_many_requests_stays_within_its_bounds_and_the_driver_forgets(tmp_path: Path) -> None:
    bounds = Bounds(originals_bytes=20_000, standings_bytes=60_000, ledger_bytes=20_000)
    for store in (MemoryStore(bounds=bounds), SqliteStore(tmp_path / "s.sqlite3", bounds=bounds)):
        with pressing(settings(), store) as press:
            press.driver._reader._max_messages = 60
            bodies = [
                messages(user(f"go {n}"), assistant(use("t1")), user(result("t1", log(f"n{n}", 200))), user("x"))
                for n in range(80)
            ]
            shas = [line.original for sent in press.all(bodies) for line in sent.receipt.lines]
            store.flush()
            store.sweep(1e9)
            stored = store.totals().stored
            assert stored.originals.size_bytes <= bounds.originals_bytes
            assert stored.standings.size_bytes <= bounds.standings_bytes
            assert stored.ledger.size_bytes <= bounds.ledger_bytes
            assert 0 < stored.originals.rows < len(shas) == 80
            assert press.driver._reader._held <= 60
            assert len(press.driver._insight._memory._lineages) <= MOST_LINEAGES
            assert store.recall(shas[-1]) == log("n79", 200)
            with pytest.raises(ExpiredOriginal):
                store.recall(shas[0])
        store.close()


def test_o03_heads_that_are_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coldpress.drive.memory.MOST_LINEAGES", 5)
    with pressing() as press:
        press.all([messages(user(f"go {number}")) for number in range(20)])
        assert len(press.driver._insight._memory._lineages) == 5


@pytest.mark.parametrize("edit", ["changed", "removed", "new"])
def test_o05_settings_edited_on_disk_are_announced_and_take_effect_on_restart(home: Path, edit: str) -> None:
    file, body = home / "coldpress.toml", one_result(log(), command="make")
    if edit != "new":
        file.write_text("operation = 'off'\n")
    with StrictUpstream() as upstream, serve("--port", "0", "--provider-url", f"anthropic={upstream.url}") as server:
        server.until("coldpress ledger list")
        if edit == "removed":
            file.unlink()
        else:
            file.write_text("operation = 'observe'\n")
        told = server.until("coldpress.toml")
        assert "goes on with the settings it started with" in told
        assert "stop it and start it again" in told
        assert send(server.url, "POST", "/v1/messages", body).status == 200
        changed = changed_literals(body, upstream.inference[-1].request.body)
        assert len(changed) == (1 if edit == "new" else 0)
