"""The benchmark harness measures what it says: its bodies are real requests, its programs count right and stay at home.

Its modules are run as programs, as people run them; they are no package and share no process with other tests.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

HARNESS = Path(__file__).resolve().parents[2] / "benchmarks"
SIZES = {"4k": 4 << 10, "128k": 128 << 10, "1m": 1 << 20, "8m": 8 << 20}
MARK = b',"cache_control":{"type":"ephemeral"}'

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the harness reads Linux's process files"),
    pytest.mark.skipif(not shutil.which("gcc"), reason="the harness's programs need gcc"),
]


@pytest.fixture(scope="module")
def bodies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bodies")
    subprocess.run([sys.executable, HARNESS / "bodies.py", folder], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bin")
    for name in ("upstream", "loadgen", "session"):
        flags = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
        subprocess.run(["gcc", *flags, "-o", folder / name, HARNESS / f"{name}.c"], check=True)
    return folder


class Upstream:
    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, query: str) -> dict[str, object]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/__control?{query}") as reply:
            return json.load(reply)


@pytest.fixture
def upstream(programs: Path) -> Iterator[Upstream]:
    port = free_port()
    with subprocess.Popen([programs / "upstream", str(port), "60"]) as process:
        for _ in range(1000):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                continue
        yield Upstream(port)
        process.terminate()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(program: Path, *options: object) -> dict[str, float]:
    done = subprocess.run([program, *map(str, options)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def turns(folder: Path, fmt: str, size: str) -> tuple[bytes, list[tuple[int, int, int]]]:
    """The closing bytes of a request and the rows of its turns file."""
    body = (folder / f"{fmt}-{size}.json").read_bytes()
    first, *rows = (folder / f"{fmt}-{size}.turns").read_text().splitlines()
    return body[-int(first) :], [(int(a), int(b), int(c)) for a, b, c in (row.split() for row in rows)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("fmt", ["chat", "anthropic"])
def test_a_body_has_the_size_it_is_named_for_and_one_stem_in_all_its_variants(
    bodies: Path, fmt: str, size: str
) -> None:
    plain, streamed, log = (
        json.loads((bodies / f"{fmt}-{size}{variant}.json").read_bytes()) for variant in ("", "-stream", "-log")
    )
    assert (bodies / f"{fmt}-{size}.json").stat().st_size == pytest.approx(SIZES[size], rel=0.1)
    assert streamed.pop("stream") is True
    streamed.pop("stream_options", None)
    assert streamed == plain
    assert log["messages"][:-2] == plain["messages"][:-2]


@pytest.mark.parametrize("fmt", ["chat", "anthropic"])
def test_every_turn_of_a_growing_conversation_is_a_request_that_ends_in_tool_results(bodies: Path, fmt: str) -> None:
    body = (bodies / f"{fmt}-128k.json").read_bytes()
    closing, rows = turns(bodies, fmt, "128k")
    assert len(rows) > 20
    for cut, before, last in rows:
        places = [place for place in (before, last) if place]
        grown = b"".join(body[a:b] + MARK for a, b in zip([0, *places], places, strict=False))
        request = json.loads(grown + body[places[-1] if places else 0 : cut] + closing)
        ending = request["messages"][-1]
        if fmt == "chat":
            assert ending["role"] == "tool"
        else:
            assert ending["content"][-1]["type"] == "tool_result"
            marked = [i for i, m in enumerate(request["messages"]) if "cache_control" in m["content"][-1]]
            assert marked == [len(request["messages"]) - 3, len(request["messages"]) - 1]


@pytest.mark.parametrize("host", ["10.0.0.1", "192.168.1.1", "8.8.8.8", "0.0.0.0", "128.0.0.1"])
def test_no_address_but_loopback_is_ever_loaded(programs: Path, bodies: Path, host: str) -> None:
    for options in (
        ["loadgen", "--body", bodies / "chat-4k.json"],
        ["session", "--every-us", "1000"],
    ):
        command = [programs / str(options[0]), "--host", host, "--port", "9", "--path", "/", *map(str, options[1:])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "only 127.0.0.0/8" in done.stderr


@pytest.mark.parametrize("connections", [1, 8])
def test_every_request_and_every_byte_is_counted(
    programs: Path, bodies: Path, upstream: Upstream, connections: int
) -> None:
    body = bodies / "anthropic-128k.json"
    load = run(
        *(programs / "loadgen", "--port", upstream.port, "--path", "/v1/messages", "--body", body),
        *("--connections", connections, "--requests", 40, "--warmup", 10, "--nonce", "@@TURN-NONCE--@@"),
    )
    counts = upstream.ask("")
    assert (load["n"], load["sent"], load["errors"]) == (40, 50, 0)
    assert (counts["requests"], counts["body_bytes"]) == (50, 50 * body.stat().st_size)


def test_a_nonce_makes_each_request_another_one(programs: Path, bodies: Path, upstream: Upstream) -> None:
    upstream.ask("hash=1")
    options = (programs / "loadgen", "--port", upstream.port, "--path", "/v1/messages", "--requests", 1)
    options += ("--body", bodies / "anthropic-4k.json")
    hashes = []
    for extra in ((), (), ("--nonce", "@@FIRST-NONCE-@@"), ("--nonce", "@@FIRST-NONCE-@@")):
        run(*options, *extra)
        hashes.append(upstream.ask("")["last_hash"])
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


@pytest.mark.parametrize(("path", "events"), [("/v1/messages", 101), ("/v1/chat/completions", 102)])
def test_paced_events_arrive_one_by_one_and_say_when_they_left(
    programs: Path, bodies: Path, upstream: Upstream, path: str, events: int
) -> None:
    upstream.ask("stream=1&event_us=500")
    options = ("--port", upstream.port, "--path", path, "--body", bodies / "chat-4k.json", "--requests", 3)
    load = run(programs / "loadgen", *options)
    assert load["events"] == events
    assert load["delays"] > 3 * 90
    assert 0 < load["delay50"] < 500
    assert load["p50"] > 40 > load["ttfb50"]


def test_a_whole_run_ends_in_a_report(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    command = [sys.executable, HARNESS / "run.py", "--work", tmp_path / "work", "--out", rows, "--port", free_port()]
    few = ["--targets", "direct", "--sizes", "4k", "--special", "none", "--rounds", 2, "--seconds", 0.05]
    subprocess.run([*map(str, [*command, *few])], check=True, capture_output=True)
    kinds = [json.loads(line)["kind"] for line in rows.read_text().splitlines()]
    assert kinds == ["setup", "primed", "cell", "cell"]
    report = subprocess.run([sys.executable, HARNESS / "report.py", rows], check=True, capture_output=True, text=True)
    assert "## Goals" in report.stdout
    assert "| direct (not added) |" in report.stdout
    assert "not measured" in report.stdout


def row(target: str, p50: float) -> str:
    """A cell of the case that most goals speak of, as a run writes it."""
    case = {"format": "chat", "size": "4k", "mode": "json", "turn": "warm", "connections": 1, "world": "instant"}
    load = {"n": 9, "sent": 9, "errors": 0, "seconds": 1.0, "rps": 9.0, "p50": p50, "p90": p50, "p99": p50, "max": p50}
    load |= {"ttfb50": p50, "ttfb99": p50, "events": 0.0, "delays": 0, "delay50": 0.0, "delay99": 0.0, "delay_max": 0.0}
    cell = {"kind": "cell", "target": target, "round": 0, "case": case, "load": load | {"error": ""}}
    return json.dumps(
        cell | {"cpu_ms": p50, "cpu_wait_ms": 0.0, "peak_mb": 1.0, "body_bytes": 1, "forwarded_bytes": None}
    )


@pytest.mark.parametrize(
    ("ours", "against_nginx", "absolute"),
    [
        pytest.param(1.12, "1.20 x | reached", "0.120 ms | reached", id="little is added"),
        pytest.param(1.5, "5.00 x | met", "0.500 ms | met", id="more is added, within the bar"),
        pytest.param(2.5, "15.0 x | **not met**", "1.50 ms | **not met**", id="too much is added"),
    ],
)
def test_a_goal_is_judged_by_what_is_added_to_the_direct_connection(
    tmp_path: Path, ours: float, against_nginx: str, absolute: str
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("\n".join([row("direct", 1.0), row("nginx", 1.1), row("coldpress", ours)]) + "\n")
    report = subprocess.run([sys.executable, HARNESS / "report.py", rows], check=True, capture_output=True, text=True)
    assert f"| added p50 against nginx's, 4k | ≤ 12 x | ≤ 4 x | {against_nginx} |" in report.stdout
    assert f"| added p50, 4k | ≤ 0.6 ms | ≤ 0.15 ms | {absolute} |" in report.stdout
    assert "| LiteLLM's CPU, 4k | ≥ 40 x | ≥ 100 x | – | not measured |" in report.stdout
