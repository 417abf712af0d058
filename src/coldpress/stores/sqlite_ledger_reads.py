"""The questions asked of the ledger in the database, each a function of a connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from coldpress.model.errors import StoreError
from coldpress.model.misses import Attribution
from coldpress.model.native import Applied, NativeAsked
from coldpress.model.plugins import PluginNote
from coldpress.model.records import (
    Belief,
    Capture,
    Cut,
    Failover,
    Finding,
    Line,
    Miss,
    Money,
    Offloaded,
    Outcome,
    Pressure,
    Receipt,
)
from coldpress.model.usage import Usage
from coldpress.stores.base import MOST_LENGTHS, LedgerEntry, LineageSummary, Named, Trace
from coldpress.stores.sqlite_reads import stored
from coldpress.stores.sums import amount
from coldpress.stores.tally import BUCKETS, totals_of
from coldpress.stores.totals import Totals

# In the order of the fields of `Receipt`, then of `Outcome` with the buckets of its usage in their place.
_RECEIPT: Final = (
    "r.request_id, r.received_at, r.provider, r.format, r.model, r.lineage, r.harness_session, r.operation, r.messages,"
    " r.body_bytes, r.sent_bytes, r.lines, r.reused, r.reused_bytes_saved, r.notes, r.harness, r.prompt_tokens,"
    " r.removed_tokens, r.belief, r.cut, r.pressure, r.findings, r.plugins, r.offload, r.native"
)
_USAGE: Final = "o.fresh, o.read, o.write_short, o.write_long, o.output, o.reasoning"
_OUTCOME: Final = (
    f"o.request_id, o.status, o.ended, o.duration_seconds, {_USAGE}, o.others, o.context_tokens, o.miss,"
    " o.transformations, o.money, o.reported_usd, o.findings, o.captures, o.failover, o.plugins,"
    " o.applied, o.attribution, o.reply_id, o.stop"
)
_ENTRY: Final = f"SELECT {_RECEIPT}, {_OUTCOME} FROM receipts r LEFT JOIN outcomes o USING(request_id)"
_RECEIPT_COLUMNS: Final = 25
T = TypeVar("T")
_lines = msgspec.json.Decoder(tuple[Line, ...])
_words = msgspec.json.Decoder(tuple[str, ...])
_belief = msgspec.json.Decoder(Belief)
_cut = msgspec.json.Decoder(Cut)
_pressure = msgspec.json.Decoder(Pressure)
_findings = msgspec.json.Decoder(tuple[Finding, ...])
_plugins = msgspec.json.Decoder(tuple[PluginNote, ...])
_offload = msgspec.json.Decoder(Offloaded)
_native = msgspec.json.Decoder(NativeAsked)
_applied = msgspec.json.Decoder(tuple[Applied, ...])
_attribution = msgspec.json.Decoder(Attribution)
_captures = msgspec.json.Decoder(tuple[Capture, ...])
_failover = msgspec.json.Decoder(Failover)
_miss = msgspec.json.Decoder(Miss)
_money = msgspec.json.Decoder(Money)
_others = msgspec.json.Decoder(tuple[tuple[str, Usage], ...])


def entries(
    connection: sqlite3.Connection, *, limit: int, lineage: str | None, before: float | None
) -> list[LedgerEntry]:
    """Ledger entries, newest first."""
    conditions: list[str] = []
    values: list[str | float | int] = []
    if lineage is not None:
        conditions.append("r.lineage = ?")
        values.append(lineage)
    if before is not None:
        conditions.append("r.received_at < ?")
        values.append(before)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = connection.execute(
        f"{_ENTRY}{where} ORDER BY r.received_at DESC, r.id DESC LIMIT ?", (*values, max(0, limit))
    )
    return [_entry(row) for row in rows]


def names_like(connection: sqlite3.Connection, of: Named, beginning: str, *, limit: int) -> tuple[str, ...]:
    """Names that begin like this, in their order."""
    column, table = ("request_id", "receipts") if of == "request" else ("lineage", "lineages")
    # The upper end keeps the search within the index; the exact comparison is that of the beginning itself.
    rows = connection.execute(
        f"SELECT {column} FROM {table} WHERE {column} >= ?1 AND {column} <= ?1 || char(1114111)"
        f" AND substr({column}, 1, length(?1)) = ?1 ORDER BY {column} LIMIT ?2",
        (beginning, max(0, limit)),
    )
    return tuple(str(name) for (name,) in rows)


def compactions(connection: sqlite3.Connection, *, lineage: str | None, limit: int) -> list[LedgerEntry]:
    """Entries of requests whose prompt came up to the trigger, newest first."""
    where, values = (" AND r.lineage = ?", [lineage]) if lineage is not None else ("", [])
    rows = connection.execute(
        f"{_ENTRY} WHERE r.pressure IS NOT NULL{where} ORDER BY r.received_at DESC, r.id DESC LIMIT ?",
        [*values, max(0, limit)],
    )
    return [_entry(row) for row in rows]


def entry(connection: sqlite3.Connection, request_id: str) -> LedgerEntry | None:
    """One request's entry."""
    row = connection.execute(f"{_ENTRY} WHERE r.request_id = ?", (request_id,)).fetchone()
    return None if row is None else _entry(row)


def _entry(row: Sequence[object]) -> LedgerEntry:
    # SQLite hands out untyped columns: their types are checked here, once.
    fields: dict[str, object] = dict(zip(Receipt.__dataclass_fields__, row, strict=False))
    fields["lines"] = _lines.decode(str(fields["lines"]))
    fields["notes"] = _words.decode(str(fields["notes"]))
    belief, cut = _decoded(_belief, fields["belief"]), _decoded(_cut, fields["cut"])
    pressure, findings = _decoded(_pressure, fields["pressure"]), _decoded(_findings, fields["findings"]) or ()
    plugins, offload = _decoded(_plugins, fields["plugins"]) or (), _decoded(_offload, fields["offload"])
    native = _decoded(_native, fields["native"])
    fields |= {"plugins": plugins, "offload": offload, "native": native}
    fields |= {"belief": belief, "cut": cut, "pressure": pressure, "findings": findings}
    return LedgerEntry(msgspec.convert(fields, Receipt), _outcome(row[_RECEIPT_COLUMNS:]))


def _outcome(row: Sequence[object]) -> Outcome | None:
    request_id, status, ended, duration, *tokens, others, context_tokens, miss, transformations = row[:-10]
    money, reported_usd, findings, captures, failover, plugins, applied, attribution, reply_id, stop = row[-10:]
    if request_id is None:
        return None
    fields = {
        "request_id": request_id,
        "status": status,
        "ended": ended,
        "duration_seconds": duration,
        "usage": _usage(tokens),
        "others": _decoded(_others, others) or (),
        "context_tokens": context_tokens,
        "miss": _decoded(_miss, miss),
        "transformations": _decoded(_words, transformations) or (),
        "money": _decoded(_money, money),
        "reported_usd": reported_usd,
        "findings": _decoded(_findings, findings) or (),
        "captures": _decoded(_captures, captures) or (),
        "failover": _decoded(_failover, failover),
        "plugins": _decoded(_plugins, plugins) or (),
        "applied": _decoded(_applied, applied) or (),
        "attribution": _decoded(_attribution, attribution),
        "reply_id": reply_id,
        "stop": stop,
    }
    return msgspec.convert(fields, Outcome)


def _usage(tokens: Sequence[object]) -> Usage:
    return msgspec.convert(dict(zip(BUCKETS, tokens, strict=True)), Usage)


def _decoded(decoder: msgspec.json.Decoder[T], text: object) -> T | None:
    return None if text is None else decoder.decode(str(text))


def lineages(connection: sqlite3.Connection, *, limit: int) -> list[LineageSummary]:
    """Conversations, the most recently active first."""
    rows = connection.execute(
        "WITH newest AS (SELECT * FROM lineages ORDER BY last_at DESC, lineage LIMIT ?)"
        " SELECT n.lineage, max(r.harness_session), n.first_at, n.last_at, n.requests, ifnull(sum(r.pressed), 0),"
        " ifnull(sum(r.aged), 0), ifnull(sum(r.reused), 0), ifnull(sum(o.bill_nano_usd), 0), count(o.bill_nano_usd),"
        " count(*) FILTER (WHERE o.status BETWEEN 200 AND 299 AND o.bill_nano_usd IS NULL),"
        " ifnull(sum(o.net_nano_usd), 0), count(o.net_nano_usd),"
        " count(*) FILTER (WHERE o.status BETWEEN 200 AND 299 AND o.net_nano_usd IS NULL)"
        " FROM newest n LEFT JOIN receipts r USING(lineage) LEFT JOIN outcomes o USING(request_id)"
        " GROUP BY n.lineage ORDER BY n.last_at DESC, n.lineage",
        (max(0, limit),),
    )
    return [_summary(row) for row in rows]


def _summary(row: tuple[str, str | None, float, float, *tuple[int, ...]]) -> LineageSummary:
    lineage, session, first_at, last_at, *counts = row
    requests, pressed, aged, reused, bill, billed, unbilled, net, netted, unnetted = counts
    return LineageSummary(
        lineage,
        session,
        first_at,
        last_at,
        requests,
        pressed,
        aged,
        reused,
        bill=amount(bill, replies=billed, unpriced=unbilled),
        net=amount(net, replies=netted, unpriced=unnetted),
    )


def trace(connection: sqlite3.Connection, lineage: str) -> Trace | None:
    """Where a conversation stands."""
    row = connection.execute(
        "SELECT l.first_at, l.last_at, l.requests, l.edits_noticed, r.provider, r.model, r.prompt_tokens,"
        f" o.context_tokens, o.reply_id, o.request_id, {_USAGE} FROM lineages l"
        " JOIN receipts r ON r.id ="
        " (SELECT id FROM receipts WHERE lineage = l.lineage ORDER BY received_at DESC, id DESC LIMIT 1)"
        " LEFT JOIN outcomes o ON o.request_id = r.request_id WHERE l.lineage = ?",
        (lineage,),
    ).fetchone()
    if row is None:
        return None
    first_at, last_at, requests, dropped, provider, model, prompt_tokens, context_tokens, *reply = row
    reply_id, ended, *tokens = reply
    return Trace(
        first_at=first_at,
        last_at=last_at,
        provider=provider,
        model=model,
        requests=requests,
        prompt_tokens=prompt_tokens,
        last_usage=None if ended is None else _usage(tokens),
        context_tokens=context_tokens,
        transformations_seen=bool(dropped),
        reply_id=reply_id,
    )


def session_lengths(
    connection: sqlite3.Connection, *, harness: str | None, ended_before: float
) -> tuple[tuple[int, bool], ...]:
    """Requests of each conversation, and whether its last one is older than a time."""
    where, values = ("WHERE harness = ? ", [harness]) if harness is not None else ("", [])
    rows = connection.execute(
        f"SELECT requests, last_at FROM lineages {where}ORDER BY last_at DESC, lineage LIMIT ?", [*values, MOST_LENGTHS]
    )
    return tuple((int(requests), last_at < ended_before) for requests, last_at in rows)


def sums_named(connection: sqlite3.Connection, names: Sequence[str]) -> dict[str, int]:
    """Some of the sums, by name; those of nothing are left out."""
    rows = connection.execute(f"SELECT name, value FROM sums WHERE name IN ({','.join('?' * len(names))})", names)
    return {str(name): int(value) for name, value in rows}


def totals(connection: sqlite3.Connection, *, unrecorded: int) -> Totals:
    """The sums of all that was ever written."""
    rows: dict[str, object] = dict(connection.execute("SELECT name, value FROM sums"))
    since = rows.pop("since", None)
    sums = {name: value for name, value in rows.items() if isinstance(value, int)}
    if len(sums) != len(rows):
        raise StoreError("the sums of the ledger are damaged; move the file away, and a new one is made")
    return totals_of(
        sums,
        since=since if isinstance(since, float) else None,
        stored=stored(connection),
        unrecorded=unrecorded,
    )
