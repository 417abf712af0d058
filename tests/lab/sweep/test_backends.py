"""A sweep on processes, on a real Dask cluster and on a real Ray gives the same rows, and outlives its workers."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sweep_works

from coldpress.lab import cells
from coldpress.lab.arm_files import Arm, named_arms
from coldpress.lab.corpus import write_corpus
from coldpress.lab.results import Backend, Bill, Loss, Turn
from coldpress.lab.sweep import on_dask
from coldpress.lab.sweep.folder import read_about, read_bills, read_losses, read_turns
from coldpress.lab.sweep.plan import Plan, recordings_in
from coldpress.lab.sweep.run import DIED, sweep
from coldpress.model.errors import SweepError

TARIFFS = ("recorded", "gpt-6.1-sol")
BACKENDS: tuple[Backend, ...] = ("processes", "dask", "ray")


def arms() -> tuple[Arm, ...]:
    named = named_arms()
    return (named["mask-10"], named["control"])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    paths = write_corpus(folder, recordings=5, requests=8, seed=3, tasks=2)
    (folder / "deadly.json").write_text(paths[0].read_text() + " ")
    (folder / "broken.json").write_text('{"format": "coldpress recording 1"')
    return folder


@pytest.fixture(scope="module")
def expected(corpus: Path) -> dict[str, list[object]]:
    """The rows of all good files, measured one after the other in this process."""
    found = [
        cells.measure(path, arms(), TARIFFS, with_least=True, with_turns=True)
        for path in recordings_in([corpus])
        if path.stem not in ("deadly", "broken")
    ]
    found.sort(key=lambda measured: measured.bills[0].content)
    return {
        "bills": [row for measured in found for row in measured.bills],
        "turns": [row for measured in found for row in measured.turns],
        "losses": [row for measured in found for row in measured.losses],
    }


def rows(folder: Path) -> dict[str, list[Bill] | list[Turn] | list[Loss]]:
    return {
        "bills": list(read_bills(folder)),
        "turns": list(read_turns(folder)),
        "losses": list(read_losses(folder)),
    }


@pytest.mark.parametrize("on", BACKENDS)
def test_every_backend_gives_the_rows_of_one_process_and_outlives_a_worker(
    on: Backend, corpus: Path, expected: dict[str, list[object]], tmp_path: Path
) -> None:
    told = list[tuple[int, int]]()
    plan = Plan(recordings_in([corpus]), arms(), TARIFFS)
    found = list(
        sweep(plan, tmp_path, on=on, jobs=2, work=sweep_works.deadly, progress=lambda done, of: told.append((done, of)))
    )
    assert rows(tmp_path) == expected
    assert [(one.bill_usd, one.kind) for one in rows(tmp_path)["bills"]] != []
    assert told == [(done, 7) for done in range(1, 8)]
    skipped = {Path(one.skipped.path).stem: one.skipped.why for one in found if one.skipped}
    assert skipped["deadly"] == DIED
    assert sorted(skipped) == ["broken", "deadly"]
    about = read_about(tmp_path)
    assert (about.planned, about.measured) == (7, 5)
    assert {Path(one.path).stem: one.why for one in about.skipped} == skipped
    assert sorted(bill for one in found for bill in map(repr, one.bills)) == sorted(map(repr, expected["bills"]))


def test_workers_of_one_machine_use_one_thread_each(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("a")
    plan = Plan((tmp_path / "a.json",), arms(), TARIFFS)
    (found,) = sweep(plan, None, jobs=2, work=sweep_works.threads)
    assert found.skipped is not None
    assert found.skipped.why == "1 1 1"


def test_one_job_still_is_a_process_of_its_own(tmp_path: Path) -> None:
    for name in ("a", "deadly"):
        (tmp_path / f"{name}.json").write_text(name)
    plan = Plan(recordings_in([tmp_path]), arms(), TARIFFS)
    found = list(sweep(plan, None, jobs=1, work=sweep_works.deadly))
    assert sorted(one.skipped.why for one in found if one.skipped)[1:] == [DIED]


def test_one_job_is_one_recording_at_one_time(tmp_path: Path) -> None:
    for name in "abcdef":
        (tmp_path / name).write_text(name)
    found = list(sweep(Plan(recordings_in([tmp_path]), arms(), TARIFFS), None, jobs=1, work=sweep_works.lonely))
    assert [one.skipped for one in found] == [None] * 6


STOPPED = """
import sys, time
from pathlib import Path
import sweep_works
from coldpress.lab.arm_files import named_arms
from coldpress.lab.sweep.plan import Plan, recordings_in
from coldpress.lab.sweep.run import sweep

plan, done = Plan(recordings_in([Path(sys.argv[1])]), (named_arms()["control"],), ("recorded",)), 0
try:
    for measured in sweep(plan, Path(sys.argv[2]), jobs=2, work=sweep_works.slow):
        done += 1
        print("one", flush=True)
except KeyboardInterrupt:
    print("stopped behind", done, flush=True)
"""
"""A sweep that Ctrl-C ends, and that tells of what it has then."""


def test_ctrl_c_pressed_three_times_at_a_terminal_ends_it_once(tmp_path: Path) -> None:
    """A terminal sends SIGINT to all of the group: to the sweep, and to what it starts to end its workers."""
    (tmp_path / "own").mkdir()
    for number in range(400):
        (tmp_path / "own" / f"{number}.json").write_text(str(number))
    ours, theirs = pty.openpty()
    found_here = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", STOPPED, str(tmp_path / "own"), str(tmp_path / "kept")]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, start_new_session=True, env=found_here)
    os.close(theirs)
    shown = b""
    try:
        while b"one" not in shown:
            shown += os.read(ours, 4096)
        time.sleep(0.05)  # by then it waits for the next
        for _ in range(3):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.02)  # as fast as a finger is
        pressed_at = time.monotonic()
        shown += _rest(ours, until=pressed_at + 20)
        took_seconds = time.monotonic() - pressed_at
        assert process.wait(timeout=1) == 0
    finally:
        process.kill()
        os.close(ours)
    assert re.fullmatch(rb"(one(\r\n)?)+stopped behind \d+\r\n", shown), shown  # and no traceback of any thread
    assert took_seconds < 5
    assert 0 < read_about(tmp_path / "kept").measured < 400


def _rest(terminal: int, *, until: float) -> bytes:
    """What is shown until the other end is closed."""
    shown = b""
    while select.select([terminal], [], [], max(0.0, until - time.monotonic()))[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # on Linux, once nobody holds the other end
            return shown
        if not part:
            return shown
        shown += part
    raise AssertionError(f"it goes on; it has shown {shown!r}")


def test_a_dask_cluster_that_was_there_goes_on(tmp_path: Path) -> None:
    from distributed import Client, LocalCluster

    paths = [tmp_path / f"{name}.json" for name in "abc"]
    for path in paths:
        path.write_text(path.name)
    plan = Plan(tuple(paths), arms(), TARIFFS)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        given = list(sweep(plan, None, on="dask", address=cluster.scheduler_address, work=sweep_works.counted))
        with Client(cluster) as client:
            assert len(client.nthreads()) == 1
    here = [sweep_works.counted(path, plan.measured_arms, TARIFFS, with_least=True, with_turns=True) for path in paths]
    assert sorted(map(repr, given)) == sorted(map(repr, here))


def test_a_ray_that_was_there_goes_on(tmp_path: Path) -> None:
    import ray

    (tmp_path / "a.json").write_text("a")
    plan = Plan((tmp_path / "a.json",), arms(), TARIFFS)
    found_here = {"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}}
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, runtime_env=found_here)
    try:
        (found,) = sweep(plan, None, on="ray", work=sweep_works.counted)
        assert ray.is_initialized()
    finally:
        ray.shutdown()
    assert len(found.bills) == 4


def test_a_dask_cluster_without_workers_is_told_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr(on_dask, "_LOOK_SECONDS", 0.2)
    monkeypatch.setattr(on_dask, "_PATIENCE_SECONDS", 0.5)
    (tmp_path / "waits.json").write_text("a")
    plan = Plan((tmp_path / "waits.json",), arms(), TARIFFS)
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        address = cluster.scheduler_address

        def leave(*_: int) -> None:
            cluster.scale(0)

        (tmp_path / "b.json").write_text("b")
        both = Plan((tmp_path / "waits.json", tmp_path / "b.json"), arms(), TARIFFS)
        with pytest.raises(SweepError, match="no workers any more"):
            list(sweep(both, None, on="dask", address=address, work=sweep_works.waiting, progress=leave))
        (tmp_path / "go").touch()
        with pytest.raises(SweepError, match="has no workers; start some"):
            list(sweep(plan, None, on="dask", address=address, work=sweep_works.counted))


def test_an_address_where_nobody_answers_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_dask, "_KNOCK_SECONDS", 0.5)
    (tmp_path / "a.json").write_text("a")
    plan = Plan((tmp_path / "a.json",), arms(), TARIFFS)
    with pytest.raises(SweepError, match=r"no Dask scheduler at tcp://127.0.0.1:9"):
        list(sweep(plan, None, on="dask", address="tcp://127.0.0.1:9", work=sweep_works.counted))
    with pytest.raises(SweepError, match=r"no Ray cluster at 127.0.0.1:9"):
        list(sweep(plan, None, on="ray", address="127.0.0.1:9", work=sweep_works.counted))


@pytest.mark.parametrize(
    ("on", "library", "extra"),
    [("dask", "distributed", "dask"), ("ray", "ray", "ray"), ("processes", "pyarrow", "lab")],
)
def test_a_missing_library_is_told_with_its_extra_before_anything_runs(
    on: Backend, library: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    plan = Plan((), arms(), TARIFFS)
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'coldpress\[{extra}\]'") as error:
        sweep(plan, tmp_path / "out", on=on)
    assert error.value.name == library
    assert not (tmp_path / "out").exists()


def test_what_the_folder_says_of_itself(tmp_path: Path) -> None:
    plan = Plan((), arms(), TARIFFS)
    assert list(sweep(plan, tmp_path, command="coldpress lab sweep x")) == []
    said = json.loads((tmp_path / "sweep.json").read_text())
    assert said["command"] == "coldpress lab sweep x"
    assert [arm["name"] for arm in said["arms"]] == ["mask-10", "control"]
    assert said["arms"][0]["settings"] == named_arms()["mask-10"].text
    assert [tariff["name"] for tariff in said["tariffs"]] == list(TARIFFS)
    assert "genai-prices" in said["tariffs"][0]["prices"]
    assert "lifetime_seconds=1800" in said["tariffs"][1]["prices"]
