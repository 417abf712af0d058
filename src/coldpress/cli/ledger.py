"""`coldpress ledger`: show requests, one request, and conversations, as the ledger has them."""

from __future__ import annotations

from pathlib import Path

import click

from coldpress.cli.bill import Biller
from coldpress.cli.ledger_entry import entry_text
from coldpress.cli.ledger_pressure import compaction_object, compaction_table, printable_lines, summary_text
from coldpress.cli.ledger_raw import raw
from coldpress.cli.ledger_totals import totals_text
from coldpress.cli.ledger_view import bill_of, conversation_object, conversation_table, entry_object, list_table
from coldpress.cli.names import full_request_id
from coldpress.cli.open_store import opened
from coldpress.cli.options import config_option, json_option, load_for_reading, store_option
from coldpress.cli.output import print_json, talk
from coldpress.model.errors import UnknownOriginal


@click.group("ledger")
def command() -> None:
    """Show what was decided, sent and paid.

    Amounts are those that were worked out when a request ended; where none was, they are priced from the tokens that
    the provider reported, at the prices of the day. What was not reported, or has no price, is unknown, never zero.
    """


command.add_command(raw)


@command.command("list")
@config_option
@store_option
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Requests to show.")
@click.option("--lineage", help="Only this conversation, as coldpress ledger conversations names it.")
@json_option
def list_(*, config_path: Path | None, store_path: Path | None, limit: int, lineage: str | None, as_json: bool) -> None:
    """Show the newest requests first."""
    settings = load_for_reading(config_path, store_path)
    with opened(settings) as store:
        entries = store.receipts(limit=limit, lineage=lineage, before=None)
    biller = Biller(settings)
    if as_json:
        print_json({"requests": [entry_object(entry, bill_of(entry, biller)) for entry in entries]})
    elif entries:
        list_table([(entry, bill_of(entry, biller)) for entry in entries])
    else:
        talk(f"No requests of lineage {lineage} in the ledger." if lineage else "No requests in the ledger yet.")


@command.command("show")
@click.argument("request_id", metavar="ID")
@config_option
@store_option
@click.option("--summary", "with_summary", is_flag=True, help="Add the text of the summary that this request brought.")
@json_option
def show(
    *, request_id: str, config_path: Path | None, store_path: Path | None, with_summary: bool, as_json: bool
) -> None:
    """Show one request: what was believed, decided, sent and reported, tool result by tool result.

    ID is the id of a request, or at least its first 8 digits. Exit code 3: no such request, or --summary and it
    brought none; 4: the text of its summary has expired; 5: the digits fit several.
    """
    settings = load_for_reading(config_path, store_path)
    with opened(settings) as store:
        request_id = full_request_id(store, request_id)
        entry = store.receipt(request_id)
        if entry is None:
            raise UnknownOriginal(f"request {request_id} has just expired")
        bill = bill_of(entry, Biller(settings))
        if not as_json:
            click.echo(entry_text(entry, bill))  # also where the text of its summary has expired
        text = summary_text(store, entry) if with_summary else None
    if as_json:
        print_json(entry_object(entry, bill) | ({} if text is None else {"summary_text": text}))
    elif text is not None:
        click.echo("\n" + printable_lines(text))


@command.command("compactions")
@config_option
@store_option
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Events to show.")
@click.option("--lineage", help="Only this conversation, as coldpress ledger conversations names it.")
@json_option
def compactions(
    *, config_path: Path | None, store_path: Path | None, limit: int, lineage: str | None, as_json: bool
) -> None:
    """Show the requests whose prompt came up to the trigger, newest first: what was taken out, or why nothing was."""
    settings = load_for_reading(config_path, store_path)
    with opened(settings) as store:
        entries = store.compactions(lineage=lineage, limit=limit)
    if as_json:
        print_json({"compactions": [compaction_object(entry) for entry in entries]})
    elif entries:
        compaction_table(entries)
    else:
        talk(f"No prompt{f' of lineage {lineage}' if lineage else ''} came up to the trigger.")


@command.command("conversations")
@config_option
@store_option
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Conversations to show.")
@json_option
def conversations(*, config_path: Path | None, store_path: Path | None, limit: int, as_json: bool) -> None:
    """Show conversations, the most recently active first."""
    settings = load_for_reading(config_path, store_path)
    with opened(settings) as store:
        lineages = store.lineages(limit=limit)
    if as_json:
        print_json({"conversations": [conversation_object(lineage) for lineage in lineages]})
    elif lineages:
        conversation_table(lineages)
    else:
        talk("No conversations in the ledger yet.")


@command.command("totals")
@config_option
@store_option
@json_option
def totals(*, config_path: Path | None, store_path: Path | None, as_json: bool) -> None:
    """Sum up everything since the store was made.

    Expired entries stay in the sums. Every amount stands beside the replies it was taken over and those that have no
    price, so that a part is not taken for the whole.
    """
    settings = load_for_reading(config_path, store_path)
    with opened(settings) as store:
        found = store.totals()
    if as_json:
        print_json(found.as_object())
    else:
        click.echo(totals_text(found))
