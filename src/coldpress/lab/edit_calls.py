"""Read from the call of an edit which texts it expects to find, whatever its client calls the tool and the fields.

Left out are edits that name lines by number, and programs that edit: their calls quote nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from coldpress.lab.blocks import strings

EDITS: Final = frozenset(
    {
        "edit",
        "multiedit",
        "edit_file",
        "replace",
        "str_replace",
        "str_replace_editor",
        "str_replace_based_edit_tool",
        "file_editor",
        "apply_patch",
        "patch",
    }
)
"""Tools whose calls quote what they replace, in lower case."""

SHELLS: Final = frozenset(
    {"bash", "shell", "shell_command", "local_shell", "exec_command", "execute_bash", "container.exec"}
)
"""Tools that a patch may be given to as a command."""

_OLD: Final = ("old_string", "oldString", "old_str", "oldText", "old_text", "search")
"""What clients call the text to be replaced: Claude Code, Gemini CLI and Qwen Code; OpenCode; OpenHands, SWE-agent and
Anthropic's own tool; pi and OMP; SWE-agent's other editor."""

_COMMANDS: Final = ("command", "cmd")
_BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"


def old_texts(tool: str, arguments: object) -> Iterator[str]:
    """Give the texts that a call expects to find in files, in order; blank ones are left out.

    Of a patch in the form of Codex' `apply_patch` these are the hunks, each the lines it keeps and removes.

    Args:
        tool: as the client names it.
        arguments: the decoded input of the call.

    >>> list(old_texts("edit", {"path": "a.py", "oldText": "x = 1", "newText": "x = 2"}))
    ['x = 1']
    >>> patch = "*** Begin Patch\\n*** Update File: a.py\\n@@\\n def f():\\n-    one()\\n+    two()\\n*** End Patch"
    >>> list(old_texts("apply_patch", {"input": patch}))
    ['def f():\\n    one()']
    """
    name = tool.lower()
    if not isinstance(arguments, dict) or not (name in EDITS or name in SHELLS):
        return
    if name in EDITS:
        edits = arguments.get("edits")
        for edit in edits if isinstance(edits, list) and edits else (arguments,):
            yield from _replaced(edit)
    for text in _patches(name, arguments):
        yield from _hunks(text)


def _replaced(edit: object) -> Iterator[str]:
    if isinstance(edit, dict):
        old = next((edit[field] for field in _OLD if field in edit), None)
        if isinstance(old, str) and old.strip():
            yield old


def _patches(name: str, arguments: dict[str, object]) -> Iterator[str]:
    """Find whole patches: what a patching tool is given, and what a shell gives to one."""
    if name in SHELLS:
        given = [text for field in _COMMANDS for text in strings(arguments.get(field))]
        if not any("apply_patch" in text for text in given):
            return
    elif "patch" in name:
        given = list(strings(arguments))
    else:
        return
    for text in given:
        if _BEGIN in text:
            yield text.partition(_BEGIN)[2].partition(_END)[0]


def _hunks(patch: str) -> Iterator[str]:
    """Give what each hunk of a patch keeps and removes; a hunk ends with the next file or the next `@@`."""
    lines: list[str] = []
    for line in (*patch.split("\n"), "@@"):
        if line.startswith(("@@", "*** ")):
            old = "\n".join(lines).strip("\n")
            if old.strip():
                yield old
            lines = []
        elif not line.startswith("+"):
            # Models leave out the space before an empty line that stays.
            lines.append(line[1:])
