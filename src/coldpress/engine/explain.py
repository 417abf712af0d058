"""Say what the rules do with a tool's results and why, before any result is at hand, and for a whole request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from coldpress.engine.catalogue import canonical, classify
from coldpress.engine.catalogue_data import COMMAND_TOOLS, FILE_TOOLS, Kind
from coldpress.engine.exactness import judge
from coldpress.engine.plan import propose
from coldpress.engine.policy import Policy, Rule, RuleMode
from coldpress.engine.session import Session
from coldpress.model.conversation import Conversation
from coldpress.model.identity import EditKey
from coldpress.model.records import Line

SAMPLE_COMMANDS: Final = ("make test", "cat src/app.py", "rg TODO src", "ls -R", "git diff", "sed -i s/a/b/ x")
"""One command line of each kind that a shell tool is told apart by."""

SAMPLE_FILE_COMMANDS: Final = ("view", "str_replace")

WHAT_MODES_DO: Final[dict[RuleMode, str]] = {
    "exact": "nothing is changed",
    "dedupe": "lines that an earlier result still shows are named instead of repeated",
    "lossless": "bytes that carry nothing are taken out, and can be put back",
    "deterministic": "head, tail and telling lines are kept, the rest is counted",
    "keyword": "lines that match the intent of the call are kept, the rest is counted; only once the model has seen it",
    "model": "a cheap model's summary takes its place; only once the model has seen it, and where both gates let it",
    "source": "one line says what was read; only once a later read covers it and the cache is cold",
    "mask": "one line says what was called and what came back; only once a result has aged",
}


@dataclass(frozen=True, slots=True)
class Outlook:
    """What happens to results of one kind of call, when they are first sent and later.

    Attributes:
        tool: the name, with a command line in brackets where one was asked about.
        rule: the pattern of the rule that decides.
        modes: what the rule allows, in order.
        may_shrink: whether anything can happen at all.
        why: what may be done, or why nothing.
    """

    tool: str
    kind: Kind
    rule: str
    modes: tuple[str, ...]
    may_shrink: bool
    why: str


def outlooks(asked: str, policy: Policy) -> tuple[Outlook, ...]:
    """Look ahead for a tool, `NAME` or `NAME(COMMAND)`; a shell named alone is shown with a command of each kind."""
    name, bracket, rest = asked.partition("(")
    if bracket and rest.endswith(")"):
        return (_outlook(name, rest[:-1], policy),)
    commands: tuple[str | None, ...] = (None,)
    if canonical(asked) in COMMAND_TOOLS:
        commands = SAMPLE_COMMANDS
    elif canonical(asked) in FILE_TOOLS:
        commands = SAMPLE_FILE_COMMANDS
    return tuple(_outlook(asked, command, policy) for command in commands)


def explain_request(conversation: Conversation, policy: Policy) -> tuple[tuple[EditKey, Line], ...]:
    """Decide on every tool result of a request as if the conversation had come turn by turn, in order.

    Gives one line a text, under the key of the text. Results too short to gain have none.
    """
    session, lines = Session(), list[tuple[EditKey, Line]]()
    for so_far in _turns(conversation):
        plan = propose(so_far, session, {}, policy, "press")
        session = plan.session
        lines.extend(zip(plan.line_keys, plan.lines, strict=True))
    return tuple(lines)


def _turns(conversation: Conversation) -> Iterator[Conversation]:
    """Cut a conversation into the requests it grew through: one ends before each message of the model."""
    known = 0
    messages = conversation.messages
    for end in range(1, len(messages) + 1):
        if end == len(messages) or messages[end].role == "assistant":
            yield replace(conversation, messages=messages[:end], known=known)
            known = end


def _outlook(name: str, command: str | None, policy: Policy) -> Outlook:
    arguments = "" if command is None else msgspec.json.encode({"command": command}).decode()
    classified = classify(name, arguments)
    rule = policy.rule_for(name, classified.kind)
    shown = name if command is None else f"{name}({command})"
    if judge(classified, "", wire_failed=None) == "protected_kind":
        why = f"results of kind {classified.kind} are never touched, whatever a rule says"
        return Outlook(shown, classified.kind, rule.match, rule.modes, may_shrink=False, why=why)
    may_shrink, why = _what_may(rule)
    return Outlook(shown, classified.kind, rule.match, rule.modes, may_shrink, why)


def _what_may(rule: Rule) -> tuple[bool, str]:
    said = [_say_mode(mode, rule) for mode in rule.first_modes]
    if rule.exposed_mode is not None:
        cost = ", whatever that costs" if rule.ungated else ""
        said.append(f"{rule.exposed_mode} once the model has seen it{cost}")
    if rule.aged_mode is not None:
        said.append(f"{rule.aged_mode} once {rule.age} turns old")
    return bool(said), ", ".join(said) or "the rule says exact"


def _say_mode(mode: RuleMode, rule: Rule) -> str:
    return f"{mode} from {rule.min_bytes:,} bytes on" if mode == "deterministic" and rule.min_bytes else mode
