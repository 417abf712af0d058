"""Notes stand once behind the task from the first request on, outlive every compaction, and grow by what one says."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from bodies import conversation
from cases.talk import log
from compacting import (
    FORMATS,
    TASK,
    Call,
    Step,
    compacted,
    growing,
    raw_messages,
    rebuild_of,
    request,
    run,
    said_texts,
    sent,
    up_to_messages_end,
    valid,
    windowed,
    written,
)
from support import pressing

from coldpress.config.notes_keys import NotesKeys
from coldpress.drive.receipts import lineage_of
from coldpress.model.notes import Note, NoteScope
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.wire.registry import FormatName

pytestmark = pytest.mark.parametrize("name", FORMATS)

FACT = 'The port is 8443; "é" \\ 日本 stays.'
SHOP = NoteScope("project:shop")
SETTINGS = windowed(12_000, budget={"keep_turns": 2, "stages": ("summary",)}, notes=NotesKeys(project="shop"))
PLAIN = replace(SETTINGS, notes=NotesKeys())
FRONT: dict[FormatName, int] = {"anthropic": 1, "openai_chat": 2}
STEPS = [run(n) for n in range(16)]


def noted(store: MemoryStore | SqliteStore | None = None) -> MemoryStore | SqliteStore:
    held = store if store is not None else MemoryStore()
    held.put_note(SHOP, Note("facts.md", f"{FACT}\n", "user"), now=1.0)
    return held


def times(body: bytes, name: FormatName) -> int:
    """How often the fact is said."""
    return sum(text.count(FACT) for text in said_texts(valid(body, name)))


def test_they_stand_once_behind_the_task_from_the_first_request_on(name: FormatName) -> None:
    bodies = growing(name, STEPS[:4])
    with pressing(SETTINGS, noted()) as press:
        found = sent(press, bodies, name)
        rebuild = rebuild_of(press.store, bodies[0], name)
    assert (rebuild.generation, rebuild.covered, rebuild.anchor) == (0, (), rebuild.last)
    for body, prepared in zip(bodies, found, strict=True):
        mine, theirs = raw_messages(body, name), raw_messages(prepared.body, name)
        assert theirs[: FRONT[name]] == mine[: FRONT[name]]
        assert theirs[FRONT[name] + 1 :] == mine[FRONT[name] :]
        assert theirs[FRONT[name]].decode() == rebuild.literal
        assert times(prepared.body, name) == 1
        assert prepared.receipt.pressure is None
    for before, prepared in itertools.pairwise(found):
        assert prepared.body.startswith(up_to_messages_end(before.body, name))


def test_they_stand_as_they_were_when_the_notes_change_or_go(name: FormatName, tmp_path: Path) -> None:
    bodies, path = growing(name, STEPS[:4]), tmp_path / "s.sqlite3"
    store = SqliteStore(path)
    with pressing(SETTINGS, noted(store)) as press:
        found = sent(press, bodies[:2], name)
        store.put_note(SHOP, Note("facts.md", "Another.\n", "user"), now=2.0)
        (same,) = sent(press, bodies[2:3], name)
    store.close()
    reopened = SqliteStore(path)
    reopened.remove_note(SHOP, "facts.md")
    with pressing(PLAIN, reopened) as press:
        (later,) = sent(press, bodies[3:4], name)
    reopened.close()
    assert same.body.startswith(up_to_messages_end(found[-1].body, name))
    assert later.body.startswith(up_to_messages_end(same.body, name))


def test_a_conversation_that_had_begun_is_not_shown_them_before_its_compaction(name: FormatName) -> None:
    """Behind its task stands what is cached already."""
    bodies = growing(name, STEPS)
    with pressing(PLAIN) as press:
        sent(press, bodies[:1], name)
        noted(press.store)  # type: ignore[arg-type]
        with pressing(SETTINGS, press.store) as later:
            found = sent(later, bodies[1:], name)
    first = compacted(found)[0]
    assert [times(p.body, name) for p in found[:first]] == [0] * first
    assert [times(p.body, name) for p in found[first:]] == [1] * (len(found) - first)


def test_a_compaction_takes_them_into_its_block_and_says_nothing_twice(name: FormatName) -> None:
    bodies = growing(name, STEPS)
    with pressing(SETTINGS, noted()) as press:
        found = sent(press, bodies, name)
        cuts = compacted(found)
        assert len(cuts) >= 2
        assert [rebuild_of(press.store, bodies[n], name).generation for n in cuts] == list(range(1, len(cuts) + 1))
        with pressing(SETTINGS, press.store) as fresh:
            assert [p.body for p in sent(fresh, bodies, name)] == [p.body for p in found]
    for prepared in found:
        assert times(prepared.body, name) == 1
        assert prepared.body.count(b"are summarised here") <= 1
        assert said_texts(valid(prepared.body, name)).count(TASK) == 1


def test_a_retry_with_other_notes_sends_the_same_bytes(name: FormatName) -> None:
    body, store = growing(name, [])[0], noted()
    with pressing(SETTINGS, store) as press:
        (first,) = sent(press, [body], name)
        store.put_note(SHOP, Note("facts.md", "Another.\n", "user"), now=2.0)
        (second,) = sent(press, [body], name)
        with pressing(SETTINGS, store) as replica:
            (third,) = sent(replica, [body], name)
    assert first.body == second.body == third.body


@pytest.mark.parametrize("operation", ["observe", "drain", "off"])
def test_no_note_is_put_in_where_nothing_may_change(name: FormatName, operation: str) -> None:
    body = growing(name, [])[0]
    with pressing(SETTINGS, noted()) as press:
        assert press(body, name, operation).body is body  # type: ignore[arg-type]


def test_a_second_word_of_the_user_in_front_of_the_first_reply_leaves_the_notes_where_they_are(
    name: FormatName,
) -> None:
    task = written(name, [])
    more = [*task, {"role": "user", "content": "And be quick."}]
    with pressing(SETTINGS, noted()) as press:
        first, second = sent(press, [request(name, task), request(name, more)], name)
    assert second.body.startswith(up_to_messages_end(first.body, name))
    assert times(second.body, name) == 1


def test_what_a_summary_says_for_good_is_kept_as_notes_of_the_conversation(name: FormatName) -> None:
    def step(n: int) -> Step:
        edit = Call(f"e{n}", f"The file src/part_{n}.py has been updated.", "Edit", {"file_path": f"src/part_{n}.py"})
        return Step((edit, Call(f"c{n}", log(f"n{n}", 60))))

    bodies = growing(name, [step(n) for n in range(24)])
    with pressing(PLAIN) as press:
        found = sent(press, bodies, name)
        press.driver.close()
        scope = NoteScope(f"lineage:{lineage_of(conversation(bodies[0], name))}")
        notes = press.store.notes(scope)
    cuts = compacted(found)
    assert len(cuts) >= 2
    assert {note.source for note in notes} == {"summary"}
    assert "src/part_0.py" in "".join(note.text for note in notes)
    for n in cuts:
        block = next(text for text in said_texts(valid(found[n].body, name)) if "are summarised here" in text)
        lines = [line.partition(" [m")[0].lstrip("- ") for line in block.splitlines() if "src/part_0.py" in line]
        assert len(lines) == len(set(lines)), "a fact of the summary is not said again by its note"
    assert json.loads(found[-1].body)


def test_a_rebuilt_prompt_that_comes_in_as_a_clients_own_changes_no_more(name: FormatName) -> None:
    """Two gateways in a row: the second one reads what the first one wrote."""
    bodies = growing(name, STEPS)
    with pressing(SETTINGS, noted()) as press:
        found = sent(press, bodies, name)
    n = compacted(found)[-1]
    with pressing(PLAIN) as second:
        again = sent(second, [p.body for p in found], name)
    assert [p.body for p in again[n:]] == [p.body for p in found[n:]]
    assert not compacted(again)
