"""The process: its ports, its own pages, its start and its stop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys

import pytest
from gateway.world import (
    ANTHROPIC_PATH,
    NotingDriver,
    Reply,
    Wire,
    answering,
    gateway,
    ok,
    post,
    raw,
    run,
    world,
)

from coldpress import __version__
from coldpress.gateway.serve import serving
from coldpress.gateway.settings import GatewaySettings, Provider
from coldpress.model.errors import ConfigError

UP = (Provider("up", "http://127.0.0.1:1"),)


async def get(port: int, path: str, method: str = "GET") -> Reply:
    wire = Wire(*await asyncio.open_connection("127.0.0.1", port))
    await wire.send(raw(method, path))
    reply = await wire.reply(head_only=method == "HEAD")
    wire.close()
    return reply


@pytest.mark.parametrize("which", ["port", "control_port"])
def test_health_and_stats(which: str) -> None:
    async def scenario() -> None:
        async with world(answering(ok(b"12345"))) as w:
            await w.ask(post(ANTHROPIC_PATH, b"123"))
            await w.ask(raw("GET", "/v1/models"))
            await w.ask(post(ANTHROPIC_PATH, b"{}", "x-coldpress-mode: odd"))
            await w.idle()
            port = getattr(w.serving, which)
            health, stats = await get(port, "/health"), await get(port, "/stats")
            assert (await get(port, "/health", "HEAD")).status == 200
            assert w.upstream.connections == 1
        assert (health.status, stats.status) == (200, 200)
        told = json.loads(health.body)
        assert (told["ok"], told["version"]) == (True, __version__)
        assert told["uptime_seconds"] >= 0
        counted = json.loads(stats.body)
        assert counted["decisions"] == {"prepared": 1}
        expected = {"requests": 3, "inference": 1, "relayed": 1, "refused": 1, "active": 0}
        assert expected.items() <= counted["transport"].items()
        assert counted["transport"]["request_bytes"] == 3
        assert counted["transport"]["reply_bytes"] == 10
        assert counted["transport"]["in_flight_bytes"] == 0
        assert counted["transport"]["in_flight_peak_bytes"] == 3

    run(scenario())


def test_the_control_port_relays_nothing() -> None:
    async def scenario() -> None:
        async with world(answering(ok())) as w:
            for request in (raw("GET", "/v1/models"), post(ANTHROPIC_PATH, b"{}"), post("/health", b"")):
                wire = Wire(*await asyncio.open_connection("127.0.0.1", w.serving.control_port))
                await wire.send(request)
                assert (await wire.reply()).status == 404
                wire.close()
            assert w.upstream.connections == 0

    run(scenario())


def test_a_data_port_that_others_can_reach_relays_health_and_stats() -> None:
    """They are the provider's paths there; who may ask the gateway itself comes by the loopback control port."""

    async def scenario() -> None:
        settings = GatewaySettings("0.0.0.0", 0, UP, default_anthropic="up")
        async with serving(settings, NotingDriver()) as ready:
            assert ready.control_host == "127.0.0.1"
            assert (await get(ready.port, "/health")).status == 502
            assert (await get(ready.control_port, "/health")).status == 200

    run(scenario())


def test_the_control_port_is_the_next_one() -> None:
    async def scenario() -> None:
        for _ in range(20):
            with socket.create_server(("127.0.0.1", 0)) as probe:
                port = probe.getsockname()[1]
            try:
                async with serving(GatewaySettings("127.0.0.1", port, UP), NotingDriver()) as ready:
                    assert (ready.port, ready.control_port) == (port, port + 1)
                    return
            except ConfigError:
                continue  # somebody else took one of the two meanwhile
        raise AssertionError("no two free ports side by side")

    run(scenario())


def test_a_port_in_use_is_named() -> None:
    async def scenario(port: int) -> None:
        async with serving(GatewaySettings("127.0.0.1", port, UP), NotingDriver()):
            pass

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"port: cannot listen on 127.0.0.1 port {port}: Address already in use"):
            run(scenario(port))


def test_ipv6_loopback() -> None:
    async def scenario() -> None:
        try:
            async with serving(GatewaySettings("::1", 0, UP), NotingDriver()) as ready:
                assert ready.url == f"http://[::1]:{ready.port}"
                wire = Wire(*await asyncio.open_connection("::1", ready.port))
                await wire.send(raw("GET", "/health"))
                assert (await wire.reply()).status == 200
                wire.close()
        except ConfigError:
            pytest.skip("this machine has no IPv6")

    run(scenario())


def test_our_own_answers_carry_no_server_name_and_no_date() -> None:
    async def scenario() -> Reply:
        async with gateway(UP, NotingDriver()) as ready:
            return await get(ready.port, "/health")

    names = [name for name, _ in run(scenario()).headers]
    assert sorted(names) == [b"content-length", b"content-type"]


def test_a_connection_serves_many_requests() -> None:
    async def scenario() -> None:
        async with world(answering(ok())) as w:
            wire = await w.client()
            for path in (ANTHROPIC_PATH, "/v1/models", "/health", ANTHROPIC_PATH) * 3:
                await wire.send(post(path, b"{}") if path != "/health" else raw("GET", path))
                assert (await wire.reply()).status == 200
            wire.close()

    run(scenario())


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from gateway.world import NotingDriver
from coldpress.gateway.serve import run
from coldpress.gateway.settings import GatewaySettings, Provider
run(GatewaySettings("127.0.0.1", 0, (Provider("up", "http://127.0.0.1:1"),)), NotingDriver(),
    told=lambda ready: print(ready.port, flush=True))
print("stopped", flush=True)
"""


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_stops_the_process_gracefully(signum: signal.Signals) -> None:
    tests = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(tests=tests)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    port = int(process.stdout.readline())
    # A client that keeps its connection open does not hold the stop up.
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(raw("GET", "/health"))
        assert client.recv(64).startswith(b"HTTP/1.1 200")
        process.send_signal(signum)
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (0, "stopped\n", "")
