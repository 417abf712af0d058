"""Say of every result why it may be needed no more: what was read, called or changed again since it came."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Mapping
from typing import Final, Literal

from coldpress.engine.calls import exact_name
from coldpress.engine.catalogue import Classified, classify
from coldpress.engine.changes import changed, took_effect
from coldpress.engine.reads import Lines, lines_shown
from coldpress.engine.session import Seen, Session
from coldpress.model.conversation import CallId, Conversation, ToolCall, ToolResult
from coldpress.model.identity import EditKey

Why = Literal[
    "superseded",  # a later read of the same file, which is still shown exact, shows all its lines
    "repeated",  # the same call was made again later, and that result is still shown
    "stale",  # the file it shows was changed since, and not read again
    "acted_on",  # the log of a program that ran well, and files were changed since
    "refetchable",  # the text of a file, a search, a listing or a page: the call can be made again
    "other",
]
"""In this order: the first that holds."""

REFETCHABLE_KINDS: Final = frozenset({"source", "search", "listing", "web"})


def reasons(conversation: Conversation, session: Session) -> Mapping[EditKey, Why]:
    """Give the reason for every result of `Session.shown`.

    Args:
        conversation: the request.
        session: the state after it.
    """
    changed = _changes(conversation)
    found: dict[EditKey, Why] = {}
    later = _Later()
    at = len(conversation.messages)
    for seen in reversed(session.shown):
        for index in range(at - 1, seen.message, -1):
            later.note_changes(changed.get(index, ()))
        at = min(at, seen.message + 1)
        found[seen.key] = later.reason(conversation, seen)
        later.note(conversation, seen)
    return found


class _Later:
    """What happened behind the result at hand, going backwards."""

    def __init__(self) -> None:
        self._reads: defaultdict[str, list[Lines]] = defaultdict(list)
        self._calls: set[bytes] = set()
        self._changed: set[str] = set()
        self._has_changed = False

    def reason(self, conversation: Conversation, seen: Seen) -> Why:
        kind, target = seen.classified.kind, seen.classified.target
        if kind == "source" and target is not None and self._is_superseded(conversation, seen, _path(target)):
            return "superseded"
        if exact_name(seen.classified, seen.arguments) in self._calls:
            return "repeated"
        if kind == "source" and target is not None and _path(target) in self._changed:
            return "stale"
        if kind == "shell" and self._has_changed:
            return "acted_on"
        return "refetchable" if kind in REFETCHABLE_KINDS and seen.tool in conversation.head.tools else "other"

    def note(self, conversation: Conversation, seen: Seen) -> None:
        """Take note of a result that stands in front of all that were noted before."""
        result = conversation.messages[seen.message].blocks[seen.key.block]
        if isinstance(result, ToolResult) and result.failed:
            return
        if seen.standing is None or seen.standing.mode == "lossless":
            self._calls.add(exact_name(seen.classified, seen.arguments))
        if seen.classified.kind == "source" and seen.classified.target is not None and seen.all_lines_visible:
            lines = lines_shown(seen.classified, seen.arguments, conversation.text(seen.literal))
            if lines is not None:
                self._reads[_path(seen.classified.target)].append(lines)

    def note_changes(self, paths: tuple[str, ...]) -> None:
        """Take note of the files that a message's calls changed."""
        self._has_changed = self._has_changed or bool(paths)
        self._changed.update(paths)

    def _is_superseded(self, conversation: Conversation, seen: Seen, path: str) -> bool:
        reads = self._reads.get(path)
        if not reads:
            return False
        lines = lines_shown(seen.classified, seen.arguments, conversation.text(seen.literal)) or Lines()
        return any(read.covers(lines) for read in reads)


def _changes(conversation: Conversation) -> dict[int, tuple[str, ...]]:
    """Name the files that calls changed, by the message of the call; "" where it is not clear which."""
    found: dict[tuple[int, CallId], tuple[str, ...]] = {}
    calls: dict[CallId, tuple[int, Classified]] = {}
    for index, message in enumerate(conversation.messages):
        for block in message.blocks:
            if isinstance(block, ToolCall):
                arguments = conversation.arguments(block)
                classified = classify(block.name, arguments)
                calls[block.id] = index, classified
                change = changed(classified, arguments) if classified.kind == "mutation" else None
                if change is not None:
                    found[index, block.id] = change.places or ("",)
            elif isinstance(block, ToolResult) and block.call is not None and block.call_id in calls:
                place, classified = calls[block.call_id]
                if (place, block.call_id) in found and not took_effect(conversation, classified, block):
                    del found[place, block.call_id]
    joined: defaultdict[int, tuple[str, ...]] = defaultdict(tuple)
    for (index, _), paths in found.items():
        joined[index] += paths
    return joined


def _path(path: str) -> str:
    return posixpath.normpath(path) if path else ""
