"""Run OMP through coldpress with the settings of one arm of the reference experiment, and gather what came of it."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catalogue import KEY, OMP, Client, Launch, Site, chat_model, omp
from processes import TrialFailed, ledger, run_client, served
from reference_task import MODEL, SUMMARISER, TASK, make_sources, script_for, search_engine

from coldpress.testing import Exchange, Rules, StrictUpstream

PROVIDER = "deepseek"
SETTLED_SECONDS = 20.0
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Arm:
    """Settings, and what has to come of them.

    Attributes:
        name: for people.
        file: the settings file, used as it is.
        options: of `coldpress serve`, beside those that say where everything is.
        presses: whether anything reaches the upstream otherwise than OMP sent it.
        grep: the mode in which grep becomes smaller after one exposure; `None` where it stays exact.
        cut: why that is done, or is not.
        summaries: what came of wanting a summary; `None` where none is wanted.
    """

    name: str
    file: Path
    options: tuple[str, ...] = ()
    presses: bool = True
    grep: str | None = None
    cut: str | None = None
    summaries: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What one run left behind.

    Attributes:
        ended: what is wrong with how OMP ended; `None` where nothing is.
        answer: what it printed.
        sent: what the upstream was asked by OMP, in order.
        asked: what it was asked by coldpress, for summaries.
        receipts: the ledger, oldest first.
        stats: `/stats` of the gateway.
        calls: what OMP was asked to do, by the id of the call: arguments as they came, and as it read them.
        results: what its tools gave back, by the id of the call.
        seconds: how long OMP took.
    """

    ended: str | None
    answer: str
    sent: tuple[Exchange, ...]
    asked: tuple[Exchange, ...]
    receipts: tuple[Json, ...]
    stats: Json
    calls: Mapping[str, Json]
    results: Mapping[str, str]
    seconds: float
    bill_usd: float | None = field(default=None)


def run_arm(arm: Arm, package: Path, folder: Path, *, timeout_seconds: float) -> Run:
    """Run OMP in a folder of its own, which it leaves behind for those who want to look.

    Raises:
        TrialFailed: coldpress did not start or did not answer.
    """
    make_sources(folder / "workspace")
    (folder / "home").mkdir()
    store = ("--store", str(folder / "coldpress.sqlite3"))
    with StrictUpstream(script_for(), rules=Rules(dialect="deepseek")) as upstream, search_engine() as search:
        options = ("--config", str(arm.file), "--port", "0", "--provider-url", f"{PROVIDER}={upstream.url}")
        with served(folder, *options, *store, *arm.options) as url:
            site = Site(package, folder / "home", folder / "workspace", url, TASK)
            started = time.monotonic()
            ended = run_client(client(search), site, folder, timeout_seconds=timeout_seconds)
            seconds = time.monotonic() - started
            sent = tuple(one for one in upstream.inference if one.request.json.get("model") == MODEL)
            stats = _stats(url, len(sent))
        asked = tuple(one for one in upstream.inference if one.request.json.get("model") == SUMMARISER)
    receipts: list[Any] = ledger(folder, "--config", str(arm.file), *store)
    calls, results = _session(folder / "home")
    answer = (folder / "stdout").read_text(encoding="utf-8", errors="replace")
    bill = stats["money"]["bill"]
    return Run(
        ended=ended,
        answer=answer,
        sent=sent,
        asked=asked,
        receipts=tuple(reversed(receipts)),
        stats=stats,
        calls=calls,
        results=results,
        seconds=round(seconds, 1),
        bill_usd=None if bill["unpriced"] else bill["usd"],
    )


def client(search: str) -> Client:
    """OMP on the provider of the experiment, with a search engine at this address."""

    def launch(site: Site) -> Launch:
        settings = {
            "baseUrl": f"{site.url}/provider/{PROVIDER}/v1",
            "api": "openai-completions",
            "apiKey": KEY,
            "models": [chat_model(MODEL)],
        }
        return omp(site, settings, f"scripted/{MODEL}", {"SEARXNG_ENDPOINT": search})

    return Client("omp", "openai_chat", OMP, launch)


def _stats(url: str, requests: int) -> Json:
    """Read `/stats` once it knows how all requests ended: rows are written in batches."""
    until = time.monotonic() + SETTLED_SECONDS
    while True:
        with urllib.request.urlopen(f"{url}/stats", timeout=SETTLED_SECONDS) as reply:
            stats: Json = json.load(reply)["decisions"]
        if sum(stats["ended"].values()) >= requests:
            return stats
        if time.monotonic() > until:
            raise TrialFailed(f"/stats knows of {stats['ended']} after {SETTLED_SECONDS:.0f} seconds")
        time.sleep(0.05)


def _session(home: Path) -> tuple[dict[str, Json], dict[str, str]]:
    """Read OMP's own record of its session."""
    calls: dict[str, Json] = {}
    results: dict[str, str] = {}
    for file in sorted(home.glob(".omp/agent/sessions/*/*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            message = json.loads(line).get("message") or {}
            if message.get("role") == "assistant":
                calls |= {block["id"]: block for block in message["content"] if block["type"] == "toolCall"}
            if message.get("role") == "toolResult":
                results[message["toolCallId"]] = _text(message["content"])
    return calls, results


def _text(content: Sequence[Json]) -> str:
    return "\n".join(block["text"] for block in content if block["type"] == "text")
