"""Say, tool by tool, which reductions may be tried: an ordered list of rules of which the first that matches counts."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import translate
from typing import Final, Literal

from coldpress.engine.catalogue import Kind, canonical
from coldpress.model.errors import ConfigError

RuleMode = Literal["exact", "lossless", "dedupe", "deterministic"]

UNBUILT: Final = ("keyword", "model", "mask", "source")
"""Modes that settings may name and this version does not have."""

KIND_PREFIX: Final = "kind:"


@dataclass(frozen=True, slots=True)
class Rule:
    """What may be done with the results of the tools it matches.

    Attributes:
        match: a shell pattern over tool names, or `kind:` and a pattern over kinds.
        modes: reductions to try, all of them where several are named; `exact` stands alone.
        first_pass: whether `deterministic` may act when a result is seen for the first time.
        rerun: a sentence for the marker that says how to get the whole again.
        min_bytes: smallest text, in UTF-8 bytes, that `deterministic` shortens; `None` for no limit.
        unbuilt: modes the settings named that this version does not have; for the receipt.
    """

    match: str
    modes: tuple[RuleMode, ...]
    first_pass: bool = False
    rerun: str | None = None
    min_bytes: int | None = None
    unbuilt: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.modes:
            raise ConfigError(f"rule {self.match!r} names no mode; use exact to leave its tools alone")
        if "exact" in self.modes and len(self.modes) > 1:
            raise ConfigError(f"rule {self.match!r} joins exact with other modes; name exact alone, or leave it out")
        if self.min_bytes is not None and self.min_bytes < 0:
            raise ConfigError(f"rule {self.match!r}: min_bytes is {self.min_bytes}; use 0 or more")


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
        Rule("kind:shell", ("lossless", "deterministic"), first_pass=True, min_bytes=LARGE_OUTPUT_BYTES),
        Rule("kind:search", ("lossless", "deterministic"), first_pass=True, min_bytes=LARGE_OUTPUT_BYTES),
        Rule("kind:listing", ("lossless", "deterministic"), first_pass=True, min_bytes=LARGE_OUTPUT_BYTES),
        Rule("kind:web", ("lossless", "deterministic"), first_pass=True, min_bytes=LARGE_PAGE_BYTES),
    )
)
"""What holds where the settings name no rules of their own."""
