"""Say which files a tool call changes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from coldpress.engine import catalogue_data
from coldpress.engine import watch_data as data
from coldpress.engine.catalogue import Classified
from coldpress.engine.command_lines import line_of
from coldpress.engine.envelopes import json_object
from coldpress.engine.exactness import failed
from coldpress.engine.shellkinds_data import HARMLESS_TARGETS
from coldpress.engine.shellwords import Stage, split
from coldpress.model.conversation import Conversation, ToolResult

_PATCHED: Final = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
_EXPANDED: Final = re.compile(r"[$*?\s]")
_FILE: Final = re.compile(r"[\w@+~/.][\w@.+/~-]*")


@dataclass(frozen=True, slots=True)
class Changed:
    """What a call changes.

    Attributes:
        paths: files that it changes for certain, as it writes them.
        names: last parts of every path that it may have changed; empty where it names none, as `git commit` does.
        folder: where a command line runs, as its `cd` says; empty where it does not say.
    """

    paths: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    folder: str = ""

    @property
    def places(self) -> tuple[str, ...]:
        """The paths, joined with the folder, so that two ways to write one are the same."""
        return tuple(posixpath.normpath(posixpath.join(self.folder, path)) for path in self.paths)


def changed(found: Classified, arguments: str) -> Changed | None:
    """Say which files a call changes if it does what it is called for; `None` where it changes nothing.

    Args:
        found: where the call belongs.
        arguments: JSON text.

    >>> from coldpress.engine.catalogue import classify
    >>> line = '{"command": "cd src && sed -i s/a/b/ x.py"}'
    >>> changed(classify("Bash", line), line).places
    ('src/x.py',)
    """
    command = found.command
    if command is not None:
        if found.kind == "mutation":
            paths = dict.fromkeys((*_written(command), *_PATCHED.findall(command)))
            return Changed(tuple(paths), _names(command), line_of(command).folder)
        return Changed() if _changes_state(command) else None
    if found.kind != "mutation":
        return None
    given = json_object(arguments) or {}
    named = [value for key in catalogue_data.PATH_KEYS if isinstance(value := given.get(key), str) and value]
    named += [path for value in given.values() if isinstance(value, str) for path in _PATCHED.findall(value)]
    names = frozenset(map(posixpath.basename, named)) if named else _names(arguments)
    return Changed(tuple(dict.fromkeys(named)), names)


def took_effect(conversation: Conversation, found: Classified, result: ToolResult) -> bool:
    """Whether a call that changes something did: a tool that failed changed nothing, a command line may have by then.

    Args:
        conversation: that holds the result.
        found: where the call belongs.
        result: what came back.
    """
    if found.command is not None:
        return True
    texts = (conversation.text(literal) for literal in result.texts if literal.readable)
    return not result.failed and not any(failed(found, text, wire_failed=result.failed) for text in texts)


def _written(command: str) -> Iterator[str]:
    """Find the files a command line writes to by redirection, or in place."""
    for pipeline in split(command) or ():
        for stage in pipeline:
            yield from _redirected(stage)
            if stage.words[:1] in (("sed",), ("tee",)) and _FILE.fullmatch(stage.words[-1]):
                yield stage.words[-1]


def _redirected(stage: Stage) -> Iterator[str]:
    for redirect in stage.redirects:
        writes = redirect.operator.startswith((">", "&>")) and redirect.operator != ">&"
        if writes and redirect.target.lower() not in HARMLESS_TARGETS and not _EXPANDED.search(redirect.target):
            yield redirect.target


def _changes_state(command: str) -> bool:
    """Whether a command line changes files or the repository in a way that names no text: `git commit`, `rm`."""
    for pipeline in split(command) or ():
        for stage in pipeline:
            words = stage.words
            if words[:1] == ("git",):
                if any(word in data.GIT_CHANGES for word in words[1:4]):
                    return True
            elif words and (words[0] in data.CHANGERS or (words[0] in data.INSTALLERS and "install" in words[1:4])):
                return True
    return False


def _names(text: str) -> frozenset[str]:
    """Give the last parts of everything in a text that may be a path."""
    found = data.PATH_LIKE.findall(text.replace("\\n", "\n").replace("\\", ""))
    return frozenset(posixpath.basename(word.rstrip("/")) for word in found)
