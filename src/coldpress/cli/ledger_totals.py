"""Lay out the sums of a store over one screen, every sum beside what it was taken over."""

from __future__ import annotations

from collections.abc import Sequence

from coldpress.cli.ledger_extras import extra_total_facts
from coldpress.cli.output import UNKNOWN, printable, say_count, say_time, say_usd, table_lines
from coldpress.stores.amounts import Amount, Bucket, Taken, Views
from coldpress.stores.totals import Totals


def totals_text(totals: Totals) -> str:
    """Lay the sums out over several lines."""
    facts = (*_facts(totals), *_pressure_facts(totals), *extra_total_facts(totals))
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
        ("transformations", _views(totals.transformations)),
        ("of these, first sight", _views(totals.first_sight)),
        ("of these, aged", _views(totals.aged)),
        ("reuses", f"{say_count(totals.reuses)}, {say_count(totals.reused_bytes_saved)} bytes smaller"),
        ("restorations", say_count(totals.restorations)),
        ("applications", f"{say_count(totals.applications)}: transformations, reuses and restorations"),
        ("eligible", _eligible(totals)),
        ("would press", f"{_views(totals.would_press)}, not sent"),
        ("cuts applied", _words(totals.cuts_applied)),
        ("cuts declined", _words(totals.cuts_declined)),
        ("reasoning dropped", f"{say_count(totals.edits_noticed)} replies"),
        ("caches missed", _misses(totals)),
        *_native_facts(totals),
    )


def _native_facts(totals: Totals) -> tuple[tuple[str, str], ...]:
    """What providers were asked to do by themselves, and did; nothing where the settings never switched it on."""
    told = totals.native
    if not told.requests and not told.applied:
        return ()
    done = "; ".join(
        f"{what} {one.steps:,} times, {_tokens(one.cleared)} tokens out, {_usd(one.cost)} USD"
        for what, one in told.applied
    )
    return (
        (
            "asked providers for",
            f"{_words(told.asked)} over {told.requests:,} requests; declined: {_words(told.declined)}",
        ),
        ("providers applied", done or "nothing"),
    )


def _misses(totals: Totals) -> str:
    """Say how many replies read less than they could have, and how many of these are our doing, none as well."""
    found, ours = totals.misses, totals.misses.caused_by_us
    others = (f"{one.misses:,} {cause}" for cause, one in found.by_cause if cause != "us")
    told = f"{say_count(ours.misses)} caused by us"
    if ours.misses:
        told += f" ({_tokens(ours.tokens)} tokens, {_usd(ours.cost)} USD)"
    return f"{found.misses:,} of {found.replies:,} replies that report reads: {', '.join((told, *others))}"


def _eligible(totals: Totals) -> str:
    told = totals.eligible
    later = f"{say_count(told.candidates)} candidates on {say_count(told.cuts)} requests later"
    return f"{say_count(told.results)} of {say_count(told.looked_at)} results at first sight, {later}"


def _pressure_facts(totals: Totals) -> tuple[tuple[str, str], ...]:
    """What came of prompts that came up to the trigger; nothing where none did."""
    told = totals.compactions
    found = (("findings", _words(totals.findings)),) if totals.findings else ()
    if not told.requests:
        return found
    spent = told.summariser
    return (
        ("compactions", f"{say_count(told.compactions)} of {say_count(told.requests)} requests at the trigger"),
        ("under pressure", f"applied: {_words(told.applied)}; declined: {_words(told.declined)}"),
        ("cleared", _taken("results", told.cleared)),
        ("summarised", f"{_taken('messages', told.summarised)}; {say_count(told.dropped_items)} items dropped"),
        ("summaries", f"by {_words(told.summaries)}; refused: {_words(told.refused)}"),
        ("summarisers", f"{_usd(spent)} USD over {spent.replies:,} of {spent.replies + spent.unpriced:,} requests"),
        ("escalations", f"{say_count(told.escalations)}, keep zone narrowed on {say_count(told.narrowed)}"),
        *found,
    )


def _taken(what: str, taken: Taken) -> str:
    times = "1 compaction" if taken.requests == 1 else f"{say_count(taken.requests)} compactions"
    return f"{say_count(taken.count)} {what} by {times}, {say_count(taken.tokens)} tokens"


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
