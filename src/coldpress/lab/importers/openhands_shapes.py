"""What an OpenHands event comes to, whichever program wrote it, and the parts that old and new ones have in common."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from coldpress.lab.importers.jsonvalues import HALVES, JsonObject, count_in, object_in, read_json, text_in


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its recorded id (empty where there is none), the tool's name and its arguments.

    `halves` counts the halves of a character that were in the arguments, which had been JSON text.
    """

    id: str
    tool: str
    arguments: JsonObject
    halves: int = 0


@dataclass(frozen=True, slots=True)
class Acted:
    """The model's part of a reply; events with the same `response_id` are one reply."""

    response_id: str
    text: str
    thinking: tuple[JsonObject, ...] = ()
    calls: tuple[Call, ...] = ()
    response: JsonObject = field(default_factory=dict)
    in_text: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """What the client says: a result where `call_id` or `cause` names a call, else a text of the user."""

    text: str
    images: tuple[str, ...] = ()
    call_id: str | None = None
    cause: str | None = None
    failed: bool = False
    result: bool = False


@dataclass(frozen=True, slots=True)
class Forgot:
    """A condensation: which events go, by name, and what stands for them at which place of what is left."""

    names: frozenset[str]
    summary: str
    offset: int


@dataclass(frozen=True, slots=True)
class Opened:
    """The system prompt and the definitions of the tools, in the form of Chat Completions."""

    system: str
    tools: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class Unused:
    """An event that adds nothing; says why, and whether it is known what it is."""

    reason: str
    known: bool = True


Read = Acted | Seen | Forgot | Opened | Unused


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `name` is its id; `running` are the metrics as they stood then; `time` in seconds since 1970."""

    label: str
    name: str
    time: float | None
    read: Read
    running: JsonObject


def call_of(call: JsonObject) -> Call:
    """Read a call in the form of Chat Completions, or the agent SDK's flat form of it."""
    function = object_in(call, "function") or call
    notes = Counter[str]()
    found = arguments(function, notes)
    return Call(text_in(call, "id") or "", text_in(function, "name") or "unnamed", found, notes[HALVES])


def arguments(function: JsonObject, notes: Counter[str]) -> JsonObject:
    """Give a call's arguments; what is no JSON object stands whole under `arguments`."""
    raw = function.get("arguments")
    try:
        found = read_json(raw or "{}", notes) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"arguments": raw}


def forgot_of(found: JsonObject) -> Forgot:
    """Read a condensation: events named one by one, or by the first and the last of a range."""
    listed = found.get("forgotten_event_ids") or found.get("pruned_event_ids")
    names = {str(one) for one in listed} if isinstance(listed, list) else set()
    first = count_in(found, "forgotten_events_start_id")
    last = count_in(found, "forgotten_events_end_id")
    if first is not None and last is not None and last - first < _MOST_EVENTS:
        names |= {str(number) for number in range(first, last + 1)}
    return Forgot(frozenset(names), text_in(found, "summary") or "", max(count_in(found, "summary_offset") or 0, 0))


_MOST_EVENTS = 1_000_000
"""A range of more events than this is no range of one run."""


def strings_in(found: object) -> tuple[str, ...]:
    """Give the strings of a list that are not empty."""
    return tuple(one for one in found if isinstance(one, str) and one) if isinstance(found, list) else ()
