"""Run a client, the gateway and coldpress's commands as processes of their own, as a user would."""

from __future__ import annotations

import hashlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from catalogue import Client, Site

START_SECONDS = 20.0
STOP_SECONDS = 20.0
COLDPRESS = (sys.executable, "-c", "from coldpress.cli.main import main; main()")
SETTINGS = """port = 0
press_subscription = true

[store]
path = "coldpress.sqlite3"

[providers.anthropic]
url = "{upstream}"

[providers.openai]
url = "{upstream}"

[providers.gemini]
url = "{upstream}"
"""


class TrialFailed(Exception):
    """The trial could not be run to its end; says what happened."""


@contextmanager
def gateway(folder: Path, settings: str) -> Iterator[str]:
    """Serve coldpress with a settings file of its own, on free ports, and give the address it prints.

    Raises:
        TrialFailed: it did not start.
    """
    (folder / "coldpress.toml").write_text(settings, encoding="utf-8")
    with served(folder) as address:
        yield address


@contextmanager
def served(folder: Path, *options: str) -> Iterator[str]:
    """Serve coldpress in a folder, with options of its command line, and give the address it prints.

    Raises:
        TrialFailed: it did not start.
    """
    with (folder / "gateway.log").open("wb") as log:
        process = subprocess.Popen(
            (*COLDPRESS, "serve", *options), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
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


def run_client(client: Client, site: Site, folder: Path, *, timeout_seconds: float) -> str | None:
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


def ledger(folder: Path, *options: str) -> list[Mapping[str, object]]:
    """List the requests that coldpress wrote down, newest first; `options` are of the command line.

    Raises:
        TrialFailed: the ledger could not be read.
    """
    done = subprocess.run(
        (*COLDPRESS, "ledger", "list", "--limit", "10000", "--json", *options),
        cwd=folder,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise TrialFailed(f"coldpress ledger ended with {done.returncode}: {done.stderr.decode()[-800:]}")
    requests = json.loads(done.stdout)["requests"]
    return requests if isinstance(requests, list) else []


def recalled(folder: Path, sha: str) -> bytes | None:
    """Get an original back by the command line; `None` where it is not what its name says."""
    done = subprocess.run((*COLDPRESS, "recall", sha), cwd=folder, capture_output=True, check=False)
    right = done.returncode == 0 and hashlib.sha256(done.stdout).hexdigest() == sha
    return done.stdout if right else None
