"""`coldpress notes`: list, show, add, edit and remove the durable facts of a project or a conversation."""

from __future__ import annotations

import sys
import time
from typing import Final

import click

from coldpress.cli.notes_options import Place, place_options
from coldpress.cli.open_store import opened, opened_or_made
from coldpress.cli.options import json_option, same_options
from coldpress.cli.output import print_json, printable, say_count, table_lines, talk
from coldpress.engine.notes import added, path_problem, place_problem, put, size_problem, text_problem
from coldpress.model.errors import ColdpressError, UnknownOriginal
from coldpress.model.notes import Note, NoteScope
from coldpress.stores.base import Store

USER_FILE: Final = "user.md"


@click.group("notes")
def command() -> None:
    """Show and change durable facts that survive every compaction.

    Notes belong to a project or to one conversation. Where neither --project nor --lineage is given, list shows all
    notes that there are, and the other commands work on those of notes.project in the settings. A running gateway
    shows a change to conversations that begin, and to others from their next compaction on.
    """


@command.command("list")
@place_options
@json_option
def list_(*, place: Place, as_json: bool) -> None:
    """List files of notes, whose they are first: those of one project or conversation, else all."""
    with opened(place.settings) as store:
        scope = place.asked_for(store)
        scopes = store.note_scopes() if scope is None else (scope,)
        found = [(owner, note) for owner in scopes for note in store.notes(owner)]
    if as_json:
        print_json({"notes": [_object(owner, note) for owner, note in found]})
    elif found:
        _print_list(found)
    else:
        talk(f"No notes of {scope}." if scope else "No notes yet.")


@command.command("show")
@click.argument("name", metavar="NAME")
@place_options
@json_option
def show(*, name: str, place: Place, as_json: bool) -> None:
    """Print one file of notes, byte for byte."""
    place.check()
    with opened(place.settings) as store:
        scope = place.required(store)
        note = _found(store, scope, name)
    if as_json:
        print_json({**_object(scope, note), "text": note.text})
    else:
        click.echo(note.text.encode(), nl=False)


@command.command("add")
@click.argument("text", metavar="TEXT")
@click.option("--name", default=USER_FILE, show_default=True, metavar="NAME", help="File to add to.")
@place_options
@json_option
def add(*, text: str, name: str, place: Place, as_json: bool) -> None:
    """Add TEXT as a line of its own, unless it stands there already. TEXT - is read from stdin."""
    place.check()
    fact = _stdin() if text == "-" else text
    if not fact.strip():
        raise click.UsageError("there is nothing to add: the text is empty")
    with opened_or_made(place.settings) as store:
        scope = place.required(store)
        notes = store.notes(scope)
        old = next((note for note in notes if note.path == name), None)
        new = Note(name, added(old.text if old else "", fact), "user")
        is_new = old is None or old.text != new.text
        if is_new:
            _store(store, scope, notes, new, place)
    if as_json:
        print_json({**_object(scope, new), "added": is_new})
    else:
        talk(f"{'Added to' if is_new else 'It stands already in'} {name} of {scope}.")


@command.command("edit")
@click.argument("name", metavar="NAME")
@place_options
def edit(*, name: str, place: Place) -> None:
    """Change one file of notes in $VISUAL or $EDITOR; nothing is stored where it is not saved."""
    place.check()
    with opened_or_made(place.settings) as store:
        scope = place.required(store)
        old = next((note for note in store.notes(scope) if note.path == name), Note(name, "", "user"))
        _require_path(name)
        text = click.edit(old.text, extension=".md")
        if text is None or text == old.text:
            talk(f"{name} of {scope} is unchanged.")
            return
        notes = store.notes(scope)
        if next((note.text for note in notes if note.path == name), "") != old.text:
            raise ColdpressError(f"{name} of {scope} was changed by someone else meanwhile; edit it again")
        _store(store, scope, notes, Note(name, text, "user"), place)
    talk(f"Changed {name} of {scope}.")


@command.command("remove")
@click.argument("name", metavar="NAME")
@place_options
@json_option
def remove(*, name: str, place: Place, as_json: bool) -> None:
    """Remove one file of notes for good."""
    place.check()
    with opened(place.settings) as store:
        scope = place.required(store)
        if not store.remove_note(scope, name):
            raise _unknown(name, scope)
    if as_json:
        print_json({"scope": scope, "name": name, "removed": True})
    else:
        talk(f"Removed {name} of {scope}.")


def _print_list(found: list[tuple[NoteScope, Note]]) -> None:
    """Print one table for each owner of notes, under its name; columns stand below each other throughout."""
    rows = [(note.path, note.source, say_count(len(note.text.encode()))) for _, note in found]
    heads, *lines = table_lines(("name", "written by", "bytes"), rows, right=frozenset({2}))
    last = None
    for (owner, _), line in zip(found, lines, strict=True):
        if owner != last:
            click.echo(("" if last is None else "\n") + printable(owner))
            click.echo(f"  {heads}")
        click.echo(f"  {line}")
        last = owner


def _store(store: Store, scope: NoteScope, notes: tuple[Note, ...], note: Note, place: Place) -> None:
    """Keep a note, or say why it is not kept."""
    _require_path(note.path)
    problem = text_problem(note.text)
    if problem:
        raise ColdpressError(f"the text {problem}")
    problem = place_problem(note.path, notes)
    if problem:
        raise ColdpressError(f"{note.path} {problem}; use another --name")
    problem = size_problem(put(notes, note), place.settings.notes.limits)
    if problem:
        raise ColdpressError(f"{problem}; remove or shorten something, or change [notes] in the settings")
    store.put_note(scope, note, now=time.time())


def _require_path(name: str) -> None:
    problem = path_problem(name)
    if problem:
        raise click.UsageError(f"the name {name!r} {problem}")


def _found(store: Store, scope: NoteScope, name: str) -> Note:
    for note in store.notes(scope):
        if note.path == name:
            return note
    raise _unknown(name, scope)


def _unknown(name: str, scope: NoteScope) -> UnknownOriginal:
    return UnknownOriginal(f"{scope} has no note {name!r}; coldpress notes list{same_options()} shows what is there")


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ColdpressError(f"stdin is no UTF-8 at byte {error.start}; nothing was added") from error


def _object(scope: NoteScope, note: Note) -> dict[str, object]:
    return {"scope": scope, "name": note.path, "source": note.source, "bytes": len(note.text.encode())}
