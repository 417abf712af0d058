"""The example plugin, installed with pip: found, shown, approved, and at work in a gateway of its own process."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from examples.loaded import EXAMPLES

PATIENCE_SECONDS = 60.0
SETTINGS = """\
# Settings of the test.
port = 0
control_port = 0

[plugins]
order = ["redact-hosts"]  # on

[plugins.config.redact-hosts]
suffixes = ["corp.example"]
"""
ALIAS = re.compile(r"host-[0-9a-f]{10}\.invalid")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the package was installed into."""
    for needed in ("hatchling", "pip"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} comes with the test extra")
    folder = tmp_path_factory.mktemp("plugin")
    source, target = folder / "source", folder / "site"
    shutil.copytree(EXAMPLES / "plugin", source, ignore=shutil.ignore_patterns("__pycache__"))
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation")
    done = subprocess.run(
        (*pip, "--target", str(target), str(source)),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def environ(site: Path, tmp_path: Path) -> dict[str, str]:
    paths = (str(site), *(os.environ[name] for name in ("PYTHONPATH",) if name in os.environ))
    plain = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**plain, "PYTHONPATH": os.pathsep.join(paths), "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}


def coldpress(
    environ: dict[str, str], folder: Path, *arguments: str, said: str = ""
) -> subprocess.CompletedProcess[str]:
    code = "from coldpress.cli.main import main; main()"
    return subprocess.run(
        (sys.executable, "-c", code, *arguments),
        env=environ,
        cwd=folder,
        input=said,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_its_own_tests_pass(environ: dict[str, str], tmp_path: Path) -> None:
    own = EXAMPLES / "plugin" / "tests"
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(own))
    ran = subprocess.run(
        (*command, "-c", os.devnull, str(own)),
        env={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    assert "10 passed" in ran.stdout


def listed(environ: dict[str, str], folder: Path) -> dict[str, Any]:
    told = coldpress(environ, folder, "plugins", "list", "--json")
    assert told.returncode == 0, told.stderr
    return next(one for one in json.loads(told.stdout)["plugins"] if one["name"] == "redact-hosts")


def test_it_is_found_shown_and_approved(environ: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "coldpress.toml"
    file.write_text(SETTINGS)
    before = listed(environ, tmp_path)
    assert (before["source"], before["state"], before["approval"], before["place"]) == (
        "installed",
        "idle",
        "not approved",
        1,
    )
    shown = coldpress(environ, tmp_path, "plugins", "show", "redact-hosts")
    assert "coldpress-redact-hosts 1.0.0" in shown.stdout
    assert "suffixes" in shown.stdout and "a list of texts" in shown.stdout

    declined = coldpress(environ, tmp_path, "plugins", "approve", "redact-hosts", said="n\n")
    assert (declined.returncode, file.read_text()) == (1, SETTINGS)
    approved = coldpress(environ, tmp_path, "plugins", "approve", "redact-hosts", said="y\n")
    assert approved.returncode == 0, approved.stderr
    assert "put another text in the place of a result" in approved.stderr
    assert file.read_text().startswith("# Settings of the test.\n") and "# on" in file.read_text()
    after = listed(environ, tmp_path)
    assert (after["state"], after["approval"], after["why"]) == ("on", "approved", None)


class Model(BaseHTTPRequestHandler):
    """A provider whose model logs in to the host of the last result, under the name it was shown."""

    bodies: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.bodies.append(body)
        seen = ALIAS.findall(body.decode())
        call = {"type": "tool_use", "id": f"toolu_{len(self.bodies):02}", "name": "Bash"}
        content = [{**call, "input": {"command": f"ssh {seen[-1] if seen else 'nobody'}"}}]
        usage = {"input_tokens": 10, "output_tokens": 2}
        answer = json.dumps(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "claude-sonnet-4-5",
                "content": content,
                "stop_reason": "tool_use",
                "usage": usage,
            }
        ).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@pytest.fixture
def upstream() -> Iterator[str]:
    Model.bodies.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def gateway(environ: dict[str, str], tmp_path: Path, upstream: str) -> Iterator[str]:
    """`coldpress serve` with the plugin on and approved."""
    (tmp_path / "coldpress.toml").write_text(SETTINGS)
    assert coldpress(environ, tmp_path, "plugins", "approve", "redact-hosts", "--yes").returncode == 0
    code = "from coldpress.cli.main import main; main()"
    command = (sys.executable, "-c", code, "serve", "--provider-url", f"anthropic={upstream}")
    with subprocess.Popen(command, env=environ, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(PATIENCE_SECONDS, process.kill)
        guard.start()
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_SECONDS) == 0
        finally:
            guard.cancel()
            process.kill()


def ask(url: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"command": {"type": "string"}}}
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "tools": [{"name": "Bash", "description": "Run a command.", "input_schema": schema}],
        "messages": messages,
    }
    sent = urllib.request.Request(
        f"{url}/v1/messages", json.dumps(body).encode(), {"content-type": "application/json", "x-api-key": "k"}
    )
    with urllib.request.urlopen(sent, timeout=PATIENCE_SECONDS) as reply:
        found: dict[str, Any] = json.load(reply)
        return found


def called(number: int, command: str, text: str) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": f"toolu_0{number}", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_0{number}", "content": text}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def test_a_request_through_a_gateway_shows_the_model_other_names_and_the_client_the_real_ones(gateway: str) -> None:
    first = [{"role": "user", "content": "Which machine is down?"}, *called(8, "uptime", "down: db7.corp.example")]
    reply = ask(gateway, first)
    (sent,) = Model.bodies
    aliases = ALIAS.findall(sent.decode())
    assert len(aliases) == 1 and b"corp.example" not in sent
    (block,) = reply["content"]
    assert block["input"] == {"command": "ssh db7.corp.example"}, "the client gets the real name"

    ask(gateway, [*first, *called(1, "ssh db7.corp.example", "welcome to db7.corp.example")])
    again = Model.bodies[1]
    end = sent.index(b"down: host-")
    assert again[:end] == sent[:end], "what was sent once is sent so again"
    assert set(ALIAS.findall(again.decode())) == set(aliases)
    assert b"welcome to host-" in again
