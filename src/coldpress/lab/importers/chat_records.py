"""Read one record of a chat: a list of messages and what stands beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from coldpress.lab.importers.chat_blocks import REPLY_ROLES, ROLES, SYSTEM_ROLES, Scribe, is_message
from coldpress.lab.importers.chat_heads import Beside, beside, text_of
from coldpress.lab.importers.conversation import Told
from coldpress.lab.importers.jsonvalues import JsonObject, known_time, number_in, object_in, text_in
from coldpress.lab.importers.linefiles import utc_time
from coldpress.lab.importers.weave import Spoken
from coldpress.lab.jsontext import compact_json
from coldpress.wire.usage import Bill, UsageFields
from coldpress.wire.usage_fields import read_usage

LISTS = ("messages", "traj", "conversation", "history")
"""Where a record of a chat keeps its messages; the first that holds some counts."""

LATE_SYSTEM = "system messages after the first (said as the user's)"


@dataclass(frozen=True, slots=True)
class Left:
    """A message that no conversation holds, and why."""

    kind: str
    why: str
    known: bool


@dataclass(frozen=True, slots=True)
class Chat:
    """A record.

    Attributes:
        spoken: its messages but for the system's.
        beside: system prompt and tools.
        system_kinds: what the messages that became the system prompt are counted as.
        left: messages that nothing holds.
        broken: how many entries of the list are no objects.
        session: its name in the recording, empty where it has none.
        asks: whether it is the body of a request that has no reply yet.
    """

    spoken: tuple[Spoken, ...]
    beside: Beside
    system_kinds: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()
    broken: int = 0
    session: str = ""
    asks: bool = False


def messages_in(record: object) -> Sequence[object] | None:
    """Find the messages of a record; `None` where it is none."""
    if isinstance(record, list):
        return record if record and all(map(is_message, record)) else None
    if not isinstance(record, dict):
        return None
    for key in LISTS:
        found = record.get(key)
        if isinstance(found, list) and found and any(map(is_message, found)):
            return found
    return None


def read_chat(record: JsonObject, recorded: Iterable[object]) -> Chat:
    """Read a record.

    Args:
        record: what stands beside the messages; empty for a bare list.
        recorded: the messages.
    """
    reader = ChatReader(text_in(record, "model") or "")
    for found in recorded:
        reader.take(found)
    last = reader.spoken[-1].role if reader.spoken else "user"
    return Chat(
        tuple(reader.spoken),
        beside(record, reader.system or ""),
        tuple(reader.system_kinds),
        tuple(reader.left),
        reader.broken,
        _session(record),
        asks=last == "user" and text_in(record, "model") is not None,
    )


class ChatReader:
    """Reads the messages of one conversation in order.

    Args:
        model: that answers where a message does not say.

    Attributes: see `Chat`. `system` is `None` until there is a system message, or a message that comes too early for
    one.
    """

    def __init__(self, model: str) -> None:
        self.system: str | None = None
        self.system_kinds: list[str] = []
        self.spoken: list[Spoken] = []
        self.left: list[Left] = []
        self.broken = 0
        self.scribe = Scribe()
        self._model = model
        self._begun = False

    def behind(self) -> ChatReader:
        """Give a reader of what comes behind everything that this one has read."""
        found = ChatReader(self._model)
        found.scribe, found.system, found._begun = self.scribe.copy(), self.system, True
        return found

    def take(self, found: object) -> None:
        """Read one message."""
        if not isinstance(found, dict):
            self.broken += 1
            return
        role = text_in(found, "role") or "(none)"
        kind = f"message:{role}"
        if role in SYSTEM_ROLES and self.system is None and not self._begun:
            self.system = text_of(found.get("content"))
            self.system_kinds.append(kind)
            return
        if role not in ROLES:
            self.left.append(Left(kind, f"messages of an unknown role: {role}", known=False))
            return
        replies = role in REPLY_ROLES
        blocks = self.scribe.reply(found) if replies else self.scribe.client(found)
        notes, self.scribe.notes = self.scribe.notes, Counter()
        if role in SYSTEM_ROLES:
            notes[LATE_SYSTEM] += 1
        if not blocks and not object_in(found, "usage"):
            self.left.append(Left(kind, "messages that say nothing", known=True))
            return
        self._begun = True
        spoken = Spoken("assistant" if replies else "user", blocks, kind, notes, _time(found, notes))
        self.spoken.append(replace(spoken, told=_told(found, self._model)) if replies else spoken)


def _time(found: JsonObject, notes: Counter[str]) -> float | None:
    """Give the time of a message: ISO 8601, or seconds since 1970."""
    seconds = number_in(found, "timestamp")
    return utc_time(found.get("timestamp"), notes) if seconds is None else known_time(seconds, notes)


def _told(found: JsonObject, model: str) -> Told:
    model = text_in(found, "model") or model
    usage = object_in(found, "usage")
    bill = bill_of(usage, model) if usage else Bill()
    return Told(model, bill.usage, request_id=text_in(found, "id"), reported_usd=bill.reported_usd)


def bill_of(usage: JsonObject, model: str) -> Bill:
    """Read a reply's usage; whose words it is in shows in them."""
    fields = UsageFields("openai" if "prompt_tokens" in usage else "anthropic")
    try:
        fields.merge(read_usage(compact_json(usage).encode()))
    except msgspec.MsgspecError:
        return Bill()
    return fields.bill(model or None)


def _session(record: JsonObject) -> str:
    """Name a record: by its task and trial, as benchmarks do, or by an id of its own."""
    if "task_id" in record:
        trial = record.get("trial")
        return f"task-{record['task_id']}" + (f"-trial-{trial}" if trial is not None else "")
    for key in ("id", "session_id", "conversation_id", "instance_id"):
        if (name := text_in(record, key)) is not None:
            return name
    return ""
