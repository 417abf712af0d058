"""`coldpress ledger raw`: what came in, byte for byte, and what it says where there is nothing."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coldpress.stores.sqlite import SqliteStore

from .conftest import KNOWN_MODEL, Run, receipt

REQUEST = json.dumps({"model": KNOWN_MODEL, "messages": [{"role": "user", "content": "Grüße\n"}]}).encode()
PACKED = b"\x1f\x8b\x08\x00\xff\xfe packed \x1b[2J"
STEERING = b"data: \x1b]0;title\x07\n\n"
HEADERS = (("content-type", "application/json"), ("x-api-key", "secret-of-the-user"))


@pytest.fixture
def store(home: Path) -> Path:
    """Three requests: logged with its reply, logged without one, and not logged."""
    path = home / "store.sqlite3"
    with SqliteStore(path, raw_log=True) as opened:
        for name in ("both-whole", "packed", "silent"):
            opened.put([], [], receipt(name))
        opened.log_event("both-whole", 10.0, "request", HEADERS, REQUEST)
        opened.log_event("both-whole", 11.5, "reply", (("content-type", "text/event-stream"),), STEERING)
        opened.log_event("packed", 12.0, "request", (("content-encoding", "gzip"),), PACKED)
        opened.flush()
    return path


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        pytest.param(("both-whole",), REQUEST, id="the request is what is asked for by default"),
        pytest.param(("both-whole", "--direction", "reply"), STEERING, id="the reply"),
        pytest.param(("packed",), PACKED, id="bytes that are no text go through a pipe as they are"),
    ],
)
def test_a_body_comes_back_byte_for_byte(run: Run, store: Path, arguments: tuple[str, ...], body: bytes) -> None:
    told = run("ledger", "raw", *arguments, "--store", str(store))
    assert (told.exit_code, told.stdout_bytes) == (0, body)
    written = run("ledger", "raw", *arguments, "--store", str(store), "--out", "body")
    assert (written.exit_code, written.stdout) == (0, "")
    assert Path("body").read_bytes() == body


def test_a_request_can_be_checked(run: Run, store: Path) -> None:
    assert run("ledger", "raw", "both-whole", "--store", str(store), "--out", "request.json").exit_code == 0
    told = run("check", "--store", str(store), "--file", "request.json")
    assert told.exit_code == 0, told.output


def test_events_are_listed_without_bodies_and_without_secrets(run: Run, store: Path) -> None:
    told = run("ledger", "raw", "both-who", "--store", str(store), "--json")
    assert "secret-of-the-user" not in told.output
    found = json.loads(told.stdout)
    assert found["request_id"] == "both-whole"
    first, second = found["events"]
    assert first == {
        "at": 10.0,
        "direction": "request",
        "headers": [["content-type", "application/json"], ["x-api-key", "removed"]],
        "body_bytes": len(REQUEST),
        "body_sha256": hashlib.sha256(REQUEST).hexdigest(),
    }
    assert (second["at"], second["direction"], second["body_bytes"]) == (11.5, "reply", len(STEERING))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(("nobody",), "no request nobody in the ledger", id="no such request"),
        pytest.param(("silent",), "store.raw_log was off", id="it was not logged"),
        pytest.param(("silent", "--json"), "store.raw_log was off", id="nor can it be listed"),
        pytest.param(("packed", "--direction", "reply"), "holds no reply of request packed", id="no reply came"),
    ],
)
def test_what_is_not_there_is_exit_3(run: Run, store: Path, arguments: tuple[str, ...], says: str) -> None:
    told = run("ledger", "raw", *arguments, "--store", str(store))
    assert (told.exit_code, told.stdout) == (3, "")
    assert says in told.stderr


def test_a_list_is_not_written_to_a_file(run: Run, store: Path) -> None:
    told = run("ledger", "raw", "both-whole", "--store", str(store), "--json", "--out", "x")
    assert told.exit_code == 2
    assert not Path("x").exists()


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        pytest.param(("both-whole",), REQUEST, id="text is shown"),
        pytest.param(("both-whole", "--direction", "reply"), None, id="what steers a terminal is not"),
        pytest.param(("packed",), None, id="nor are bytes that are no text"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")
def test_a_terminal_gets_text_only(store: Path, arguments: tuple[str, ...], shown: bytes | None) -> None:
    terminal, its_end = os.openpty()
    code = "from coldpress.cli.main import main; main()"
    try:
        told = subprocess.run(
            [sys.executable, "-c", code, "ledger", "raw", *arguments, "--store", str(store)],
            stdout=its_end,
            stderr=subprocess.PIPE,
            check=False,
        )
        os.write(its_end, b"END")
        read = b""
        while not read.endswith(b"END"):
            read += os.read(terminal, 65_536)
    finally:
        os.close(terminal)
        os.close(its_end)
    assert read == (shown or b"") + b"END"
    assert (told.returncode, b"use --out FILE" in told.stderr) == ((0, False) if shown else (1, True))
