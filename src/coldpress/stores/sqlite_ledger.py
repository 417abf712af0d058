"""Write receipts and outcomes, and in the same transaction what they add to conversations and sums."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from functools import cache

import msgspec

from coldpress.model.records import Outcome, Receipt
from coldpress.stores.amounts import Views
from coldpress.stores.tally import Tally, nano_usd_of, receipt_sums, tokens_of
from coldpress.stores.tally_decisions import bounded

# What a row takes beside its texts: columns, indexes, page slack.
RECEIPT_ROW_BYTES = 500
OUTCOME_ROW_BYTES = 150


def write_receipt(connection: sqlite3.Connection, receipt: Receipt) -> tuple[int, dict[str, int]]:
    """Write a receipt and return the bytes added, and what it adds to the sums; the first of a request stays."""
    tally = Tally.of(receipt)
    lines = _json(receipt.lines) or ""
    belief, cut = _json(receipt.belief), _json(receipt.cut)
    pressure, findings = _json(receipt.pressure), _json(receipt.findings or None)
    plugins, offload, native = _json(receipt.plugins or None), _json(receipt.offload), _json(receipt.native)
    texts = (lines, belief, cut, pressure, findings, plugins, offload, native)
    size = RECEIPT_ROW_BYTES + sum(len(text or "") for text in texts)
    columns: dict[str, str | float | int | None] = {
        "request_id": receipt.request_id,
        "received_at": receipt.received_at,
        "provider": receipt.provider,
        "format": receipt.format,
        "model": receipt.model,
        "lineage": receipt.lineage,
        "harness_session": receipt.harness_session,
        "operation": receipt.operation,
        "messages": receipt.messages,
        "body_bytes": receipt.body_bytes,
        "sent_bytes": receipt.sent_bytes,
        "reused": receipt.reused,
        "reused_bytes_saved": receipt.reused_bytes_saved,
        "lines": lines,
        "notes": _json(receipt.notes),
        "harness": receipt.harness,
        "prompt_tokens": receipt.prompt_tokens,
        "removed_tokens": receipt.removed_tokens,
        "belief": belief,
        "cut": cut,
        "pressure": pressure,
        "findings": findings,
        "plugins": plugins,
        "offload": offload,
        "native": native,
        **_view_columns("pressed", tally.pressed),
        **_view_columns("observed", tally.observed),
        "aged": tally.aged.count,
        "restored": tally.restored,
        "size": size,
    }
    if not _insert(connection, "receipts", columns):
        return 0, {}
    connection.execute(
        "INSERT INTO sums VALUES('since', ?) ON CONFLICT(name) DO UPDATE SET value = min(value, excluded.value)",
        (receipt.received_at,),
    )
    sums = receipt_sums(receipt, tally)
    if receipt.lineage:
        sums["lineages"] = _extend_lineage(connection, receipt)
    return size, sums


def write_outcome(connection: sqlite3.Connection, outcome: Outcome, now: float) -> int:
    """Write an outcome and return the bytes added; the first of a request stays."""
    others, transformations = _json(outcome.others or None), _json(outcome.transformations or None)
    miss, money, findings = _json(outcome.miss), _json(outcome.money), _json(outcome.findings or None)
    captures, failover = _json(outcome.captures or None), _json(outcome.failover)
    plugins, applied = _json(outcome.plugins or None), _json(outcome.applied or None)
    attribution = _json(outcome.attribution)
    texts = (others, transformations, miss, money, findings, captures, failover, plugins, applied, attribution)
    size = OUTCOME_ROW_BYTES + sum(len(text or "") for text in texts)
    fresh, read, write_short, write_long, output, reasoning = tokens_of(outcome)
    bill, *_, net = nano_usd_of(outcome)
    columns: dict[str, str | float | int | None] = {
        "request_id": outcome.request_id,
        "noted_at": now,
        "status": outcome.status,
        "ended": outcome.ended,
        "duration_seconds": outcome.duration_seconds,
        "fresh": fresh,
        "read": read,
        "write_short": write_short,
        "write_long": write_long,
        "output": output,
        "reasoning": reasoning,
        "others": others,
        "context_tokens": outcome.context_tokens,
        "miss": miss,
        "transformations": transformations,
        "money": money,
        "reported_usd": outcome.reported_usd,
        "findings": findings,
        "captures": captures,
        "failover": failover,
        "plugins": plugins,
        "applied": applied,
        "attribution": attribution,
        "reply_id": outcome.reply_id,
        "stop": outcome.stop,
        "bill_nano_usd": bill,
        "net_nano_usd": net,
        "edits_noticed": outcome.edits_noticed,
        "size": size,
    }
    if not _insert(connection, "outcomes", columns):
        return 0
    if outcome.edits_noticed:
        connection.execute(
            "UPDATE lineages SET edits_noticed = 1 WHERE lineage = (SELECT lineage FROM receipts WHERE request_id = ?)",
            (outcome.request_id,),
        )
    return size


def add_sums(connection: sqlite3.Connection, sums: Mapping[str, int]) -> None:
    """Add to the sums that are kept for ever, inside the transaction that writes what they are sums of."""

    def known(beginning: str) -> list[str]:
        # The names that follow a beginning stand in front of that with its last character moved on by one.
        end = beginning[:-1] + chr(ord(beginning[-1]) + 1)
        names = connection.execute("SELECT name FROM sums WHERE name >= ? AND name < ?", (beginning, end))
        return [str(name) for (name,) in names]

    sums = bounded(sums, known)
    connection.executemany(
        "INSERT INTO sums VALUES(?,?) ON CONFLICT(name) DO UPDATE SET value = value + excluded.value",
        list(sums.items()),
    )


def _extend_lineage(connection: sqlite3.Connection, receipt: Receipt) -> int:
    """Note a request of a conversation; return how many conversations are new."""
    # The outcome may have come first.
    dropped = connection.execute(
        "SELECT edits_noticed FROM outcomes WHERE request_id = ?", (receipt.request_id,)
    ).fetchone()
    facts = {
        "lineage": receipt.lineage,
        "harness": receipt.harness,
        "at": receipt.received_at,
        "dropped": dropped[0] if dropped else 0,
    }
    known = connection.execute(
        "UPDATE lineages SET harness = ifnull(:harness, harness), first_at = min(first_at, :at),"
        " last_at = max(last_at, :at), requests = requests + 1, edits_noticed = max(edits_noticed, :dropped)"
        " WHERE lineage = :lineage",
        facts,
    )
    if known.rowcount:
        return 0
    connection.execute("INSERT INTO lineages VALUES(:lineage, :harness, :at, :at, 1, :dropped)", facts)
    return 1


def _insert(connection: sqlite3.Connection, table: str, columns: Mapping[str, str | float | int | None]) -> bool:
    """Insert a row unless one of the same name is there."""
    return connection.execute(_insertion(table, tuple(columns)), tuple(columns.values())).rowcount > 0


@cache
def _insertion(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT OR IGNORE INTO {table}({','.join(columns)}) VALUES({','.join('?' * len(columns))})"


def _view_columns(name: str, views: Views) -> dict[str, int]:
    return {
        name: views.count,
        f"{name}_before": views.bytes_before,
        f"{name}_after": views.bytes_after,
        f"{name}_tokens_before": views.tokens_before,
        f"{name}_tokens_after": views.tokens_after,
        f"{name}_uncounted": views.uncounted,
    }


def _json(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
