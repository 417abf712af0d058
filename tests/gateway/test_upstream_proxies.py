"""Which HTTP proxy a provider is reached through."""

from __future__ import annotations

import asyncio

import pytest
from gateway.world import ANTHROPIC_PATH, NotingDriver, Request, Wire, answering, gateway, ok, post, run, upstream

from coldpress.gateway.settings import Provider
from coldpress.gateway.upstream import proxies_for


@pytest.mark.parametrize(
    ("url", "environ", "expected"),
    [
        pytest.param("https://a.test", {"HTTPS_PROXY": "http://p:1"}, "http://p:1", id="https"),
        pytest.param("http://a.test", {"HTTPS_PROXY": "http://p:1"}, None, id="the proxy of another scheme"),
        pytest.param("http://a.test", {"http_proxy": "p:1"}, "http://p:1", id="lower case, no scheme"),
        pytest.param("https://a.test", {"ALL_PROXY": "http://p:1"}, "http://p:1", id="all"),
        pytest.param("https://a.test", {"HTTPS_PROXY": ""}, None, id="empty is unset"),
        pytest.param("https://a.test", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "b.test, a.test"}, None, id="exempt"),
        pytest.param("https://x.a.test", {"HTTPS_PROXY": "http://p:1", "no_proxy": ".a.test"}, None, id="a domain"),
        pytest.param(
            "https://xa.test", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a.test"}, "http://p:1", id="only alike"
        ),
        pytest.param(
            "https://a.test:8", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a.test:8"}, None, id="with its port"
        ),
        pytest.param(
            "https://a.test:9", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a.test:8"}, "http://p:1", id="other port"
        ),
        pytest.param("https://a.test", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None, id="all exempt"),
        pytest.param("http://127.0.0.1:9", {"HTTP_PROXY": "http://p:1"}, None, id="this machine"),
        pytest.param("http://localhost:9", {"ALL_PROXY": "http://p:1"}, None, id="this machine by name"),
    ],
)
def test_choice(url: str, environ: dict[str, str], expected: str | None) -> None:
    assert proxies_for((Provider("a", url),), environ).get("a") == expected


def test_a_request_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> Request:
        seen: list[Request] = []
        async with upstream(answering(ok(), seen)) as proxy:
            monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv("NO_PROXY", "")
            async with gateway((Provider("far", "http://far.test"),), NotingDriver()) as ready:
                wire = Wire(*await asyncio.open_connection("127.0.0.1", ready.port))
                await wire.send(post(ANTHROPIC_PATH, b"{}"))
                assert (await wire.reply()).status == 200
                wire.close()
        return seen[0]

    request = run(scenario())
    assert request.target == "http://far.test/v1/messages"
    assert request.header("host") == "far.test"
