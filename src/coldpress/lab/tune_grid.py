"""Make the settings that tuning tries: each a settings file of its own, and the arm that a gateway with it would be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, assert_never

from coldpress.config.keys import EXPECTED_APPLICATIONS
from coldpress.config.template import toml_value
from coldpress.engine.policy import AGED_TURNS, DEFAULT_POLICY, Rule
from coldpress.lab.arm_files import Arm, parse_arm
from coldpress.lab.results import Bill

SOURCE_AGES: Final[tuple[int | None, ...]] = (None, 50, 20, 10, 5)
"""Turns after which file reads may be masked, the mildest first; `None` for never."""

OTHER_AGES: Final[tuple[int, ...]] = (AGED_TURNS, 10, 3)
"""Turns after which results of shells, searches, listings and web pages may be masked; coldpress's own first."""

BudgetChoice = Literal["default", "late", "none"]
"""Compaction as it comes, from 80 % of the window on instead of 65 %, or not at all."""

DEFAULTS_NAME: Final = "defaults"
_LATE = "[budget]\ntrigger = 0.8\ntarget = 0.55\n"
_NONE = "[budget]\nstages = []\n"
_AS_IT_COMES = "\n[budget]\n"


@dataclass(frozen=True, slots=True)
class Candidate:
    """Settings to try.

    Attributes:
        source_age: turns after which file reads may be masked; `None` for never.
        other_age: turns after which results of other kinds may be.
        expected_applications: requests that a conversation is taken to have yet; `None` for coldpress's own constant.
        budget: when prompts are compacted.
    """

    source_age: int | None = None
    other_age: int = AGED_TURNS
    expected_applications: int | None = None
    budget: BudgetChoice = "default"

    @property
    def name(self) -> str:
        """Say what differs from the defaults, in one word.

        >>> Candidate(20, 3).name, Candidate().name
        ('source-20+other-3', 'defaults')
        """
        said = []
        if self.source_age is not None:
            said.append(f"source-{self.source_age}")
        if self.other_age != AGED_TURNS:
            said.append(f"other-{self.other_age}")
        if self.expected_applications is not None:
            said.append(f"expect-{self.expected_applications}")
        if self.budget != "default":
            said.append(f"budget-{self.budget}")
        return "+".join(said) or DEFAULTS_NAME

    @property
    def text(self) -> str:
        """Give the keys of a settings file that differ from the defaults, as TOML; empty for the defaults."""
        lines = []
        if self.source_age is not None:
            lines.append(f"source_age = {self.source_age}\n")
        if self.expected_applications is not None:
            lines.append(f"expected_applications = {self.expected_applications}\n")
        parts = ["".join(lines)] if lines else []
        if self.other_age != AGED_TURNS:
            parts += [_rule_text(replace(rule, age=self.other_age)) for rule in _masked_rules()]
        if budget := _budget_text(self.budget):
            parts.append(budget)
        return "\n".join(parts)

    @property
    def arm(self) -> Arm:
        """Give the arm of a gateway with these settings: with its budget, which an arm has only where it says so."""
        return parse_arm(self.text + (_AS_IT_COMES if self.budget == "default" else ""), self.name)


DEFAULTS: Final = Candidate()


def first_round() -> tuple[Candidate, ...]:
    """Give every age of reads with every age of other results, without the defaults; the mildest first."""
    found = (Candidate(source, other) for source in SOURCE_AGES for other in OTHER_AGES)
    return tuple(one for one in found if one != DEFAULTS)


def second_round(best: Candidate, bills: Sequence[Bill]) -> tuple[Candidate, ...]:
    """Give variants of the best so far: what the history's lengths expect, and other budgets where prompts need one.

    Args:
        best: of the first round, or the defaults.
        bills: of it, of the recordings that are tuned on.
    """
    found = []
    expected = expected_requests(bills)
    if expected is not None and expected != round(EXPECTED_APPLICATIONS):
        found.append(replace(best, expected_applications=expected))
    if any(bill.compactions for bill in bills):
        found += [replace(best, budget="late"), replace(best, budget="none")]
    return tuple(found)


def expected_requests(bills: Iterable[Bill]) -> int | None:
    """Say how many requests a conversation had yet on average, asked at any of its requests, that one included.

    Conversations of one recording are taken as equally long. A conversation of L requests has L, L-1, ... 1 to come,
    so the mean over all requests is the sum of `L * (L + 1) / 2` over the sum of `L`. `None` without a request.

    >>> expected_requests([])
    """
    ahead = requests = 0.0
    for bill in bills:
        if bill.conversations:
            length = bill.requests / bill.conversations
            ahead += bill.conversations * length * (length + 1) / 2
            requests += bill.requests
    return max(1, round(ahead / requests)) if requests else None


def _masked_rules() -> tuple[Rule, ...]:
    """Find coldpress's own rules that mask by age; that for file reads goes by `source_age`."""
    return tuple(rule for rule in DEFAULT_POLICY.rules if "mask" in rule.modes)


def _rule_text(rule: Rule) -> str:
    pairs = [("match", rule.match), ("mode", rule.modes), ("age", rule.age)]
    if rule.first_pass:
        pairs.append(("first_pass", rule.first_pass))
    if rule.min_bytes is not None:
        pairs.append(("min_bytes", rule.min_bytes))
    return "[[rules]]\n" + "".join(f"{key} = {toml_value(value)}\n" for key, value in pairs)


def _budget_text(choice: BudgetChoice) -> str:
    match choice:
        case "default":
            return ""
        case "late":
            return _LATE
        case "none":
            return _NONE
    assert_never(choice)
