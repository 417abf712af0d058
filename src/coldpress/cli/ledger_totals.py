"""Lay out the sums of a store over one screen, every sum beside what it was taken over."""

from __future__ import annotations

from collections.abc import Sequence

from coldpress.cli.output import UNKNOWN, printable, say_count, say_time, say_usd, table_lines
from coldpress.stores.totals import Amount, Bucket, Totals, Views


def totals_text(totals: Totals) -> str:
    """Lay the sums out over several lines."""
    facts = _facts(totals)
    width = max(len(name) for name, _ in facts)
    told = [f"{name.ljust(width)}  {printable(value)}" for name, value in facts]
    return "\n".join([*told, "", *_token_lines(totals), "", *_money_lines(totals)])


def _facts(totals: Totals) -> tuple[tuple[str, str], ...]:
    since = "no request yet" if totals.since is None else f"since {say_time(totals.since)}"
    left = totals.body_bytes - totals.sent_bytes
    return (
        ("requests", f"{say_count(totals.requests)} in {say_count(totals.lineages)} conversations, {since}"),
        ("operations", _words(totals.operations)),
        ("ended", _words(totals.ended)),
        (
            "body",
            f"{say_count(totals.body_bytes)} bytes came, {say_count(totals.sent_bytes)} were sent ({left:,} less)",
        ),
        ("transformations", f"{_views(totals.transformations)}, at first sight"),
        ("aged", f"{_views(totals.aged)}, seen before"),
        ("reuses", f"{say_count(totals.reuses)}, {say_count(totals.reused_bytes_saved)} bytes smaller"),
        ("restorations", say_count(totals.restorations)),
        ("applications", f"{say_count(totals.applications)}: all four together"),
        ("would press", f"{_views(totals.would_press)}, not sent"),
        ("cuts applied", _words(totals.cuts_applied)),
        ("cuts declined", _words(totals.cuts_declined)),
        ("reasoning dropped", f"{say_count(totals.edits_noticed)} replies"),
    )


def _views(views: Views) -> str:
    told = f"{say_count(views.count)} views, {say_count(views.bytes_before)} to {say_count(views.bytes_after)} bytes"
    if views.count == views.uncounted:
        return told
    tokens = f"{say_count(views.tokens_before)} to {say_count(views.tokens_after)} tokens estimated"
    return f"{told}, {tokens}" + (f" ({say_count(views.uncounted)} not counted)" if views.uncounted else "")


def _words(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{count:,} {word}" for word, count in counts) or "none"


def _token_lines(totals: Totals) -> list[str]:
    usage = totals.usage
    buckets = (
        ("fresh", usage.fresh),
        ("read", usage.read),
        ("written", usage.write_short),
        ("written for an hour or more", usage.write_long),
        ("output", usage.output),
        ("reasoning, in output", usage.reasoning),
    )
    rows = [(name, _tokens(bucket), f"{bucket.replies:,} of {usage.answered:,}") for name, bucket in buckets]
    return table_lines(("tokens reported", "tokens", "replies"), rows, right=frozenset({1, 2}))


def _tokens(bucket: Bucket) -> str:
    return say_count(bucket.tokens) if bucket.replies else UNKNOWN


def _money_lines(totals: Totals) -> list[str]:
    money = totals.money
    figures = (
        ("bill", money.bill),
        ("gross saving", money.gross),
        ("rewrite", money.rewrite),
        ("summariser", money.summariser),
        ("net saving", money.net),
    )
    rows = [(name, _usd(amount), say_count(amount.replies), say_count(amount.unpriced)) for name, amount in figures]
    return [
        *table_lines(("money", "USD", "replies", "unpriced"), rows, right=frozenset({1, 2, 3})),
        "Gross, rewrite and net are worked out from estimated tokens at list prices or your own.",
    ]


def _usd(amount: Amount) -> str:
    return say_usd(amount.usd if amount.replies else None)
