"""Run one client on a task that outgrows the strict upstream's window, in one arm, and check how it ended."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from catalogue import Client, Site
from overflow_task import ANSWER, TASK, Bulk, make_books, script_for, settled
from processes import SETTINGS, gateway, ledger, recalled, run_client
from trial import answered

from coldpress.model.summary import Section
from coldpress.testing import Exchange, Rules, StrictUpstream, summariser

WINDOW_TOKENS = 24_000
_OVERFLOW = {
    "anthropic": re.compile(rf"prompt is too long: \d+ tokens > {WINDOW_TOKENS} maximum"),
    "openai_chat": re.compile(
        rf"This model's maximum context length is {WINDOW_TOKENS} tokens\. However, your messages resulted in \d+ "
    ),
}


_Event = Mapping[str, object]
MODEL = "scripted-small"
_WORTH_KEEPING: Mapping[Section, str] = {
    "constraints": r"The difference must go to account [A-Z]+-\d+\.|Never write to [^.\n]+\.",
    "plan": r"I write the report of day \d+\.|Day \d+ is next\.",
    "artifacts": r"\[\S+ [0-9a-f]{7,40}\] Open the books",
    "failures": r'settle: error: [^"\\\n]+',
}
"""What the scripted summariser looks for, as a model would that was told what the task is."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to run the task.

    Attributes:
        name: for people, and as the choice on the command line.
        bulk: what fills the window.
        settings: what the settings file says beside the usual; `None` runs the client without coldpress.
        finishes: whether the task has to come to its end; where not, it has to end in the provider's overflow error.
        clears: whether results have to become one line under pressure.
        summarises: whether messages have to be summarised.
        model: whether the summary has to be the scripted summariser's, every time.
    """

    name: str
    bulk: Bulk
    settings: str | None
    finishes: bool
    clears: bool = False
    summarises: bool = False
    model: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one client did in one arm.

    Attributes:
        arm, client, wire: which.
        finished: the books are settled, the archive was left alone, and the answer came out at the client's end.
        requests: inference requests that reached the upstream.
        largest_tokens: the longest prompt that it took.
        overflowed: requests that it refused as too long.
        refused: requests that it refused for anything else; has to be 0.
        cleared: results that became one line under pressure.
        summarised: messages that a summary took the place of, over all compactions.
        summaries: compactions that made one.
        summariser_requests: requests that the scripted summariser answered.
        seconds: how long the client took.
        problem: what is not as it has to be; `None` where nothing is.
    """

    arm: str
    client: str
    wire: str
    finished: bool
    requests: int
    largest_tokens: int
    overflowed: int
    refused: int
    cleared: int
    summarised: int
    summaries: int
    summariser_requests: int
    seconds: float
    problem: str | None = None


def run_arm(arm: Arm, client: Client, package: Path, folder: Path, *, timeout_seconds: float) -> Outcome:
    """Run a client in a folder of its own, which it leaves behind for those who want to look.

    Raises:
        TrialFailed: coldpress did not start or did not answer.
    """
    make_books(folder / "workspace")
    (folder / "home").mkdir()
    script = script_for(arm.bulk, finish=client.finish)
    with (
        StrictUpstream(script, rules=Rules(window_tokens=WINDOW_TOKENS)) as upstream,
        StrictUpstream(summariser(_WORTH_KEEPING)) as summaries,
        _address(arm, folder, upstream=upstream.url, summaries=summaries.url) as url,
    ):
        site = Site(package, folder / "home", folder / "workspace", url, TASK)
        started = time.monotonic()
        ended = run_client(client, site, folder, timeout_seconds=timeout_seconds)
        seconds = time.monotonic() - started
        exchanges, asked = list(upstream.inference), len(summaries.inference)
    events = [] if arm.settings is None else _pressures(ledger(folder))
    run = _Run(folder, tuple(exchanges), tuple(event for event in events if event["summary"]), ended)
    refusals = [exchange.refusal for exchange in exchanges if exchange.refusal is not None]
    overflows = [refusal for refusal in refusals if _OVERFLOW[client.wire].match(refusal)]
    outcome = Outcome(
        arm=arm.name,
        client=client.name,
        wire=client.wire,
        finished=ended is None and answered(client, folder, ANSWER) and settled(folder / "workspace"),
        requests=len(exchanges),
        largest_tokens=max((exchange.usage.prompt or 0 for exchange in exchanges if exchange.usage), default=0),
        overflowed=len(overflows),
        refused=len(refusals) - len(overflows),
        cleared=sum(_number(event["cleared"]) for event in events),
        summarised=sum(_number(event["summarised"]) for event in events),
        summaries=len(run.made),
        summariser_requests=asked,
        seconds=round(seconds, 1),
    )
    return replace(outcome, problem=_problem(arm, outcome, run))


@dataclass(frozen=True, slots=True)
class _Run:
    """What one run left behind: where, what the upstream saw, compactions with a summary, and how the client ended."""

    folder: Path
    exchanges: tuple[Exchange, ...]
    made: tuple[_Event, ...]
    ended: str | None


def _problem(arm: Arm, outcome: Outcome, run: _Run) -> str | None:
    """Name the first thing that is not as this arm has to end."""
    if not outcome.requests:
        return f"the client asked for nothing: {run.ended}"
    if not arm.finishes:
        return _first(
            (not outcome.finished, "it came to its end"),
            (outcome.overflowed > 0, f"no request was refused as too long: {run.ended}"),
            (outcome.refused == 0, f"the upstream refused: {_refusal(run)}"),
            (run.exchanges[-1].refusal is not None, "the last request was taken"),
            (_told(run.exchanges[-1].refusal or "", run.folder), "the client does not tell of the provider's error"),
        )
    standing = _standing(run)
    return _first(
        (outcome.overflowed + outcome.refused == 0, f"the upstream refused: {_refusal(run)}"),
        (run.ended is None, run.ended or ""),
        (settled(run.folder / "workspace"), "the books are not settled, or the archive was written to"),
        (outcome.finished, "the answer did not come out"),
        (_needle(TASK, ()) in run.exchanges[-1].request.body, "the last request does not hold the task word for word"),
        (outcome.cleared > 0 or not arm.clears, "no result became one line"),
        (outcome.summaries > 0 or not arm.summarises, "no message was summarised"),
        (arm.summarises or not outcome.summaries, "messages were summarised"),
        (not arm.model or all(event["summariser"] == MODEL for event in run.made), "a summary is not the model's"),
        (arm.model or not outcome.summariser_requests, "the summariser was asked"),
        (standing is None, standing or ""),
    )


def _first(*checks: tuple[bool, str]) -> str | None:
    return next((said for holds, said in checks if not holds), None)


def _standing(run: _Run) -> str | None:
    """Check that each summary stands, byte for byte, from its own request on until the next one takes its place."""
    bodies = [exchange.request.body for exchange in run.exchanges if b'"tools"' in exchange.request.body]
    expected = None
    for number, event in enumerate(run.made, start=1):
        text = recalled(run.folder, str(event["summary"]))
        if text is None:
            return f"summary {number} cannot be recalled"
        needle = _needle(text.decode(), bodies)
        holding = [at for at, body in enumerate(bodies) if needle in body]
        if not holding:
            return f"summary {number} was never sent"
        if holding != list(range(holding[0], holding[-1] + 1)) or holding[0] != (expected or holding[0]):
            return f"summary {number} came and went"
        heads = {bodies[at].partition(needle)[0].partition(b'"messages"')[2] for at in holding}
        if len(heads) != 1:
            return f"what stands before summary {number} changed while it stood"
        expected = holding[-1] + 1
    return None if expected in (None, len(bodies)) else "the last summary is not in the last request"


def _needle(text: str, bodies: Sequence[bytes]) -> bytes:
    """Give a text as it stands inside a JSON string, with the escapes that the requests use."""
    forms = [json.dumps(text, ensure_ascii=ascii_only)[1:-1].encode() for ascii_only in (False, True)]
    return next((form for form in forms if any(form in body for body in bodies)), forms[0])


def _refusal(run: _Run) -> str:
    return next((exchange.refusal for exchange in run.exchanges if exchange.refusal is not None), "nothing")


def _told(refusal: str, folder: Path) -> bool:
    """Whether the provider's words came out at the client's end."""
    shown = [path.read_text(encoding="utf-8", errors="replace") for path in (folder / "stdout", folder / "stderr")]
    return any(refusal.partition(".")[0] in " ".join(text.split()) for text in shown)


def _pressures(entries: Sequence[Mapping[str, object]]) -> list[_Event]:
    """List what was done about prompts above the trigger, oldest first."""
    found = [entry.get("pressure") for entry in reversed(entries)]
    return [event for event in found if isinstance(event, dict)]


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


@contextmanager
def _address(arm: Arm, folder: Path, *, upstream: str, summaries: str) -> Iterator[str]:
    """Give the base URL that the client talks to: coldpress's, or in an arm without it the upstream's own."""
    if arm.settings is None:
        yield upstream
        return
    settings = SETTINGS.format(upstream=upstream) + arm.settings.format(window=WINDOW_TOKENS, summaries=summaries)
    with gateway(folder, settings) as url:
        yield url
