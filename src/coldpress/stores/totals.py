"""The sums that a store keeps over everything it was ever told, each beside what it was taken over."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

from coldpress.stores.amounts import Amount, Bucket, Held, Taken, Views
from coldpress.stores.totals_decisions import (
    CaptureTotals,
    Eligible,
    OffloadTotals,
    PluginTotals,
    Removed,
    ToolTotals,
)
from coldpress.stores.totals_misses import MissTotals
from coldpress.stores.totals_native import NativeTotals


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
class Stored:
    """What a store holds now.

    `standings` counts decisions, those of batches too. `expired` counts remembered tombstones.
    """

    originals: Held = field(default_factory=Held)
    standings: Held = field(default_factory=Held)
    ledger: Held = field(default_factory=Held)
    raw: Held = field(default_factory=Held)
    notes: Held = field(default_factory=Held)
    kept: Held = field(default_factory=Held)
    expired: int = 0


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
    request counts once however often it is told. A file of an earlier schema begins with what it still held, and with
    nothing of what that schema did not tell apart (modes, tools, reasons, providers, what was removed and eligible).

    Attributes:
        since: time of the oldest receipt ever, `None` where there was none.
        requests: receipts; `operations` and `providers` split them.
        lineages: conversations. One that comes back after the last of its receipts has expired counts anew.
        transformations: new views of results, made and sent: `first_sight` of those that no model had seen, `aged` of
            those seen before, added up. `by_mode` splits them, and so does `by_tool`.
        restorations: texts that were given back exact, each once.
        reuses: views that were sent again on later requests, one per view and request; `reused_bytes_saved` is what
            they had fewer than their originals, in UTF-8 bytes. Exact texts that are given back again are in neither.
        would_press: views that were made and not sent, because the gateway only observes.
        removed: tokens that all edits of a request took out of it, those sent again included.
        eligible: results that could have become smaller, whether they did or not.
        results: what was decided on each result that was looked at, by reason.
        cuts_applied: requests on which aged results were made smaller, by reason.
        cuts_declined: requests on which that was considered and not done, by reason.
        body_bytes: bytes of all request bodies as clients sent them; `sent_bytes` as they went upstream.
        ended: outcomes by how the exchange closed; requests still running are in none.
        edits_noticed: replies that tell that reasoning no longer fits the text before it, see `Outcome.edits_noticed`.
        compactions: what was done about prompts that came up to the trigger.
        summariser: what was asked of a model about single results, and what it cost.
        capture: calls that were asked to say what they are for, by tool.
        plugins: what each plugin did.
        findings: what watchers noticed on requests and replies, by kind.
        misses: replies that did not read what they could have, by who is to answer for that.
        native: what providers were asked to do to prompts by themselves, and what they say they did.
        stored: what is held now, in contrast to all the sums.
        unrecorded: ledger rows, raw events and kept texts this process could not store since it started.
    """

    since: float | None = None
    requests: int = 0
    lineages: int = 0
    operations: tuple[tuple[str, int], ...] = ()
    providers: tuple[tuple[str, int], ...] = ()
    transformations: Views = field(default_factory=Views)
    first_sight: Views = field(default_factory=Views)
    aged: Views = field(default_factory=Views)
    by_mode: tuple[tuple[str, Views], ...] = ()
    by_tool: tuple[tuple[str, ToolTotals], ...] = ()
    restorations: int = 0
    reuses: int = 0
    reused_bytes_saved: int = 0
    would_press: Views = field(default_factory=Views)
    removed: Removed = field(default_factory=Removed)
    eligible: Eligible = field(default_factory=Eligible)
    results: tuple[tuple[str, int], ...] = ()
    cuts_applied: tuple[tuple[str, int], ...] = ()
    cuts_declined: tuple[tuple[str, int], ...] = ()
    body_bytes: int = 0
    sent_bytes: int = 0
    ended: tuple[tuple[str, int], ...] = ()
    edits_noticed: int = 0
    usage: UsageTotals = field(default_factory=UsageTotals)
    money: MoneyTotals = field(default_factory=MoneyTotals)
    compactions: CompactionTotals = field(default_factory=CompactionTotals)
    summariser: OffloadTotals = field(default_factory=OffloadTotals)
    capture: tuple[tuple[str, CaptureTotals], ...] = ()
    plugins: tuple[tuple[str, PluginTotals], ...] = ()
    findings: tuple[tuple[str, int], ...] = ()
    misses: MissTotals = field(default_factory=MissTotals)
    native: NativeTotals = field(default_factory=NativeTotals)
    stored: Stored = field(default_factory=Stored)
    unrecorded: int = 0

    @property
    def applications(self) -> int:
        """Views that went upstream, each once per request, and restorations, each once."""
        return self.transformations.count + self.restorations + self.reuses

    @property
    def bytes_removed(self) -> dict[str, int]:
        """UTF-8 bytes that texts have fewer: new views once, and applications each time one is sent.

        Restorations, which put text back, are in neither.
        """
        views = self.transformations.bytes_before - self.transformations.bytes_after
        return {"transformations": views, "applications": views + self.reused_bytes_saved}

    @property
    def tokens_removed(self) -> dict[str, dict[str, int]]:
        """Tokens that new views have fewer, once, as estimated; and that all edits took out of requests, each time."""
        views = self.transformations
        once = {"tokens": views.tokens_before - views.tokens_after, "views": views.count - views.uncounted}
        return {"transformations": once, "applications": asdict(self.removed)}

    def as_object(self) -> dict[str, object]:
        """Give everything as plain values under names that stay, counts by word as objects."""
        counts = ("operations", "providers", "cuts_applied", "cuts_declined", "ended", "findings")
        # What has a row for each tool is laid out once, below: `asdict` copies all it is given.
        rest = replace(self, by_mode=(), by_tool=(), capture=(), plugins=(), results=())
        told = {**asdict(rest), **{name: dict(getattr(self, name)) for name in counts}}
        del told["results"], told["removed"]
        return told | {
            "by_mode": {mode: asdict(views) for mode, views in self.by_mode},
            "by_tool": {tool: one.as_object() for tool, one in self.by_tool},
            "applications": self.applications,
            "bytes_removed": self.bytes_removed,
            "tokens_removed": self.tokens_removed,
            "reasons": {"results": dict(self.results), "cuts": dict((*self.cuts_applied, *self.cuts_declined))},
            "compactions": self.compactions.as_object(),
            "summariser": self.summariser.as_object(),
            "misses": self.misses.as_object(),
            "native": self.native.as_object(),
            "capture": {tool: asdict(calls) for tool, calls in self.capture},
            "plugins": {name: plugin.as_object() for name, plugin in self.plugins},
        }
