"""Find the results that a model has seen and that may be made smaller now, with the view that would take their place.

Nothing is decided here: what these views free, and whether that pays, is for `coldpress.engine.cut` to weigh.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from coldpress.engine.catalogue import Kind
from coldpress.engine.exactness import judge
from coldpress.engine.first_sight import RERUN, SMALLEST_BYTES, RecipeStep
from coldpress.engine.policy import Policy, Rule, RuleMode
from coldpress.engine.reduce import Reduced, dedupe, deterministic, lossless, mask, pays
from coldpress.engine.session import Seen, Session
from coldpress.measure.tokens import estimate
from coldpress.model.conversation import Conversation, ToolResult
from coldpress.model.edits import Edit, Standing
from coldpress.model.identity import original_sha
from coldpress.model.records import Line


@dataclass(frozen=True, slots=True)
class Aged:
    """A result that could become smaller.

    Attributes:
        seen: the result as it is shown now.
        view: what would take its place.
        waited: requests on which it could have become smaller and did not.
    """

    seen: Seen
    view: View
    waited: int


@dataclass(frozen=True, slots=True)
class View:
    """A smaller view of an aged result.

    Attributes:
        standing: the replacement; its `saved_tokens` are counted against the original.
        freed_tokens: tokens that it has fewer than what is shown now.
        line: for the ledger, if it is taken.
    """

    standing: Standing
    freed_tokens: int
    line: Line


ViewOf = Callable[[Seen, Rule, RuleMode], View | None]
"""Gives the view of a result in a mode, `None` where there is none worth having: `view` behind a memory."""


def aged(session: Session, policy: Policy, view_of: ViewOf) -> tuple[Aged, ...]:
    """Go through the results of a conversation that are old enough, in order.

    Args:
        session: the state after this request.
        policy: the rules.
        view_of: gives the view of a result.
    """
    found = []
    rules: dict[tuple[str, Kind], Rule] = {}
    pinned: frozenset[str] | None = None
    for seen in session.shown:
        age = session.age(seen.message)
        if age < 1:
            break
        if seen.standing is not None and seen.standing.mode in ("mask", "restore"):
            continue
        named = (seen.tool, seen.classified.kind)
        rule = rules.get(named) or rules.setdefault(named, policy.rule_for(*named))
        mode = mode_for(seen, rule, age)
        view = view_of(seen, rule, mode) if mode is not None else None
        if view is None:
            continue
        if pinned is None:
            pinned = frozenset(_referents(session.edits))
        if view.standing.original not in pinned:
            found.append(Aged(seen, view, age - (rule.age if mode == rule.aged_mode else 1)))
    return tuple(found)


def mode_for(seen: Seen, rule: Rule, age: int) -> RuleMode | None:
    """Say what may be done to a result of this age now; `None` for nothing.

    One that nobody decided on at first sight, since some model had seen it before we did, may get what its rule
    allows at first sight.
    """
    if rule.unbuilt:
        return None
    if rule.aged_mode is not None and age >= rule.age:
        return rule.aged_mode
    if seen.left and seen.standing is None:
        return next((mode for mode in ("deterministic", "lossless") if mode in rule.first_modes), None)
    return None


def view(conversation: Conversation, seen: Seen, rule: Rule, mode: RuleMode) -> View | None:
    """Make the view of one result; `None` where it must stay or gains too little."""
    result = conversation.messages[seen.message].blocks[seen.key.block]
    if not isinstance(result, ToolResult) or result.call is None:
        return None
    text = conversation.text(seen.literal)
    if judge(seen.classified, text, wire_failed=result.failed) != "ok":
        return None
    sha = original_sha(text)
    rerun = (rule.rerun or RERUN) if result.call.name in conversation.head.tools else None
    made, mode = _reduced(text, seen, rule, mode, sha=sha, rerun=rerun)
    shown = text if seen.standing is None or seen.standing.replacement is None else seen.standing.replacement
    if made is None or not pays(shown, made.text):
        return None
    tokens, shown_tokens, after_tokens = estimate(text), estimate(shown), estimate(made.text)
    recipe = msgspec.json.encode([RecipeStep(mode, made.recipe)]).decode() if made.recipe else ""
    standing = Standing(seen.key, made.text, mode, sha, recipe, tokens - after_tokens)
    line = Line(
        tool=seen.tool,
        kind=seen.classified.kind,
        mode=mode,
        reason="aged",
        rule=rule.match,
        original=sha,
        bytes_before=len(shown.encode()),
        bytes_after=len(made.text.encode()),
        tokens_before=shown_tokens,
        tokens_after=after_tokens,
    )
    return View(standing, shown_tokens - after_tokens, line)


def _reduced(
    text: str, seen: Seen, rule: Rule, mode: RuleMode, *, sha: str, rerun: str | None
) -> tuple[Reduced | None, RuleMode]:
    """Reduce a text in a mode, or without loss where that mode gives nothing and the rule allows it."""
    kind, made = seen.classified.kind, None
    if mode == "mask":
        return mask.reduce(text, kind=kind, called=seen.call, sha=sha, rerun=rerun), mode
    if mode == "deterministic" and len(text.encode()) >= (rule.min_bytes or SMALLEST_BYTES):
        made = deterministic.reduce(text, kind=kind, command=seen.classified.command, sha=sha, rerun=rerun)
    if made is not None or "lossless" not in rule.modes or seen.standing is not None:
        return made, mode
    if kind == "source" and not seen.classified.numbered:
        return None, mode
    return lossless.reduce(text, kind=kind), "lossless"


def _referents(edits: Iterable[Edit]) -> Iterator[str]:
    """Name the originals (SHA-256) that repeats still point at: they must stay readable."""
    for edit in edits:
        if edit.standing.recipe and "dedupe" in edit.standing.mode:
            yield from _needed(edit.standing.recipe)


@functools.lru_cache(maxsize=4096)
def _needed(recipe: str) -> tuple[str, ...]:
    steps = msgspec.json.decode(recipe, type=list[RecipeStep])
    return tuple(sha for step in steps if step.mode == "dedupe" for sha in dedupe.needed(step.recipe))
