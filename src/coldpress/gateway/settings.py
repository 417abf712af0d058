"""What the gateway needs to know of the settings, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from coldpress.config.limit_keys import Unpriced
from coldpress.config.secret import Secret
from coldpress.config.settings import Settings
from coldpress.model.records import Operation
from coldpress.wire.registry import FORMATS, FormatName

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What one process takes on.

    Attributes:
        body_bytes: largest request body that is read, as sent.
        expanded_bytes: largest compressed body once expanded.
        in_flight_bytes: request bodies held at one time; a further one is refused as overloaded.
        connect_seconds: longest wait for a connection to a provider, name look-up and TLS included.
        idle_seconds: longest silence of a provider, before its answer or in the middle of it.
        client_seconds: longest silence of a client in the middle of its body.
        prepare_seconds: longest time for reading and pressing; past it the client's own bytes go on.
        shutdown_seconds: how long running exchanges may go on after a stop is asked for.
        concurrency: inference requests that providers have at one time, `None` for no limit.
        rpm: inference requests that go to providers in any 60 seconds, `None` for no limit.
        wait_seconds: longest wait under the two.
        daily_usd: spend on a UTC day from which on inference requests are refused, `None` for no limit.
        unpriced: what `daily_usd` does with requests that nobody can price.
    """

    body_bytes: int = 32 * _MIB
    expanded_bytes: int = 64 * _MIB
    in_flight_bytes: int = 256 * _MIB
    connect_seconds: float = 10.0
    idle_seconds: float = 600.0
    client_seconds: float = 60.0
    prepare_seconds: float = 2.0
    shutdown_seconds: float = 10.0
    concurrency: int | None = None
    rpm: int | None = None
    wait_seconds: float = 30.0
    daily_usd: float | None = None
    unpriced: Unpriced = "refuse"


@dataclass(frozen=True, slots=True)
class Provider:
    """One upstream.

    Attributes:
        name: as in `/provider/NAME/...`.
        url: `http://` or `https://`, no trailing slash; the client's path is put behind it.
        formats: the wire formats that are read here; requests of others are relayed unread.
        operation: what to do with its requests where the request itself does not say.
        api_key: takes the place of the client's key; `None` where the client's own passes through.
        concurrency: inference requests that it has at one time, `None` for no limit of its own.
        rpm: inference requests that go to it in any 60 seconds, `None` for no limit of its own.
        failover: name of the provider that is asked once where this one fails, `None` where there is none.
        failover_model: what that one is asked for, `None` for the model that the request names.
    """

    name: str
    url: str
    formats: tuple[FormatName, ...] = FORMATS
    operation: Operation = "press"
    api_key: Secret | None = None
    concurrency: int | None = None
    rpm: int | None = None
    failover: str | None = None
    failover_model: str | None = None


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Where to listen, where to send, and the bounds.

    Attributes:
        host: address of the data port.
        port: the data port; 0 takes any free one.
        providers: in any order; names are unique.
        default_anthropic: provider of bare Anthropic paths and of paths of no known format; `None` refuses them.
        default_openai: provider of bare Chat Completions and Responses paths; `None` refuses them.
        default_gemini: provider of bare paths of Gemini's inference calls; `None` refuses them.
        control_port: port of our own pages; `None` is the data port plus one, or any free one where that is 0.
    """

    host: str
    port: int
    providers: tuple[Provider, ...]
    default_anthropic: str | None = None
    default_openai: str | None = None
    default_gemini: str | None = None
    control_port: int | None = None
    limits: Limits = field(default_factory=Limits)


def gateway_settings(settings: Settings, *, control_port: int | None = None) -> GatewaySettings:
    """Take the gateway's part out of all settings; `control_port`, where given, goes before theirs."""
    given = settings.limits
    return GatewaySettings(
        host=settings.host,
        port=settings.port,
        control_port=settings.control_port if control_port is None else control_port,
        providers=tuple(
            Provider(
                name=row.name,
                url=row.url,
                formats=row.formats,
                operation=row.operation,
                api_key=row.api_key,
                concurrency=row.concurrency,
                rpm=row.rpm,
                failover=row.failover,
                failover_model=row.failover_model,
            )
            for row in settings.providers
        ),
        default_anthropic=settings.default_provider.anthropic,
        default_openai=settings.default_provider.openai,
        default_gemini=settings.default_provider.gemini,
        limits=Limits(
            body_bytes=given.body_bytes,
            expanded_bytes=given.expanded_body_bytes,
            in_flight_bytes=given.in_flight_bytes,
            connect_seconds=given.connect_seconds,
            idle_seconds=given.idle_seconds,
            client_seconds=given.client_seconds,
            prepare_seconds=given.prepare_seconds,
            shutdown_seconds=given.shutdown_seconds,
            concurrency=given.concurrency,
            rpm=given.rpm,
            wait_seconds=given.wait_seconds,
            daily_usd=given.daily_usd,
            unpriced=given.unpriced,
        ),
    )
