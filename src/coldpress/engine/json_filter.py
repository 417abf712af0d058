"""Take members out of a JSON object, or change them, while its text still comes in, cut anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal

from coldpress.engine.json_text import NotJson, string_of

Settle = Callable[[str, str], str | None]
"""Asked once for every watched member that is complete: its key, and its value's text. Gives the text that takes the
value's place, `None` where the member is to go. Raises `NotJson` where the value is none."""

_MOST_ESCAPED: Final = len(r"\ud83d\ude00")
"""So many characters one takes at most in a JSON string."""

_State = Literal["start", "key", "name", "member", "done", "raw"]
_SPACES: Final = " \t\r\n"
_SPACE: Final = re.compile(r"[ \t\r\n]*+")
_COLON: Final = re.compile(r"[ \t\r\n]*+:[ \t\r\n]*+")
_STRING: Final = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
# What cannot end a member: other characters, and strings that end in the same fragment. Possessive, so that nothing is
# tried twice.
_FLAT: Final = re.compile(r'(?:[^",{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
_DEEP: Final = re.compile(r'(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)


class MemberFilter:
    """The text of one JSON object on its way through.

    Only members of the object itself are watched, never those of objects in it. What goes out is what came in, but
    for them; a fragment that holds nothing of them goes out at once. Held back is at most a comma, the space behind
    it and a key that may still become a watched one; and a watched member until it ends.

    A member that goes takes one comma along: the one behind it and the space up to the next key where nothing stands
    in front of it any more, else the one in front of it. So what comes out is valid JSON exactly where what came in
    is.

    Text that turns out not to be one JSON object goes out as it is from there on, with what was held back. A member
    that is to go and was cut off stays away.
    """

    def __init__(self, *, dropped: str | None, changed: frozenset[str], settle: Settle) -> None:
        """Watch members.

        Args:
            dropped: key of the members that are to go.
            changed: keys of the members whose values may be replaced.
            settle: says what becomes of a complete member.
        """
        self._dropped = dropped
        self._watched = tuple(changed if dropped is None else changed | {dropped})
        self._longest = max([_MOST_ESCAPED * len(key) for key in self._watched], default=0)
        self._settle = settle
        self._state: _State = "start"
        self._comma = False  # read, and not given out yet
        self._given = False  # some member went out
        self._space: list[str] = []  # in front of the key at hand
        self._first_space: str | None = None
        self._name = ""  # the key at hand as it is written
        self._key: str | None = None  # the watched key whose member is held
        self._held: list[str] = []
        self._depth = 0
        self._quoted = False
        self._escaped = False  # the last character of the fragment was a backslash

    @property
    def is_whole(self) -> bool:
        """Whether what came in so far is one object with its end."""
        return self._state == "done"

    def feed(self, text: str) -> str:
        """Take the next piece of the text; give what may go out now."""
        if self._quoted and self._key is None and not self._escaped and '"' not in text and "\\" not in text:
            return text  # the middle of a string, as most fragments of a long call are
        out: list[str] = []
        at = 0
        while at < len(text):
            match self._state:
                case "member":
                    at = self._member(text, at, out)
                case "key":
                    at = self._before_key(text, at, out)
                case "name":
                    at = self._in_name(text, at, out)
                case "start":
                    at = self._before_object(text, at, out)
                case "done" | "raw":
                    at = self._behind(text, at, out)
        return "".join(out)

    def end(self) -> str:
        """Give what is still held back when no more text comes; nothing of a member that is to go."""
        if self._state == "key":
            return self._lead() if self._comma else "".join(self._space)
        if self._state == "name":
            return f'{self._lead()}"{self._name}'
        if self._state == "member" and self._key is not None and self._key != self._dropped:
            return "".join((self._opening(), *self._held))
        return ""

    def _before_object(self, text: str, at: int, out: list[str]) -> int:
        end = _end(_SPACE, text, at)
        out.append(text[at:end])
        if end == len(text):
            return end
        if text[end] != "{":
            self._state = "raw"
            return end
        out.append("{")
        self._state = "key"
        return end + 1

    def _before_key(self, text: str, at: int, out: list[str]) -> int:
        end = _end(_SPACE, text, at)
        self._space.append(text[at:end])
        if end == len(text):
            return end
        if text[end] == '"':
            self._state, self._name = "name", ""
            if self._first_space is None:
                self._first_space = "".join(self._space)
            return end + 1
        # The object is empty, or broken: then its comma goes out too, or a broken text might become a valid one.
        out += [",", *self._space] if self._comma else self._space
        if text[end] == "}" and not self._comma:
            out.append("}")
            self._state = "done"
            return end + 1
        self._state = "raw"
        return end

    def _in_name(self, text: str, at: int, out: list[str]) -> int:
        end = self._string_end(text, at)
        self._name += text[at:end]
        is_closed = end < len(text)
        if not is_closed and self._may_be_watched():
            return end
        self._state, self._depth, self._quoted = "member", 0, not is_closed
        key = string_of(f'"{self._name}"') if is_closed else None
        if key is not None and key in self._watched:
            self._key, self._held = key, []
            return end + 1
        out.append(self._opening() if is_closed else self._opening()[:-1])
        self._given = True
        return end + 1

    def _may_be_watched(self) -> bool:
        if len(self._name) > self._longest:
            return False  # however it is written, it is too long for one
        return "\\" in self._name or any(key.startswith(self._name) for key in self._watched)

    def _member(self, text: str, at: int, out: list[str]) -> int:
        """Go on to the end of the member or of the text."""
        start, kept = at, (out if self._key is None else self._held)
        if self._quoted:
            at = self._string_end(text, at)
            self._quoted = at == len(text)
            at += not self._quoted
        while at < len(text):
            at = _end(_DEEP if self._depth else _FLAT, text, at)
            sign = text[at : at + 1]
            if sign == '"':  # a string that goes on in the next fragment
                self._quoted = True
                at = self._string_end(text, at + 1)
            elif sign in ("{", "["):
                self._depth += 1
                at += 1
            elif sign and self._depth:
                self._depth -= 1
                at += 1
            elif sign:
                kept.append(text[start:at])
                return self._member_end(sign, at, out)
        kept.append(text[start:at])
        return at

    def _member_end(self, sign: str, at: int, out: list[str]) -> int:
        if self._key is not None and not self._settled(out, is_last=sign == "}"):
            self._state = "raw"
        elif sign == ",":
            self._state, self._comma, self._space = "key", True, []
            return at + 1
        elif sign == "}":
            self._state = "done"
            out.append(sign)
            return at + 1
        else:
            self._state = "raw"
        return at

    def _settled(self, out: list[str], *, is_last: bool) -> bool:
        """Give out what becomes of the member that is held; say whether it was one."""
        text, key, self._key = "".join(self._held), self._key or "", None
        colon = _COLON.match(text)
        head = colon.end() if colon else 0
        value = text[head:].rstrip(_SPACES)
        try:
            new = self._settle(key, value) if colon else _no_member(text)
        except NotJson:
            out.append(self._opening() + text)
            return False
        tail = text[head + len(value) :]
        if new is not None:
            out.append(self._opening() + text[:head] + new + tail)
            self._given = True
        elif is_last and self._given:
            out.append(tail)  # the line break in front of the last brace
        return True

    def _behind(self, text: str, at: int, out: list[str]) -> int:
        if self._state == "done" and text[at:].strip(_SPACES):
            self._state = "raw"
        out.append(text[at:])
        return len(text)

    def _lead(self) -> str:
        """Give what stands in front of the key at hand, with its comma where it needs one."""
        if self._given:
            return "".join((",", *self._space))
        return self._first_space or ""

    def _opening(self) -> str:
        return f'{self._lead()}"{self._name}"'

    def _string_end(self, text: str, at: int) -> int:
        """Find the quote that ends the string at hand; the text's length where it does not end here."""
        if self._escaped:
            self._escaped = False
            at += 1
        end = _end(_STRING, text, at)
        if end < len(text) and text[end] == "\\":
            self._escaped = True
            return len(text)
        return end


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _no_member(text: str) -> str:
    raise NotJson(f"{text[:20]!r} does not follow a key")
