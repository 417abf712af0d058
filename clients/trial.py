"""Run one client through coldpress against the strict upstream, and check what came of it."""

from __future__ import annotations

import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from catalogue import Client, Site
from workspace import ANSWER, TASK, build_log, make_workspace, script_for

from coldpress.testing import Exchange, StrictUpstream

START_SECONDS = 20.0
STOP_SECONDS = 20.0
_SETTINGS = """port = 0
press_subscription = true

[store]
path = "coldpress.sqlite3"

[providers.anthropic]
url = "{upstream}"

[providers.openai]
url = "{upstream}"
"""


class TrialFailed(Exception):
    """The trial could not be run to its end; says what happened."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one client did.

    Attributes:
        client: its name.
        wire: what it spoke.
        finished: the answer of the script came out at the client's end, and it ended well.
        requests: inference requests that reached the upstream.
        streamed: of these, how many asked for a stream.
        refused: requests that the upstream refused for a broken rule; has to be 0.
        pressed: tool results made smaller.
        saved_bytes: bytes of text that the upstream did not get, first sights and repeats together.
        recalled: pressed results whose original came back with the SHA-256 that the ledger names.
        log_recalled: one of them holds the build log as it was printed, byte for byte.
        seconds: how long the client took.
        problem: what went wrong; `None` where nothing did.
    """

    client: str
    wire: str
    finished: bool
    requests: int
    streamed: int
    refused: int
    pressed: int
    saved_bytes: int
    recalled: int
    log_recalled: bool
    seconds: float
    problem: str | None


def run_trial(client: Client, package: Path, folder: Path, *, timeout_seconds: float) -> Outcome:
    """Run a client in a folder of its own, which it leaves behind for those who want to look.

    Raises:
        TrialFailed: coldpress did not start or did not answer.
    """
    make_workspace(folder / "workspace")
    (folder / "home").mkdir()
    with StrictUpstream(script_for(client)) as upstream, _gateway(folder, upstream.url) as url:
        site = Site(package, folder / "home", folder / "workspace", url, TASK)
        started = time.monotonic()
        ended = _run_client(client, site, folder, timeout_seconds=timeout_seconds)
        seconds = time.monotonic() - started
        exchanges = list(upstream.inference)
    return _judge(client, folder, exchanges, ended, seconds)


def _run_client(client: Client, site: Site, folder: Path, *, timeout_seconds: float) -> str | None:
    """Start the client and wait; give what is wrong with how it ended, `None` where nothing is."""
    launch = client.launch(site)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(site.home),
        "LANG": "C.UTF-8",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        **launch.environment,
    }
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            launch.command, cwd=site.workspace, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return f"not done after {timeout_seconds:.0f} seconds"
        finally:
            _end_group(process)
    return None if code == 0 else f"ended with {code}: {(folder / 'stderr').read_text(errors='replace')[-300:]}"


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a client with everything it started and left running."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def _gateway(folder: Path, upstream: str) -> Iterator[str]:
    """Serve coldpress as a process of its own, as a user would, on free ports; it prints where."""
    (folder / "coldpress.toml").write_text(_SETTINGS.format(upstream=upstream), encoding="utf-8")
    with (folder / "gateway.log").open("wb") as log:
        process = subprocess.Popen(
            (*_COLDPRESS, "serve"), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
        )
        try:
            yield _address(process, folder / "gateway.log")
        finally:
            process.terminate()
            process.communicate(timeout=STOP_SECONDS)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Read the address that coldpress prints once requests can come."""
    if process.stdout is not None and select.select([process.stdout], [], [], START_SECONDS)[0]:
        address = process.stdout.readline().decode().strip()
        if address.startswith("http://"):
            return address
    raise TrialFailed(f"coldpress did not start: {log.read_text(errors='replace')[-800:]}")


def _judge(client: Client, folder: Path, exchanges: Sequence[Exchange], ended: str | None, seconds: float) -> Outcome:
    """Put together what the client showed, what the upstream saw and what the ledger holds."""
    entries = _ledger(folder)
    originals = [
        line["original"] for entry in entries for line in _lines(entry) if line["reason"] in ("pressed", "restored")
    ]
    recalled = [text for sha in originals if (text := _recalled(folder, str(sha))) is not None]
    log = build_log(client).strip()
    log_recalled = any(_holds(text.decode(), log) for text in recalled)
    finished = ended is None and _answered(client, folder)
    refusals = [exchange.refusal for exchange in exchanges if exchange.refusal is not None]
    streamed = sum(1 for exchange in exchanges if exchange.request.json.get("stream") is True)
    outcome = Outcome(
        client=client.name,
        wire=client.wire,
        finished=finished,
        requests=len(exchanges),
        streamed=streamed,
        refused=len(refusals),
        pressed=len(originals),
        saved_bytes=sum(_number(entry["body_bytes"]) - _number(entry["sent_bytes"]) for entry in entries),
        recalled=len(recalled),
        log_recalled=log_recalled,
        seconds=round(seconds, 1),
        problem=None,
    )
    return _with_problem(outcome, client, ended, refusals)


def _with_problem(outcome: Outcome, client: Client, ended: str | None, refusals: Sequence[str]) -> Outcome:
    """Name the first thing that is not as it has to be."""
    checks = (
        (ended is None, ended or ""),
        (not refusals, f"the upstream refused: {refusals[0] if refusals else ''}"),
        (outcome.finished, "the answer did not come out"),
        (outcome.streamed > 0 or not client.streams, "no request asked for a stream"),
        (outcome.pressed > 0, "nothing was pressed"),
        (outcome.saved_bytes > 0, "no byte was saved"),
        (outcome.recalled == outcome.pressed, "an original did not come back as it was"),
        (outcome.log_recalled, "the build log is in no original"),
    )
    problem = next((said for holds, said in checks if not holds), None)
    return Outcome(**{name: getattr(outcome, name) for name in Outcome.__slots__ if name != "problem"}, problem=problem)


def _answered(client: Client, folder: Path) -> bool:
    """Whether the script's answer came out of the client."""
    if client.finish is not None:
        saved = folder / "home" / "run.traj.json"
        return saved.is_file() and '"Submitted"' in saved.read_text(encoding="utf-8")
    return ANSWER in (folder / "stdout").read_text(encoding="utf-8", errors="replace")


_COLDPRESS = (sys.executable, "-c", "from coldpress.cli.main import main; main()")


def _ledger(folder: Path) -> list[Mapping[str, object]]:
    done = subprocess.run(
        (*_COLDPRESS, "ledger", "list", "--limit", "10000", "--json"), cwd=folder, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise TrialFailed(f"coldpress ledger ended with {done.returncode}: {done.stderr.decode()[-800:]}")
    requests = json.loads(done.stdout)["requests"]
    return requests if isinstance(requests, list) else []


def _lines(entry: Mapping[str, object]) -> list[Mapping[str, object]]:
    lines = entry.get("lines")
    return lines if isinstance(lines, list) else []


def _recalled(folder: Path, sha: str) -> bytes | None:
    """Get an original back by the command line; `None` where it is not what its name says."""
    done = subprocess.run((*_COLDPRESS, "recall", sha), cwd=folder, capture_output=True, check=False)
    right = done.returncode == 0 and hashlib.sha256(done.stdout).hexdigest() == sha
    return done.stdout if right else None


def _holds(text: str, log: str) -> bool:
    """Whether a result holds the log, as it was printed or as a string of a JSON object (so mini-swe-agent)."""
    if log in text:
        return True
    try:
        found = json.loads(text)
    except ValueError:
        return False
    return isinstance(found, dict) and any(isinstance(value, str) and log in value for value in found.values())


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
