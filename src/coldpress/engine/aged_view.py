"""Make the view that would take the place of a result which a model has seen, in the mode that its rule allows now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from coldpress.engine.exactness import is_diff, judge
from coldpress.engine.first_sight import RERUN, SMALLEST_BYTES, RecipeStep
from coldpress.engine.guidance import Guidance, guidance
from coldpress.engine.policy import Rule, RuleMode
from coldpress.engine.reduce import Reduced, deterministic, keyword, lossless, mask, pays, summarised
from coldpress.engine.reduce.views.binary import is_binary
from coldpress.engine.result_parts import told_failed
from coldpress.engine.session import Seen
from coldpress.measure.tokens import estimate
from coldpress.model.conversation import Conversation, ToolCall, ToolResult
from coldpress.model.edits import Standing
from coldpress.model.identity import original_sha
from coldpress.model.records import Line

KeptView = Callable[[Seen, str], tuple[str, int] | None]
"""Gives the summary that another model has made of a result with this text, and how many of its statements had no
source and were taken out; `None` where there is none."""


def no_summary(seen: Seen, text: str) -> None:
    """Know of no summary."""


@dataclass(frozen=True, slots=True)
class View:
    """A smaller view of an aged result.

    Attributes:
        standing: the replacement; its `saved_tokens` are counted against the original.
        freed_tokens: tokens that it has fewer than what is shown now; below 0 where the exact text comes back.
        line: for the ledger, if it is taken.
        ungated: it is taken whatever the rewrite costs.
        only_cold: it is taken only where the cache is cold.
    """

    standing: Standing
    freed_tokens: int
    line: Line
    ungated: bool = False
    only_cold: bool = False


def view(
    conversation: Conversation, seen: Seen, rule: Rule, mode: RuleMode, *, summary_of: KeptView = no_summary
) -> View | None:
    """Make the view of one result; `None` where it must stay or gains too little.

    Args:
        conversation: the request.
        seen: the result.
        rule: its rule.
        mode: what the rule allows now.
        summary_of: for the mode `model`.
    """
    result = conversation.messages[seen.message].blocks[seen.key.block]
    if not isinstance(result, ToolResult) or result.call is None:
        return None
    text = conversation.text(seen.literal)
    if judge(seen.classified, text, wire_failed=told_failed(conversation, result, seen.classified)) != "ok":
        return None
    sha = original_sha(text)
    rerun = (rule.rerun or RERUN) if result.call.name in conversation.head.tools else None
    if mode in ("keyword", "model") and is_diff(text):
        return None
    if mode in ("keyword", "model") and "\0" in text:
        made = _binary(text, seen, sha=sha, rerun=rerun)
    elif mode == "keyword":
        asked = guidance_of(conversation, seen, result.call)
        made = keyword.reduce(
            text, kind=seen.classified.kind, called=seen.call, guidance=asked.text, sha=sha, rerun=rerun
        )
    elif mode == "model":
        made = _summarised(text, seen, summary_of(seen, text), sha=sha, rerun=rerun)
    else:
        made, mode = _reduced(text, seen, rule, mode, sha=sha, rerun=rerun)
    shown = text if seen.standing is None or seen.standing.replacement is None else seen.standing.replacement
    if made is None or not pays(shown, made.text):
        return None
    recipe = msgspec.json.encode([RecipeStep(mode, made.recipe)]).decode() if made.recipe else ""
    before_tokens, after_tokens = estimate(shown), estimate(made.text)
    original_tokens = before_tokens if shown == text else estimate(text)
    standing = Standing(seen.key, made.text, mode, sha, recipe, original_tokens - after_tokens)
    line = Line(
        tool=seen.tool,
        kind=seen.classified.kind,
        mode=mode,
        reason="exposed" if mode == rule.exposed_mode else "aged",
        rule=rule.match,
        original=sha,
        bytes_before=len(shown.encode()),
        bytes_after=len(made.text.encode()),
        tokens_before=before_tokens,
        tokens_after=after_tokens,
    )
    return View(
        standing,
        before_tokens - after_tokens,
        line,
        # What is shown smaller already is worth less than the prefix behind it: that is for the gate to say.
        ungated=rule.ungated and mode in ("keyword", "source") and shown == text,
        only_cold=mode == "source" and not rule.ungated,
    )


def _binary(text: str, seen: Seen, *, sha: str, rerun: str | None) -> Reduced | None:
    """Say of binary data that it is some; a text with a NUL in it stays."""
    if not is_binary(text):
        return None
    return deterministic.reduce(text, kind=seen.classified.kind, command=None, sha=sha, rerun=rerun)


def _summarised(
    text: str, seen: Seen, summary: tuple[str, int] | None, *, sha: str, rerun: str | None
) -> Reduced | None:
    if summary is None:
        return None
    written, left_out = summary
    return summarised.reduce(text, written, called=seen.call, sha=sha, rerun=rerun, left_out=left_out)


def guidance_of(conversation: Conversation, seen: Seen, call: ToolCall) -> Guidance:
    """Say what a result was asked for, by what stands in front of it."""
    at = seen.message
    while at > 0 and call not in conversation.messages[at].blocks:
        at -= 1
    return guidance(conversation, at, call, captured=seen.intent)


def _reduced(
    text: str, seen: Seen, rule: Rule, mode: RuleMode, *, sha: str, rerun: str | None
) -> tuple[Reduced | None, RuleMode]:
    """Reduce a text in a mode, or without loss where that mode gives nothing and the rule allows it."""
    kind, made = seen.classified.kind, None
    if mode in ("mask", "source"):
        return mask.reduce(text, kind=kind, called=seen.call, sha=sha, rerun=rerun), mode
    if mode == "deterministic" and len(text.encode()) >= (rule.min_bytes or SMALLEST_BYTES):
        made = deterministic.reduce(text, kind=kind, command=seen.classified.command, sha=sha, rerun=rerun)
    if made is not None or "lossless" not in rule.modes or seen.standing is not None:
        return made, mode
    if kind == "source" and not seen.classified.numbered:
        return None, mode
    return lossless.reduce(text, kind=kind), "lossless"
