"""`coldpress ledger raw`: give back a request or a reply from the raw log, byte for byte."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import click

from coldpress.cli.names import full_request_id
from coldpress.cli.open_store import opened
from coldpress.cli.options import config_option, json_option, load_for_reading, store_option
from coldpress.cli.out_file import check_target
from coldpress.cli.output import print_json, printable, talk
from coldpress.config.settings import Settings
from coldpress.model.errors import ColdpressError, UnknownOriginal
from coldpress.stores.base import Direction, RawEvent


@click.command("raw")
@click.argument("request_id", metavar="ID")
@config_option
@store_option
@click.option(
    "--direction",
    type=click.Choice(["request", "reply"]),
    default="request",
    show_default=True,
    help="Which of the two bodies.",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file instead of stdout.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there; never the store.")
@json_option
def raw(
    *,
    request_id: str,
    config_path: Path | None,
    store_path: Path | None,
    direction: Direction,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Print the body of a request as the client sent it, or of its reply, byte for byte.

    ID is the id of a request, or at least its first 8 digits. The raw log holds what came while store.raw_log was true,
    for store.raw_days. --json lists what it holds of the request, with headers and sizes and without bodies; what was
    secret in headers was never stored. A request's body can be given to coldpress check --file. Exit code 3: the raw
    log does not hold it; 5: the digits fit several.
    """
    settings = load_for_reading(config_path, store_path)
    if as_json and out is not None:
        raise click.UsageError("--json lists events and writes no body; leave --json or --out away")
    if out is not None:
        check_target(out, store=settings.store.path, force=force)
    events = _events(settings, request_id)
    if as_json:
        print_json({"request_id": events[0].request_id, "events": [_event_object(event) for event in events]})
        return
    body = _body(events, request_id, direction)
    if out is None:
        _check_printable(body)
        click.echo(body, nl=False)
        return
    try:
        out.write_bytes(body)
    except OSError as error:
        raise ColdpressError(f"{out} cannot be written: {error.strerror or error}") from error
    talk(f"{len(body)} bytes written to {out}")


def _events(settings: Settings, request_id: str) -> list[RawEvent]:
    """Read what the raw log holds of a request, at least one event. It need not stand in the ledger any more.

    Raises:
        UnknownOriginal: nothing, or there is no such request.
        AmbiguousOriginal: the digits fit several.
    """
    with opened(settings) as store:
        events = store.events(request_id) or store.events(full_request_id(store, request_id))
    if events:
        return events
    raise UnknownOriginal(
        f"the raw log holds nothing of request {request_id}: store.raw_log was off, or store.raw_days and "
        "store.raw_bytes were up"
    )


def _body(events: list[RawEvent], request_id: str, direction: Direction) -> bytes:
    """Give the body of the newest event of a direction."""
    found = [event.body for event in events if event.direction == direction]
    if not found:
        raise UnknownOriginal(f"the raw log holds no {direction} of request {request_id}")
    return found[-1]


def _check_printable(body: bytes) -> None:
    """Refuse to send to a terminal what could steer it."""
    if not sys.stdout.isatty():
        return
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = "\0"
    if any(printable(line) != line for line in text.replace("\t", " ").splitlines()):
        raise ColdpressError("the body is no plain text, which a terminal cannot show; use --out FILE, or a pipe")


def _event_object(event: RawEvent) -> dict[str, object]:
    return {
        "at": event.at,
        "direction": event.direction,
        "headers": [list(header) for header in event.headers],
        "body_bytes": len(event.body),
        "body_sha256": hashlib.sha256(event.body).hexdigest(),
    }
