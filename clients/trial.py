"""Run one client through coldpress against the strict upstream, and check what came of it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from catalogue import Client, Site
from processes import SETTINGS, gateway, ledger, recalled, run_client
from workspace import ANSWER, TASK, build_log, make_workspace, script_for

from coldpress.testing import Exchange, StrictUpstream
from coldpress.wire.registry import read_address


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
    with StrictUpstream(script_for(client)) as upstream, gateway(folder, SETTINGS.format(upstream=upstream.url)) as url:
        site = Site(package, folder / "home", folder / "workspace", url, TASK)
        started = time.monotonic()
        ended = run_client(client, site, folder, timeout_seconds=timeout_seconds)
        seconds = time.monotonic() - started
        exchanges = list(upstream.inference)
    return _judge(client, folder, exchanges, ended, seconds)


def _judge(client: Client, folder: Path, exchanges: Sequence[Exchange], ended: str | None, seconds: float) -> Outcome:
    """Put together what the client showed, what the upstream saw and what the ledger holds."""
    entries = ledger(folder)
    originals = [
        line["original"] for entry in entries for line in _lines(entry) if line["reason"] in ("pressed", "restored")
    ]
    texts = [text for sha in originals if (text := recalled(folder, str(sha))) is not None]
    log = build_log(client).strip()
    log_recalled = any(_holds(text.decode(), log) for text in texts)
    finished = ended is None and answered(client, folder, ANSWER)
    refusals = [exchange.refusal for exchange in exchanges if exchange.refusal is not None]
    streamed = sum(1 for exchange in exchanges if _streams(exchange))
    outcome = Outcome(
        client=client.name,
        wire=client.wire,
        finished=finished,
        requests=len(exchanges),
        streamed=streamed,
        refused=len(refusals),
        pressed=len(originals),
        saved_bytes=sum(_number(entry["body_bytes"]) - _number(entry["sent_bytes"]) for entry in entries),
        recalled=len(texts),
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


def answered(client: Client, folder: Path, answer: str) -> bool:
    """Whether a script's answer came out of the client; one with a `finish` saves that it was reached."""
    if client.finish is not None:
        saved = folder / "home" / "run.traj.json"
        return saved.is_file() and '"Submitted"' in saved.read_text(encoding="utf-8")
    return answer in (folder / "stdout").read_text(encoding="utf-8", errors="replace")


def _streams(exchange: Exchange) -> bool:
    """Whether a request asks for a stream: in its body, or in its address."""
    return exchange.request.json.get("stream") is True or read_address(exchange.request.path).streams is True


def _lines(entry: Mapping[str, object]) -> list[Mapping[str, object]]:
    lines = entry.get("lines")
    return lines if isinstance(lines, list) else []


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
