"""What every store offers, and the values it answers with.

A store keeps four things apart, each with bounds of its own: *originals* (texts, by SHA-256), *standing
edits* (what stands in the place of an original, by conversation), the *ledger* (receipts and outcomes, no
conversation text) and, only where it is switched on, the *raw log* (requests and replies as they were).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, fields
from typing import Literal, Protocol

from coldpress.model.edits import Standing
from coldpress.model.errors import ConfigError
from coldpress.model.identity import EditKey
from coldpress.model.records import Outcome, Receipt

MIB = 1 << 20
DAY_SECONDS = 86_400.0
Direction = Literal["request", "reply"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a store may keep. Bytes are bytes as stored (compressed); days count from the last use.

    An original and a standing edit are *used* when they are stored, found again for a request, or recalled;
    a ledger entry and a raw event are as old as they are. `tombstones` is how many expired originals are
    remembered by name.

    Raises:
        ConfigError: a bound is negative.
    """

    originals_bytes: int = 2048 * MIB
    originals_days: float = 30.0
    ledger_days: float = 90.0
    raw_bytes: int = 1024 * MIB
    raw_days: float = 7.0
    standings_bytes: int = 512 * MIB
    standings_days: float = 60.0
    ledger_bytes: int = 256 * MIB
    tombstones: int = 200_000

    def __post_init__(self) -> None:
        for bound in fields(self):
            if getattr(self, bound.name) < 0:
                raise ConfigError(f"bound {bound.name} is {getattr(self, bound.name)}; use 0 or more")


DEFAULT_BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A receipt with how its request ended; `outcome` is `None` while it runs, or where nobody told."""

    receipt: Receipt
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class LineageSummary:
    """One conversation in the ledger. Times are seconds since the epoch; `pressed` counts new views."""

    lineage: str
    harness_session: str | None
    first_at: float
    last_at: float
    requests: int
    pressed: int
    reused: int


@dataclass(frozen=True, slots=True)
class RawEvent:
    """One logged request or reply, secrets in its headers replaced by `removed`."""

    request_id: str
    at: float
    direction: Direction
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class Bucket:
    """Tokens summed over the `replies` that reported them; other replies are not in the sum."""

    tokens: int = 0
    replies: int = 0


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """What providers reported.

    `answered` counts replies with a 2xx status. `unknown` counts those of them that did not report their
    prompt: no bucket holds anything for them, so a total is a total only where `unknown` is 0.
    """

    answered: int = 0
    unknown: int = 0
    fresh: Bucket = field(default_factory=Bucket)
    read: Bucket = field(default_factory=Bucket)
    write_short: Bucket = field(default_factory=Bucket)
    write_long: Bucket = field(default_factory=Bucket)
    output: Bucket = field(default_factory=Bucket)
    reasoning: Bucket = field(default_factory=Bucket)


@dataclass(frozen=True, slots=True)
class Kept:
    """What one part of a store holds now: rows, and bytes as the bounds count them."""

    rows: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store holds now. `expired` counts remembered tombstones."""

    originals: Kept = field(default_factory=Kept)
    standings: Kept = field(default_factory=Kept)
    ledger: Kept = field(default_factory=Kept)
    raw: Kept = field(default_factory=Kept)
    expired: int = 0


@dataclass(frozen=True, slots=True)
class Views:
    """Texts for which a view was made, with their UTF-8 bytes and estimated tokens before and after.

    `uncounted` of them have no token estimate and are in neither token sum.
    """

    count: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    uncounted: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the ledger as it stands: entries that have expired are in none of them.

    Attributes:
        since: time of the oldest receipt, `None` where there is none.
        requests: receipts; `operations` splits them.
        transformations: new views that were made and sent.
        restorations: refusals to read again that were answered with the exact text.
        reuses: standing edits that were sent again on later requests, one per edit and request.
        would_press: views that were made and not sent, because the gateway only observes.
        body_bytes: bytes of all request bodies as clients sent them; `sent_bytes` as they went upstream.
        ended: outcomes by how the exchange closed; requests still running are in none.
        unrecorded: ledger rows and raw events this process could not store since it started.
    """

    since: float | None = None
    requests: int = 0
    lineages: int = 0
    operations: tuple[tuple[str, int], ...] = ()
    transformations: Views = field(default_factory=Views)
    restorations: int = 0
    reuses: int = 0
    reused_bytes_saved: int = 0
    would_press: Views = field(default_factory=Views)
    body_bytes: int = 0
    sent_bytes: int = 0
    ended: tuple[tuple[str, int], ...] = ()
    usage: UsageTotals = field(default_factory=UsageTotals)
    stored: Stored = field(default_factory=Stored)
    unrecorded: int = 0

    @property
    def applications(self) -> int:
        """Texts that went upstream in another form than the client's: each once per request."""
        return self.transformations.count + self.restorations + self.reuses


class Store(Protocol):
    """Blocking and safe to use from any thread. Every method may raise `StoreError`."""

    def standing(self, keys: Sequence[EditKey]) -> dict[EditKey, Standing]:
        """Find what was decided for these texts; keys without a decision are left out.

        Decisions that are queued and not yet durable are found too: ask `durable` before you send one.
        """
        ...

    def durable(self, keys: Sequence[EditKey]) -> Future[None]:
        """Wait for decisions that `standing` found: done when all of them are on disk.

        Fails with `StoreError` where one could not be stored: what it replaces must then be sent exact.
        """
        ...

    def put(
        self, originals: Sequence[tuple[str, str]], standings: Sequence[Standing], receipt: Receipt | None
    ) -> Future[None]:
        """Keep originals (SHA-256 in hexadecimal, text), decisions and a receipt, all or none.

        The first decision for a key stays: a later one is dropped in silence, and `standing` tells which one
        holds. The future is done when everything is durable, fails with `StoreError` where it is not, and
        cannot be cancelled. What replaces no text, receipts and decisions to stay exact, may wait a little for
        company (a quarter of a second).
        """
        ...

    def add_outcome(self, outcome: Outcome) -> None:
        """Note how a request ended; the first outcome of a request stays. Never blocks, never raises."""
        ...

    def log_event(
        self, request_id: str, at: float, direction: Direction, headers: Sequence[tuple[str, str]], body: bytes
    ) -> None:
        """Keep a request or a reply as it was, where the raw log is switched on. Never blocks, never raises.

        Whatever is put later becomes durable later.
        """
        ...

    def events(self, request_id: str) -> list[RawEvent]:
        """Read the raw log of one request, oldest first."""
        ...

    def recall(self, sha: str) -> str:
        """Give an original back, byte for byte.

        Args:
            sha: its SHA-256 in hexadecimal, or at least the first 8 digits.

        Raises:
            UnknownOriginal: nothing with this name is or was stored here.
            AmbiguousOriginal: the digits fit several.
            ExpiredOriginal: it was stored here and has expired.
            StoreError: what is stored is damaged.
        """
        ...

    def receipts(self, *, limit: int, lineage: str | None, before: float | None) -> list[LedgerEntry]:
        """Read the ledger, newest first: one lineage or all, only what was received `before` a time."""
        ...

    def receipt(self, request_id: str) -> LedgerEntry | None:
        """Read one request's entry."""
        ...

    def lineages(self, *, limit: int) -> list[LineageSummary]:
        """List the conversations in the ledger, the most recently active first."""
        ...

    def totals(self) -> Totals:
        """Sum the ledger up."""
        ...

    def sweep(self, now: float) -> None:
        """Remove the least recently used until everything is within its bounds. Blocks; others may write meanwhile."""
        ...

    def flush(self) -> None:
        """Block until everything handed over so far is stored or has failed."""
        ...

    def close(self) -> None:
        """Store what is queued, then let go of the file. Closing twice is fine."""
        ...
