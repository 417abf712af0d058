"""Build the three C programs, run them, and read what they say."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import procs
from bodies import FIRST_NONCE, MARK, TURN_NONCE
from rows import Load

HERE = Path(__file__).parent
LIFETIME_SECONDS = 4 * 3600
"""The upstream ends by itself after this long, whatever happens to the run."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What the upstream has received since it was last told to forget."""

    requests: int
    body_bytes: int
    last_bytes: int
    last_hash: str


@dataclass(frozen=True, slots=True)
class Address:
    """Where and how to post: port, path, extra header lines."""

    port: int
    path: str
    headers: tuple[str, ...] = ()

    @property
    def options(self) -> list[str]:
        """The same as options of the C programs."""
        flags = ["--port", str(self.port), "--path", self.path]
        return flags + [part for line in self.headers for part in ("--header", line)]


@dataclass(frozen=True, slots=True)
class Pings:
    """Answers to a steady beat of small requests, in milliseconds."""

    n: int
    errors: int
    p50: float
    p99: float
    p999: float
    max: float


@dataclass(frozen=True, slots=True)
class Programs:
    """The built programs. `folder` holds them."""

    folder: Path

    def build(self) -> None:
        """Compile what is older than its source."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("upstream", "loadgen", "session"):
            made = self.folder / name
            newest = max(path.stat().st_mtime for path in (HERE / f"{name}.c", HERE / "common.h"))
            if not made.exists() or made.stat().st_mtime < newest:
                warnings = ["-Wall", "-Wextra", "-Wshadow", "-Werror"]
                subprocess.run(["gcc", "-O2", "-std=gnu11", *warnings, "-o", made, HERE / f"{name}.c"], check=True)

    @contextmanager
    def upstream(self, port: int) -> Iterator[tuple[subprocess.Popen[bytes], Upstream]]:
        """Run the upstream for as long as the block lasts."""
        command = [str(self.folder / "upstream"), str(port), str(LIFETIME_SECONDS)]
        process, upstream = procs.start(command, folder=self.folder / "run-upstream"), Upstream(port)
        try:
            if procs.wait_until(upstream.answers, process, 5) is None:
                raise RuntimeError(f"the upstream did not start on port {port}; is the port taken?")
            yield process, upstream
        finally:
            procs.stop(process)

    def fire(
        self, to: Address, body: Path, *, connections: int, first: bool, seconds: float, requests: int, warmup: int
    ) -> Load:
        """Load a target; every request differs in its last turn, or where `first` in its first message.

        Raises:
            RuntimeError: the load generator itself failed (the target refused connections, say).
        """
        least = max(3, connections)
        amounts = {
            "connections": connections,
            "requests": max(requests, least),
            "at-least": least,
            "seconds": seconds,
            "warmup": warmup,
        }
        options = [*to.options, "--body", str(body), "--nonce", FIRST_NONCE if first else TURN_NONCE]
        options += [part for name, value in amounts.items() for part in (f"--{name}", str(value))]
        said = self._run("loadgen", options)
        return Load(**json.loads(said))

    def send_once(self, to: Address, body: Path) -> Load:
        """Send a body as it is, once."""
        return Load(**json.loads(self._run("loadgen", [*to.options, "--body", str(body), "--requests", "1"])))

    def grow(
        self, to: Address, body: Path, turns: Path, *, new: bool, marks: int, seconds: float
    ) -> list[tuple[int, float]]:
        """Send a conversation turn by turn, as it is or as a new one.

        Args:
            marks: how many of the last user messages carry a cache mark, 1 or 2 (only in Anthropic's format).
            seconds: when to stop early.

        Returns:
            Bytes and milliseconds of each request.
        """
        options = [*to.options, "--body", str(body), "--turns", str(turns)]
        options += ["--marks", str(marks), "--seconds", str(seconds)]
        if "anthropic" in turns.name:
            options += ["--mark", MARK.decode()]
        said = self._run("session", options + (["--nonce", FIRST_NONCE] if new else []))
        return [(int(size), float(ms)) for size, ms in (line.split() for line in said.splitlines())]

    def ping(self, to: Address, *, seconds: float, every_us: int = 2000) -> Pings:
        """Send a small GET at a steady beat."""
        beat = ["--every-us", str(every_us), "--seconds", str(seconds)]
        return Pings(**json.loads(self._run("session", [*to.options, *beat])))

    def _run(self, program: str, options: Sequence[str]) -> str:
        done = subprocess.run([self.folder / program, *options], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr.strip() or f'exit code {done.returncode}'}")
        return done.stdout


@dataclass(frozen=True, slots=True)
class Upstream:
    """The control of a running upstream."""

    port: int

    def answers(self) -> bool:
        """Whether it is up."""
        try:
            self.counts()
        except OSError:
            return False
        return True

    def world(self, *, stream: bool, first_ms: int = 0, event_us: int = 0) -> None:
        """Say how the next answers look."""
        self._ask(f"stream={int(stream)}&first_ms={first_ms}&event_us={event_us}")

    def watch_bodies(self, *, hashing: bool) -> None:
        """Say whether bodies are hashed from now on."""
        self._ask(f"hash={int(hashing)}")

    def counts(self, *, forget: bool = False) -> Counts:
        """Read the counts, and set them to zero where asked."""
        return Counts(**json.loads(self._ask(f"reset={int(forget)}")))

    def _ask(self, query: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", f"/__control?{query}")
            return connection.getresponse().read()
        finally:
            connection.close()
