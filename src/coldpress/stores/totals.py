"""The sums that a store keeps over everything it was ever told, each beside what it was taken over."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class Bucket:
    """Tokens summed over the `replies` that reported them; other replies are not in the sum."""

    tokens: int = 0
    replies: int = 0


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """What providers reported.

    `answered` counts replies with a 2xx status. `unknown` counts those of them that did not report their
    prompt: no bucket holds anything for them, so a total is a total only where `unknown` is 0. Tokens that were
    billed at another model's price are in no bucket; the bill holds them.
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
class Amount:
    """US dollars summed over `replies` for which they are known.

    `unpriced` counts the 2xx replies that are not in the sum. Each reply enters in whole billionths of a dollar, so
    that sums do not depend on the order; `usd` says nothing where `replies` is 0.
    """

    usd: float = 0.0
    replies: int = 0
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class MoneyTotals:
    """Sums of `coldpress.model.records.Money`.

    `net` is over the replies of which both gross and rewrite are known: it is the difference of the other sums only
    where all of them are over the same replies.
    """

    bill: Amount = field(default_factory=Amount)
    gross: Amount = field(default_factory=Amount)
    rewrite: Amount = field(default_factory=Amount)
    summariser: Amount = field(default_factory=Amount)
    net: Amount = field(default_factory=Amount)


@dataclass(frozen=True, slots=True)
class Kept:
    """What one part of a store holds now: rows, and bytes as the bounds count them."""

    rows: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store holds now.

    `standings` counts decisions, those of batches too. `expired` counts remembered tombstones.
    """

    originals: Kept = field(default_factory=Kept)
    standings: Kept = field(default_factory=Kept)
    ledger: Kept = field(default_factory=Kept)
    raw: Kept = field(default_factory=Kept)
    notes: Kept = field(default_factory=Kept)
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
class Taken:
    """Results or messages that `requests` compactions took out, and the tokens that freed, on the provider's scale."""

    requests: int = 0
    count: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class CompactionTotals:
    """Sums of `coldpress.model.records.Pressure`.

    Attributes:
        requests: whose prompt came up to the trigger; `applied` and `declined` split them by reason.
        cleared: results that became one line; `summarised` messages that a summary took the place of.
        summaries: that took messages' place, by who wrote them.
        dropped_items: of those summaries.
        refused: summaries that were not taken, by reason. One request may have several.
        escalations: requests on which it was said that the work should be split.
        narrowed: requests on which the keep zone was made smaller than the settings ask for.
        summariser: what summaries cost, those that were refused or came to nothing too, over the requests for which one
            was written or asked for (`unpriced`: of unknown cost). Not to be added to `MoneyTotals.summariser`, which
            has it from the outcomes of the same requests.
    """

    requests: int = 0
    applied: tuple[tuple[str, int], ...] = ()
    declined: tuple[tuple[str, int], ...] = ()
    cleared: Taken = field(default_factory=Taken)
    summarised: Taken = field(default_factory=Taken)
    summaries: tuple[tuple[str, int], ...] = ()
    dropped_items: int = 0
    refused: tuple[tuple[str, int], ...] = ()
    escalations: int = 0
    narrowed: int = 0
    summariser: Amount = field(default_factory=Amount)

    @property
    def compactions(self) -> int:
        """Requests on which something was taken out."""
        return sum(count for _, count in self.applied)

    def as_object(self) -> dict[str, object]:
        """Give everything as plain values under names that stay, counts by word as objects."""
        by_word = {name: dict(getattr(self, name)) for name in ("applied", "declined", "summaries", "refused")}
        return {**asdict(self), **by_word, "compactions": self.compactions}


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over every receipt and outcome that was ever stored, those that have expired since included.

    They only grow (`net` and `gross` as far as an edit saves): neither a restart nor a sweep takes anything out, and a
    request counts once however often it is told. A file of the first schema begins with what it still held.

    Attributes:
        since: time of the oldest receipt ever, `None` where there was none.
        requests: receipts; `operations` splits them.
        lineages: conversations. One that comes back after the last of its receipts has expired counts anew.
        transformations: new views of results that no model had seen, made and sent.
        aged: new views of results that a model had seen before, made and sent.
        restorations: refusals to read again that were answered with the exact text.
        reuses: standing edits that were sent again on later requests, one per edit and request.
        would_press: views that were made and not sent, because the gateway only observes.
        cuts_applied: requests on which aged results were made smaller, by reason.
        cuts_declined: requests on which that was considered and not done, by reason.
        body_bytes: bytes of all request bodies as clients sent them; `sent_bytes` as they went upstream.
        ended: outcomes by how the exchange closed; requests still running are in none.
        edits_noticed: replies that tell that reasoning no longer fits the text before it, see `Outcome.edits_noticed`.
        compactions: what was done about prompts that came up to the trigger.
        findings: what watchers noticed on requests and replies, by kind.
        stored: what is held now, in contrast to all the sums.
        unrecorded: ledger rows and raw events this process could not store since it started.
    """

    since: float | None = None
    requests: int = 0
    lineages: int = 0
    operations: tuple[tuple[str, int], ...] = ()
    transformations: Views = field(default_factory=Views)
    aged: Views = field(default_factory=Views)
    restorations: int = 0
    reuses: int = 0
    reused_bytes_saved: int = 0
    would_press: Views = field(default_factory=Views)
    cuts_applied: tuple[tuple[str, int], ...] = ()
    cuts_declined: tuple[tuple[str, int], ...] = ()
    body_bytes: int = 0
    sent_bytes: int = 0
    ended: tuple[tuple[str, int], ...] = ()
    edits_noticed: int = 0
    usage: UsageTotals = field(default_factory=UsageTotals)
    money: MoneyTotals = field(default_factory=MoneyTotals)
    compactions: CompactionTotals = field(default_factory=CompactionTotals)
    findings: tuple[tuple[str, int], ...] = ()
    stored: Stored = field(default_factory=Stored)
    unrecorded: int = 0

    @property
    def applications(self) -> int:
        """Texts that went upstream in another form than the client's: each once per request."""
        return self.transformations.count + self.aged.count + self.restorations + self.reuses

    def as_object(self) -> dict[str, object]:
        """Give everything as plain values under names that stay, counts by word as objects."""
        by_word = {
            "operations": dict(self.operations),
            "cuts_applied": dict(self.cuts_applied),
            "cuts_declined": dict(self.cuts_declined),
            "ended": dict(self.ended),
            "findings": dict(self.findings),
            "compactions": self.compactions.as_object(),
        }
        return {**asdict(self), **by_word, "applications": self.applications}
