"""Press aged file reads only where a later read covers them, and give the exact text back where that was a mistake.

Reads in whose place a marker stood once made an agent fetch other ranges of the file, again and again, until its
requests ran out. So a file that is read again after one of its reads was pressed gets that read back exact, once and
for good; and a tool to which this happens twice is left alone for the rest of the conversation.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Sequence
from typing import Final

from coldpress.engine.aged import Aged
from coldpress.engine.aged_view import View
from coldpress.engine.catalogue import classify
from coldpress.engine.need import reasons
from coldpress.engine.session import Seen, Session
from coldpress.measure.tokens import estimate
from coldpress.model.conversation import Conversation
from coldpress.model.edits import Standing
from coldpress.model.records import Line

COVERED: Final = ("superseded", "repeated")
"""Why a read may be pressed: all its lines are still shown exact by a later one."""

MOST_REGRETS: Final = 1
"""After more regrets than this a tool's reads are left alone."""


def pressable(conversation: Conversation, session: Session, candidates: Sequence[Aged]) -> tuple[Aged, ...]:
    """Leave out the reads in mode `source` that nothing later covers, and those of tools whose rule rests.

    Args:
        conversation: the request.
        session: the state after it.
        candidates: results of all modes, in the order of the messages.
    """
    if not any(aged.view.standing.mode == "source" for aged in candidates):
        return tuple(candidates)
    why, regrets = reasons(conversation, session), _regrets(session)
    return tuple(
        aged
        for aged in candidates
        if aged.view.standing.mode != "source"
        or (why[aged.seen.key] in COVERED and regrets[aged.seen.tool] <= MOST_REGRETS)
    )


def regretted(conversation: Conversation, session: Session) -> tuple[Aged, ...]:
    """Find the pressed reads whose file was read again since, any part of it; each with its exact text as the view."""
    pressed = [seen for seen in session.shown if seen.standing is not None and seen.standing.mode == "source"]
    if not pressed:
        return ()
    since = {edit.standing.key: batch.at for batch in session.aged for edit in batch.edits}
    latest = _latest_reads(conversation, first=min(since[seen.key] for seen in pressed) + 1)
    return tuple(
        Aged(seen, _exact(conversation, seen), 0) for seen in pressed if latest.get(_path(seen), -1) > since[seen.key]
    )


def _latest_reads(conversation: Conversation, *, first: int) -> dict[str, int]:
    """Give the message with the latest read of each file, from the message `first` on.

    Not from what the session has seen: a look at ten lines is too short to be in there, and a regret all the same.
    """
    latest = {}
    for index in range(first, len(conversation.messages)):
        for _, result in conversation.messages[index].results:
            if result.call is not None:
                found = classify(result.call.name, conversation.arguments(result.call))
                if found.kind == "source" and found.target:
                    latest[posixpath.normpath(found.target)] = index
    return latest


def _exact(conversation: Conversation, seen: Seen) -> View:
    """Give the exact text back."""
    assert seen.standing is not None
    text, shown = conversation.text(seen.literal), seen.standing.replacement or ""
    standing = Standing(seen.key, text, "restore", seen.standing.original, saved_tokens=0)
    tokens, shown_tokens = estimate(text), estimate(shown)
    line = Line(
        tool=seen.tool,
        kind=seen.classified.kind,
        mode="restore",
        reason="restored",
        rule="(read again)",
        original=seen.standing.original,
        bytes_before=len(shown.encode()),
        bytes_after=len(text.encode()),
        tokens_before=shown_tokens,
        tokens_after=tokens,
    )
    return View(standing, shown_tokens - tokens, line, ungated=True)


def _regrets(session: Session) -> Counter[str]:
    """Count the pressed reads that were given back, by tool."""
    tools = {seen.key: seen.tool for seen in session.seen}
    standings = [edit.standing for batch in session.aged for edit in batch.edits if edit.standing.key in tools]
    pressed = {standing.key for standing in standings if standing.mode == "source"}
    restored = {standing.key for standing in standings if standing.mode == "restore"}
    return Counter(tools[key] for key in pressed & restored)


def _path(seen: Seen) -> str:
    return posixpath.normpath(seen.classified.target) if seen.classified.target else ""
