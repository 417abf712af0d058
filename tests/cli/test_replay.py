"""`coldpress replay`: what it tells of real recordings, what it skips and never touches, and what stops it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from coldpress.lab.results import Measured

from .conftest import Run
from .recorded import session, write_sessions

DEMO = Path(__file__).resolve().parents[2] / "src" / "coldpress" / "demo" / "recording.json"
SHORT = ("--arm", "control", "--arm", "coldpress")


def told(run: Run, *arguments: str, code: int = 0) -> Any:
    found = run("replay", *arguments, "--json", "--jobs", "1")
    assert found.exit_code == code, found.output
    return json.loads(found.stdout)


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder, with its time and content."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_the_json_says_all_of_it(run: Run, home: Path) -> None:
    write_sessions(home / "own", 3)
    (home / "own" / "notes.jsonl").write_text('{"a": 1}\n')
    found = told(run, "own")
    assert (found["sessions"], found["requests"]) == (3, 39)
    assert [Path(one["path"]).name for one in found["skipped"]] == ["notes.jsonl"]
    assert "known kind" in found["skipped"][0]["why"]
    assert found["paid_usd"] > 0 and found["paid_sessions"] == 3
    assert abs(found["calibration_error_pct"]) < 40
    arms = found["tariffs"]["recorded"]["arms"]
    assert list(arms) == [
        "control",
        "first-sight",
        "coldpress",
        "coldpress-source-20",
        "mask-10",
        "oracle",
        "oracle-source-20",
    ]
    assert set(arms["coldpress"]) >= {
        "bill_usd", "saving_pct", "interval_pct", "evidence_loss_pct", "evidence_loss_interval_pct", "regret_pct",
        "cheaper_in", "peak_saving_pct",
    }  # fmt: skip
    low, high = arms["coldpress"]["interval_pct"]
    assert 0 < low <= arms["coldpress"]["saving_pct"] <= high < 100
    assert arms["coldpress"]["cheaper_in"] == 3
    assert arms["control"]["saving_pct"] == 0
    assert all(arm["regret_pct"] >= 0 for arm in arms.values())
    assert arms["oracle"]["regret_pct"] == 0
    assert arms["coldpress"]["evidence_loss_pct"] == 0, "reads stay exact"
    assert set(found["suggestion"]) >= {"arm", "settings", "why", "rule", "sessions"}
    assert "open-loop" in found["conditions"]["simulated"]


def test_masking_loses_the_text_of_an_edit_and_says_so(run: Run, home: Path) -> None:
    write_sessions(home / "own", 2, turns=16)
    arms = told(run, "own", "--arm", "coldpress", "--arm", "mask-10")["tariffs"]["recorded"]["arms"]
    assert arms["mask-10"]["edits_lost"] == 2 and arms["mask-10"]["evidence_loss_pct"] == 100
    assert arms["coldpress"]["edits_lost"] == 0


def test_the_text_reads_in_one_screen(run: Run, home: Path) -> None:
    write_sessions(home / "own", 2)
    (home / "own" / "broken.json").write_text("{")
    found = run("replay", "own", "--jobs", "1")
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[0] == "2 recordings, 26 requests."
    assert lines[1] == "1 file skipped:" and "broken.json: " in lines[2]
    assert any(line.startswith("Paid: ") for line in lines)
    assert any("The simulated control comes to" in line for line in lines)
    head = next(place for place, line in enumerate(lines) if line.startswith("arm "))
    assert [line.split()[0] for line in lines[head + 1 : head + 8]] == [
        "control", "first-sight", "coldpress", "coldpress-source-20", "mask-10", "oracle", "oracle-source-20",
    ]  # fmt: skip
    bill_ends_at = lines[head].index("bill USD") + len("bill USD")
    assert all(line[bill_ends_at - 1].isdigit() and line[bill_ends_at] == " " for line in lines[head + 1 : head + 8])
    assert "Simulated, open-loop, input alone" in found.stdout
    assert "leave the defaults" in found.stdout, "two recordings suggest nothing"
    assert "Nothing left this machine" in found.stdout
    assert len(lines) < 45


def test_usage_that_nobody_reported_is_unknown_and_not_zero(run: Run, home: Path) -> None:
    found = told(run, str(DEMO), *SHORT)
    assert found["sessions"] == 1
    assert found["paid_usd"] is None and found["calibration_error_pct"] is None and found["simulated_usd"] is None
    assert "Paid: unknown" in run("replay", str(DEMO), *SHORT).stdout


def test_files_of_which_none_is_a_recording(run: Run, home: Path) -> None:
    (home / "other.jsonl").write_text('{"a": 1}\n')
    found = run("replay", "other.jsonl", "--jobs", "1")
    assert found.exit_code == 2
    assert "other.jsonl: not a recorded run" in found.stdout and "no recordings in other.jsonl" in found.stderr


def test_a_model_without_a_price_is_not_free(run: Run, home: Path) -> None:
    write_sessions(home / "own", 1, model="no-such-model")
    found = told(run, "own", *SHORT, "--prices", "claude-opus-4-6")
    assert found["paid_usd"] is None
    assert found["tariffs"]["claude-opus-4-6"]["arms"]["control"]["bill_usd"] > 0


def test_the_default_is_where_claude_code_keeps_its_sessions(run: Run, home: Path) -> None:
    write_sessions(home / ".claude" / "projects", 2)
    assert told(run, *SHORT)["sessions"] == 2


def test_nothing_is_written_and_nothing_touched(run: Run, home: Path) -> None:
    for path in write_sessions(home / ".claude" / "projects", 2):
        path.chmod(0o444)
    before = everything(home)
    told(run, *SHORT)
    assert everything(home) == before


def test_kept_results_are_not_worked_out_again(run: Run, home: Path) -> None:
    pytest.importorskip("pyarrow")
    write_sessions(home / "own", 2)
    first = told(run, "own", *SHORT, "--keep", "kept")
    kept = everything(home / "kept")
    assert any(name.endswith(".parquet") for name in kept)
    assert told(run, "own", *SHORT, "--keep", "kept") == first == told(run, "own", *SHORT)
    assert {name: kept[name] for name in kept if name.endswith(".parquet")} == {
        name: found for name, found in everything(home / "kept").items() if name.endswith(".parquet")
    }


@pytest.mark.parametrize("end", ['{"type":"assistant","mess', '{"type":"user","x":"\u00e4'], ids=["line", "character"])
def test_a_session_that_is_being_written_to_is_read_as_far_as_it_goes(run: Run, home: Path, end: str) -> None:
    path = home / "now.jsonl"
    whole = session(1).encode()
    path.write_bytes(whole + end.encode()[:-1])
    assert told(run, "now.jsonl", *SHORT)["requests"] == 13


@pytest.mark.parametrize("others", [0, 3], ids=["alone", "among others"])
def test_a_session_may_grow_while_it_is_read(run: Run, home: Path, others: int) -> None:
    write_sessions(home / "own", others)
    lines = session(1, turns=20).splitlines(keepends=True)
    path = home / "own" / "now.jsonl"
    path.write_text("".join(lines[:10]))
    stop = threading.Event()

    def grow() -> None:
        with path.open("a") as file:
            for line in lines[10:]:
                for part in (line[: len(line) // 2], line[len(line) // 2 :]):
                    file.write(part)
                    file.flush()
                    if stop.wait(0.05):
                        return

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        found = json.loads(run("replay", "own", *SHORT, "--json", "--jobs", "2").stdout)
    finally:
        stop.set()
        writer.join()
    assert found["skipped"] == [] and found["sessions"] == others + 1
    assert 5 <= found["requests"] - 13 * others <= 21


def test_ctrl_c_tells_what_is_there(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from coldpress.lab import cells

    write_sessions(home / "own", 4)
    measure, asked = cells.measure, list[Path]()

    def stopped(path: Path, *arguments: Any, **more: Any) -> Measured:
        asked.append(path)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return measure(path, *arguments, **more)

    monkeypatch.setattr(cells, "measure", stopped)
    found = told(run, "own", *SHORT, code=130)
    assert found["interrupted"] is True and found["sessions"] == 2
    assert (found["files_done"], found["files"]) == (2, 4)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_at_a_terminal(home: Path, jobs: str) -> None:
    """A real process with a terminal for its stderr, and the signal for all of its group, as a terminal sends it."""
    write_sessions(home / "own", 200, turns=20)
    ours, theirs = pty.openpty()
    code = "from coldpress.cli.main import main; main()"
    command = [sys.executable, "-c", code, "replay", "own", "--json", "--jobs", jobs, *SHORT]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, start_new_session=True, cwd=home)
    os.close(theirs)
    shown = b""
    while b"/200" not in shown or b"  0/200" in shown.rpartition(b"\r")[2]:
        shown += os.read(ours, 4096)
    os.killpg(process.pid, signal.SIGINT)
    drain = threading.Thread(target=_drain, args=(ours,), daemon=True)
    drain.start()
    out, _ = process.communicate(timeout=30)
    found = json.loads(out)
    assert process.returncode == 130
    assert found["interrupted"] is True and 0 < found["sessions"] < 200


def _drain(terminal: int) -> None:
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        return  # the other end is closed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param((), "no PATH was given", id="no sessions of Claude Code"),
        pytest.param(("nowhere",), "there is no file or folder nowhere", id="no such path"),
        pytest.param(("empty",), "no recordings in empty", id="empty folder"),
        pytest.param(("own", "--arm", "coldpres"), "did you mean coldpress?", id="arm"),
        pytest.param(("own", "--arm", "mine.toml"), "there is no file mine.toml", id="arm file"),
        pytest.param(("own", "--prices", "claude-opus-5-6"), "did you mean claude-opus-5-5?", id="tariff"),
        pytest.param(("own", "--since", "1"), "give more days", id="too old"),
        pytest.param(("own", "--keep", "own/-app/session-0.jsonl"), "cannot be made", id="no folder"),
        pytest.param(("own", "--report", "no/report.html"), "there is no folder no", id="no place for the report"),
        pytest.param(("own", "--report", "there.html"), "is there already", id="report is there"),
    ],
)
def test_what_is_wrong_is_said_and_where(run: Run, home: Path, arguments: tuple[str, ...], said: str) -> None:
    [path] = write_sessions(home / "own", 1)
    os.utime(path, (0, 0))
    (home / "empty").mkdir()
    (home / "there.html").write_text("")
    found = run("replay", *arguments)
    assert found.exit_code == 2
    assert said in " ".join(found.stderr.split())


def test_the_newest_the_largest_and_the_recent(run: Run, home: Path) -> None:
    now = time.time()
    for days, path in enumerate(write_sessions(home / "own", 3)):
        os.utime(path, (now - days * 86_400 - 60, now - days * 86_400 - 60))
    (home / "own" / "-app" / "session-2.jsonl").write_text(session(2, turns=18))
    os.utime(home / "own" / "-app" / "session-2.jsonl", (now - 200_000, now - 200_000))
    short, long = 13, 19
    assert told(run, "own", *SHORT)["requests"] == 2 * short + long
    assert told(run, "own", *SHORT, "--limit", "2")["requests"] == 2 * short
    assert told(run, "own", *SHORT, "--limit", "1", "--largest")["requests"] == long
    assert told(run, "own", *SHORT, "--since", "0.5")["sessions"] == 1


def test_a_library_that_is_missing_is_named_with_what_brings_it(home: Path) -> None:
    write_sessions(home / "own", 1)
    call = "from coldpress.cli.main import main; main(['replay', 'own', '--keep', 'kept'])"
    code = f"import sys; sys.modules['pyarrow'] = None; {call}"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=home, check=False)
    assert found.returncode == 2
    assert "pip install 'coldpress[lab]'" in " ".join(found.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["replay", "--help"], ["lab", "--help"], ["lab", "tune", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom coldpress.cli.main import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        "heavy = {'numpy', 'scipy', 'joblib', 'pyarrow', 'dask', 'ray', 'matplotlib', 'jinja2', 'aiohttp'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "loaded: []"
