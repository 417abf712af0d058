"""Send one request to a provider and hand back its answer piece by piece: the only file that knows the HTTP client.

The client is aiohttp. Its headers are the raw bytes of the wire, a path goes out as written, and a cancelled
request closes its connection at once; see docs/decisions for what the alternatives lacked.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

import aiohttp
from aiohttp import payload
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from coldpress.config.proxy import proxy_for
from coldpress.gateway.errors import Code, UpstreamBroken, UpstreamFailed
from coldpress.gateway.settings import Limits, Provider

# Long enough that an agent's next turn finds its connection, shorter than what most servers wait before they close.
_POOL_IDLE_SECONDS = 30.0
_HEADER_BYTES = 64 * 1024
_HEADER_COUNT = 512
_READ_BUFFER_BYTES = 64 * 1024
_ONE_WRITE_BYTES = 32 * 1024
_NOT_OURS = ("user-agent", "accept", "accept-encoding", "content-type")


@dataclass(frozen=True, slots=True)
class Call:
    """A request for a provider.

    Attributes:
        provider: name, for messages and the proxy choice.
        method: upper case.
        url: absolute, path and query as the client escaped them.
        headers: without a length.
        body: the whole body; pieces to be sent as they come; or nothing.
        body_bytes: the length of a body that comes in pieces, `None` where it is unknown.
    """

    provider: str
    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes | AsyncIterator[bytes] | None
    body_bytes: int | None = None


class Reply:
    """A provider's answer: status and headers are there, the body comes on request.

    Attributes:
        status: the HTTP status.
        headers: raw pairs in order, names lower case, repeats kept.
    """

    __slots__ = ("_provider", "_response", "headers", "status")

    def __init__(self, provider: str, response: aiohttp.ClientResponse) -> None:
        self._provider = provider
        self._response = response
        self.status = response.status
        self.headers = [(name.lower(), value) for name, value in response.raw_headers]

    async def next_chunk(self) -> bytes:
        """Wait for the next bytes; empty at the end. Nothing is read ahead beyond a small buffer.

        Raises:
            UpstreamBroken: the answer ended before its end, or nothing came for too long.
        """
        try:
            return await self._response.content.readany()
        except TimeoutError as error:
            raise UpstreamBroken(f"provider {self._provider!r} fell silent in the middle of its answer") from error
        except (aiohttp.ClientError, OSError) as error:
            raise UpstreamBroken(f"provider {self._provider!r} broke off in the middle of its answer") from error

    @property
    def at_end(self) -> bool:
        """Whether all of the body has been taken."""
        return self._response.content.at_eof()

    def close(self) -> None:
        """Give the connection back where the answer is complete, close it where it is not."""
        self._response.close()


class Upstream:
    """A pool of connections to all providers. Open it inside the event loop that uses it."""

    def __init__(self, limits: Limits, proxies: Mapping[str, str]) -> None:
        """Prepare a pool.

        Args:
            limits: how long to wait.
            proxies: address of an HTTP proxy by provider name, from `proxies_for`.
        """
        self._limits = limits
        self._proxies = {name: URL(address) for name, address in proxies.items()}
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Make the pool; no connection is opened yet."""
        limits = self._limits
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0, keepalive_timeout=_POOL_IDLE_SECONDS, ttl_dns_cache=60, ssl=_tls_context()
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_NOT_OURS,
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(
                total=None,
                connect=limits.connect_seconds,
                sock_connect=limits.connect_seconds,
                sock_read=limits.idle_seconds,
            ),
            read_bufsize=_READ_BUFFER_BYTES,
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
            max_headers=_HEADER_COUNT,
        )

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()

    async def send(self, call: Call) -> Reply:
        """Send a request and wait for the head of its answer. Redirects are answers like any other.

        Raises:
            UpstreamFailed: no answer came; says which provider and what happened.
        """
        if self._session is None:
            raise RuntimeError("Upstream.open has not been called")
        headers = call.headers
        if call.body_bytes is not None:
            headers = [*headers, ("content-length", str(call.body_bytes))]
        try:
            response = await self._session.request(
                call.method,
                _url(call.url),
                headers=headers,
                data=_WholeBody(call.body) if isinstance(call.body, bytes) else call.body,
                allow_redirects=False,
                proxy=self._proxies.get(call.provider),
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _failure(error, call, self._limits, self._proxies.get(call.provider)) from error
        return Reply(call.provider, response)


def proxies_for(providers: Iterable[Provider], environ: Mapping[str, str]) -> dict[str, str]:
    """Choose an HTTP proxy for each provider from `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.

    Args:
        providers: all of them. One on a loopback address never goes through a proxy.
        environ: the process's environment, read once at start-up.
    """
    chosen = {provider.name: proxy_for(provider.url, environ) for provider in providers}
    return {name: address for name, address in chosen.items() if address is not None}


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only mean this machine."""
    return host in ("localhost", "::1") or host.startswith("127.")


@dataclass(frozen=True, slots=True)
class _Cause:
    status: int
    what: str


def _failure(error: Exception, call: Call, limits: Limits, proxy: URL | None) -> UpstreamFailed:
    cause = _cause(error, call.provider, limits, proxy)
    code: Code = "upstream_timeout" if cause.status == 504 else "upstream_unreachable"
    return UpstreamFailed(cause.status, code, f"coldpress: provider {call.provider!r}{_place(call.url)} {cause.what}")


def _place(url: str) -> str:
    """Write where a request went as ` at HOST:PORT`: never user, password, path or query."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return ""
    host = parts.hostname or ""
    return f" at [{host}]:{port}" if ":" in host else f" at {host}:{port}"


def _cause(error: Exception, provider: str, limits: Limits, proxy: URL | None) -> _Cause:
    """Put a failure into words of ours: the library's own may hold an address with a key in its query."""
    setting = f"providers.{provider}.url in the settings"
    match error:
        case aiohttp.ConnectionTimeoutError():
            what = f"could not be connected to within {limits.connect_seconds:g} s"
            return _Cause(504, f"{what}; check the network and {setting}")
        case TimeoutError():
            return _Cause(504, f"sent nothing for {limits.idle_seconds:g} s")
        case aiohttp.ClientConnectorDNSError() | socket.gaierror():
            return _Cause(502, f"could not be reached: its host name was not found; check the network and {setting}")
        case aiohttp.ClientConnectorCertificateError():
            reason = getattr(error.certificate_error, "verify_message", "") or "not trusted"
            return _Cause(
                502,
                f"could not be reached: its TLS certificate was refused ({reason}); "
                "if its authority is your own, name it in SSL_CERT_FILE",
            )
        case aiohttp.ClientSSLError():
            return _Cause(
                502,
                f"could not be reached: the TLS handshake failed; check that {setting} is an address that speaks https",
            )
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            through = _place(str(proxy)) if proxy is not None else ""
            what = f"could not be reached: the HTTP proxy{through}, named in the environment, did not let us through"
            return _Cause(502, f"{what}; check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or except it in NO_PROXY")
        case aiohttp.ClientConnectorError():
            number = error.os_error.errno
            what = f"could not be reached: {os.strerror(number) if number else 'connection failed'}"
            return _Cause(502, f"{what}; check that it runs there, and {setting}")
        case aiohttp.ClientResponseError():
            return _Cause(502, "answered with something that is not HTTP")
        case aiohttp.ServerDisconnectedError():
            return _Cause(502, "closed the connection before it answered")
        case ValueError():
            return _Cause(502, "cannot be sent this request: its address or headers are not valid HTTP")
        case _:
            return _Cause(502, "broke the connection before it answered")


def _tls_context() -> ssl.SSLContext:
    """Verify against the system's authorities, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


@lru_cache(maxsize=512)
def _url(text: str) -> URL:
    # encoded=True: the path and query go out as the client escaped them.
    return URL(text, encoded=True)


class _WholeBody(payload.Payload):
    """A body that is in memory, written without joining it to the headers first where it is large."""

    _autoclose = True

    def __init__(self, body: bytes) -> None:
        super().__init__(body, content_type="application/octet-stream")
        self._body = body
        self._size = len(body)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return self._body.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        await self.write_with_length(writer, None)

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        if len(self._body) > _ONE_WRITE_BYTES:
            writer.send_headers()
        await writer.write(self._body)
        self._body = b""
