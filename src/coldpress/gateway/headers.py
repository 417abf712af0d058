"""Decide which headers cross the gateway, in both directions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from coldpress.config.secret import Secret
from coldpress.gateway.asgi import RawHeaders
from coldpress.wire.registry import FormatName

OPERATION_HEADER = b"x-coldpress-mode"
REQUEST_ID_HEADER = b"x-coldpress-request"
TASK_HEADER = b"x-coldpress-task"

_OWN = b"x-coldpress-"
_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"http2-settings",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
# The client library writes `host` and the length; the server has answered `expect` itself.
_NOT_SENT = _HOP_BY_HOP | {b"host", b"content-length", b"expect"}
_NOTED = frozenset(
    {
        b"anthropic-beta",
        b"anthropic-version",
        b"authorization",
        b"connection",
        b"content-encoding",
        b"content-length",
        b"expect",
        b"host",
        b"origin",
        b"sec-fetch-site",
        b"transfer-encoding",
        b"upgrade",
        b"x-goog-api-key",
        OPERATION_HEADER,
        TASK_HEADER,
    }
)
_CREDENTIALS = frozenset({"authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"})
_DESCRIBE_BODY = frozenset({"content-encoding", "content-md5", "content-digest", "repr-digest", "digest"})
_OF_ONE_BODY = frozenset({b"content-length", *[name.encode() for name in _DESCRIBE_BODY]})
# What a second provider gets of a request that was meant for another one. Anything else may hold what only that one
# should know: a key in a header nobody has heard of, a cookie, an account, a token of a gateway in between.
_FOR_ANYBODY = frozenset(
    {
        "accept",
        "anthropic-beta",
        "anthropic-version",
        "accept-encoding",
        "content-encoding",
        "content-type",
        "user-agent",
    }
)
_QUERY_FOR_ANYBODY = frozenset({"beta", "alt"})
# Google takes a key, or a token, in the query as well (cloud.google.com, "Use API keys"; the system parameters of its
# APIs).
_QUERY_CREDENTIALS = frozenset({"key", "$key", "access_token", "oauth_token"})
# What our HTTP server refuses to write; a lenient upstream parser may let it through.
_CONTROL_BYTES = bytes([*range(9), *range(10, 32), 127])


@dataclass(frozen=True, slots=True)
class RequestHeaders:
    """A client's headers, sorted once.

    Attributes:
        forward: what goes upstream, names lower case, in the client's order, repeats kept.
        noted: the few the gateway acts on itself; repeats joined with commas.
    """

    forward: list[tuple[str, str]] = field(repr=False)
    noted: dict[bytes, bytes] = field(repr=False)

    @property
    def declared_bytes(self) -> int | None:
        """The body's length as declared; `None` where it comes in chunks or there is none."""
        length = self.noted.get(b"content-length")
        return int(length) if length is not None else None

    @property
    def has_body(self) -> bool:
        """Whether a body follows."""
        return b"transfer-encoding" in self.noted or bool(self.declared_bytes)

    @property
    def encoding(self) -> str | None:
        """The `content-encoding` of the body, `None` where it is plain."""
        encoding = self.noted.get(b"content-encoding")
        return None if encoding is None or encoding.lower() == b"identity" else encoding.decode("latin-1")

    @property
    def task(self) -> str | None:
        """The class of its task, as the client says it; `None` where it does not."""
        task = self.noted.get(TASK_HEADER)
        return task.decode("latin-1") if task else None

    def shareable(self) -> dict[str, str]:
        """The headers without anything that opens a door, for the driver to read."""
        return {name: value for name, value in self.forward if name not in _CREDENTIALS}


def sort_request_headers(raw: RawHeaders) -> RequestHeaders:
    """Sort a client's headers into what goes on and what we act on ourselves."""
    forward: list[tuple[str, str]] = []
    noted: dict[bytes, bytes] = {}
    for name, value in raw:
        if name in _NOTED:
            noted[name] = noted[name] + b"," + value if name in noted else value
        if name not in _NOT_SENT and not name.startswith(_OWN):
            forward.append((name.decode("latin-1"), _text(value)))
    named = _named_by_connection(noted.get(b"connection"))
    if named:
        forward = [pair for pair in forward if pair[0].encode("latin-1") not in named]
    return RequestHeaders(forward, noted)


def inference_headers(forward: Iterable[tuple[str, str]], *, body_changed: bool) -> list[tuple[str, str]]:
    """Headers of a request whose reply we read along: the reply must come uncompressed.

    Args:
        forward: from `sort_request_headers`.
        body_changed: whether another body than the client's goes out, so that what describes the client's must not.
    """
    dropped = _DESCRIBE_BODY | {"accept-encoding"} if body_changed else {"accept-encoding"}
    kept = [pair for pair in forward if pair[0] not in dropped]
    kept.append(("accept-encoding", "identity"))
    return kept


def with_own_key(forward: Iterable[tuple[str, str]], key: Secret, dialect: FormatName) -> list[tuple[str, str]]:
    """Put our key in the place of the client's, in the header this kind of API reads."""
    kept = [pair for pair in forward if pair[0] not in ("authorization", "x-api-key", "x-goog-api-key")]
    if dialect == "anthropic":
        kept.append(("x-api-key", key.reveal()))
    elif dialect == "gemini":
        kept.append(("x-goog-api-key", key.reveal()))
    else:
        kept.append(("authorization", f"Bearer {key.reveal()}"))
    return kept


def with_betas(forward: Iterable[tuple[str, str]], betas: Sequence[str]) -> list[tuple[str, str]]:
    """Have `anthropic-beta` name what we ask for, behind what the client names; nothing is named twice.

    >>> with_betas([("anthropic-beta", "a, b")], ("b", "c"))
    [('anthropic-beta', 'a, b,c')]
    """
    pairs = list(forward)
    named = {word.strip() for name, value in pairs if name == "anthropic-beta" for word in value.split(",")}
    new = [beta for beta in betas if beta not in named]
    if not new:
        return pairs
    at = next((index for index, (name, value) in enumerate(pairs) if name == "anthropic-beta" and value.strip()), None)
    if at is None:
        return [*pairs, ("anthropic-beta", ",".join(new))]
    pairs[at] = (pairs[at][0], ",".join((pairs[at][1], *new)))
    return pairs


def with_betas_of(headers: Iterable[tuple[str, str]], forward: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Have `anthropic-beta` name what the client names in `forward`, and nothing of ours."""
    own = [pair for pair in forward if pair[0] == "anthropic-beta"]
    return [pair for pair in headers if pair[0] != "anthropic-beta"] + own


def failover_headers(forward: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """What of a request's headers a second provider gets: those that say how the body reads, and no other."""
    return [pair for pair in forward if pair[0] in _FOR_ANYBODY]


def without_key(url: str) -> str:
    """Give an address without the credentials in its query, for a request that gets ours; all else stays as it is.

    >>> without_key("https://llm.example.com/v1beta/models/m:streamGenerateContent?alt=sse&key=secret")
    'https://llm.example.com/v1beta/models/m:streamGenerateContent?alt=sse'
    """
    address, _, query = url.partition("?")
    pairs = query.split("&")
    kept = [pair for pair in pairs if unquote(pair.partition("=")[0]) not in _QUERY_CREDENTIALS]
    if len(kept) == len(pairs):
        return url
    return f"{address}?{'&'.join(kept)}" if kept else address


def failover_query(url: str) -> str:
    """Give an address with what of its query a second provider gets.

    >>> failover_query("https://llm.example.com/v1/messages?beta=true&key=secret")
    'https://llm.example.com/v1/messages?beta=true'
    """
    address, _, query = url.partition("?")
    kept = "&".join(pair for pair in query.split("&") if pair.partition("=")[0] in _QUERY_FOR_ANYBODY)
    return f"{address}?{kept}" if kept else address


def without_cookies(raw: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """Give a second provider's headers without the cookies that the client would send to the first one."""
    return [pair for pair in raw if pair[0] != b"set-cookie"]


def reply_headers(raw: Iterable[tuple[bytes, bytes]], *, status: int) -> RawHeaders:
    """What of an upstream's headers goes to the client, in order, repeats kept.

    Args:
        raw: as received, names lower case.
        status: 204 and 304 have no body, and our server takes a length there for a promise of one.
    """
    kept = [pair for pair in raw if pair[0] not in _HOP_BY_HOP]
    if status in (204, 304):
        kept = [pair for pair in kept if pair[0] != b"content-length"]
    for name, value in raw:
        if name == b"connection" and (named := _named_by_connection(value)):
            kept = [pair for pair in kept if pair[0] not in named]
    values = b"".join([value for _, value in kept])
    if len(values.translate(None, _CONTROL_BYTES)) != len(values):
        kept = [(name, value.translate(None, _CONTROL_BYTES)) for name, value in kept]
    return kept


def without_body_facts(raw: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """Give an upstream's headers without those that describe its body, for a reply that gets another one."""
    return [pair for pair in raw if pair[0] not in _OF_ONE_BODY]


def header(raw: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """The first value of a header whose names are lower case; empty where it is absent."""
    return next((value.decode("latin-1") for key, value in raw if key == name), "")


def _named_by_connection(value: bytes | None) -> frozenset[bytes]:
    if value is None:
        return frozenset()
    tokens = {token.strip().lower() for token in value.split(b",")}
    return frozenset(tokens - {b"", b"close", b"keep-alive", b"upgrade"})


def _text(value: bytes) -> str:
    # The HTTP client writes UTF-8, so valid UTF-8 crosses unchanged; a lone high byte becomes its UTF-8 form.
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
