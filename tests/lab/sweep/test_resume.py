"""What is kept is found again, whatever ended the sweep before, and nothing else is taken for it."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sweep_works

from coldpress.lab.arm_files import named_arms
from coldpress.lab.results import Bill, Measured
from coldpress.lab.sweep import keys
from coldpress.lab.sweep.folder import read_about, read_bills, read_losses, read_turns
from coldpress.lab.sweep.plan import Plan
from coldpress.lab.sweep.run import sweep
from coldpress.lab.sweep.worker import Work
from coldpress.model.errors import SweepError

NAMED = named_arms()
ARMS = (NAMED["mask-10"], NAMED["control"])
TARIFFS = ("recorded", "gpt-6.1-sol")


def corpus(folder: Path, names: str = "abcdef") -> Plan:
    folder.mkdir(exist_ok=True)
    paths = [folder / name for name in names]
    for path in paths:
        path.write_text(f"{path.name} of {folder.name}")
    return Plan(tuple(paths), ARMS, TARIFFS)


def run(plan: Plan, folder: Path, work: Work = sweep_works.counted) -> list[Measured]:
    return list(sweep(plan, folder, jobs=2, work=work))


def made(folder: Path) -> dict[str, int]:
    """When each file of a folder of results was written."""
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}


def everything(folder: Path) -> list[object]:
    return [*read_bills(folder), *read_turns(folder), *read_losses(folder)]


def direct(plan: Plan) -> list[object]:
    found = [
        sweep_works.counted(path, plan.measured_arms, plan.tariffs, with_least=True, with_turns=True)
        for path in plan.paths
    ]
    found.sort(key=lambda one: one.bills[0].content)
    kinds: tuple[Callable[[Measured], tuple[object, ...]], ...] = (
        lambda one: one.bills, lambda one: one.turns, lambda one: one.losses,
    )  # fmt: skip
    return [row for kind in kinds for one in found for row in kind(one)]


def test_rows_come_back_as_they_were_in_the_order_of_content_arms_and_tariffs(tmp_path: Path) -> None:
    plan = corpus(tmp_path / "in")
    given = run(plan, tmp_path / "out", sweep_works.backwards)
    assert everything(tmp_path / "out") == direct(plan)
    assert all(one.turns == () and one.losses == () for one in given)
    assert [type(number) for number in vars_of(next(read_bills(tmp_path / "out")))] == [float, float, int, float]


def vars_of(bill: Bill) -> list[object]:
    return [bill.bill_usd, bill.refetch_usd, bill.cuts, bill.least_usd]


def test_a_number_that_does_not_fit_its_column_is_not_cut_off(tmp_path: Path) -> None:
    (found,) = run(corpus(tmp_path / "in", "a"), tmp_path / "out", sweep_works.halved)
    assert found.skipped is not None
    assert "(ArrowInvalid)" in found.skipped.why


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    plan = corpus(tmp_path / "in")
    first = run(plan, tmp_path / "out")
    before = made(tmp_path / "out")
    assert len(before) == 18
    again = run(plan, tmp_path / "out", sweep_works.mistaken)
    assert sorted(map(repr, again)) == sorted(map(repr, first))
    assert made(tmp_path / "out") == before


def test_another_arm_is_another_sweep_and_the_first_one_is_still_there(tmp_path: Path) -> None:
    plan = corpus(tmp_path / "in", "ab")
    other = replace(plan, arms=(replace(ARMS[0], text="# changed"), ARMS[1]))
    run(plan, tmp_path / "out")
    before = made(tmp_path / "out")
    run(other, tmp_path / "out")
    both = made(tmp_path / "out")
    assert len(both) == 2 * len(before)
    assert list(read_bills(tmp_path / "out")) == direct(other)[: 2 * 4]
    run(plan, tmp_path / "out", sweep_works.mistaken)
    assert made(tmp_path / "out") == both
    assert everything(tmp_path / "out") == direct(plan)


def test_a_recording_that_grew_is_measured_again_and_its_old_rows_are_not_read(tmp_path: Path) -> None:
    plan = corpus(tmp_path / "in", "ab")
    run(plan, tmp_path / "out")
    plan.paths[0].write_text("a that grew")
    run(plan, tmp_path / "out")
    assert everything(tmp_path / "out") == direct(plan)


def turned(raw: bytes) -> bytes:
    """Change the last byte of the first column's page."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    column = pq.read_metadata(pa.BufferReader(raw)).row_group(0).column(0)
    at = min(filter(None, (column.dictionary_page_offset, column.data_page_offset))) + column.total_compressed_size - 1
    return raw[:at] + bytes([raw[at] ^ 255]) + raw[at + 1 :]


@pytest.mark.parametrize("table", ["bills", "turns", "losses"])
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda raw: raw[: len(raw) // 2], id="cut in half"),
        pytest.param(lambda raw: b"", id="empty"),
        pytest.param(lambda raw: bytes(len(raw)), id="as long, but never written"),
        pytest.param(turned, id="one byte of a page turned"),
        pytest.param(None, id="gone"),
    ],
)
def test_a_torn_part_is_made_again(table: str, damage: Callable[[bytes], bytes] | None, tmp_path: Path) -> None:
    plan = corpus(tmp_path / "in", "ab")
    run(plan, tmp_path / "out")
    torn, whole = sorted(tmp_path.glob(f"out/*/{table}/*.parquet"))
    kept_at = whole.stat().st_mtime_ns
    if damage is None:
        torn.unlink()
    else:
        torn.write_bytes(damage(torn.read_bytes()))
        with pytest.raises(SweepError, match=r"is damaged .* run the sweep again"):
            everything(tmp_path / "out")
    run(plan, tmp_path / "out")
    assert everything(tmp_path / "out") == direct(plan)
    assert whole.stat().st_mtime_ns == kept_at


def test_a_part_with_other_columns_is_never_mixed_in(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    plan = corpus(tmp_path / "in", "ab")
    run(plan, tmp_path / "out")
    foreign = min(tmp_path.glob("out/*/bills/*.parquet"))
    found = pq.read_table(foreign)
    pq.write_table(found.drop_columns(["cuts"]), foreign)
    with pytest.raises(SweepError, match="rows of another version"):
        list(read_bills(tmp_path / "out"))
    run(plan, tmp_path / "out")
    assert everything(tmp_path / "out") == direct(plan)


def test_rows_can_be_read_for_one_recording_arm_and_tariff(tmp_path: Path) -> None:
    plan = corpus(tmp_path / "in")
    run(plan, tmp_path / "out")
    turns = list(read_turns(tmp_path / "out"))
    for wanted in ({"recording": "b"}, {"arm": "control"}, {"recording": "c", "arm": "mask-10", "tariff": "recorded"}):
        found = [one for one in turns if all(getattr(one, name) == value for name, value in wanted.items())]
        assert list(read_turns(tmp_path / "out", **wanted)) == found != []
    assert list(read_losses(tmp_path / "out", arm="no such arm")) == []


def test_a_mistake_of_ours_costs_its_recording_alone(tmp_path: Path) -> None:
    found = run(corpus(tmp_path / "in"), tmp_path / "out", sweep_works.mistaken)
    assert sum(len(one.bills) for one in found) == 5 * 4
    (why,) = [one.skipped.why for one in found if one.skipped]
    assert why == "could not be measured (ZeroDivisionError); a mistake of coldpress, please report it"


def test_a_file_that_is_written_to_while_it_is_measured_is_skipped_this_time(tmp_path: Path) -> None:
    plan = corpus(tmp_path / "in", "a")
    (found,) = run(plan, tmp_path / "out", sweep_works.writing)
    assert found.skipped is not None
    assert "run the sweep again" in found.skipped.why
    assert made(tmp_path / "out") == {}
    assert len(run(plan, tmp_path / "out")[0].bills) == 4


def test_a_folder_without_a_sweep_is_told(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="holds no results of a sweep"):
        list(read_bills(tmp_path))
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(SweepError, match="cannot be read"):
        list(read_bills(tmp_path))


CHILD = """
import sys
from pathlib import Path
import sweep_works
from coldpress.lab.arm_files import named_arms
from coldpress.lab.sweep import keys
from coldpress.lab.sweep.plan import Plan
from coldpress.lab.sweep.run import sweep

if __name__ == "__main__":
    paths = tuple(sorted(Path(sys.argv[1]).iterdir()))
    keys.code_digest = lambda: "of this test"
    plan = Plan(paths, (named_arms()["mask-10"], named_arms()["control"]), ("recorded", "gpt-6.1-sol"))
    try:
        for _ in sweep(plan, Path(sys.argv[2]), jobs=2, work=sweep_works.waiting):
            pass
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGKILL, -signal.SIGKILL, id="killed"),
        pytest.param(signal.SIGINT, 130, id="stopped with Ctrl-C"),
    ],
)
def test_a_sweep_that_was_ended_goes_on_where_it_was(
    number: signal.Signals, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "code_digest", lambda: "of this test")  # somebody may be working on the sources
    plan = corpus(tmp_path / "in")
    (tmp_path / "in" / "waits").write_text("w")  # the shortest, so that it comes last, and hangs
    plan = replace(plan, paths=tuple(sorted((tmp_path / "in").iterdir())))
    (tmp_path / "child.py").write_text(CHILD)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = subprocess.Popen(
        [sys.executable, tmp_path / "child.py", tmp_path / "in", tmp_path / "out"],
        env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        until = time.monotonic() + sweep_works.PATIENCE_SECONDS
        while len(list(tmp_path.glob("out/*/bills/*.parquet"))) < 6 and time.monotonic() < until:
            assert child.poll() is None, child.stderr and child.stderr.read()
            time.sleep(0.02)
        os.killpg(child.pid, number)
        _, told = child.communicate(timeout=sweep_works.PATIENCE_SECONDS)
    finally:
        (tmp_path / "in" / "go").touch()  # what still hangs may end
        child.kill()
    assert child.returncode == code
    assert "Traceback" not in told
    before = made(tmp_path / "out")
    assert len(before) == 18
    assert len(list(read_bills(tmp_path / "out"))) == 6 * 4
    if number == signal.SIGINT:
        assert read_about(tmp_path / "out").measured == 6
    run(plan, tmp_path / "out", sweep_works.waiting)
    assert everything(tmp_path / "out") == direct(plan)
    after = made(tmp_path / "out")
    assert len(after) == 21
    assert {name: after[name] for name in before} == before
    assert json.loads((tmp_path / "out" / "sweep.json").read_text())["measured"] == 7


def test_memory_does_not_grow_with_the_number_of_recordings(tmp_path: Path) -> None:
    def peak_bytes(count: int) -> int:
        folder = tmp_path / f"in-{count}"
        folder.mkdir()
        paths = tuple(folder / f"{number}" for number in range(count))
        for path in paths:
            path.write_text(path.name)
        gc.collect()
        tracemalloc.start()
        for _ in sweep(Plan(paths, ARMS, TARIFFS), tmp_path / f"out-{count}", jobs=2, work=sweep_works.counted):
            pass
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    peak_bytes(10)  # whatever is loaded once
    assert peak_bytes(400) < peak_bytes(40) + 1_500_000  # their files together have more than 5 MB
    assert sum(path.stat().st_size for path in tmp_path.glob("out-400/**/*.parquet")) > 5_000_000
