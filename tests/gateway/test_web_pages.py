"""A web page in the user's browser must not be able to spend the key that the gateway adds."""

from __future__ import annotations

import json

import pytest

from coldpress.config.secret import Secret
from coldpress.gateway.errors import Refused
from coldpress.gateway.headers import sort_request_headers
from coldpress.gateway.settings import Provider
from coldpress.gateway.web_pages import refuse_web_page
from tests.gateway.world import ANTHROPIC_PATH, NotingDriver, Reply, Request, answering, ok, raw, run, world

OURS = Provider("up", "https://up.test", api_key=Secret("UP_KEY", "sk-ours"))
THEIRS = Provider("up", "https://up.test")


def refuse(provider: Provider, *, only_this_machine: bool = True, **headers: str) -> None:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    refuse_web_page(sort_request_headers(pairs), provider, only_this_machine=only_this_machine)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"origin": "https://evil.example", "host": "127.0.0.1:8484"}, id="a form or fetch"),
        pytest.param({"origin": "null", "host": "127.0.0.1:8484"}, id="a sandboxed frame"),
        pytest.param({"sec_fetch_site": "cross-site", "host": "localhost:8484"}, id="an image"),
        pytest.param({"host": "evil.example:8484"}, id="a name that was made to point here"),
        pytest.param({"host": "127.0.0.1.evil.example"}, id="a name that looks like an address"),
        pytest.param({"origin": "http://localhost.evil.example", "host": "localhost"}, id="an origin that looks local"),
        pytest.param({"host": "[::1"}, id="a host that cannot be read"),
    ],
)
def test_a_page_cannot_use_our_key_but_its_own(headers: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        refuse(OURS, **headers)
    assert (refused.value.status, refused.value.code) == (403, "web_page_refused")
    assert "sk-" not in refused.value.message
    refuse(THEIRS, **headers)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no host"),
        pytest.param({"host": "127.0.0.1:8484"}, id="an address"),
        pytest.param({"host": "[::1]:8484"}, id="an IPv6 address"),
        pytest.param({"host": "localhost"}, id="localhost"),
        pytest.param({"host": "gateway:8484"}, id="a container's name"),
        pytest.param({"host": "host.docker.internal:8484"}, id="this machine as seen from a container"),
        pytest.param({"host": "localhost:8484", "origin": "http://localhost:3000"}, id="an app on this machine"),
        pytest.param({"host": "localhost:8484", "sec_fetch_site": "none"}, id="typed into a browser"),
    ],
)
def test_programs_on_this_machine_may(headers: dict[str, str]) -> None:
    refuse(OURS, **headers)


def test_a_gateway_for_other_machines_has_a_public_name() -> None:
    refuse(OURS, only_this_machine=False, host="llm.example.com")
    with pytest.raises(Refused):
        refuse(OURS, only_this_machine=False, host="llm.example.com", origin="https://evil.example")


@pytest.mark.parametrize(
    "path", [pytest.param(ANTHROPIC_PATH, id="inference"), pytest.param("/v1/files", id="relayed unread")]
)
def test_nothing_of_it_reaches_the_provider(path: str) -> None:
    seen: list[Request] = []
    driver = NotingDriver()

    async def scenario() -> Reply:
        async with world(answering(ok(), seen), driver=driver, api_key=Secret("UP_KEY", "sk-ours")) as w:
            page = ("origin: https://evil.example", "content-type: text/plain", "content-length: 2")
            return await w.ask(raw("POST", path, "anthropic-version: 2023-06-01", *page) + b"{}")

    reply = run(scenario())
    assert reply.status == 403
    assert json.loads(reply.body)["error"]["type"] == "permission_error"
    assert (seen, driver.inbound) == ([], [])
