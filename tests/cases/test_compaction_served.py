"""Compaction from a settings file to the ledger: `coldpress serve` as a process, and the commands that tell of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases.agents import Agent, Clock, Scene
from cases.compacting import MODEL, STEPS, WINDOW, accepted, pressure, reasons, short, summarising, writes
from cases.test_operations import serve
from cases.through import Gate
from click.testing import CliRunner

from coldpress.cli.main import main
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing import Rules, StrictUpstream

SETTINGS = """
port = 0
expected_applications = 400

[providers.anthropic]
url = "{upstream}"

[budget]
window_tokens = 200_000
keep_turns = 4

[[budgets]]
task = "repair"
window_tokens = {window}

[summariser]
kind = "openai"
url = "{summaries}"
model = "{model}"
api_key_env = "SUMMARY_KEY"
attempts = 1
max_output_tokens = 2_000

[summariser.pricing."{model}"]
input_usd_per_mtok = 0.02
output_usd_per_mtok = 0.1
cache_read_usd_per_mtok = 0.002

[notes]
project = "webshop"
"""
NOTE = "The staging database is called orders_blue."
KEY = "sk-nobody-may-see-this"


@pytest.fixture(autouse=True)
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory and a home without settings of anybody's."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SUMMARY_KEY", KEY)
    monkeypatch.chdir(tmp_path)


def told(*arguments: str) -> str:
    """What a command prints."""
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code in (0, 1), done.output
    return done.stdout


def test_what_the_file_says_is_done_and_every_command_tells_of_it(tmp_path: Path) -> None:
    path, file = str(tmp_path / "store.sqlite3"), tmp_path / "coldpress.toml"
    with (
        summarising(rules=Rules(require_key=True)) as model,
        StrictUpstream(writes(), rules=Rules(window_tokens=WINDOW)) as upstream,
    ):
        file.write_text(
            SETTINGS.format(upstream=upstream.url, summaries=model.upstream.url, window=WINDOW, model=MODEL)
        )
        told("notes", "add", NOTE, "--project", "webshop", "--store", path)
        with serve("--config", str(file), "--store", path) as server, SqliteStore(Path(path)) as store:
            one = Agent(Scene(Gate(server.url, store), upstream, Clock()), output=short)
            one.headers = {"x-coldpress-task": "repair"}
            one.go(STEPS)
            stopped = server.stop()
        question = model.questions[0].request
    accepted(one.turns)
    assert "Traceback" not in stopped
    assert KEY not in stopped
    assert question.header("authorization") == f"Bearer {KEY}"
    used = [turn for turn in one.turns if reasons(turn) == "summarised"]
    assert len(used) >= 2
    assert {pressure(turn).window_tokens for turn in used} == {WINDOW}
    for turn in one.turns:
        assert turn.sent.count(NOTE.encode()) == 1, "shown once, from the first request on"
        assert [name for name, _ in turn.exchange.request.headers if name.startswith("x-coldpress")] == []

    listed = json.loads(told("ledger", "compactions", "--json", "--store", path))
    events = listed["compactions"] if isinstance(listed, dict) else listed
    made = [event for event in events if event["pressure"]["reason"] == "summarised"]
    assert [event["pressure"]["generation"] for event in made] == [len(used) - at for at in range(len(used))]
    assert {event["pressure"]["summariser"] for event in made} == {MODEL}
    last = used[-1].entry.receipt.request_id
    shown = told("ledger", "show", last, "--summary", "--store", path)
    assert "reports/part_0.txt" in shown
    assert NOTE in shown
    assert "summary-" in told("notes", "list", "--lineage", used[-1].entry.receipt.lineage, "--store", path)
    assert NOTE in told("notes", "show", "user.md", "--project", "webshop", "--store", path)
    above = sum(1 for turn in one.turns if reasons(turn))
    assert f"{STEPS} in 7 days, {above} of them above the trigger" in told("doctor", "--store", path)
