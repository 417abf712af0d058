"""Every gateway that is measured: how it starts, where it listens, how it is posted to."""

from __future__ import annotations

import http.client
import shutil
import string
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import procs
from bodies import FORMATS, Format
from load import Address
from wires import MODELS

HERE = Path(__file__).parent
PATHS: dict[Format, str] = {
    "chat": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
    "gemini": f"/v1beta/models/{MODELS['gemini']}:generateContent",
}
STREAM_PATHS: dict[Format, str] = {"gemini": f"/v1beta/models/{MODELS['gemini']}:streamGenerateContent?alt=sse"}
"""Where the path says that the answer is to be a stream."""
HEADERS: dict[Format, tuple[str, ...]] = {
    "chat": ("Authorization: Bearer sk-bench",),
    "anthropic": ("x-api-key: sk-bench", "anthropic-version: 2023-06-01"),
    "responses": ("Authorization: Bearer sk-bench",),
    "gemini": ("x-goog-api-key: sk-bench",),
}
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "HEADROOM_BINARIES_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
}
"""Keeps the peers from calling home; there is nobody to call where this runs."""
OLDER: tuple[Format, ...] = ("chat", "anthropic")
"""What the peers are measured with."""
START_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Target:
    """A gateway, or none (`command` empty: the upstream itself).

    `remembers` says that it works on what it has seen of a conversation, so that a conversation must have grown through
    it before it can be called known. `formats` are those that it is measured with.
    """

    name: str
    port: int
    command: tuple[str, ...]
    folder: Path
    ready_port: int
    ready_path: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    remembers: bool = False
    formats: tuple[Format, ...] = FORMATS

    def address(self, fmt: Format, *, stream: bool = False) -> Address:
        """Where to post requests of a format."""
        path = STREAM_PATHS.get(fmt, PATHS[fmt]) if stream else PATHS[fmt]
        return Address(self.port, path, HEADERS[fmt])

    @property
    def pinged(self) -> Address:
        """A path that is answered through the same port as requests, by the upstream or by the gateway itself."""
        return Address(self.port, "/v1/models", HEADERS["chat"])

    def answers(self) -> bool:
        """Whether it serves HTTP now, whatever the status."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ready_port, timeout=5)
        try:
            connection.request("GET", self.ready_path)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return True

    def start(self) -> tuple[subprocess.Popen[bytes], float]:
        """Start it; gives the process and the seconds until it answered.

        Raises:
            RuntimeError: it ended, or did not answer in time. Its log says more.
        """
        process = procs.start(self.command, folder=self.folder, environment=self.environment)
        seconds = procs.wait_until(self.answers, process, START_SECONDS)
        if seconds is None:
            procs.stop(process)
            raise RuntimeError(f"{self.name} did not start; see {self.folder / 'log.txt'}")
        return process, seconds


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run keeps things: work folder, first port, and the command that starts coldpress."""

    work: Path
    port: int
    coldpress: str

    def folder(self, name: str) -> Path:
        """The folder of one target, empty of what an earlier run left."""
        folder = self.work / "targets" / name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "home").mkdir(parents=True)
        return folder

    def venv(self, name: str) -> Path:
        """Where `setup.py` installs a peer."""
        return self.work / "venvs" / name

    def filled(self, template: str, folder: Path, port: int, **more: str) -> Path:
        """Write a peer's settings file with its ports and folders."""
        text = (HERE / "peers" / template).read_text()
        known = {"folder": str(folder), "port": str(port), "upstream_port": str(self.port), **more}
        written = folder / template
        written.write_text(string.Template(text).substitute(known))
        return written


def direct(place: Place) -> Target:
    return Target("direct", place.port, (), place.work, place.port)


def nginx(place: Place) -> Target:
    folder, port = place.folder("nginx"), place.port + 1
    settings = place.filled("nginx.conf", folder, port)
    return Target("nginx", port, ("nginx", "-c", str(settings)), folder, port)


def relay(place: Place) -> Target:
    port = place.port + 2
    command = (sys.executable, str(HERE / "peers" / "relay.py"), str(port), str(place.port))
    return Target("relay", port, command, place.folder("relay"), port)


def _coldpress(place: Place, name: str, operation: str, port: int) -> Target:
    folder = place.folder(name)
    settings = place.filled("gateway.toml", folder, port, operation=operation)
    command = (*place.coldpress.split(), "serve", "--config", str(settings))
    # /health and /stats stand on the port behind the data port.
    return Target(name, port, command, folder, port + 1, "/health", remembers=operation == "press")


def coldpress(place: Place) -> Target:
    return _coldpress(place, "coldpress", "press", place.port + 4)


def coldpress_off(place: Place) -> Target:
    return _coldpress(place, "coldpress-off", "off", place.port + 6)


def litellm(place: Place) -> Target:
    folder, port = place.folder("litellm"), place.port + 8
    settings = place.filled("litellm.yaml", folder, port)
    program = str(place.venv("litellm") / "bin" / "litellm")
    where = ("--host", "127.0.0.1", "--port", str(port), "--num_workers", "1")
    command = (program, "--config", str(settings), *where)
    return Target("litellm", port, command, folder, port, "/health/liveliness", _home(folder), formats=OLDER)


def _headroom(place: Place, name: str, port: int, *options: str) -> Target:
    folder, model = place.folder(name), f"http://127.0.0.1:{place.port}"
    program = str(place.venv("headroom") / "bin" / "headroom")
    where = ("--host", "127.0.0.1", "--port", str(port), "--openai-api-url", f"{model}/v1")
    quiet = ("--no-rate-limit", "--stateless", "--no-subscription-tracking", "--no-telemetry", "--no-cache")
    command = (program, "proxy", *where, "--anthropic-api-url", model, *quiet, *options)
    return Target(name, port, command, folder, port, "/health", _home(folder), formats=OLDER)


def headroom_off(place: Place) -> Target:
    return _headroom(place, "headroom-off", place.port + 9, "--no-optimize")


def headroom_on(place: Place) -> Target:
    # Its learned compressor is downloaded at first use and cannot be had offline: what is left is a lower bound.
    return _headroom(place, "headroom-on", place.port + 10, "--disable-kompress")


def awecompress(place: Place) -> Target:
    folder, port = place.folder("awecompress"), place.port + 11
    program = str(place.venv("awecompress") / "bin" / "awecompress")
    where = ("--host", "127.0.0.1", "--port", str(port), "--upstream", f"http://127.0.0.1:{place.port}")
    return Target("awecompress", port, (program, "serve", *where), folder, port, "/", _home(folder), formats=OLDER)


def _home(folder: Path) -> dict[str, str]:
    return {**OFFLINE, "HOME": str(folder / "home")}


TARGETS: dict[str, Callable[[Place], Target]] = {
    "direct": direct,
    "nginx": nginx,
    "coldpress": coldpress,
    "litellm": litellm,
    "headroom-off": headroom_off,
    "headroom-on": headroom_on,
    "awecompress": awecompress,
    "relay": relay,
    "coldpress-off": coldpress_off,
}
DEFAULT = ("direct", "nginx", "coldpress", "litellm", "headroom-off", "headroom-on", "awecompress")
