"""Read from the call of an edit which texts it expects to find, whatever its client calls the tool and the fields.

Left out are edits that name lines by number or by a pattern, diffs for `git apply` or `patch`, programs that edit, and
files that are written whole: their calls do not hold what they expect to find, or not in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from coldpress.lab.blocks import strings


def _plain(tool: str) -> str:
    """Give a tool's name without its server's, in lower case, without dashes and bars.

    >>> _plain("mcp__filesystem__edit_file"), _plain("editFile"), _plain("Edit-File")
    ('editfile', 'editfile', 'editfile')
    """
    return re.sub("[-_]", "", tool.rpartition("__")[2]).lower()


EDITS: Final = frozenset(
    map(
        _plain,
        (
            "edit",
            "multi_edit",
            "edit_file",
            "edit_block",
            "replace",
            "replace_in_file",
            "replace_string_in_file",
            "multi_replace_string_in_file",
            "search_replace",
            "search_and_replace",
            "str_replace",
            "str_replace_editor",
            "str_replace_based_edit_tool",
            "file_editor",
            "apply_diff",
            "apply_patch",
            "patch",
        ),
    )
)
"""Tools whose calls quote what they replace, as `_plain` names."""

SHELLS: Final = frozenset(
    map(_plain, ("bash", "shell", "shell_command", "local_shell", "exec_command", "execute_bash", "container.exec"))
)
"""Tools that a patch may be given to as a command, likewise."""

_SEVERAL: Final = ("edits", "operations", "replacements")
"""What clients call a list of edits: Claude Code, pi and the file server of the Model Context Protocol; Roo Code;
Copilot."""

_OLD: Final = ("old_string", "oldString", "old_str", "oldStr", "oldText", "old_text", "search")
"""What clients call the text to be replaced: Claude Code, Gemini CLI and Qwen Code; OpenCode and Copilot; OpenHands,
SWE-agent and Anthropic's own tool; Kiro; pi, OMP and the file server; Zed; SWE-agent's other editor and Roo Code."""

_BLOCKS: Final = ("diff", "content")
"""What clients call a text of search-and-replace blocks: Cline and Roo Code; Mistral Vibe."""

_COMMANDS: Final = ("command", "cmd")

_PATCH: Final = re.compile(
    r"\*\*\* Begin Patch[^\n]*\n(.*?)(?=^\*\*\* (?:Begin|End) Patch|\Z)", re.DOTALL | re.MULTILINE
)
"""A patch; the same words within its lines come behind a `+`, a `-` or a space. Its end may be missing."""

# Seven equals signs and no other number of them: text underlines its headings with those.
_BLOCK: Final = re.compile(
    r"^(?:-{7}|<{7}) SEARCH[ \t]*\r?\n"
    r"(?::start_line:.*\n)?(?::end_line:.*\n)?(?:-{7}\r?\n)?"
    r"((?s:.*?))^={7}[ \t]*\r?$",
    re.MULTILINE,
)
"""What a block searches for; Roo Code says before it at which lines."""


def old_texts(tool: str, arguments: object) -> Iterator[str]:
    """Give the texts that a call expects to find in files, in order; blank ones are left out.

    Of patches in the form of Codex' `apply_patch` these are the hunks, each the lines it keeps and removes; of
    search-and-replace blocks what each searches for. Names may have dashes, capitals, and `mcp__SERVER__` before them.

    Args:
        tool: as the client names it.
        arguments: the decoded input of the call.

    >>> list(old_texts("edit", {"path": "a.py", "oldText": "x = 1", "newText": "x = 2"}))
    ['x = 1']
    >>> patch = "*** Begin Patch\\n*** Update File: a.py\\n@@\\n def f():\\n-    one()\\n+    two()\\n*** End Patch"
    >>> list(old_texts("apply_patch", {"input": patch}))
    ['def f():\\n    one()']
    """
    name = _plain(tool)
    if not isinstance(arguments, dict) or not (name in EDITS or name in SHELLS):
        return
    if name in EDITS:
        several = next((edits for field in _SEVERAL if isinstance(edits := arguments.get(field), list) and edits), None)
        for edit in several or (arguments,):
            yield from _replaced(edit)
        for text in _given(arguments, _BLOCKS):
            yield from _searched(text)
    for text in _patches(name, arguments):
        yield from _hunks(text)


def _replaced(edit: object) -> Iterator[str]:
    if isinstance(edit, dict) and edit.get("use_regex") not in (True, "true"):
        old = next((edit[field] for field in _OLD if field in edit), None)
        if isinstance(old, str) and old.strip():
            yield old


def _given(arguments: dict[str, object], fields: tuple[str, ...]) -> list[str]:
    return [text for field in fields for text in strings(arguments.get(field))]


def _searched(text: str) -> Iterator[str]:
    """Give what each block of a text searches for."""
    for found in _BLOCK.finditer(text):
        old = found[1].strip("\r\n")
        if old.strip():
            yield old


def _patches(name: str, arguments: dict[str, object]) -> Iterator[str]:
    """Find whole patches: what a patching tool is given, and what a shell gives to one."""
    if name in SHELLS:
        given = _given(arguments, _COMMANDS)
        if not any("apply_patch" in text for text in given):
            return
    elif "patch" in name:
        given = list(strings(arguments))
    else:
        return
    for text in given:
        yield from (found[1] for found in _PATCH.finditer(text))


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
