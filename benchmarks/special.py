"""The runs beside the table: provider-shaped, paced streams, a pressed turn, growth, stalls, starts."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import procs
from bench import Bench, say
from bodies import FORMATS, SIZES, Format, body_file, turns_file
from load import Address, Pings
from rows import Case, Growth, Load, Stall, Started
from targets import Target

ROUNDS = 2
BANDS = (64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 20, 9 << 20)
GROWN = {"direct", "nginx", "relay", "coldpress", "coldpress-off", "awecompress"}
"""Targets fast enough to take 8 MiB turn by turn: about 2,000 requests of 4 MiB in the mean."""
STALL_SECONDS = 4.0
GROWTH_SECONDS = 60


def _rounds(bench: Bench, *cases: Case) -> None:
    for case in cases:
        for number in range(ROUNDS):
            order = list(bench.targets.values())
            for target in order if number % 2 == 0 else reversed(order):
                bench.cell(target, case, number)


def provider(bench: Bench) -> None:
    """Answer after 100 ms, as a provider does at best: what is added when nobody is in a hurry."""
    _rounds(bench, *(Case("chat", "4k", "json", "warm", count, "provider") for count in (1, 8, 32)))


def paced(bench: Bench) -> None:
    """Send 101 events 1 ms apart: each must be out before the next is in."""
    _rounds(bench, *(Case(fmt, "4k", "stream", "warm", count, "paced") for fmt in FORMATS for count in (1, 8)))


def log(bench: Bench) -> None:
    """Let every request bring a 12 kB test log that has to be stored and pressed before it is sent."""
    _rounds(bench, *(Case("anthropic", size, "json", "log", count) for size in SIZES for count in (1, 8)))


def growth(bench: Bench) -> None:
    """Grow new conversations to 8 MiB turn by turn: the cost of a turn as it grows.

    Once with a cache mark on the last user message and once on the last two, as clients set them.
    """
    fmt: Format = "anthropic"
    body, turns = body_file(bench.bodies, fmt, "8m", "small", stream=False), turns_file(bench.bodies, fmt, "8m")
    bench.upstream.world(stream=False)
    for marks in (1, 2):
        for target in bench.targets.values():
            if target.name not in GROWN:
                continue
            address = target.address(fmt)
            samples = bench.programs.grow(address, body, turns, new=True, marks=marks, seconds=GROWTH_SECONDS)
            for low, high in itertools.pairwise((0, *BANDS)):
                times = sorted(ms for size, ms in samples if low < size <= high)
                if times:
                    p90 = times[int(0.9 * (len(times) - 1))]
                    row = Growth(target.name, fmt, marks, high, len(times), statistics.median(times), p90)
                    bench.book.write(row)


@dataclass(frozen=True, slots=True)
class _Strain:
    """A load under which the event loop is watched."""

    name: str
    case: Case


STRAINS = (
    _Strain("4k warm, c=8", Case("chat", "4k", "json", "warm", 8)),
    _Strain("128k warm, each turn a log to press, c=8", Case("anthropic", "128k", "json", "log", 8)),
    _Strain("1m warm, c=1", Case("chat", "1m", "json", "warm", 1)),
    _Strain("8m first turn, c=1", Case("anthropic", "8m", "json", "first", 1)),
    _Strain("8m warm, c=8", Case("chat", "8m", "json", "warm", 8)),
)


def stall(bench: Bench) -> None:
    """Ask each target for a small answer every 2 ms while it is under load: the worst wait bounds the loop's stalls.

    The waits hold the machine's own: with all programs on few cores a thread waits for a CPU as well. So the same is
    measured without a gateway, and the share of time the target was ready and had no CPU is kept beside it.
    """
    bench.upstream.world(stream=False)
    for target in bench.targets.values():
        idle = bench.programs.ping(target.pinged, seconds=STALL_SECONDS / 2)
        bench.book.write(_stall_row(target, "", idle, 0.0))
    for strain in STRAINS:
        for target in bench.targets.values():
            if bench.too_long(target, strain.case, 0):
                continue
            if strain.case.turn != "first":
                bench.prime(target, strain.case.format, strain.case.size)
            _strained(bench, target, strain)


def _strained(bench: Bench, target: Target, strain: _Strain) -> None:
    pid, case = bench.pid(target), strain.case
    address: Address = target.address(case.format)
    body = bench.body(case)

    def loading() -> Load:
        return bench.programs.fire(
            address,
            body,
            connections=case.connections,
            first=case.turn == "first",
            seconds=STALL_SECONDS,
            requests=1_000_000,
            warmup=0,
        )

    with ThreadPoolExecutor(1) as pool:
        before, began = procs.used(pid), time.monotonic()
        under_way = pool.submit(loading)
        pings = bench.programs.ping(target.pinged, seconds=STALL_SECONDS)
        under_way.result()
        spent, seconds = procs.used(pid) - before, time.monotonic() - began
    bench.book.write(_stall_row(target, strain.name, pings, spent.wait_ms / 1000 / seconds))


def _stall_row(target: Target, load: str, pings: Pings, waited: float) -> Stall:
    return Stall(target.name, load, pings.n, pings.p50, pings.p99, pings.p999, pings.max, round(waited, 4))


def starts(bench: Bench) -> None:
    """Start each target twice more, beside the running ones, and end it again."""
    for target in list(bench.targets.values()):
        if not target.command:
            continue
        procs.stop(bench.processes.pop(target.name))
        for last in (False, True):
            process, seconds = target.start()
            time.sleep(1.0)
            bench.book.write(
                Started(target.name, round(seconds, 3), round(procs.memory_mb(process.pid, peak=False), 1))
            )
            if last:
                bench.processes[target.name] = process
            else:
                procs.stop(process)


SPECIAL: dict[str, Callable[[Bench], None]] = {
    "starts": starts,
    "provider": provider,
    "paced": paced,
    "log": log,
    "growth": growth,
    "stall": stall,
}


def run(bench: Bench, names: list[str]) -> None:
    """Run some of the special runs."""
    for name in names:
        SPECIAL[name](bench)
        say(f"special run {name} done")
