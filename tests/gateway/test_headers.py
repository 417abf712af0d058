"""Which headers cross, where no socket is needed to see it."""

from __future__ import annotations

import pytest

from coldpress.config.secret import Secret
from coldpress.gateway.headers import inference_headers, reply_headers, sort_request_headers, with_own_key


@pytest.mark.parametrize(
    ("raw", "declared", "has_body", "encoding"),
    [
        pytest.param([], None, False, None, id="nothing"),
        pytest.param([(b"content-length", b"0")], 0, False, None, id="an empty body"),
        pytest.param([(b"content-length", b"7")], 7, True, None, id="a length"),
        pytest.param([(b"transfer-encoding", b"chunked")], None, True, None, id="chunks"),
        pytest.param([(b"content-encoding", b"Identity")], None, False, None, id="identity is plain"),
        pytest.param([(b"content-encoding", b"gzip"), (b"content-encoding", b"br")], None, False, "gzip,br", id="two"),
    ],
)
def test_what_is_noted(
    raw: list[tuple[bytes, bytes]], declared: int | None, has_body: bool, encoding: str | None
) -> None:
    headers = sort_request_headers(raw)
    assert (headers.declared_bytes, headers.has_body, headers.encoding) == (declared, has_body, encoding)


def test_what_a_connection_header_names_stays_on_this_hop() -> None:
    raw = [(b"connection", b"close, X-Trace"), (b"x-trace", b"1"), (b"x-other", b"2")]
    assert sort_request_headers(raw).forward == [("x-other", "2")]


def test_credentials_are_not_shown_to_the_driver_and_not_in_a_repr() -> None:
    raw = [
        (b"authorization", b"Bearer s3cret"),
        (b"x-api-key", b"s3cret"),
        (b"cookie", b"s3cret"),
        (b"user-agent", b"u"),
    ]
    headers = sort_request_headers(raw)
    assert headers.shareable() == {"user-agent": "u"}
    assert "s3cret" not in repr(headers)


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        pytest.param(False, [("content-encoding", "gzip"), ("digest", "d"), ("a", "1")], id="the client's body"),
        pytest.param(True, [("a", "1")], id="another body"),
    ],
)
def test_headers_of_an_inference_request(changed: bool, kept: list[tuple[str, str]]) -> None:
    forward = [("accept-encoding", "br"), ("content-encoding", "gzip"), ("digest", "d"), ("a", "1")]
    assert inference_headers(forward, body_changed=changed) == [*kept, ("accept-encoding", "identity")]


def test_a_key_of_ours_replaces_every_key_of_the_clients() -> None:
    forward = [("authorization", "a"), ("x-api-key", "b"), ("x-api-key", "c"), ("z", "1")]
    key = Secret("NAME", "k")
    assert with_own_key(forward, key, "anthropic") == [("z", "1"), ("x-api-key", "k")]
    assert with_own_key(forward, key, "openai_chat") == [("z", "1"), ("authorization", "Bearer k")]


@pytest.mark.parametrize(
    ("raw", "status", "kept"),
    [
        pytest.param([(b"a", b"1"), (b"a", b"2")], 200, [(b"a", b"1"), (b"a", b"2")], id="repeats"),
        pytest.param([(b"transfer-encoding", b"chunked"), (b"a", b"1")], 200, [(b"a", b"1")], id="hop by hop"),
        pytest.param(
            [(b"b", b"1"), (b"connection", b"b"), (b"a", b"1")], 200, [(b"a", b"1")], id="named by connection"
        ),
        pytest.param([(b"content-length", b"9")], 304, [], id="no length where there is no body"),
        pytest.param([(b"content-length", b"9")], 200, [(b"content-length", b"9")], id="a length"),
        pytest.param(
            [(b"a", b"x\x01y\x7f"), (b"b", b"\t\xe9")], 200, [(b"a", b"xy"), (b"b", b"\t\xe9")], id="control bytes"
        ),
    ],
)
def test_headers_of_a_reply(raw: list[tuple[bytes, bytes]], status: int, kept: list[tuple[bytes, bytes]]) -> None:
    assert reply_headers(raw, status=status) == kept
