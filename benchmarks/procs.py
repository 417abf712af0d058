"""Start programs, measure what a process tree has used, and end what was started here."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Used:
    """CPU time of a process tree since its start, and time its threads waited for a CPU, in milliseconds."""

    cpu_ms: float
    wait_ms: float

    def __sub__(self, earlier: Used) -> Used:
        return Used(self.cpu_ms - earlier.cpu_ms, self.wait_ms - earlier.wait_ms)


def tree(pid: int) -> list[int]:
    """List a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for stat in PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The second field is the program's name in parentheses, and may hold spaces and parentheses itself.
            children.setdefault(int(stat.read_text().rsplit(")", 1)[1].split()[1]), []).append(int(stat.parent.name))
    found, todo = list[int](), [pid]
    while todo:
        found.append(todo.pop())
        todo += children.get(found[-1], [])
    return found


def used(pid: int) -> Used:
    """Read what a process tree has used.

    Nanosecond counts exist for living threads only; where many threads have ended, the process's own count in clock
    ticks (10 ms) is larger and is taken instead.
    """
    cpu_ms = wait_ms = 0.0
    for process in tree(pid):
        with contextlib.suppress(OSError):
            threads = [path.read_text().split() for path in (PROC / str(process) / "task").glob("*/schedstat")]
            exact = sum(int(fields[0]) for fields in threads) / 1e6
            fields = (PROC / str(process) / "stat").read_text().rsplit(")", 1)[1].split()
            ticks = (int(fields[11]) + int(fields[12])) * TICK_MS
            cpu_ms += ticks if ticks > exact + 50 else exact
            wait_ms += sum(int(fields[1]) for fields in threads) / 1e6
    return Used(cpu_ms, wait_ms)


def memory_mb(pid: int, *, peak: bool) -> float:
    """Add up resident memory of a process tree: now, or the peaks since `forget_peak`."""
    key, total = ("VmHWM:" if peak else "VmRSS:"), 0
    for process in tree(pid):
        with contextlib.suppress(OSError):
            for line in (PROC / str(process) / "status").read_text().splitlines():
                if line.startswith(key):
                    total += int(line.split()[1])
    return total / 1024


def forget_peak(pid: int) -> None:
    """Set the peak of every process of a tree to what it holds now."""
    for process in tree(pid):
        with contextlib.suppress(OSError):
            (PROC / str(process) / "clear_refs").write_text("5")


def start(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own; what it says goes to `folder`/log.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def stop(process: subprocess.Popen[bytes], patience_seconds: float = 15) -> None:
    """End a program that `start` started, with its children; hard where it does not end by itself."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_seconds)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # children that outlived it


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes], patience_seconds: float) -> float | None:
    """Call `ready` until it is true; seconds that took, or `None` where the program ended or the patience did."""
    began = time.monotonic()
    while time.monotonic() - began < patience_seconds:
        if process.poll() is not None:
            return None
        if ready():
            return time.monotonic() - began
        time.sleep(0.005)
    return None
