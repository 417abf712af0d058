"""Send one question to a summariser's endpoint and take its whole answer: the driver's only file that does HTTP."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from coldpress.config.secret import Secret
from coldpress.wire.registry import FormatName

_MOST_REPLY_BYTES: Final = 16 << 20
_ANTHROPIC_VERSION: Final = "2023-06-01"
_CARRIED_HEADERS: Final = ("anthropic-beta", "anthropic-version")
"""Headers of an agent's request that decide how its body is read; never one that holds a key."""


@dataclass(frozen=True, slots=True)
class Posted:
    """An answer of the endpoint, whatever it says.

    `retry_after` is the header as it came. `body` is `None` where it is longer than any answer to such a question.
    """

    status: int
    retry_after: str | None
    body: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class NotAnswered:
    """No answer, or half of one. `sent` says that the endpoint may have had the question, and may bill it."""

    what: str
    sent: bool


class Endpoint:
    """One address for questions. Use it on one event loop, from `open` to `close`.

    Args:
        url: the whole address.
        format_name: what it speaks.
        api_key: sent as that format sends keys; `None` sends none.
        proxy: address of an HTTP proxy to go through.
    """

    def __init__(self, url: str, format_name: FormatName, api_key: Secret | None, *, proxy: str | None = None) -> None:
        self._url = URL(url)
        self._format = format_name
        self._api_key = api_key
        self._proxy = URL(proxy) if proxy else None
        self._session: aiohttp.ClientSession | None = None
        parts = urlsplit(url)
        self.place = parts.netloc.rpartition("@")[2]
        self.host = parts.hostname or ""

    async def open(self) -> None:
        """Make the pool of connections; none is opened yet."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context()),
                cookie_jar=aiohttp.DummyCookieJar(),
                # The caller's limit holds over everything, and it alone.
                timeout=aiohttp.ClientTimeout(total=None),
            )

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(self, body: bytes, carried: tuple[tuple[str, str], ...] = ()) -> Posted | NotAnswered:
        """Send a question and wait for the whole answer, without a limit of time. A redirect is an answer like any.

        Args:
            body: JSON.
            carried: headers of an agent's request; those that decide how its body is read are sent along.
        """
        if self._session is None:
            raise RuntimeError("Endpoint.open has not been called")
        try:
            async with self._session.post(
                self._url, data=body, headers=self._headers(carried), allow_redirects=False, proxy=self._proxy
            ) as response:
                return Posted(response.status, response.headers.get("retry-after"), await _whole(response))
        except aiohttp.ClientConnectorError:
            return NotAnswered(f"{self.place} could not be connected to", sent=False)
        except (aiohttp.ClientError, OSError):
            return NotAnswered(f"{self.place} broke off before the end of its answer", sent=True)

    def _headers(self, carried: tuple[tuple[str, str], ...]) -> dict[str, str]:
        headers = {"content-type": "application/json", "user-agent": "coldpress"}
        if self._format == "anthropic":
            headers["anthropic-version"] = _ANTHROPIC_VERSION
            for name in _CARRIED_HEADERS:
                values = [value for key, value in carried if key.lower() == name]
                if values:
                    headers[name] = ",".join(values)
        if self._api_key is not None:
            if self._format == "anthropic":
                headers["x-api-key"] = self._api_key.reveal()
            else:
                headers["authorization"] = f"Bearer {self._api_key.reveal()}"
        return headers


async def _whole(response: aiohttp.ClientResponse) -> bytes | None:
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > _MOST_REPLY_BYTES:
            response.close()
            return None
        parts.append(part)
    return b"".join(parts)
