"""A request as it comes to the driver, and as it is sent on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coldpress.model.records import Operation, Receipt
from coldpress.wire.registry import FormatName

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
class Inbound:
    """A request to an inference path.

    `body` is free of content encodings. `received_at` is in seconds since 1970. `operation` is the client's own wish
    for this request, if any, `task` the class of its task, if it says one. `headers` have lower-case names.
    """

    request_id: str
    received_at: float
    provider: str
    format: FormatName
    body: bytes = field(repr=False)
    operation: Operation | None
    headers: Mapping[str, str] = field(repr=False)
    task: str | None = None

    @property
    def session_header(self) -> str | None:
        """The session id that the client sent in a header."""
        return next((self.headers[name] for name in _SESSION_HEADERS if name in self.headers), None)

    @property
    def harness(self) -> str | None:
        """The client's product name, as its user agent begins with it: `claude-cli` of `claude-cli/2.1 (cli)`."""
        product = self.headers.get("user-agent", "").split("/")[0].split(" ")[0].strip().lower()
        return product[:64] or None


@dataclass(frozen=True, slots=True)
class Prepared:
    """What to send: the very same body object where `changed` is false."""

    body: bytes = field(repr=False)
    changed: bool
    receipt: Receipt
    stream: bool
