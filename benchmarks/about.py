"""Say what a run was made on and with: the machine, without naming it, and every version."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

import setup

HERE = Path(__file__).parent
PACKAGES = ("coldpress", "uvicorn", "aiohttp", "pyreqwest", "msgspec", "xxhash", "uvloop", "httptools", "zstandard")


def machine() -> str:
    """Cores, memory and kernel."""
    models = [value for key, value in _fields("/proc/cpuinfo") if key == "model name"]
    memory_kb = next(int(value.split()[0]) for key, value in _fields("/proc/meminfo") if key == "MemTotal")
    cores = f"{len(os.sched_getaffinity(0))} x {models[0] if models else platform.machine()}"
    return f"{cores}, {memory_kb / 1048576:.0f} GiB, {platform.system()} {platform.release().split('-')[0]}"


def software(work: Path) -> dict[str, str]:
    """Versions of the peers that are installed under `work`, of coldpress and of what it stands on."""
    found = {"python": platform.python_version()}
    with contextlib.suppress(OSError):
        said = subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=False).stderr
        found["nginx"] = said.rsplit("/", 1)[-1].split()[0]
    for peer, requirement in setup.PEERS.items():
        if (work / "venvs" / peer).exists():
            found[peer] = requirement.rsplit("=", 1)[-1]
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    if commit := _git("rev-parse", "--short", "HEAD"):
        changed = " with changes" if _git("status", "--porcelain", "../src") else ""
        found["coldpress"] = f"{found.get('coldpress', 'not installed')} at {commit}{changed}"
    return found


def _git(*command: str) -> str:
    """Ask git; empty where this is no git checkout."""
    with contextlib.suppress(OSError):
        return subprocess.run(["git", *command], cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()
    return ""


def _fields(path: str) -> list[tuple[str, str]]:
    parts = (line.partition(":") for line in Path(path).read_text().splitlines())
    return [(key.strip(), value.strip()) for key, _, value in parts]
