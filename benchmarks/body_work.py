"""Time what coldpress does with a body and with a reply, without HTTP: one thread, all formats in turn.

    python benchmarks/body_work.py [--sizes 4k,128k,1m,8m] [--formats chat,responses] [--rounds 40] [--json FILE]

The bodies are those of `bodies.py`, the streams those of `upstream.c`. Of each body, in milliseconds of CPU of the
thread, so that a machine with other work is no hindrance:

    parse       `json.loads`, and msgspec's decoder: what reading the whole body costs at least
    first       find and read a body that no earlier one begins like
    known       find and read the next request of a known conversation: the prefix is hashed, the rest read
    prepared    all of `Driver.prepare` for such a request: find, read, decide, splice, receipt; its threads not counted
    finished    `Driver.finish`

and of each stream the cost of an event in `UsageTap`, in microseconds. Every round takes all formats one after the
other, so that a slow spell falls on all of them; medians over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import statistics
import string
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import about
import bodies
import msgspec
import setup
from bodies import TURN_NONCE, Format, body_file, turns_file
from load import Address, Programs
from targets import HEADERS, PATHS, STREAM_PATHS

from coldpress.config import load
from coldpress.drive import Driver, Inbound
from coldpress.model.records import Outcome
from coldpress.stores.sqlite import SqliteStore
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName, read_address, recognise
from coldpress.wire.sse import UsageTap

HERE = Path(__file__).parent
PORT = 18950
PARSE_SHARE = 4
"""A parse of everything is timed in every so many rounds only: it costs the most and varies the least."""
PROVIDERS: dict[Format, str] = {"chat": "openai", "anthropic": "anthropic", "responses": "openai", "gemini": "gemini"}
AGENTS = {"responses": "codex_cli_rs/0.63 (linux)", "gemini": "GeminiCLI/0.61.0 (linux)"}

Times = dict[tuple[str, str, str], list[float]]
"""Seconds by (size, format, what)."""


def wire_name(fmt: Format) -> FormatName:
    """What coldpress calls a format."""
    found = recognise("POST", PATHS[fmt])
    assert found is not None
    return found


class Talk:
    """A conversation of one format and size, and its next requests."""

    def __init__(self, folder: Path, fmt: Format, size: str) -> None:
        self.fmt, self.size, self.wire = fmt, size, wire_name(fmt)
        self.address = read_address(PATHS[fmt])
        self.body = body_file(folder, fmt, size, "small", stream=False).read_bytes()
        first, *rows = turns_file(folder, fmt, size).read_text().splitlines()
        self.cuts = [int(row.split()[0]) for row in rows]
        self.suffix = self.body[-int(first) :]
        self.sent = 0

    def grown(self) -> Iterator[bytes]:
        """Give the requests by which it grew."""
        for cut in self.cuts:
            yield self.body[:cut] + self.suffix

    def next(self) -> bytes:
        """Give its next request: the last turn is another one each time."""
        self.sent += 1
        return self.body.replace(TURN_NONCE.encode(), b"%016d" % self.sent, 1)

    def inbound(self, body: bytes) -> Inbound:
        """Make a request of a body."""
        self.requests = getattr(self, "requests", 0) + 1
        name = f"{self.fmt}-{self.size}-{self.requests}"
        agent = {"user-agent": AGENTS.get(self.fmt, "bench/1")}
        return Inbound(name, time.time(), PROVIDERS[self.fmt], self.wire, body, None, agent, address=self.address)


def timed(into: list[float], work: Callable[..., Any], *arguments: Any) -> Any:
    """Run work and note the CPU that this thread spent on it."""
    began = time.thread_time()
    done = work(*arguments)
    into.append(time.thread_time() - began)
    return done


def read_bodies(talks: list[Talk], rounds: int, times: Times) -> None:
    """Time parsers, and readings of new and of known conversations."""
    known: dict[Format, Reader[None]] = {}
    for talk in talks:
        reader = known[talk.fmt] = Reader(seed=1, max_messages=10**7)
        *_, stem = talk.grown()
        reader.remember(reader.read(stem, talk.wire, None, talk.address), None)
    for number in range(rounds):
        for talk in talks:
            body, reader = talk.next(), known[talk.fmt]
            if number % PARSE_SHARE == 0:
                timed(times[talk.size, talk.fmt, "json.loads"], json.loads, body)
                timed(times[talk.size, talk.fmt, "msgspec"], msgspec.json.decode, body)
                timed(times[talk.size, talk.fmt, "first"], _read, Reader(seed=1), talk, body)
            reading = timed(times[talk.size, talk.fmt, "known"], _read, reader, talk, body)
            assert reading.conversation.known > 0, f"{talk.fmt} {talk.size} is not known"


def _read(reader: Reader[None], talk: Talk, body: bytes) -> Any:
    return reader.read(body, talk.wire, reader.find(body, talk.wire), talk.address)


async def drive_bodies(driver: Driver, talks: list[Talk], rounds: int, times: Times) -> dict[str, tuple[int, int]]:
    """Time the driver on conversations that grew through it; gives what was sent of each body, in bytes."""
    sent: dict[str, tuple[int, int]] = {}
    for talk in talks:
        for body in talk.grown():
            inbound = talk.inbound(body)
            await driver.prepare(inbound)
            driver.finish(Outcome(inbound.request_id, 200, "complete", 1.0))
    for _ in range(rounds):
        for talk in talks:
            inbound = talk.inbound(talk.next())
            began = time.thread_time()
            prepared = await driver.prepare(inbound)
            times[talk.size, talk.fmt, "prepared"].append(time.thread_time() - began)
            outcome = Outcome(inbound.request_id, 200, "complete", 1.0)
            timed(times[talk.size, talk.fmt, "finished"], driver.finish, outcome)
            sent[f"{talk.fmt} {talk.size}"] = len(inbound.body), len(prepared.body)
    return sent


def settings_file(folder: Path) -> Path:
    """Write the settings that the gateway is measured with."""
    text = (HERE / "peers" / "gateway.toml").read_text()
    known = {"folder": str(folder), "port": "1", "upstream_port": str(PORT), "operation": "press"}
    path = folder / "gateway.toml"
    path.write_text(string.Template(text).substitute(known))
    return path


def streams(folder: Path, formats: list[Format]) -> dict[Format, list[bytes]]:
    """Have the upstream stream a reply in each format, cut into its events."""
    programs = Programs(folder / "bin")
    programs.build()
    found: dict[Format, list[bytes]] = {}
    with programs.upstream(PORT) as (_, upstream):
        upstream.world(stream=True)
        for fmt in formats:
            to = Address(PORT, STREAM_PATHS.get(fmt, PATHS[fmt]), HEADERS[fmt])
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
            connection.request("POST", to.path, b"{}")
            whole = connection.getresponse().read()
            connection.close()
            end = b"\r\n\r\n" if b"\r\n\r\n" in whole else b"\n\n"
            found[fmt] = [event + end for event in whole.split(end) if event]
    return found


def tap_streams(replies: dict[Format, list[bytes]], rounds: int, times: Times) -> None:
    """Time the tap, event by event."""
    for _ in range(rounds):
        for fmt, events in replies.items():
            began = time.thread_time()
            tap = UsageTap(wire_name(fmt), "text/event-stream")
            for event in events:
                tap.feed(event)
            told = tap.end()
            times["stream", fmt, "tap, an event"].append((time.thread_time() - began) / len(events))
            assert told.usage.known, fmt


def table(times: Times, formats: list[Format]) -> Iterator[str]:
    """Lay the medians out: a row for each size and kind of work, a column for each format."""
    yield "| | " + " | ".join(formats) + " |"
    yield "|---" + "|---:" * len(formats) + "|"
    for size, what in dict.fromkeys((size, what) for size, _, what in times):
        scale, unit = (1e6, "us") if size == "stream" else (1e3, "ms")
        cells = [statistics.median(times[size, fmt, what]) * scale for fmt in formats]
        yield f"| {size}, {what}, {unit} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |"


def main() -> None:
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add, names = reader.add_argument, lambda text: text.split(",")
    add("--sizes", type=names, default=list(bodies.SIZES))
    add("--formats", type=names, default=list(bodies.FORMATS))
    add("--rounds", type=int, default=40)
    add("--no-driver", action="store_true")
    add("--json", type=Path, help="file for all samples, in seconds")
    asked = reader.parse_args()
    times: Times = defaultdict(list)
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bodies.write_all(folder)
        tap_streams(streams(folder, asked.formats), asked.rounds * 5, times)
        sent: dict[str, tuple[int, int]] = {}
        for size in asked.sizes:
            talks = [Talk(folder, fmt, size) for fmt in asked.formats]
            read_bodies(talks, asked.rounds, times)
            if asked.no_driver:
                continue
            settings = load(settings_file(folder), environ={"HOME": str(folder)}, secrets="optional")
            with closing(SqliteStore(folder / f"{size}.sqlite3")) as store, closing(Driver(settings, store)) as driver:
                sent |= asyncio.run(drive_bodies(driver, talks, asked.rounds, times))
    print(f"{about.machine()}; load {load_before:.1f} to {os.getloadavg()[0]:.1f}; {asked.rounds} rounds\n")
    print(", ".join(f"{key} {value}" for key, value in about.software(setup.default_work()).items()) + "\n")
    print("\n".join(table(times, asked.formats)))
    print("\nsent of received, bytes: " + "; ".join(f"{name} {b:,} of {a:,}" for name, (a, b) in sent.items()))
    if asked.json:
        kept = {" ".join(key): values for key, values in times.items()}
        asked.json.write_text(json.dumps(kept))


if __name__ == "__main__":
    main()
