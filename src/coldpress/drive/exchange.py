"""A request as it comes to the driver, and as it is sent on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from coldpress.model.conversation import Span
from coldpress.model.records import Finding, Line, Operation, Receipt
from coldpress.wire.registry import NO_ADDRESS, Address, FormatName
from coldpress.wire.reply_calls import CallFilter

_SESSION_HEADERS = (
    "x-claude-code-session-id",
    "session_id",
    "session-id",
    "conversation_id",
    "thread-id",
    "x-session-id",
    "x-session-affinity",
    "x-opencode-session",
    "x-grok-conv-id",
)


@dataclass(frozen=True, slots=True)
class Screened:
    """What came of looking through a request for what may not leave.

    Attributes:
        client_bytes: of the body as the client sent it.
        changed: whether something was taken out of it.
        lines: the ledger's lines for results that something was taken out of now.
        findings: what was found and let through.
        notes: fixed words.
    """

    client_bytes: int
    changed: bool = False
    lines: tuple[Line, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnReply:
    """A provider's whole answer to a request of ours."""

    status: int
    body: bytes = field(repr=False)


class AsksAsClient(Protocol):
    """Asks a client's provider something of ours, at the client's address and with what it authorises itself by."""

    async def __call__(self, body: bytes, *, betas: Sequence[str], timeout_seconds: float) -> OwnReply | None:
        """Send a body and wait for the whole answer.

        Args:
            body: not compressed; its reply must not be a stream.
            betas: words that the header `anthropic-beta` must name beside the client's own.
            timeout_seconds: for all of it.

        Returns:
            The answer, whatever its status; `None` where none came, or it is too long.
        """


@dataclass(frozen=True, slots=True)
class Inbound:
    """A request to an inference path.

    `body` is free of content encodings. `received_at` is in seconds since 1970. `operation` is the client's own wish
    for this request, if any, `task` the class of its task, if it says one. `headers` have lower-case names. `screened`
    is `None` where nobody has looked for what may not leave; else `body` is without it. `address` is what the
    path tells. `ask` is `None` where nothing may be asked in the client's name.
    """

    request_id: str
    received_at: float
    provider: str
    format: FormatName
    body: bytes = field(repr=False)
    operation: Operation | None
    headers: Mapping[str, str] = field(repr=False)
    task: str | None = None
    screened: Screened | None = None
    address: Address = NO_ADDRESS
    ask: AsksAsClient | None = field(default=None, repr=False, compare=False)

    @property
    def client_bytes(self) -> int:
        """Bytes of the body as the client sent it."""
        return len(self.body) if self.screened is None else self.screened.client_bytes

    def is_changed(self, body: bytes) -> bool:
        """Whether a body to send is another than the client's."""
        return body is not self.body or (self.screened is not None and self.screened.changed)

    @property
    def session_header(self) -> str | None:
        """The session id that the client sent in a header."""
        return next((self.headers[name] for name in _SESSION_HEADERS if name in self.headers), None)

    @property
    def harness(self) -> str | None:
        """The client's product name, as its user agent begins with it: `claude-cli` of `claude-cli/2.1 (cli)`."""
        product = self.headers.get("user-agent", "").split("/")[0].split(" ")[0].strip().lower()
        return product[:64] or None


class CallsOnTheWay(Protocol):
    """What turns the calls of one reply into what the client expects."""

    @property
    def blocks(self) -> bool:
        """Whether a filter may take long, and belongs into a thread."""

    def filter_of(self, name: str, call_id: str) -> CallFilter | None:
        """Give what a call's arguments pass through; `None` where its bytes are left alone."""

    @property
    def is_pending(self) -> bool:
        """Whether `settled` has to be waited for before what came so far goes to the client."""

    async def settled(self) -> None:
        """Wait until every call that came whole is found by whoever gets the next request; never for long."""

    def taken(self, called: tuple[str, ...] = ()) -> None:
        """Take note that the reply is over, whatever its end; called once, before the driver's `finish`.

        Args:
            called: names of the tools that it calls, where its calls were read on the side and not filtered.
        """


@dataclass(frozen=True, slots=True)
class Prepared:
    """What to send: the very same body object where `changed` is false.

    `calls` is `None` where the reply goes to the client as it comes. `betas` are words that the header
    `anthropic-beta` must name beside the client's own. `added` is where in `body` stands what only this provider was
    meant to get.
    """

    body: bytes = field(repr=False)
    changed: bool
    receipt: Receipt
    stream: bool
    calls: CallsOnTheWay | None = None
    betas: tuple[str, ...] = ()
    added: tuple[Span, ...] = ()
