"""Turn plain lists of chat messages into trajectories: one for each chat, one more for each time it forks.

A file holds one JSON value, or one a line: a list of messages; an object with `messages` (or `traj`, as tau-bench's
results have), and maybe system prompt, tools and model beside them; a list of such objects; or single messages, which
are one chat together. Messages are in OpenAI's Chat form, the one of 2023 with `function_call` included, or in
Anthropic's.

An object with a model and a last message of the client's is the body of a request. Bodies may continue each other, one
by one, in any order of several conversations: what they share is told once. Usage and times are known only where a
message bears them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from coldpress.lab.importers.chains import Chains, Imported
from coldpress.lab.importers.chat_blocks import is_message
from coldpress.lab.importers.chat_heads import Beside, imported
from coldpress.lab.importers.chat_records import Chat, messages_in, read_chat
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.jsonvalues import JsonObject, objects_of, read_json
from coldpress.lab.importers.linefiles import decoded
from coldpress.lab.importers.weave import Weaver
from coldpress.model.errors import RecordingError

__all__ = ["read_file", "read_lines", "read_value", "recognises"]

_WHAT = "give a list of messages, an object with `messages`, or one of either a line"


def recognises(found: object) -> bool:
    """Whether a JSON value is a message, a chat, or a list of chats."""
    if is_message(found) or messages_in(found) is not None:
        return True
    return isinstance(found, list) and bool(found) and messages_in(found[0]) is not None


def read_file(path: Path) -> Imported:
    """Read a file of one JSON value, or of one a line.

    Lines are read one by one; a value that is laid out over several lines is held whole.

    Raises:
        OSError: the file cannot be read.
        RecordingError: it holds no chat.
    """
    name = path.name.removesuffix(".jsonl").removesuffix(".json")
    if not _begins_with_a_value(path):
        try:
            tally = Tally()
            found = read_json(path.read_bytes(), tally.skipped)
        except (ValueError, RecursionError):
            pass  # lines after all, the first of them damaged
        else:
            tally.lines = 1
            return _read([found], tally, name=name)
    tally = Tally()
    with path.open("rb") as lines:
        return _read(_values(decoded(lines, tally), tally), tally, name=name)


def _begins_with_a_value(path: Path) -> bool:
    """Whether the first line that is not blank is a JSON value by itself."""
    with path.open("rb") as lines:
        first = next((line for line in lines if line.strip()), b"")
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True


def read_lines(lines: Iterable[str], *, name: str) -> Imported:
    """Read lines of one JSON value each; `name` begins the names of the trajectories.

    Raises:
        RecordingError: no line holds a chat.
    """
    tally = Tally()
    return _read(_values(lines, tally), tally, name=name)


def read_value(found: object, *, name: str) -> Imported:
    """Read one JSON value; `name` begins the names of the trajectories.

    Raises:
        RecordingError: it holds no chat.
    """
    tally = Tally()
    tally.lines = 1
    return _read([found], tally, name=name)


def _values(lines: Iterable[str], tally: Tally) -> Iterator[object]:
    """Yield the JSON value of each line."""
    for line in lines:
        tally.lines += 1
        if not line.strip():
            continue
        try:
            yield read_json(line, tally.skipped)
        except (ValueError, RecursionError):
            yield from objects_of(line, tally)  # several on a line, or none


def _read(values: Iterable[object], tally: Tally, *, name: str) -> Imported:
    reader = _Reader(tally, name)
    for found in values:
        reader.take(found)
    reader.end()
    if not len(reader.chains) and not reader.chats:
        raise RecordingError(f"chat {name}: no list of messages in it; {_WHAT}")
    if not len(reader.chains):
        raise RecordingError(f"chat {name}: no message in it is a model's reply; record replies too")
    return imported(reader.chains.trajectories(name), reader.told, tally)


class _Reader:
    """Takes one value after the other. `told` is what stands beside the messages of each line of `chains`."""

    def __init__(self, tally: Tally, name: str) -> None:
        self.chains = Chains()
        self.told: list[Beside] = []
        self.chats = 0
        self._tally = tally
        self._name = name
        self._bodies = Weaver(self.chains, tally)
        self._loose: list[object] = []
        self._records: list[tuple[int, int | None]] = []
        self._next_turn = 0

    def take(self, found: object) -> None:
        """Take a value: a chat, a list of chats, or one message of a chat that goes by lines."""
        if is_message(found):
            self._loose.append(found)
            return
        recorded = messages_in(found)
        if recorded is not None:
            self._close()
            self._record(found if isinstance(found, dict) else {}, recorded)
        elif isinstance(found, list) and any(messages_in(one) is not None for one in found):
            for one in found:
                self.take(one)
        elif isinstance(found, dict):
            self._tally.not_known("objects without messages", self._tally.take("(no chat)"))
        else:
            self._tally.broken("JSON that is no chat")

    def end(self) -> None:
        """Finish what is open; call it after the last value."""
        self._close()
        self._bodies.end()
        for record, first in self._records:
            if first is not None and self._tally.holds(first):
                self._tally.use(record)
            else:
                self._tally.set_aside("records without a reply", record)

    def _close(self) -> None:
        """Make one chat of the messages that came one by one."""
        loose, self._loose = self._loose, []
        if loose:
            self._chat(read_chat({}, loose))

    def _record(self, record: JsonObject, recorded: Iterable[object]) -> None:
        number = self._tally.take("record") if record else None
        first = self._chat(read_chat(record, list(recorded)))
        if number is not None:
            self._records.append((number, first))

    def _chat(self, chat: Chat) -> int | None:
        """Take a chat, and give the number of its first message."""
        self.chats += 1
        for _ in range(chat.broken):
            self._tally.broken("messages that are no object")
        lines = len(self.chains)
        weaver = self._bodies if chat.asks else Weaver(self.chains, self._tally)
        weaver.next_turn = self._next_turn
        first = weaver.take(chat.spoken, session=chat.session or self._name)
        self._next_turn = weaver.next_turn
        if weaver is not self._bodies:
            weaver.end()
        self.told += [chat.beside] * (len(self.chains) - lines)
        self._unspoken(chat, repeats=chat.asks and len(self.chains) == lines)
        return first

    def _unspoken(self, chat: Chat, *, repeats: bool) -> None:
        """Count what no turn holds; a body that continues another repeats it."""
        if repeats and self.told:
            return
        for kind in chat.system_kinds:
            self._tally.use(self._tally.take(kind))
        for left in chat.left:
            number = self._tally.take(left.kind)
            if left.known:
                self._tally.set_aside(left.why, number)
            else:
                self._tally.not_known(left.why, number)
