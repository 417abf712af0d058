"""A running set of targets in front of one upstream, and how one cell of the table is measured on it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import procs
from bodies import Format, Tail, body_file, turns_file
from load import Programs, Upstream
from rows import Book, Case, Cell, Primed, Skipped, Started, Weighed
from targets import TARGETS, Place, Target

WORLDS = {"instant": (0, 0), "paced": (0, 1000), "provider": (100, 0)}
"""Name of a world -> milliseconds to the first byte, microseconds between events."""
SETTLE_SECONDS = 1.0
MOST_WARMUPS = 64
PRIME_SECONDS = 180


@dataclass(slots=True)
class Bench:
    """What is running. `patience_seconds` bounds what one cell may take; see `too_long`."""

    programs: Programs
    bodies: Path
    book: Book
    upstream: Upstream
    upstream_process: subprocess.Popen[bytes]
    seconds: float
    requests: int
    patience_seconds: float
    targets: dict[str, Target] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    primed: set[tuple[str, Format, str]] = field(default_factory=set)
    one_request_ms: dict[tuple[str, Case], float] = field(default_factory=dict)

    def pid(self, target: Target) -> int:
        """The process whose tree is measured; for `direct` that is the upstream."""
        process = self.processes.get(target.name, self.upstream_process)
        if process.poll() is not None:
            raise RuntimeError(f"{target.name} has ended; see {target.folder / 'log.txt'}")
        return process.pid

    def body(self, case: Case) -> Path:
        """The body of a case."""
        tail: Tail = "log" if case.turn == "log" else "small"
        return body_file(self.bodies, case.format, case.size, tail, stream=case.mode == "stream")

    def begin(self, target: Target) -> None:
        """Start a target and write down how long it took and what it holds when idle."""
        if target.command:
            process, seconds = target.start()
            self.processes[target.name] = process
            time.sleep(SETTLE_SECONDS)
            self.book.write(Started(target.name, round(seconds, 3), round(procs.memory_mb(process.pid, peak=False), 1)))
        self.targets[target.name] = target

    def end(self) -> None:
        """End all targets."""
        for process in self.processes.values():
            procs.stop(process)

    def prime(self, target: Target, fmt: Format, size: str) -> None:
        """Make the conversation of a size known to a target, once, and write down what it forwards then."""
        if (target.name, fmt, size) in self.primed:
            return
        self.primed.add((target.name, fmt, size))
        self.upstream.world(stream=False)
        body, requests, began = body_file(self.bodies, fmt, size, "small", stream=False), 0, time.monotonic()
        file = turns_file(self.bodies, fmt, size)
        turns = len(file.read_text().splitlines()) - 1
        if target.remembers:
            grown = self.programs.grow(target.address(fmt), body, file, new=False, marks=1, seconds=PRIME_SECONDS)
            requests = len(grown)
        seconds = time.monotonic() - began
        if 0 < requests < turns:
            say(f"WARNING: {target.name} took only {requests} of {turns} turns ({fmt} {size}) in {PRIME_SECONDS} s")
        self.upstream.watch_bodies(hashing=True)
        self.programs.send_once(self.targets["direct"].address(fmt), body)
        sent = self.upstream.counts()
        self.programs.send_once(target.address(fmt), body)
        got = self.upstream.counts()
        self.upstream.watch_bodies(hashing=False)
        exact = (sent.last_bytes, sent.last_hash) == (got.last_bytes, got.last_hash)
        row = Primed(target.name, fmt, size, requests, turns, round(seconds, 2), sent.last_bytes, got.last_bytes, exact)
        self.book.write(row)
        if target.remembers and exact:
            say(f"WARNING: {target.name} forwards the {size} {fmt} conversation unchanged: nothing is pressed")

    def note_weighed(self) -> None:
        """Write down what the targets that remember decided about aged results."""
        for target in self.targets.values():
            if not target.remembers:
                continue
            with urllib.request.urlopen(f"http://127.0.0.1:{target.ready_port}/stats", timeout=10) as answer:
                told = json.load(answer)
            told = told["decisions"]
            applied, declined = told["cuts_applied"], told["cuts_declined"]
            texts = told["aged"]["count"]
            self.book.write(Weighed(target.name, told["requests"], applied, declined, texts))

    def cell(self, target: Target, case: Case, number: int) -> Cell | None:
        """Measure one target on one case in one round; `None` where it would take too long."""
        if case.format not in target.formats:
            return None
        if case.turn != "first":
            self.prime(target, case.format, case.size)
        if why := self.too_long(target, case, number):
            if number == 0:
                self.book.write(Skipped(target.name, case, why))
            return None
        first_ms, event_us = WORLDS[case.world]
        self.upstream.world(stream=case.mode == "stream", first_ms=first_ms, event_us=event_us)
        warmup = 0 if self._slow(target, case) else min(case.connections * (2 if number == 0 else 1), MOST_WARMUPS)
        pid, body = self.pid(target), self.body(case)
        procs.forget_peak(pid)
        self.upstream.counts(forget=True)
        before = procs.used(pid)
        load = self.programs.fire(
            target.address(case.format, stream=case.mode == "stream"),
            body,
            connections=case.connections,
            first=case.turn == "first",
            seconds=self.seconds,
            requests=self.requests,
            warmup=warmup,
        )
        spent, got = procs.used(pid) - before, self.upstream.counts()
        if case.connections == 1 and load.n:
            self.one_request_ms.setdefault((target.name, case), load.p50)
        cell = Cell(
            target=target.name,
            round=number,
            case=case,
            load=load,
            cpu_ms=round(spent.cpu_ms / load.sent, 4),
            cpu_wait_ms=round(spent.wait_ms / load.sent, 4),
            peak_mb=round(procs.memory_mb(pid, peak=True), 1),
            body_bytes=body.stat().st_size,
            forwarded_bytes=round(got.body_bytes / got.requests, 1) if got.requests == load.sent else None,
        )
        self.book.write(cell)
        if load.errors:
            say(f"{target.name}, {case}: {load.errors} errors, the first: {load.error}")
        return cell

    def too_long(self, target: Target, case: Case, number: int) -> str:
        """Say why a cell is not run: empty where it is.

        A single-threaded gateway needs `connections` times its time for one request to answer each connection once. A
        cell past the patience is skipped; one past a sixth of it runs in the first round only.
        """
        one = self._alone_ms(target, case)
        if one is None or case.connections == 1:
            return ""
        needed = one / 1000 * case.connections * (1 if self._slow(target, case) else 2)
        if needed > self.patience_seconds:
            return f"one request takes {one:.0f} ms, so {case.connections} at a time would take {needed:.0f} s"
        return "slow; measured in the first round only" if number and needed > self.patience_seconds / 6 else ""

    def _slow(self, target: Target, case: Case) -> bool:
        return (self._alone_ms(target, case) or 0) * case.connections > 3000

    def _alone_ms(self, target: Target, case: Case) -> float | None:
        """How long one request takes with one connection, where that has been measured."""
        return self.one_request_ms.get((target.name, replace(case, connections=1)))


@contextmanager
def running(
    place: Place, book: Book, names: Sequence[str], *, seconds: float, requests: int, patience_seconds: float
) -> Iterator[Bench]:
    """Run the upstream and the named targets for as long as the block lasts. What does not start is left out."""
    programs = Programs(place.work / "bin")
    programs.build()
    with ExitStack() as stack:
        process, upstream = stack.enter_context(programs.upstream(place.port))
        bench = Bench(programs, place.work / "bodies", book, upstream, process, seconds, requests, patience_seconds)
        stack.callback(bench.end)
        for name in dict.fromkeys(("direct", *names)):
            try:
                bench.begin(TARGETS[name](place))
            except (RuntimeError, OSError) as error:
                say(f"left out: {error}")
        yield bench


def say(what: str) -> None:
    """Tell the person who watches."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)
