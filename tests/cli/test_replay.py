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
    assert any(line.startswith("coldpress as it comes would have saved ") for line in lines)
    assert any(line.startswith("The least over the same results, by an oracle: ") for line in lines)
    assert "only observed until press_subscription = true" in found.stdout
    assert len(lines) < 55


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


def test_a_table_that_rests_on_fewer_recordings_says_so(run: Run, home: Path) -> None:
    """What has no price at `recorded` has no bill there, and the sums beside those of another tariff are of less."""
    write_sessions(home / "own", 3)
    (home / "own" / "-app" / "session-2.jsonl").write_text(session(2, model="no-such-model"))
    prices = ("--prices", "recorded", "--prices", "claude-opus-4-6")
    found = told(run, "own", *SHORT, *prices)["tariffs"]
    assert "2 of 3 recordings" in found["recorded"]["title"]
    assert (found["recorded"]["sessions"], found["recorded"]["of_sessions"]) == (2, 3)
    assert "recordings" not in found["claude-opus-4-6"]["title"] and found["claude-opus-4-6"]["sessions"] == 3
    text = run("replay", "own", *SHORT, *prices, "--jobs", "1").stdout
    assert "the day that it ended), 2 of 3 recordings:\n" in text
    assert "At the prices and cache lifetimes of claude-opus-4-6:\n" in text


def test_what_the_arms_were_not_measured_under_is_said(run: Run, home: Path) -> None:
    write_sessions(home / "own", 1)
    found = told(run, "own", *SHORT, "--arm", "coldpress-budget")
    assert "measured without one" in found["conditions"]["budget"]
    text = run("replay", "own", *SHORT, "--arm", "coldpress-budget", "--arm", "oracle", "--jobs", "1").stdout
    assert "coldpress-budget is the defaults with it" in " ".join(text.split())
    [line] = [line for line in text.splitlines() if line.startswith("coldpress-budget ")]
    assert line.split()[-2] == "-", "nobody knows the least of an arm with a budget"


@pytest.mark.parametrize("there", ["folder with a file", "file"])
def test_a_report_never_overwrites_the_files_beside_it(run: Run, home: Path, there: str) -> None:
    pytest.importorskip("jinja2")
    write_sessions(home / "own", 1)
    beside = home / "r-files"
    if there == "file":
        beside.write_text("mine")
    else:
        beside.mkdir()
        (beside / "figures.csv").write_text("mine")
    before = everything(home)
    found = run("replay", "own", *SHORT, "--report", "r.html", "--jobs", "1")
    assert found.exit_code == 2 and "r-files, for pictures and figures" in " ".join(found.stderr.split())
    assert everything(home) == before
    if there == "folder with a file":
        assert run("replay", "own", *SHORT, "--report", "r.html", "--force", "--jobs", "1").exit_code == 0
        assert (beside / "figures.csv").read_text() != "mine"


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
    # The bills of the last recording shown as done may still be on their way; those of the one before are there.
    while b"/200" not in shown or any(few in shown.rpartition(b"\r")[2] for few in (b"  0/200", b"  1/200")):
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


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_recording_that_is_cut_inside_a_character_is_told_of_with_the_others(run: Run, home: Path, jobs: str) -> None:
    write_sessions(home / "own", 2)
    cut = session(7).replace("Mend handler 7.", r"Mend handler 7 \ud83d.")
    (home / "own" / "cut.jsonl").write_text(cut)
    found = run("replay", "own", "--json", "--jobs", jobs, *SHORT)
    assert found.exit_code == 0, found.output
    told_of = json.loads(found.stdout)
    assert (told_of["sessions"], told_of["skipped"]) == (3, [])


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_recording_that_a_mistake_of_ours_hits_costs_itself_alone(run: Run, home: Path, jobs: str) -> None:
    write_sessions(home / "own", 2)
    # More tokens than a float can hold: they cannot be priced.
    hit = json.loads(session(7).splitlines()[1])
    hit["message"]["usage"]["input_tokens"] = 10**400
    lines = session(7).splitlines()
    (home / "own" / "hit.jsonl").write_text("\n".join([lines[0], json.dumps(hit), *lines[2:]]))
    found = run("replay", "own", "--json", "--jobs", jobs, *SHORT)
    assert found.exit_code == 0, found.output
    told_of = json.loads(found.stdout)
    assert told_of["sessions"] == 2
    (skipped,) = told_of["skipped"]
    assert skipped["why"] == "could not be measured (OverflowError); a mistake of coldpress, please report it"
