"""Turn coldpress's own raw log into trajectories: requests as clients sent them, with the replies that came.

A log is a store's file, or an export of it: JSON Lines, one event each, with the fields that `coldpress ledger raw
--json` names and the `body` itself (`body_base64` where it is no text). Both wire formats, streamed or not.

    {"request_id": "...", "at": 1780000000.0, "direction": "request", "headers": [["content-type", "..."]],
     "body": "{\\"model\\": ..."}

Which requests are one conversation shows in their messages: one continues another where it begins with the same
messages and goes on with a reply. The reply as the client shows it later counts, as that is what the provider sees.
Usage, model and names are those of the replies; a request leaves when it was received.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from pathlib import Path

from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.jsonvalues import JsonObject, number_in, text_in
from coldpress.lab.importers.linefiles import decoded, line_objects
from coldpress.lab.importers.raw_exchanges import Exchanges
from coldpress.lab.importers.raw_store import MAGIC, sessions, stored_events
from coldpress.lab.jsontext import compact_json
from coldpress.model.errors import RecordingError
from coldpress.stores.base import Direction, RawEvent

__all__ = ["export_lines", "read_events", "read_file", "recognises"]


def recognises(found: JsonObject) -> bool:
    """Whether this object is one event of an export."""
    return (
        isinstance(found.get("request_id"), str)
        and found.get("direction") in ("request", "reply")
        and ("body" in found or "body_base64" in found)
    )


def read_file(path: Path) -> Imported:
    """Read a store's file, or an export of its raw log. Nothing is changed, in the file or beside it.

    Raises:
        OSError: the file cannot be read.
        RecordingError: it is neither, is damaged, or its raw log holds no request with a reply.
    """
    with path.open("rb") as file:
        is_store = file.read(len(MAGIC)) == MAGIC
    name = path.name.removesuffix(".jsonl").removesuffix(".sqlite3")
    tally = Tally()
    if is_store:
        return _told(read_events(stored_events(path), tally, name=name, sessions=sessions(path)), path)
    with path.open("rb") as lines:
        return _told(read_events(_exported(decoded(lines, tally), tally), tally, name=name), path)


def _told(found: Imported, path: Path) -> Imported:
    """Refuse a log without any conversation, and say what it holds.

    Raises:
        RecordingError: there is none.
    """
    if found.trajectories:
        return found
    if not found.counts.pieces:
        raise RecordingError(
            f"{path}: its raw log is empty; set store.raw_log = true and let requests go by, for it to hold some"
        )
    reasons = ", ".join(f"{count} {reason}" for reason, count in found.counts.skipped)
    raise RecordingError(f"{path}: its raw log holds no request with a reply ({reasons or 'no events'})")


def read_events(
    events: Iterable[RawEvent | None], tally: Tally, *, name: str, sessions: dict[str, str] | None = None
) -> Imported:
    """Read events, the oldest first.

    Args:
        events: of a raw log; `None` for one that is damaged.
        tally: takes what is read and what is left out.
        name: begins the names of the trajectories.
        sessions: names of sessions by request, where known beside what a request says itself.
    """
    exchanges = Exchanges(tally, sessions or {})
    for event in events:
        if event is None:
            tally.broken("events that are damaged")
        else:
            exchanges.take(event)
    return exchanges.imported(name)


def _exported(lines: Iterable[str], tally: Tally) -> Iterator[RawEvent | None]:
    for found in line_objects(lines, tally):
        if not recognises(found):
            tally.not_known("objects that are no event", tally.take("(no event)"))
            continue
        yield _event(found)


def _event(found: JsonObject) -> RawEvent | None:
    at, text, packed = number_in(found, "at"), text_in(found, "body"), text_in(found, "body_base64")
    try:
        body = base64.b64decode(packed, validate=True) if packed is not None else (text or "").encode()
    except (binascii.Error, ValueError):
        return None
    headers = found.get("headers")
    pairs = [pair for pair in headers if isinstance(pair, list) and len(pair) == 2] if isinstance(headers, list) else []
    way: Direction = "request" if found.get("direction") == "request" else "reply"
    if at is None:
        return None
    return RawEvent(
        text_in(found, "request_id") or "", float(at), way, tuple((str(key), str(value)) for key, value in pairs), body
    )


def export_lines(path: Path) -> Iterator[str]:
    """Yield the raw log of a store's file as the lines of an export, oldest first, each with its line feed.

    Raises:
        OSError: the file cannot be read.
        RecordingError: it is no store, or damaged.
    """
    for event in stored_events(path):
        if event is None:
            continue
        try:
            body = {"body": event.body.decode()}
        except UnicodeDecodeError:
            body = {"body_base64": base64.b64encode(event.body).decode("ascii")}
        told = {"request_id": event.request_id, "at": event.at, "direction": event.direction}
        yield compact_json({**told, "headers": [list(header) for header in event.headers], **body}) + "\n"
