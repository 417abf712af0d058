"""Say, tool by tool, which reductions may be tried: an ordered list of rules of which the first that matches counts."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import translate
from typing import Final, Literal

from coldpress.engine.catalogue import Kind, canonical
from coldpress.model.errors import ConfigError

RuleMode = Literal["exact", "lossless", "dedupe", "deterministic", "keyword", "model", "mask", "source"]

KIND_PREFIX: Final = "kind:"

AGED_TURNS: Final = 6
"""Replies of the model after which a result is aged, where its rule says nothing else: the last six turns are kept."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What may be done with the results of the tools it matches.

    Attributes:
        match: a shell pattern over tool names, or `kind:` and a pattern over kinds.
        modes: reductions to try, all of them where several are named; `exact` stands alone.
        first_pass: whether `deterministic` may act when a result is seen for the first time.
        rerun: a sentence for the marker that says how to get the whole again.
        min_bytes: smallest text, in UTF-8 bytes, that `deterministic` shortens; `None` for no limit.
        age: replies of the model after which `mask` and `source`, and `deterministic` without `first_pass`, may act.
            `keyword` and `model` may act once a result was shown exact, so after one.
        ungated: whether a result that a model has seen becomes smaller as soon as the rule allows it, whatever the
            rewrite costs.
    """

    match: str
    modes: tuple[RuleMode, ...]
    first_pass: bool = False
    rerun: str | None = None
    min_bytes: int | None = None
    age: int = AGED_TURNS
    ungated: bool = False

    @property
    def first_modes(self) -> tuple[RuleMode, ...]:
        """What may be done when a result is first sent, in order."""
        allowed = ("lossless", "dedupe", "deterministic") if self.first_pass else ("lossless", "dedupe")
        return tuple(mode for mode in self.modes if mode in allowed)

    @property
    def aged_mode(self) -> RuleMode | None:
        """What may be done to a result that is `age` turns old, where that is more than what one exposure allows."""
        aged: tuple[RuleMode, ...] = ("mask", "source") if self.first_pass else ("mask", "source", "deterministic")
        return next((mode for mode in aged if mode in self.modes), None)

    @property
    def exposed_mode(self) -> RuleMode | None:
        """What may be done to a result that a model has been shown exact once; `None` for nothing."""
        exposed: tuple[RuleMode, ...] = ("model", "keyword")
        return next((mode for mode in exposed if mode in self.modes), None)

    def later_mode(self, age: int) -> tuple[RuleMode, int] | None:
        """What may be done to a result behind which `age` replies of the model stand, and from which age on.

        >>> Rule("grep*", ("keyword", "mask"), age=6).later_mode(2)
        ('keyword', 1)
        """
        if self.aged_mode is not None and age >= self.age:
            return self.aged_mode, self.age
        return (self.exposed_mode, 1) if self.exposed_mode is not None and age >= 1 else None

    @property
    def youngest(self) -> int | None:
        """The age from which anything may be done to a result that a model has seen; `None` where nothing ever may."""
        if self.exposed_mode is not None:
            return 1
        return self.age if self.aged_mode is not None else None

    @property
    def settles(self) -> int | None:
        """The age from which the rule says the same of a result for ever; `None` where that never comes.

        A summary may come late, and what a read is good for depends on what is read after it.
        """
        if "model" in self.modes or "source" in self.modes:
            return None
        return self.age if self.aged_mode is not None else 1

    def __post_init__(self) -> None:
        if not self.modes:
            raise ConfigError(f"rule {self.match!r} names no mode; use exact to leave its tools alone")
        if "exact" in self.modes and len(self.modes) > 1:
            raise ConfigError(f"rule {self.match!r} joins exact with other modes; name exact alone, or leave it out")
        if self.min_bytes is not None and self.min_bytes < 0:
            raise ConfigError(f"rule {self.match!r}: min_bytes is {self.min_bytes}; use 0 or more")
        if self.age < 1:
            raise ConfigError(f"rule {self.match!r}: age is {self.age} turns; use 1 or more")


NO_RULE: Final = Rule("(no rule)", ("exact",))
"""Counts where no rule matches: the result stays exact."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in order."""

    rules: tuple[Rule, ...]

    def rule_for(self, tool: str, kind: Kind) -> Rule:
        """Find the first rule that matches a tool, by its name as sent, its canonical name or its kind.

        >>> DEFAULT_POLICY.rule_for("Read", "source").modes
        ('dedupe', 'lossless')
        """
        names = (tool.lower(), canonical(tool))
        for rule in self.rules:
            pattern = rule.match.lower()
            if pattern.startswith(KIND_PREFIX):
                if _matcher(pattern.removeprefix(KIND_PREFIX))(kind):
                    return rule
            elif any(_matcher(pattern)(name) for name in names):
                return rule
        return NO_RULE


@functools.cache
def _matcher(pattern: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(translate(pattern)).match


LARGE_OUTPUT_BYTES: Final = 8_192
"""From recorded agent runs: 4.5 % of tool outputs are larger, and they hold half of all bytes."""

LARGE_PAGE_BYTES: Final = 16_384

EXACT_KINDS: Final[tuple[Kind, ...]] = ("mutation", "plan", "memory", "diff", "subagent", "mcp", "unknown")

DEFAULT_POLICY: Final = Policy(
    (
        *(Rule(f"{KIND_PREFIX}{kind}", ("exact",)) for kind in EXACT_KINDS),
        Rule("kind:source", ("dedupe", "lossless"), first_pass=True),
        Rule("kind:shell", ("lossless", "deterministic", "mask"), first_pass=True, min_bytes=LARGE_OUTPUT_BYTES),
        Rule("kind:search", ("lossless", "deterministic", "mask"), first_pass=True, min_bytes=LARGE_OUTPUT_BYTES),
        Rule("kind:listing", ("lossless", "deterministic", "mask"), first_pass=True, min_bytes=LARGE_OUTPUT_BYTES),
        Rule("kind:web", ("lossless", "deterministic", "mask"), first_pass=True, min_bytes=LARGE_PAGE_BYTES),
    )
)
"""What holds where the settings name no rules of their own."""


def is_ordered_exact(rule: Rule) -> bool:
    """Whether a rule is one of the user's own that says `exact`: then nothing is ever done to what it matches.

    By default many kinds are exact as well, since they are not worth the risk; those may leave with their turn.
    """
    if rule.modes != ("exact",) or rule is NO_RULE:
        return False
    return not any(rule is own for own in DEFAULT_POLICY.rules)


def with_source_age(policy: Policy, turns: int) -> Policy:
    """Let every rule for sources that says nothing else mask reads that are older than this many turns.

    Raises:
        ConfigError: `turns` is under 1.
    """
    rules = (
        replace(rule, modes=(*rule.modes, "mask"), age=turns) if rule.match == "kind:source" else rule
        for rule in policy.rules
    )
    return Policy(tuple(rules))
