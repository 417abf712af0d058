"""Tell what harnesses put into users' texts and results from what somebody said."""

from __future__ import annotations

import re
from typing import Final

NOTES: Final = (
    "system-reminder",  # Claude Code, OpenCode
    "environment_details",  # Cline, Roo
    "environment_context",  # Codex
    "task-notification",  # Claude Code: a background command's output
    "local-command-stdout",  # Claude Code: what a command of its own prints
    "local-command-stderr",
    "local-command-caveat",
    "ide_opened_file",  # Claude Code in an editor
    "ide_selection",
    "ide_diagnostics",
    "reminderInstructions",  # Copilot in VS Code
    "editorContext",
)
"""Elements in which harnesses put what no person wrote."""

COMMANDS: Final = ("command-name", "command-message", "command-args")
"""What Claude Code makes of a command that a user typed. Its text is the user's, and no sentence of an order."""

_NOTES: Final = "|".join(map(re.escape, NOTES))
_ELEMENTS: Final = re.compile(rf"\s*(?:<({_NOTES})(?:\s[^<>]*)?>[\s\S]*?</\1>\s*)+\Z")
_ANY: Final = "|".join(map(re.escape, (*NOTES, *COMMANDS)))
_INJECTED: Final = re.compile(
    rf"<({_ANY})(?:\s[^<>]*)?>.*?</\1>|^[ \t]*<(?:{_ANY})(?:\s[^<>]*)?>.*\Z", re.DOTALL | re.M
)
"""Whole elements, and one that was cut off, which begins a line: a user may speak of the name of one."""


def without_injected(text: str) -> str:
    """Take out what a harness put into a text, leaving a blank line, so that sentences do not run together.

    >>> without_injected("Go on.<system-reminder>Be brief.</system-reminder>")
    'Go on.\\n\\n'
    """
    return _INJECTED.sub("\n\n", text) if "<" in text else text


def is_nobodys(text: str) -> bool:
    """Whether a text of a user is blank, or made of notes of a harness alone.

    What a text is made of decides, not where it stands. Results that come as texts are nobody's too:
    `coldpress.engine.acting`.

    >>> is_nobodys("<system-reminder>x</system-reminder>"), is_nobodys("a <system-reminder>x</system-reminder>?")
    (True, False)
    """
    return not text.strip() or _ELEMENTS.match(text) is not None
