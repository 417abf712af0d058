"""`coldpress serve` as a process of its own: where it listens, what it says, how it ends."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from coldpress.cli.background import repeating
from coldpress.cli.watch import SettingsWatch

from .conftest import Run

_PATIENCE_SECONDS = 30.0


class Server:
    """A running `coldpress serve`; killed if it takes too long, so that no test can hang."""

    def __init__(self, *arguments: str) -> None:
        code = "from coldpress.cli.main import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "serve", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._guard = threading.Timer(_PATIENCE_SECONDS, self.process.kill)
        self._guard.start()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.url = self.process.stdout.readline().strip()

    def stderr_until(self, part: str) -> str:
        assert self.process.stderr is not None
        told = ""
        for line in self.process.stderr:
            told += line
            if part in line:
                return told
        raise AssertionError(f"{part!r} was never said; it said:\n{told}")

    def stop(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGTERM)
        _, stderr = self.process.communicate()
        self._guard.cancel()
        return self.process.returncode, stderr


def get(url: str) -> dict[str, object]:
    with urllib.request.urlopen(url) as reply:
        found: dict[str, object] = json.load(reply)
        return found


class Upstream(BaseHTTPRequestHandler):
    """A provider that gives the same answer to everything and remembers what it was sent."""

    bodies: ClassVar[list[bytes]] = []
    answer = json.dumps(
        {
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": "done"}],
            "usage": {"input_tokens": 10, "output_tokens": 2},
        }
    ).encode()

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@pytest.fixture
def upstream() -> Iterator[str]:
    Upstream.bodies.clear()
    server = HTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


LOG = "\n".join(f"[{n}] compiled module_{n % 7} in {n % 13} ms" for n in range(3000))


def request_with_a_large_log() -> bytes:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make all"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": LOG}
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "tools": [{"name": "Bash", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "build it"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ],
    }
    return json.dumps(body).encode()


def post(url: str, body: bytes) -> dict[str, object]:
    request = urllib.request.Request(url, data=body, headers={"content-type": "application/json", "x-api-key": "sk-1"})
    with urllib.request.urlopen(request) as reply:
        found: dict[str, object] = json.load(reply)
        return found


def test_a_request_is_pressed_written_down_and_recalled(run: Run, home: Path, upstream: str) -> None:
    server = Server("--port", "0", "--provider-url", f"anthropic={upstream}", "--store", "s.sqlite3")
    answer = post(f"{server.url}/v1/messages", request_with_a_large_log())
    assert answer["role"] == "assistant"
    assert server.stop()[0] == 0
    assert len(Upstream.bodies[0]) < len(LOG)
    (entry,) = json.loads(run("ledger", "list", "--store", "s.sqlite3", "--json").stdout)["requests"]
    assert entry["outcome"]["usage"]["fresh"] == 10
    (line,) = entry["lines"]
    assert line["reason"] == "pressed"
    assert run("recall", line["original"], "--store", "s.sqlite3").stdout_bytes == LOG.encode()


@pytest.mark.parametrize("option", ["--operation", "--mode"])
def test_off_sends_what_came(home: Path, upstream: str, option: str) -> None:
    server = Server("--port", "0", option, "off", "--provider-url", f"anthropic={upstream}", "--store", "s.sqlite3")
    post(f"{server.url}/v1/messages", request_with_a_large_log())
    assert server.stop()[0] == 0
    assert Upstream.bodies == [request_with_a_large_log()]


def test_it_says_where_it_listens_how_to_point_clients_and_what_of_the_settings_does_nothing(home: Path) -> None:
    (home / "coldpress.toml").write_text("[plugins]\norder = ['redact_hosts_of_nobody']")
    server = Server("--port", "0")
    told = server.stderr_until("coldpress ledger list")
    assert server.url.startswith("http://127.0.0.1:")
    assert f"ANTHROPIC_BASE_URL={server.url} claude" in told
    assert f'OpenAI(base_url="{server.url}/v1")' in told
    assert "redact_hosts_of_nobody" in told
    assert get(f"{server.url}/health")
    code, rest = server.stop()
    assert code == 0
    assert "stopped" in rest


def test_a_settings_file_that_changes_is_told_to_take_effect_on_restart_only(home: Path) -> None:
    settings = home / "coldpress.toml"
    settings.write_text("operation = 'press'")
    server = Server("--port", "0")
    server.stderr_until("coldpress ledger list")
    settings.write_text("operation = 'off'")
    told = server.stderr_until("was changed")
    assert str(settings) in told
    assert "stop it and start it again" in told
    assert server.stop()[0] == 0


def test_a_port_that_is_taken_is_told_with_exit_6(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = Server("--port", str(port))
        told = server.stderr_until(f"cannot listen on 127.0.0.1 port {port}")
        _, rest = server.process.communicate()
        assert server.process.returncode == 6
        assert "Traceback" not in told + rest


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        pytest.param(("--provider-url", "openai"), 2, "is not NAME=URL", id="a provider without address"),
        pytest.param(("--provider-url", "openai=ftp://x"), 6, "must begin with http", id="an address that is none"),
        pytest.param(("--host", "0.0.0.0"), 6, "allow_remote", id="an address other machines can reach"),
        pytest.param(("--port", "70000"), 2, "70000", id="a port that is none"),
        pytest.param(("--operation", "pres"), 2, "press", id="an operation that is none"),
        pytest.param(("--config", "none.toml"), 6, "none.toml: cannot be read", id="a settings file that is not there"),
    ],
)
def test_a_wrong_start_is_told(run: Run, arguments: tuple[str, ...], code: int, told: str) -> None:
    result = run("serve", *arguments)
    assert result.exit_code == code
    assert told in result.stderr


class TestSettingsWatch:
    def test_news_is_told_once_for_each_change(self, tmp_path: Path) -> None:
        file = tmp_path / "coldpress.toml"
        file.write_text("port = 1")
        watch = SettingsWatch(file)
        assert watch.news() is None
        file.write_text("port = 2")
        assert "was changed" in str(watch.news())
        assert watch.news() is None
        file.unlink()
        assert "is gone" in str(watch.news())
        file.write_text("port = 2")
        assert "is new" in str(watch.news())

    def test_a_file_that_is_only_touched_is_no_news(self, tmp_path: Path) -> None:
        file = tmp_path / "coldpress.toml"
        file.write_text("port = 1")
        watch = SettingsWatch(file)
        file.write_text("port = 1")
        assert watch.news() is None


def test_repeating_goes_on_until_the_block_is_left() -> None:
    enough, calls = threading.Event(), []

    def action() -> None:
        calls.append(threading.current_thread().name)
        if len(calls) == 3:
            enough.set()

    with repeating(action, every_seconds=0.001, name="again"):
        assert enough.wait(_PATIENCE_SECONDS)
    done = len(calls)
    assert set(calls) == {"again"}
    assert not any(thread.name == "again" for thread in threading.enumerate())
    assert len(calls) == done
