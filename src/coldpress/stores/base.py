"""What every store offers, and the values it answers with.

A store keeps six things apart, each with bounds of its own: *originals* (texts, by SHA-256), *standing
edits* (what stands in the place of an original, by conversation), the *ledger* (receipts and outcomes, no
conversation text), *notes* (durable facts, by whose they are and by path), *kept texts* (small ones that later
requests ask for by name) and, only where it is switched on, the *raw log* (requests and replies as they were).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, fields
from typing import Literal, Protocol

from coldpress.model.edits import Batch, Standing
from coldpress.model.errors import ConfigError
from coldpress.model.identity import EditKey
from coldpress.model.kept import Kept
from coldpress.model.notes import Note, NoteScope
from coldpress.model.records import Outcome, Receipt
from coldpress.model.usage import Usage
from coldpress.stores.amounts import Amount
from coldpress.stores.totals import Totals

MIB = 1 << 20
DAY_SECONDS = 86_400.0
MOST_LENGTHS = 5000
Direction = Literal["request", "reply"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a store may keep. Bytes are bytes as stored (compressed); days count from the last use.

    An original, a standing edit, a batch and a kept text are *used* when they are stored, found again for a request,
    or recalled; a ledger entry and a raw event are as old as they are. Batches count as standing edits. `tombstones` is
    how many expired originals are remembered by name. Notes are never removed for want of room: one that does not fit
    is refused.

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
    notes_bytes: int = 16 * MIB
    kept_bytes: int = 256 * MIB
    kept_days: float = 60.0

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
    """One conversation, by the entries the ledger still has of it.

    Times are seconds since the epoch. `pressed` counts new views of new results, `aged` of results seen before.
    `first_at` is that of the conversation itself, whatever has expired.
    """

    lineage: str
    harness_session: str | None
    first_at: float
    last_at: float
    requests: int
    pressed: int
    aged: int
    reused: int
    bill: Amount
    net: Amount


@dataclass(frozen=True, slots=True)
class RawEvent:
    """One logged request or reply, secrets in its headers replaced by `removed`."""

    request_id: str
    at: float
    direction: Direction
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class Trace:
    """What the ledger knows of a conversation after its newest request, whatever was done with that one.

    Attributes:
        first_at: when its first request was received, `last_at` its newest, in seconds since the epoch.
        provider: of the newest request; `model` and `prompt_tokens` (as sent, estimated) likewise.
        requests: so far, those whose receipts have expired included.
        last_usage: what the newest reply reported, without a single bucket where it reported nothing; `None` where
            no outcome of that request is known.
        context_tokens: of the newest reply, see `Outcome.context_tokens`.
        transformations_seen: whether any reply so far told of reasoning dropped after an edit.
        reply_id: the provider's name for the newest reply; `None` where it has none, or no outcome is known.
    """

    first_at: float
    last_at: float
    provider: str
    model: str | None
    requests: int
    prompt_tokens: int | None = None
    last_usage: Usage | None = None
    context_tokens: int | None = None
    transformations_seen: bool = False
    reply_id: str | None = None


@dataclass(frozen=True, slots=True)
class Decisions:
    """What a store knows of a request: standing edits by text, and batches by the message they were decided at."""

    standings: dict[EditKey, Standing]
    batches: dict[bytes, Batch]


Named = Literal["request", "lineage"]
"""What in the ledger has a name of its own: a request its id, a conversation its lineage."""


class Store(Protocol):
    """Blocking and safe to use from any thread. Every method may raise `StoreError`."""

    def standing(self, keys: Sequence[EditKey]) -> dict[EditKey, Standing]:
        """Find what was decided for these texts; keys without a decision are left out.

        Decisions that are queued and not yet durable are found too: ask `durable` before you send one.
        """
        ...

    def batches(self, chains: Sequence[bytes]) -> dict[bytes, Batch]:
        """Find the batches that were decided at these messages (`Message.chain`); others are left out.

        Batches that are queued and not yet durable are found too: ask `durable` before you send one.
        """
        ...

    def decided(self, keys: Sequence[EditKey], chains: Sequence[bytes]) -> Decisions:
        """Find what `standing` finds for the keys and `batches` at the chains, in one go: every request asks for both.

        It may be less than one state of the store: what is decided meanwhile may be found for some of them only.
        """
        ...

    def durable(self, keys: Sequence[EditKey], batches: Sequence[bytes] = ()) -> Future[None]:
        """Wait for decisions that `standing` and `batches` found: done when all of them are on disk.

        Counts as a use of all of them.

        Args:
            keys: of standing edits.
            batches: `Batch.after` of batches.

        Fails with `StoreError` where one could not be stored: what it replaces must then be sent exact.
        """
        ...

    def keep(self, kept: Sequence[Kept], *, urgent: bool = False) -> Future[None]:
        """Keep texts by name, for `kept`. Never blocks, never raises.

        The first text of a name stays; keeping one again counts as a use. Each is found at once and durable soon, or
        counted as unrecorded where it cannot be stored. The future is done when all of them are either; it never fails.

        Args:
            kept: texts.
            urgent: somebody waits, so that no company is waited for.
        """
        ...

    def kept(self, keys: Sequence[bytes]) -> dict[bytes, Kept]:
        """Find texts by name (`Kept.key`), and count that as their use; names that nothing is kept of are left out.

        What is queued and not yet durable is found too.
        """
        ...

    def put(
        self,
        originals: Sequence[tuple[str, str]],
        standings: Sequence[Standing],
        receipt: Receipt | None,
        batch: Batch | None = None,
        *,
        require_log: bool = False,
    ) -> Future[None]:
        """Keep originals (SHA-256 in hexadecimal, text), decisions, a batch and a receipt, all or none.

        Every original that a decision replaces, or that a batch's rebuild covers, is put along or is stored already,
        and counts as used. The first decision for a key and the first batch at a message stay: a later one is dropped
        in silence, and `standing` and `batches` tell which one holds. The future is done when everything is durable,
        fails with `StoreError` where it is not, and cannot be cancelled. What replaces no text, receipts and decisions
        to stay exact, may wait a little for company (a quarter of a second).

        Args:
            originals: texts by name.
            standings: decisions on texts that no model has seen.
            receipt: of the request they were taken on.
            batch: decisions on what a model has seen.
            require_log: keep nothing, and fail, unless the raw log holds the request of `receipt` as it came. The
                event is durable no later than what is put.
        """
        ...

    def add_outcome(self, outcome: Outcome) -> None:
        """Note how a request ended; the first outcome of a request stays. Never blocks, never raises."""
        ...

    def spent_on(self, day: str) -> Amount:
        """Say what the requests cost that ended on a UTC day (`2026-11-30`), the summaries for them included.

        What was handed over and is not stored yet, or could not be stored, is in it. `unpriced` counts the requests
        of which part of the cost is not known: the sum is then a least one.
        """
        ...

    def log_event(
        self, request_id: str, at: float, direction: Direction, headers: Sequence[tuple[str, str]], body: bytes
    ) -> None:
        """Keep a request or a reply as it was, where the raw log is switched on. Never blocks, never raises.

        Whatever is put later becomes durable later, or in the same transaction. One that could not be kept is counted
        as unrecorded; `put` with `require_log` refuses what was decided on it.
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

    def names_like(self, of: Named, beginning: str, *, limit: int) -> tuple[str, ...]:
        """Name the requests or conversations in the ledger that begin like this, in the order of their names."""
        ...

    def compactions(self, *, lineage: str | None, limit: int) -> list[LedgerEntry]:
        """Read the entries whose prompt came up to the trigger, whatever came of it, newest first."""
        ...

    def notes(self, scope: NoteScope) -> tuple[Note, ...]:
        """Read the notes of one scope, by path."""
        ...

    def put_note(self, scope: NoteScope, note: Note, *, now: float) -> None:
        """Write a note in the place of what stands under its path; durable, and seen by everybody, on return.

        The last one to write wins. `now` is in seconds since the epoch.

        Raises:
            StoreError: there is no room for it (`Bounds.notes_bytes`), it is not Unicode, or it cannot be stored.
        """
        ...

    def remove_note(self, scope: NoteScope, path: str) -> bool:
        """Remove a note for good, and say whether there was one."""
        ...

    def note_scopes(self) -> tuple[NoteScope, ...]:
        """Name the scopes that have notes, in the order of their names."""
        ...

    def lineages(self, *, limit: int) -> list[LineageSummary]:
        """List the conversations in the ledger, the most recently active first."""
        ...

    def trace(self, lineage: str) -> Trace | None:
        """Say where a conversation stands, as far as is stored; `None` where its entries are unknown or expired.

        What is queued is not in it yet.
        """
        ...

    def session_lengths(self, *, harness: str | None, now: float, quiet_seconds: float) -> tuple[tuple[int, bool], ...]:
        """Say how many requests each conversation has had, and whether it has ended, the most recent first.

        It has ended where its newest request is more than `quiet_seconds` before `now`. The most recent 5,000
        conversations of one harness, or of all where that is `None`.
        """
        ...

    def totals(self) -> Totals:
        """Sum up everything that was ever stored."""
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
