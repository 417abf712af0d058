"""Take the indentation out of machine-made JSON, leaving keys, numbers and strings as they are spelled."""

from __future__ import annotations

import re

import msgspec

from coldpress.engine.reduce.steps import Stepped

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_FIRST_INDENT = re.compile(r"[{\[]\n([ \t]+)\S")


def press(text: str) -> Stepped | None:
    """Print one indented JSON value on one line.

    `None` where the text is not one JSON value, or not indented as JSON printers do (so that
    indenting the short form again would not give the same text).
    """
    match = _FIRST_INDENT.match(text)
    if match is None or not _is_json(text):
        return None
    body = text.rstrip("\n")
    short = "".join(_TOKEN.findall(body))
    params = msgspec.json.encode((match[1], len(text) - len(body)))
    return Stepped(short, params) if restore(short, params) == text else None


def restore(text: str, params: bytes) -> str:
    """Indent again: one member or item a line, `: ` after keys, empty containers closed at once.

    Raises:
        ValueError: brackets do not match.
    """
    indent, newlines = msgspec.json.decode(params, type=tuple[str, int])
    tokens: list[str] = _TOKEN.findall(text)
    out: list[str] = []
    depth = 0
    before = ""
    for token in tokens:
        if token in ("}", "]"):
            depth -= 1
            if depth < 0:
                raise ValueError("a closing bracket without its opening one")
            if before not in ("{", "["):
                out.append("\n" + indent * depth)
        elif before in ("{", "["):
            out.append("\n" + indent * depth)
        out.append(token)
        if token in ("{", "["):
            depth += 1
        elif token == ",":
            out.append("\n" + indent * depth)
        elif token == ":":
            out.append(" ")
        before = token
    return "".join(out) + "\n" * newlines


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text.encode(), type=msgspec.Raw)
    except (ValueError, RecursionError):
        return False
    return True
