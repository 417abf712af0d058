"""Run one client with the plugin `intent` off, on or inferring, listening in on both sides of the gateway."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Literal

from catalogue import Client, Site
from intent_tap import Heard, tapped
from intent_task import TASK, Model, Written, make_workspace
from processes import SETTINGS, TrialFailed, gateway, ledger, run_client

from coldpress.testing import Exchange, StrictUpstream

Json = dict[str, Any]
Mode = Literal["off", "capture", "infer"]

PLUGINS: Mapping[Mode, str] = {
    "off": "",
    "capture": '\n[plugins]\norder = ["schema_translator", "intent"]\n',
    "infer": '\n[plugins]\norder = ["intent"]\n\n[plugins.config.intent]\nmode = "infer"\n',
}
"""What the settings file says beside the usual."""
SETTLED_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Run:
    """What one run left behind.

    Attributes:
        ended: what is wrong with how the client ended; `None` where nothing is.
        heard: the inference requests that offer tools, as the client sent them, in order.
        sent: the same as they reached the upstream.
        all_heard: every request of the client.
        given: all bytes that the client got.
        written: the calls as the scripted model wrote them.
        stats: `/stats` of the gateway.
        receipts: the ledger, oldest first.
        folder: where the client's home and workspace are.
        seconds: how long the client took.
    """

    ended: str | None
    heard: tuple[Heard, ...]
    sent: tuple[Exchange, ...]
    all_heard: tuple[Heard, ...]
    given: bytes
    written: tuple[Written, ...]
    stats: Json
    receipts: tuple[Json, ...]
    folder: Path
    seconds: float


def run_mode(client: Client, package: Path, folder: Path, mode: Mode, *, timeout_seconds: float) -> Run:
    """Run a client in a folder of its own, which it leaves behind for those who want to look.

    Raises:
        TrialFailed: coldpress did not start or did not answer.
    """
    make_workspace(folder / "workspace")
    (folder / "home").mkdir()
    model = Model(client)
    with (
        StrictUpstream(model.script) as upstream,
        gateway(folder, SETTINGS.format(upstream=upstream.url) + PLUGINS[mode]) as url,
        tapped(url) as tap,
    ):
        site = Site(package, folder / "home", folder / "workspace", tap.url, TASK)
        started = time.monotonic()
        ended = run_client(client, site, folder, timeout_seconds=timeout_seconds)
        seconds = time.monotonic() - started
        inference = list(upstream.inference)
        stats = _stats(url, len(inference))
    receipts: list[Any] = ledger(folder)
    return Run(
        ended=ended,
        heard=tuple(one for one in tap.requests if one.is_inference and one.tools),
        sent=tuple(one for one in inference if one.request.json.get("tools")),
        all_heard=tuple(tap.requests),
        given=bytes(tap.given),
        written=model.calls,
        stats=stats,
        receipts=tuple(reversed(receipts)),
        folder=folder,
        seconds=round(seconds, 1),
    )


def replayed(run: Run, client: Client, folder: Path) -> tuple[bytes, ...]:
    """Send what a client sent once more through a gateway without plugins; give what reaches the upstream.

    Raises:
        TrialFailed: coldpress did not start.
    """
    folder.mkdir()
    with (
        StrictUpstream(Model(client).script) as upstream,
        gateway(folder, SETTINGS.format(upstream=upstream.url)) as url,
    ):
        for one in run.all_heard:
            connection = HTTPConnection(url.removeprefix("http://"), timeout=SETTLED_SECONDS)
            with closing(connection):
                connection.putrequest(one.method, one.target, skip_host=True, skip_accept_encoding=True)
                for name, value in one.headers:
                    if name not in ("content-length", "transfer-encoding", "connection"):
                        connection.putheader(name, value)
                connection.putheader("content-length", str(len(one.body)))
                connection.endheaders(one.body)
                connection.getresponse().read()
        return tuple(one.request.body for one in upstream.inference if one.request.json.get("tools"))


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
