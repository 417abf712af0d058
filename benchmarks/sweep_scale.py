"""Sweep made-up corpora of growing size on processes, Dask and Ray: seconds, rows, memory, and whether rows agree.

    python benchmarks/sweep_scale.py [--on processes,dask,ray] [--scale 1,10,100] [--recordings 25] [--requests 20]
                                     [--arm NAME,...] [--tariff NAME,...] [--jobs N] [--seed N] [--json]

Each cell is a sweep of `scale x recordings` recordings into a temporary folder, in a process of its own. The digest is
of all rows as read back; at one scale it has to be the same on every backend, or the run ends with code 1. Memory is
the highest resident size of the sweeping process, and of all others that it started together.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import get_args

from coldpress.lab.arm_files import find_arm
from coldpress.lab.corpus import write_corpus
from coldpress.lab.results import Backend
from coldpress.lab.sweep.folder import read_bills, read_losses, read_turns
from coldpress.lab.sweep.plan import Plan, recordings_in
from coldpress.lab.sweep.run import sweep

ARMS = "control,first-sight,mask-10,mask-10-batched,cold-only,reference-gate,coldpress,coldpress-source-20"
TARIFFS = "claude-opus-5-5,claude-sonnet-5-5,claude-opus-4-6,gpt-6.1-sol,deepseek-v4-pro,reference-2026-07"
LOOK_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Cell:
    """One sweep. Sizes in MiB; `seconds` from the start of the first worker to the last part that was kept."""

    on: Backend
    scale: int
    recordings: int
    skipped: int
    rows: int
    seconds: float
    rows_a_second: float
    parent_mib: float
    workers_mib: float
    digest: str


class Memory:
    """Watches the resident size of all processes below this one, as Linux tells it."""

    def __init__(self) -> None:
        self.highest_bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            self.highest_bytes = max(self.highest_bytes, below_bytes())


def below_bytes() -> int:
    """Add up the resident sizes of all descendants of this process; 0 where there is no /proc."""
    parents, sizes = dict[int, int](), dict[int, int]()
    page = resource.getpagesize()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        parents[int(folder.name)], sizes[int(folder.name)] = int(fields[1]), int(fields[21]) * page
    own = os.getpid()
    return sum(size for pid, size in sizes.items() if pid != own and _descends(pid, own, parents))


def _descends(pid: int | None, root: int, parents: dict[int, int]) -> bool:
    while pid and pid != root:
        pid = parents.get(pid)
    return pid == root


def measure(on: Backend, scale: int, place: Path, given: argparse.Namespace) -> Cell:
    """Run one sweep in this process, and read back what it kept."""
    paths, folder = recordings_in([place / "corpus"]), place / on
    plan = Plan(paths, tuple(map(find_arm, given.arm.split(","))), tuple(given.tariff.split(",")))
    began = time.perf_counter()
    skipped = 0
    with Memory() as memory:
        for measured in sweep(plan, folder, on=on, jobs=given.jobs):
            skipped += measured.skipped is not None
    seconds = time.perf_counter() - began
    parent_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows, told = 0, hashlib.sha256()
    for row in chain(read_bills(folder), read_turns(folder), read_losses(folder)):
        told.update(repr(row).encode())
        rows += 1
    return Cell(
        on, scale, len(paths), skipped, rows, round(seconds, 2), round(rows / seconds, 1), round(parent_kib / 1024, 1),
        round(memory.highest_bytes / 1024**2, 1), told.hexdigest()[:16],
    )  # fmt: skip


def cells(given: argparse.Namespace) -> list[Cell]:
    """Run all sweeps, one after the other, each in a new process so that none finds another's memory."""
    found = list[Cell]()
    with tempfile.TemporaryDirectory() as root:
        for scale in map(int, given.scale.split(",")):
            place = Path(root) / str(scale)
            write_corpus(
                place / "corpus", recordings=scale * given.recordings, requests=given.requests, seed=given.seed
            )
            for on in given.on.split(","):
                command = [sys.executable, __file__, *sys.argv[1:], "--place", str(place), "--on", on]
                done = subprocess.run([*command, "--scale", str(scale)], stdout=subprocess.PIPE, text=True, check=True)
                found.append(Cell(**json.loads(done.stdout)))
                print(line(found[-1]), file=sys.stderr, flush=True)
    return found


def line(cell: Cell) -> str:
    """Say one cell in a row of a table."""
    return (
        f"| {cell.on} | {cell.scale} | {cell.recordings:,} | {cell.skipped} | {cell.rows:,} | {cell.seconds:,.1f} "
        f"| {cell.rows_a_second:,.0f} | {cell.parent_mib:,.0f} | {cell.workers_mib:,.0f} | `{cell.digest}` |"
    )


HEAD = """| on | scale | recordings | skipped | rows | seconds | rows/s | parent MiB | workers MiB | rows' digest |
|---|---|---|---|---|---|---|---|---|---|"""


def options() -> argparse.Namespace:
    """Read the command line."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--on", default=",".join(get_args(Backend)), help="backends, with commas between them")
    parser.add_argument("--scale", default="1,10,100", help="how many times --recordings, with commas between them")
    parser.add_argument("--recordings", type=int, default=25, help="in a corpus of scale 1")
    parser.add_argument("--requests", type=int, default=20, help="of a recording, on average")
    parser.add_argument("--arm", default=ARMS, help="names or settings files, with commas between them")
    parser.add_argument("--tariff", default=TARIFFS, help="names, with commas between them")
    parser.add_argument("--jobs", type=int, help="recordings at one time; else one a core")
    parser.add_argument("--seed", type=int, default=166, help="of the corpus")
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)  # of one cell, in a process of its own
    parser.add_argument("--json", action="store_true", help="print one object")
    return parser.parse_args()


def main() -> int:
    """Run, print, and compare."""
    given = options()
    if given.place is not None:
        print(json.dumps(asdict(measure(given.on, int(given.scale), given.place, given))))
        return 0
    found = cells(given)
    same = all(len({one.digest for one in found if one.scale == cell.scale}) == 1 for cell in found)
    if given.json:
        print(
            json.dumps(
                {
                    "conditions": {name: value for name, value in vars(given).items() if name != "place"},
                    "same_rows": same,
                    "cells": [asdict(cell) for cell in found],
                }
            )
        )
    else:
        print("\n".join([HEAD, *map(line, found), "", f"Same rows on all backends: {'yes' if same else 'NO'}."]))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
