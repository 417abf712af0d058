"""Choose where a request goes and what may be done with it, from its address and headers alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from coldpress.gateway.asgi import Scope
from coldpress.gateway.errors import Refused
from coldpress.gateway.headers import OPERATION_HEADER, RequestHeaders, without_key
from coldpress.gateway.settings import GatewaySettings, Provider
from coldpress.model.records import Operation
from coldpress.wire.registry import NO_ADDRESS, Address, FormatName, read_address, recognise

_PREFIX = b"/provider/"
_GOOGLE_PATHS = (b"/v1beta/", b"/v1internal:")
_GOOGLES_OPENAI = b"/v1beta/openai/"
"""Where the Gemini API speaks as OpenAI's does, which takes its key as a bearer token."""
_OPERATIONS: dict[bytes, Operation] = {name.encode(): name for name in get_args(Operation)}


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request goes.

    Attributes:
        provider: the upstream.
        url: its address with the client's path and query, as the client escaped them.
        format: how the body reads, `None` where the request is relayed unread.
        dialect: the wire format in which to tell the client of an error.
        asked: the operation that the request itself asks for, `None` where it does not.
        address: what the path tells of an inference call that the body does not.
    """

    provider: Provider
    url: str = field(repr=False)  # a key may stand in its query
    format: FormatName | None
    dialect: FormatName
    asked: Operation | None
    address: Address = NO_ADDRESS

    @property
    def sent_url(self) -> str:
        """The address that the request is sent to: without the client's key, where ours goes along."""
        return self.url if self.provider.api_key is None else without_key(self.url)


class Routes:
    """The providers by name, and the defaults of bare paths."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._by_name = {provider.name.encode(): provider for provider in settings.providers}
        self._anthropic = settings.default_anthropic
        self._openai = settings.default_openai
        self._gemini = settings.default_gemini

    def find(self, scope: Scope, headers: RequestHeaders) -> Route:
        """Find a request's way.

        Raises:
            Refused: no such provider, no default for a bare path, or an operation that does not exist.
        """
        raw_path = scope["raw_path"]
        asked = _asked(headers)
        if raw_path.startswith(_PREFIX):
            name, slash, rest = raw_path[len(_PREFIX) :].partition(b"/")
            provider, path = self._named(name), slash + rest
            found = recognise(scope["method"], path.decode("latin-1"))
        else:
            path = raw_path
            found = recognise(scope["method"], path.decode("latin-1"))
            provider = self._default(found, path, headers)
        query = scope["query_string"]
        url = provider.url + path.decode("latin-1") + ("?" + query.decode("latin-1") if query else "")
        read = found if found in provider.formats else None
        address = read_address(path.decode("latin-1")) if found is not None else NO_ADDRESS
        return Route(provider, url, read, found or _guess(headers, provider, path), asked, address)

    def may_serve(self, route: Route) -> tuple[Provider, ...]:
        """Every provider that a request may be sent to: its own, and the one that is asked where that fails."""
        second = self._by_name.get((route.provider.failover or "").encode())
        return (route.provider,) if second is None else (route.provider, second)

    def _named(self, name: bytes) -> Provider:
        provider = self._by_name.get(name)
        if provider is None:
            known = ", ".join(sorted(key.decode() for key in self._by_name)) or "none"
            asked = name[:64].decode("latin-1")
            raise Refused(
                404, "unknown_provider", f"coldpress: no provider is called {asked!r}; the settings name: {known}"
            )
        return provider

    def _default(self, found: FormatName | None, path: bytes, headers: RequestHeaders) -> Provider:
        key = _kind_of_api(found, path, headers)
        name = {"openai": self._openai, "gemini": self._gemini}.get(key, self._anthropic)
        provider = self._by_name.get(name.encode()) if name is not None else None
        if provider is None:
            raise Refused(
                404,
                "no_provider",
                f"coldpress: a path without /provider/NAME goes to default_provider.{key}, which names no provider",
            )
        return provider


def counts_tokens(route: Route) -> bool:
    """Whether a request has a whole conversation counted, as Anthropic's clients ask for."""
    return route.format is None and route.url.partition("?")[0].endswith("/v1/messages/count_tokens")


def dialect_of(scope: Scope, headers: RequestHeaders) -> FormatName:
    """The wire format in which to answer a request that has no route."""
    path = scope["raw_path"]
    return recognise(scope["method"], path.decode("latin-1")) or _guess(headers, None, path)


def _guess(headers: RequestHeaders, provider: Provider | None, path: bytes) -> FormatName:
    if b"anthropic-version" in headers.noted:
        return "anthropic"
    if provider is not None and len(provider.formats) == 1:
        return provider.formats[0]
    if provider is not None and "gemini" not in provider.formats:
        return "openai_chat"
    is_native = b"x-goog-api-key" in headers.noted or path.startswith(_GOOGLE_PATHS)
    return "gemini" if is_native and not path.startswith(_GOOGLES_OPENAI) else "openai_chat"


def _kind_of_api(
    found: FormatName | None, path: bytes, headers: RequestHeaders
) -> Literal["anthropic", "openai", "gemini"]:
    """Whose API a bare path is meant for; what it is not known of goes to Anthropic's.

    Some paths, such as `/v1/models` and `/v1/files`, are in several APIs.
    """
    noted = headers.noted
    if found == "gemini" or (found is None and (b"x-goog-api-key" in noted or path.startswith(_GOOGLE_PATHS))):
        return "gemini"
    if found in ("openai_chat", "openai_responses"):
        return "openai"
    anthropic = b"anthropic-version" in noted or b"anthropic-beta" in noted
    speaks_openai = path.startswith(b"/v1/") and b"authorization" in noted and not anthropic
    return "openai" if found is None and speaks_openai else "anthropic"


def _asked(headers: RequestHeaders) -> Operation | None:
    value = headers.noted.get(OPERATION_HEADER)
    if value is None:
        return None
    operation = _OPERATIONS.get(value.strip().lower())
    if operation is None:
        got = value[:64].decode("latin-1")
        raise Refused(
            400,
            "invalid_mode",
            f"coldpress: header {OPERATION_HEADER.decode()} is {got!r}; use one of {', '.join(get_args(Operation))}",
        )
    return operation
