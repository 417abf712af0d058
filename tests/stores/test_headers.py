"""No credential reaches the raw log."""

from __future__ import annotations

import pytest

from coldpress.stores.headers import without_secrets


@pytest.mark.parametrize(
    "name",
    [
        "authorization",
        "Authorization",
        "X-API-Key",
        "api-key",
        "cookie",
        "Set-Cookie",
        "proxy-authorization",
        "x-goog-api-key",
        "x-amz-security-token",
        "client-secret",
        "x-session-token",
    ],
)
def test_a_header_that_carries_a_secret_keeps_its_name_and_loses_its_value(name: str) -> None:
    assert without_secrets([(name, "abc")]) == ((name, "removed"),)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("Bearer abcdef", id="a scheme"),
        pytest.param("basic dXNlcjpwYXNz", id="a scheme in lower case"),
        pytest.param("sk-ant-REDACTED", id="a provider's key"),
        pytest.param("v=1; sk-proj-abcdefgh", id="a key inside"),
        pytest.param("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", id="a signed token"),
    ],
)
def test_a_credential_under_a_name_we_do_not_know_is_removed(value: str) -> None:
    assert without_secrets([("x-custom", value)]) == (("x-custom", "removed"),)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("content-type", "application/json"),
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "context-1m-2025-08-07"),
        ("user-agent", "claude-cli/2.0 (external, sdk-cli)"),
        ("x-request-id", "req_0123"),
        ("accept", "*/*"),
    ],
)
def test_other_headers_stay_as_they_are(name: str, value: str) -> None:
    assert without_secrets([(name, value)]) == ((name, value),)


def test_repeated_headers_keep_their_order() -> None:
    headers = [("a", "1"), ("cookie", "x"), ("a", "2"), ("cookie", "y")]
    assert without_secrets(headers) == (("a", "1"), ("cookie", "removed"), ("a", "2"), ("cookie", "removed"))
