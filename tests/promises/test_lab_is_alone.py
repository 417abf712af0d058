"""A replay reads its recording and coldpress's own files, and leaves no trace: no network, no file, no process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from written import write

from coldpress.demo.play import recording_path
from coldpress.lab.importers.any import Kind
from coldpress.lab.importers.recording import read_file

WATCHED = """
import os, sys

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CALLS = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "subprocess.Popen", "os.system",
         "os.posix_spawn", "os.exec", "os.fork", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link",
         "os.symlink", "os.truncate", "os.utime", "os.chmod", "shutil.copyfile", "shutil.move", "sqlite3.connect",
         "tempfile.mkstemp", "tempfile.mkdtemp", "ftplib.connect", "urllib.Request", "http.client.connect")

def watch(event, found):
    if event in CALLS or (event == "open" and isinstance(found[2], int) and found[2] & WRITES):
        print("TOUCHED", event, found, file=sys.stderr)

sys.addaudithook(watch)
"""
"""Prints whatever the interpreter tells of that leaves a trace outside of this process."""

MEASURE = """
from pathlib import Path
from coldpress.lab.arm_files import find_arm
from coldpress.lab.cells import measure

arms = [find_arm(name) for name in ("control", "coldpress-source-5", "pressure-50")]
for path in sys.argv[1:]:
    found = measure(Path(path), arms, ("claude-opus-4-6",))
    assert found.skipped is None, found.skipped
    print(len(found.bills), "bills")
"""

KINDS: tuple[Kind, ...] = ("claude-code", "openhands", "chat")

TRACES = [
    pytest.param("import socket; socket.socket().connect_ex(('127.0.0.1', 9))", id="network"),
    pytest.param("open('left', 'w').close()", id="file"),
    pytest.param("import pathlib; pathlib.Path('left').mkdir()", id="folder"),
    pytest.param("import sqlite3; sqlite3.connect('left.sqlite3')", id="database"),
]


def touched(program: str, folder: Path, *arguments: str) -> tuple[str, list[str]]:
    """Run a program in a folder under watch; gives what it printed, and what it touched."""
    surroundings = {**os.environ, "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED + program, *arguments],
        cwd=folder, env=surroundings, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if line.startswith("TOUCHED")]


@pytest.mark.parametrize("trace", TRACES)
def test_the_watch_sees(trace: str, tmp_path: Path) -> None:
    assert touched(trace, tmp_path)[1] != []


def test_a_replay_leaves_no_trace(tmp_path: Path) -> None:
    folder, paths = tmp_path / "empty", [recording_path()]
    folder.mkdir()
    for kind in KINDS:
        paths.append(tmp_path / kind)
        write(read_file(recording_path()), kind, paths[-1])
    before = [path.read_bytes() for path in paths]
    said, found = touched(MEASURE, folder, *map(str, paths))
    assert said.splitlines() == ["3 bills"] * len(paths)
    assert found == []
    assert list(folder.iterdir()) == []
    assert [path.read_bytes() for path in paths] == before
