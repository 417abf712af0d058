"""Decide on one text of a tool result that no model has seen yet: which view of it, if any, is sent from now on.

The order: what may never be touched, what the rule asks for, what the view saves. Every way out has its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from coldpress.engine.catalogue import Classified
from coldpress.engine.exactness import judge
from coldpress.engine.markers import is_reread_refusal
from coldpress.engine.policy import Policy, Rule
from coldpress.engine.reduce import Reduced, dedupe, deterministic, lossless, pays
from coldpress.engine.session import Seen
from coldpress.measure.tokens import estimate
from coldpress.model.edits import Standing
from coldpress.model.identity import EditKey, original_sha
from coldpress.model.records import Line, Reason

SMALLEST_BYTES = 512
"""A view must save 256 bytes, and what says so in it takes some 150: a shorter text cannot gain. The median result of
a coding agent is shorter (384 bytes over 4,700 recorded outputs), so half of all results are done with here."""

RERUN = "The same call can be made again to see all of it."
_MOST_REFERENTS = 8
_NAME_LENGTH = 120


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text to decide on, with what is known about it.

    `tool` is the name as the client sent it; `offered` says whether this request still offers that tool,
    `may_point_back` whether earlier results stay where they are.
    `seen` are the earlier results of the conversation, oldest first, and `hidden` those that are not sent any more;
    `read` gives the original text of one, and `named` what a marker calls it.
    """

    key: EditKey
    text: str
    tool: str
    classified: Classified
    arguments: str
    wire_failed: bool | None
    offered: bool
    may_point_back: bool
    seen: Sequence[Seen]
    read: Callable[[Seen], str]
    named: Callable[[Seen], str]
    hidden: Sequence[Seen] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on a candidate. `line` is `None` where there is nothing worth a line in the ledger."""

    standing: Standing
    line: Line | None


@dataclass(frozen=True, slots=True)
class Offered:
    """A text that a plugin would put in the place of a result."""

    text: str
    plugin: str


Decide = Callable[[Candidate, Policy, Offered | None], Verdict]
"""Chooses the view of a text at first sight, as `decide` does."""


def decide(candidate: Candidate, policy: Policy, offered: Offered | None = None) -> Verdict:
    """Choose the view of a text at first sight; what a plugin offers goes before the rules, not before exactness."""
    restored = _answer_refusal(candidate)
    if restored is not None:
        return restored
    size = len(candidate.text.encode())
    if size < SMALLEST_BYTES and offered is None:
        return Verdict(Standing(candidate.key, None), None)
    rule = policy.rule_for(candidate.tool, candidate.classified.kind)
    verdict = judge(candidate.classified, candidate.text, wire_failed=candidate.wire_failed)
    if verdict != "ok":
        return _exact(candidate, rule, verdict)
    if offered is not None and offered.text != candidate.text:
        return _offered(candidate, offered)
    if not rule.first_modes:
        return _exact(candidate, rule, "exact_by_policy" if rule.exposed_mode is None else "not_exposed")
    return _press(candidate, rule, size)


def restore(standing: Standing, referent_text: Callable[[str], tuple[dedupe.Referent, ...]]) -> str | None:
    """Turn a reversible replacement back into its original; `None` where a step of it is not reversible.

    Args:
        standing: a decision with a replacement.
        referent_text: gives the referents that were named, by the recipe's own list of names.
    """
    if standing.replacement is None or not standing.recipe:
        return None
    text = standing.replacement
    for step in reversed(msgspec.json.decode(standing.recipe, type=list[RecipeStep])):
        if step.mode == "lossless":
            text = lossless.restore(text, step.recipe)
        elif step.mode == "dedupe":
            text = dedupe.restore(text, step.recipe, referent_text(step.recipe))
        else:
            return None
    return text


class RecipeStep(msgspec.Struct):
    """One step of a reversible view, as a standing edit's recipe lists them."""

    mode: str
    recipe: str


def _press(candidate: Candidate, rule: Rule, size: int) -> Verdict:
    view, steps, why = _views(candidate, rule, size)
    if not steps:
        return _exact(candidate, rule, why)
    if not pays(candidate.text, view):
        return _exact(candidate, rule, "gain_too_small")
    mode = "+".join(step.mode for step in steps)
    reversible = all(step.recipe for step in steps)
    sha = original_sha(candidate.text)
    recipe = msgspec.json.encode(steps).decode() if reversible else ""
    after_tokens = estimate(view)
    standing = Standing(candidate.key, view, mode, sha, recipe, estimate(candidate.text) - after_tokens)
    return Verdict(standing, _line(candidate, rule, standing, "pressed", after_tokens))


def _offered(candidate: Candidate, offered: Offered) -> Verdict:
    """Let a plugin's text hold, whatever it saves."""
    after_tokens = estimate(offered.text)
    saved_tokens = estimate(candidate.text) - after_tokens
    mode = f"plugin:{offered.plugin}"
    standing = Standing(candidate.key, offered.text, mode, original_sha(candidate.text), saved_tokens=saved_tokens)
    return Verdict(standing, _line(candidate, Rule(mode, ("exact",)), standing, "plugin", after_tokens))


def _views(candidate: Candidate, rule: Rule, size: int) -> tuple[str, list[RecipeStep], Reason]:
    """Apply the rule's modes one on the other; says why where none of them did anything."""
    kind = candidate.classified.kind
    view, steps = candidate.text, list[RecipeStep]()
    why: Reason = "gain_too_small"
    for mode in rule.first_modes:
        made: Reduced | None = None
        if mode == "dedupe" and not steps:
            made = dedupe.reduce(candidate.text, referents=referents(candidate), kind=kind)
        elif mode == "lossless" and (kind != "source" or candidate.classified.numbered):
            made = lossless.reduce(view, kind=kind)
        elif mode == "deterministic":
            least = rule.min_bytes or SMALLEST_BYTES
            if size < least or len(view.encode()) < least:
                why = "too_small"
                continue
            made = deterministic.reduce(
                candidate.text,  # not the lossless view: sizes, line numbers and paths are the original's
                kind=kind,
                command=candidate.classified.command,
                sha=original_sha(candidate.text),
                rerun=(rule.rerun or RERUN) if candidate.offered else None,
            )
            steps = [] if made is not None else steps
        if made is not None:
            view = made.text
            steps.append(RecipeStep(mode, made.recipe))
    return view, steps, why


def referents(candidate: Candidate) -> tuple[dedupe.Referent, ...]:
    """Name the earlier results whose lines are all still shown and which this one may repeat, latest first."""
    if not candidate.may_point_back:
        return ()
    own = candidate.classified
    fitting = [
        seen
        for seen in reversed(candidate.seen)
        if seen.all_lines_visible
        and seen.classified.kind == own.kind
        and (seen.classified.target == own.target if own.kind == "source" else seen.call == _call_name(candidate))
    ]
    return tuple(dedupe.Referent(candidate.named(seen), candidate.read(seen)) for seen in fitting[:_MOST_REFERENTS])


def _answer_refusal(candidate: Candidate) -> Verdict | None:
    """Give the exact text of an earlier, pressed read in the place of the client's refusal to read it again."""
    if candidate.classified.kind != "source" or not is_reread_refusal(candidate.text):
        return None
    target, asked = candidate.classified.target, asked_for(candidate.arguments)
    # Only the very range that was asked for again: the text of another one would be a wrong answer.
    same_call = [
        seen
        for seen in (*candidate.hidden, *candidate.seen)
        if target is not None and seen.classified.target == target and asked_for(seen.arguments) == asked
    ]
    if not same_call or (same_call[-1].standing is None and same_call[-1] not in candidate.hidden):
        return None
    original = candidate.read(same_call[-1])
    after_tokens = estimate(original)
    saved_tokens = estimate(candidate.text) - after_tokens
    standing = Standing(candidate.key, original, "restore", original_sha(candidate.text), saved_tokens=saved_tokens)
    rule = Rule("(refusal to read again)", ("exact",))
    return Verdict(standing, _line(candidate, rule, standing, "restored", after_tokens))


def asked_for(arguments: str) -> object:
    """Give the arguments of a read in the form clients compare them: order and defaults play no part."""
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return arguments
    if not isinstance(given, dict):
        return given
    return {k: v for k, v in given.items() if v is not None and not (k == "offset" and v in (0, 1))}


def _call_name(candidate: Candidate) -> str:
    return name_of(candidate.tool, candidate.classified)


def name_of(tool: str, classified: Classified) -> str:
    """Name a call as a marker does: the tool and what it was asked for, shortened."""
    about = classified.target or classified.command
    if not about:
        return tool
    about = " ".join(about.split())
    return f"{tool} {about if len(about) <= _NAME_LENGTH else about[: _NAME_LENGTH - 1] + '…'}"


def _exact(candidate: Candidate, rule: Rule, reason: Reason) -> Verdict:
    standing = Standing(candidate.key, None)
    return Verdict(standing, _line(candidate, rule, standing, reason, None))


def _line(candidate: Candidate, rule: Rule, standing: Standing, reason: Reason, after_tokens: int | None) -> Line:
    before = candidate.text
    after = before if standing.replacement is None else standing.replacement
    saved = standing.saved_tokens
    return Line(
        tool=candidate.tool,
        kind=candidate.classified.kind,
        mode=standing.mode,
        reason=reason,
        rule=rule.match,
        original=standing.original,
        bytes_before=len(before.encode()),
        bytes_after=len(after.encode()),
        tokens_before=None if after_tokens is None or saved is None else after_tokens + saved,
        tokens_after=after_tokens,
    )
