"""Show a bounded view of a large result: what it starts and ends with, what matters in it, and what was left out."""

from __future__ import annotations

import re

from coldpress.engine.catalogue import Kind
from coldpress.engine.markers import is_marked
from coldpress.engine.reduce import terminal
from coldpress.engine.reduce.reduced import Reduced, pays
from coldpress.engine.reduce.views import binary, listing, search, shell
from coldpress.engine.reduce.views.frame import View, opening

WEB_BUDGET_BYTES = 8192
WEB_HEAD_SHARE = 0.75  # a page's main text comes first; its end is navigation and links
WEB_MAX_LINE_CHARS = 2000
OTHER_HEAD_SHARE = 0.6
_DATA_COMMAND = re.compile(r"(?:^|[|;&]\s*)(?:jq|yq|curl|wget|http|psql|mysql|sqlite3|redis-cli|gh api)\b[^|;&]*$")
_KINDS = frozenset(("shell", "search", "listing", "web", "mcp", "unknown", "subagent"))


def reduce(text: str, *, kind: Kind, command: str | None, sha: str, rerun: str | None) -> Reduced | None:
    """Give a view of a large result that succeeded, or `None` where it would save too little.

    Args:
        text: the whole result, not yet made smaller. Failures and diffs must not be given.
        kind: its kind in the tool catalogue; sources, mutations, plans, memory and diffs are never cut.
        command: the shell command, where it was one; words like "error" in what a data command prints
            (`jq`, `curl`, a database client) are data, and draw no attention to their lines.
        sha: SHA-256 of the original in hexadecimal, shown in full.
        rerun: a sentence on how to get everything again; the caller has made sure that it promises
            nothing that the request does not offer.
    """
    if kind not in _KINDS or is_marked(text):
        return None
    if binary.is_binary(text):
        pressed = binary.note(text, sha=sha, rerun=rerun)
        return Reduced(pressed) if pays(text, pressed) else None
    if "\0" in text:
        return None
    view = _view(_as_shown(text), kind, command)
    pressed = f"{opening(view, text, sha=sha, rerun=rerun)}\n{view.body}"
    return Reduced(pressed) if pays(text, pressed) else None


def _as_shown(text: str) -> str:
    """The text without what only a terminal acts on, which would spend the budget on nothing."""
    for press in (terminal.press_progress, terminal.press_sequences):
        stepped = press(text)
        text = text if stepped is None else stepped.text
    return text


def _view(text: str, kind: Kind, command: str | None) -> View:
    if kind == "search":
        return search.view(text) or listing.view(text) or _ends(text)
    if kind == "listing":
        return listing.view(text) or _ends(text)
    if kind == "shell":
        return _ends(text) if command and _DATA_COMMAND.search(command) else shell.view(text)
    return shell.head_and_tail(
        text, budget_bytes=WEB_BUDGET_BYTES, head_share=WEB_HEAD_SHARE, max_line_chars=WEB_MAX_LINE_CHARS
    )


def _ends(text: str) -> View:
    return shell.head_and_tail(
        text, budget_bytes=search.BUDGET_BYTES, head_share=OTHER_HEAD_SHARE, max_line_chars=search.MAX_LINE_CHARS
    )
