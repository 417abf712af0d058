"""Where a request goes, and who is asked before it does."""

from __future__ import annotations

import pytest

from coldpress.gateway.asgi import Scope
from coldpress.gateway.errors import Refused
from coldpress.gateway.headers import sort_request_headers
from coldpress.gateway.routes import Route, Routes, dialect_of
from coldpress.gateway.settings import GatewaySettings, Provider

PROVIDERS = (
    Provider("claude", "https://claude.test"),
    Provider("gpt", "https://gpt.test/base", formats=("openai_chat",)),
    Provider("deep", "https://deep.test/anthropic", formats=("anthropic",)),
)
SETTINGS = GatewaySettings("127.0.0.1", 0, PROVIDERS, default_anthropic="claude", default_openai="gpt")


def scope(path: str, method: str = "POST", query: str = "", **headers: str) -> Scope:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Scope(type="http", method=method, raw_path=path.encode(), query_string=query.encode(), headers=raw)


def find(request: Scope, settings: GatewaySettings = SETTINGS) -> Route:
    return Routes(settings).find(request, sort_request_headers(request["headers"]))


@pytest.mark.parametrize(
    ("request_", "url", "format_name"),
    [
        pytest.param(scope("/v1/messages"), "https://claude.test/v1/messages", "anthropic", id="bare messages"),
        pytest.param(
            scope("/v1/chat/completions"), "https://gpt.test/base/v1/chat/completions", "openai_chat", id="bare chat"
        ),
        pytest.param(
            scope("/chat/completions"), "https://gpt.test/base/chat/completions", "openai_chat", id="bare, no version"
        ),
        pytest.param(
            scope("/provider/deep/v1/messages", query="beta=true"),
            "https://deep.test/anthropic/v1/messages?beta=true",
            "anthropic",
            id="named, with a query",
        ),
        pytest.param(
            scope("/provider/claude/v1/chat/completions"),
            "https://claude.test/v1/chat/completions",
            "openai_chat",
            id="a provider of both formats",
        ),
        pytest.param(
            scope("/provider/deep/v1/chat/completions"),
            "https://deep.test/anthropic/v1/chat/completions",
            None,
            id="a format the provider is not read for",
        ),
        pytest.param(scope("/provider/gpt"), "https://gpt.test/base", None, id="a provider without a path"),
        pytest.param(scope("/v1/messages", "GET"), "https://claude.test/v1/messages", None, id="another method"),
        pytest.param(scope("/", "HEAD"), "https://claude.test/", None, id="the root"),
        pytest.param(
            scope("/v1/messages/count_tokens"), "https://claude.test/v1/messages/count_tokens", None, id="count"
        ),
        pytest.param(scope("/v1/models", "GET"), "https://claude.test/v1/models", None, id="models, of nobody known"),
        pytest.param(
            scope("/v1/models", "GET", authorization="Bearer k"),
            "https://gpt.test/base/v1/models",
            None,
            id="models, with an OpenAI client's key",
        ),
        pytest.param(
            scope("/v1/models", "GET", authorization="Bearer k", anthropic_version="2023-06-01"),
            "https://claude.test/v1/models",
            None,
            id="models, of an Anthropic client with a token",
        ),
        pytest.param(
            scope("/api/oauth/profile", "GET", authorization="Bearer k"),
            "https://claude.test/api/oauth/profile",
            None,
            id="a path that only one of them has",
        ),
    ],
)
def test_way(request_: Scope, url: str, format_name: str | None) -> None:
    route = find(request_)
    assert (route.url, route.format) == (url, format_name)


@pytest.mark.parametrize(
    ("request_", "dialect"),
    [
        pytest.param(scope("/v1/messages"), "anthropic", id="by path"),
        pytest.param(scope("/v1/chat/completions", anthropic_version="x"), "openai_chat", id="the path goes first"),
        pytest.param(scope("/v1/files", anthropic_version="x"), "anthropic", id="by header"),
        pytest.param(scope("/provider/deep/x"), "anthropic", id="by provider"),
        pytest.param(scope("/provider/claude/x"), "openai_chat", id="nothing known"),
    ],
)
def test_dialect_of_errors(request_: Scope, dialect: str) -> None:
    assert find(request_).dialect == dialect


@pytest.mark.parametrize(
    ("request_", "status", "said"),
    [
        pytest.param(
            scope("/provider/nobody/v1/messages"),
            404,
            "no provider is called 'nobody'; the settings name: claude, deep, gpt",
            id="a provider nobody named",
        ),
        pytest.param(scope("/provider/"), 404, "no provider is called ''", id="no name at all"),
        pytest.param(scope("/provider/CLAUDE/v1/messages"), 404, "'CLAUDE'", id="names are case-sensitive"),
        pytest.param(scope("/v1/messages", x_coldpress_mode="fast"), 400, "'fast'; use one of press", id="odd mode"),
        pytest.param(scope("/v1/models", x_coldpress_mode=""), 400, "x-coldpress-mode is ''", id="empty mode"),
    ],
)
def test_refusals_name_what_is_wrong(request_: Scope, status: int, said: str) -> None:
    with pytest.raises(Refused) as refused:
        find(request_)
    assert refused.value.status == status
    assert said in refused.value.message


@pytest.mark.parametrize(("path", "key"), [("/v1/messages", "anthropic"), ("/v1/chat/completions", "openai")])
def test_a_bare_path_without_a_default(path: str, key: str) -> None:
    with pytest.raises(Refused, match=f"default_provider.{key}"):
        find(scope(path), GatewaySettings("127.0.0.1", 0, PROVIDERS))


@pytest.mark.parametrize("word", ["press", "observe", "drain", "off", " Observe "])
def test_operations_that_can_be_asked_for(word: str) -> None:
    assert find(scope("/v1/messages", x_coldpress_mode=word)).asked == word.strip().lower()


def test_the_dialect_of_a_request_without_a_route() -> None:
    for path, expected in (("/provider/nobody/v1/messages", "anthropic"), ("/provider/nobody/x", "openai_chat")):
        request = scope(path)
        assert dialect_of(request, sort_request_headers(request["headers"])) == expected
