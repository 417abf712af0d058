"""Recognise views that somebody shortened already: our own, and those that agents' clients make."""

from __future__ import annotations

import re
from typing import Final

MARK: Final = "[coldpress"
"""Every marker of ours begins with this, at the start of a line."""

REFUSAL_MAX_CHARS: Final = 400
"""A refusal to read again is a sentence or two; anything longer is a text that quotes one."""

_OWN: Final = re.compile(rf"^[ \t]*{re.escape(MARK)}", re.MULTILINE)

_REREAD_REFUSALS: Final = (
    re.compile(r"Wasted call\W+file unchanged since your last Read\b.*\bearlier tool_result\b", re.DOTALL),
    re.compile(r"File unchanged since last read\b.*\bearlier Read tool_result\b", re.DOTALL),
)

_WRAPPER: Final = r"(?:<untrusted_context>\s*)?(?:Output:\s*)?"

_AT_HEAD: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"<persisted-output>\s*Output too large \(",
        _WRAPPER + r"<tool_output_masked>",
        r"Old environment output: \(\d+ lines omitted\)",
        r"IMPORTANT: The file content has been truncated\.",
        r"(?s:.{0,400}?)(?m:^)(?:Warning: truncated output \(original token count: \d+\)|Total output lines: \d+\n\n)",
        _WRAPPER + r"Output too large\. Showing (?:the )?(?:first|last)\b",
        r"Tool output was too large and has been truncated\b",
    )
)
"""Envelopes that a client puts around a shortened result; matched at its start."""

_WHOLE: Final = frozenset({"[Old tool result content cleared]"})
"""What a client leaves in the place of a result that it took away."""

_LINES: Final = (
    ("lines truncated]", r"(?:\.\.\. ?)?\[\d+ lines truncated\](?: ?\.\.\.)?"),
    ("characters truncated]", r"(?:\.\.\. ?)?\[\d+ characters truncated\](?: ?\.\.\.)?"),
    (" truncated…", r"(?:…\d+ (?:tokens|chars) truncated….*|.*…\d+ (?:tokens|chars) truncated…)"),
    ("truncated...", r"\.\.\.\d+ (?:bytes|lines|characters|chars) truncated\.\.\."),
    ("[... omitted ", r"\[\.\.\. omitted \d+ of \d+ lines \.\.\.\]"),
    (" characters elided", r"\d+ characters elided"),
)
"""A needle that is cheap to look for, and the whole line it must be found in."""

_LINE_PATTERNS: Final = tuple((needle, re.compile(rf"{line}\r?")) for needle, line in _LINES)

_AT_TAIL: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"<response clipped><NOTE>[^<]{0,600}</NOTE>",
        r"\[Showing (?:lines|last) [^\]\n]{1,200}Full output: [^\]\n]+\]\s*(?:Command [^\n]*)?\s*\Z",
        r'^\s*"elided_chars": \d+,\s*"warning": "Output too long',
    )
)
"""Notes that a client puts near the end of a shortened result."""

_TAIL_CHARS: Final = 2_000


def is_marked(text: str) -> bool:
    """Whether some line of a text begins with a marker of ours."""
    return MARK in text and _OWN.search(text) is not None


def is_client_truncated(text: str) -> bool:
    """Whether the client has shortened this result itself, leaving its own pointer to the rest.

    Only the shapes in which clients really do so count, with real numbers and on lines of their own, so that
    source code or prose that mentions them is none.
    """
    stripped = text.strip()
    if stripped in _WHOLE:
        return True
    if any(pattern.match(stripped) for pattern in _AT_HEAD):
        return True
    if any(_has_line(text, needle, pattern) for needle, pattern in _LINE_PATTERNS):
        return True
    return any(pattern.search(text[-_TAIL_CHARS:]) for pattern in _AT_TAIL)


def _has_line(text: str, needle: str, pattern: re.Pattern[str]) -> bool:
    """Whether a line that holds `needle` matches a pattern whole."""
    at = text.find(needle)
    while at >= 0:
        end = text.find("\n", at)
        end = end if end >= 0 else len(text)
        if pattern.fullmatch(text, text.rfind("\n", 0, at) + 1, end):
            return True
        at = text.find(needle, end)
    return False


def is_reread_refusal(text: str) -> bool:
    """Whether Claude Code refuses to read a file again because an earlier result still stands.

    >>> is_reread_refusal("File unchanged since last read. (the source of this sentence is src/refusals.ts)")
    False
    """
    stripped = text.strip()
    return len(stripped) < REFUSAL_MAX_CHARS and any(p.match(stripped) for p in _REREAD_REFUSALS)
