"""Turn the arguments of a call as the model wrote them into those that the client expects, whole or as they come."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Final, Literal

from coldpress.engine.json_filter import MemberFilter
from coldpress.engine.json_text import decoded
from coldpress.engine.map_entries import Place, places, with_maps
from coldpress.engine.tool_schemas import ToolShape

Why = Literal[
    "captured",  # the field was there, with text
    "native",  # the tool's own field was there, with text
    "absent",  # no field, or nothing in it
    "not_text",  # the field holds something else
    "unreadable",  # the arguments are no JSON object
    "left",  # the tool has no field
]
"""What became of a call's reason."""

MAX_INTENT_CHARACTERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Turned:
    """A call's arguments on their way to the client.

    Attributes:
        arguments: JSON text for the client.
        intent: the reason the model gave, at most `MAX_INTENT_CHARACTERS`, never blank; `None` unless `why` is
            `captured` or `native`.
        why: what became of the reason.
    """

    arguments: str
    intent: str | None
    why: Why


def turned(arguments: str, shape: ToolShape) -> Turned:
    """Turn whole arguments; what `ArgumentFilter` gives for them in one piece or in many.

    >>> turned('{"intent": "see the tests", "path": "a.py", "n": 1.0}', ToolShape("added", "intent"))
    Turned(arguments='{"path": "a.py", "n": 1.0}', intent='see the tests', why='captured')
    """
    through = ArgumentFilter(shape)
    through.feed(arguments)
    through.end()
    return through.turned


class ArgumentFilter:
    """Arguments that come in fragments, cut anywhere: the field goes, lists become maps, all else stays as it is.

    A top-level argument that holds a translated map is held back until it ends; all other fragments go out at once,
    but for a comma and a key that may still become the field's.

    The client never meets the field in a valid object. Where the text is no JSON object, or was cut off, what was
    given out in all is what came in, but for a field that was recognised before: that one stays away, a cut-off one
    too, since what is left is no valid object with or without it.
    """

    def __init__(self, shape: ToolShape) -> None:
        self._shape = shape
        self._fed: list[str] = []
        self._given: list[str] = []
        self._reason = _Reason(shape.field, places(shape.maps))
        self._members: MemberFilter | None = None
        if shape.changes_calls:
            self._members = MemberFilter(
                dropped=shape.field if shape.reason == "added" else None,
                changed=frozenset(path[0] for path in shape.maps if isinstance(path[0], str)),
                settle=self._reason.settle,
            )

    def feed(self, fragment: str) -> str:
        """Take the next fragment; give what may go to the client now, which may be nothing."""
        self._fed.append(fragment)
        if self._members is None:
            return fragment
        given = self._members.feed(fragment)
        self._given.append(given)
        return given

    def end(self) -> str:
        """Give the rest once no more fragments come; nothing may be fed after it."""
        if self._members is None:
            return ""
        given = self._members.end()
        self._given.append(given)
        return given

    @property
    def written(self) -> str:
        """The arguments as the model wrote them, as far as they came."""
        return "".join(self._fed)

    @property
    def turned(self) -> Turned:
        """What came of the call; to be asked for after `end`."""
        written = self.written
        arguments = written if self._members is None else "".join(self._given)
        if self._shape.reason == "left":
            return Turned(arguments, None, "left")
        if not written.strip():
            return Turned(arguments, None, "absent")  # a call without arguments, as some providers write it
        if self._shape.reason == "native":
            return _native(arguments, written, self._shape.field)
        if self._members is None or not self._members.is_whole:
            return Turned(arguments, None, "unreadable")
        intent = self._reason.text
        return Turned(arguments, intent, self._reason.why or ("captured" if intent else "absent"))


class _Reason:
    """Settles the members of one call that are watched, and remembers the reason among them."""

    def __init__(self, field: str, top: Place) -> None:
        self._field = field
        self._top = top
        self.text: str | None = None
        self.why: Literal["", "not_text"] = ""

    def settle(self, key: str, value: str) -> str | None:
        """Say what becomes of a member, as `json_filter.Settle` does; of two reasons the last counts."""
        try:
            found = decoded(value)
        except RecursionError:  # nested a thousand deep: a map stays as it came, a reason goes and is none
            found = None
            if key in self._top.below:
                return value
        if key in self._top.below:
            return with_maps(value, self._top.below[key])
        self.text, self.why = (_bounded(found), "") if isinstance(found, str) else (None, "not_text")
        return None


def _native(arguments: str, written: str, field: str) -> Turned:
    try:
        found = decoded(written)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return Turned(arguments, None, "unreadable")
    value = found.get(field)
    if value is not None and not isinstance(value, str):
        return Turned(arguments, None, "not_text")
    intent = _bounded(value or "")
    return Turned(arguments, intent, "native" if intent else "absent")


def _bounded(text: str) -> str | None:
    """Give a reason fit to be kept; `None` where it says nothing. Halves of characters are made whole or replaced."""
    whole = text.strip().encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole[:MAX_INTENT_CHARACTERS] or None


def call_key(scope: str, call_id: str, name: str, arguments: str) -> bytes:
    """Name a call, however a client writes it when it sends it again: 32 bytes, a SHA-256.

    Arguments are compared as JSON values: spacing, escapes, the order of keys and the spelling of numbers play no
    part, and numbers are compared as doubles, since many clients read them so. No arguments at all are an empty
    object. What cannot be decoded is compared as text.

    Args:
        scope: keeps conversations apart that may share ids.
        call_id: the call's, as the client sends it.
        name: the tool's.
        arguments: JSON text as the client has it.
    """
    digest = hashlib.sha256()
    for part in (scope, call_id, name, _canonical(arguments)):
        raw = part.encode(errors="surrogatepass")
        digest.update(b"%d:" % len(raw))
        digest.update(raw)
    return digest.digest()


def _canonical(arguments: str) -> str:
    try:
        value = json.loads(arguments, parse_int=_number, parse_float=_number) if arguments.strip() else {}
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return arguments


def _number(text: str) -> float:
    return float(text) + 0.0  # -0.0 is written as 0 by some


@dataclass(frozen=True, slots=True)
class KeptCall:
    """A call as the model wrote it.

    Attributes:
        arguments: its JSON text, byte for byte.
        intent: the reason it gave, `None` for none.
    """

    arguments: str
    intent: str | None


def packed(model_arguments: str, intent: str | None) -> str:
    """Write a call as one text to be kept: ASCII, so that every store takes it."""
    return json.dumps({"arguments": model_arguments, "intent": intent}, separators=(",", ":"))


def unpacked(text: str) -> KeptCall | None:
    """Read what `packed` wrote; `None` where the text is nothing of the kind.

    A character that came in two halves, as two escapes in two fragments, is whole again.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    arguments, intent = (found.get("arguments"), found.get("intent")) if isinstance(found, dict) else (None, None)
    if not isinstance(arguments, str) or not (intent is None or isinstance(intent, str)):
        return None
    return KeptCall(arguments, intent)
