"""Turn the rules of a settings file into the engine's policy, and say what of them this version does not do."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, get_args

from coldpress.config.read import nearest
from coldpress.config.reference import PlacedRule
from coldpress.engine.catalogue import Kind
from coldpress.engine.policy import KIND_PREFIX, Rule

KINDS: Final[tuple[str, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class BuiltRules:
    """Rules for the engine, with what had to be said about them."""

    rules: tuple[Rule, ...]
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


def build_rules(placed: tuple[PlacedRule, ...]) -> BuiltRules:
    """Make the engine's rules, in the same order; a rule with a problem is left out."""
    rules: list[Rule] = []
    problems: list[str] = []
    warnings: list[str] = []
    for rule in placed:
        wrong = _problems(rule)
        problems.extend(wrong)
        warnings.extend(_warnings(rule))
        if not wrong:
            rules.append(_rule(rule))
    return BuiltRules(tuple(rules), tuple(problems), tuple(warnings))


def _rule(placed: PlacedRule) -> Rule:
    keys = placed.keys
    return Rule(
        match=keys.match,
        modes=keys.mode,
        first_pass=keys.first_pass,
        rerun=keys.rerun,
        min_bytes=keys.min_bytes,
        age=keys.age,
        ungated=placed.ungated if keys.gate is None else not keys.gate,
    )


def _problems(placed: PlacedRule) -> list[str]:
    modes = placed.keys.mode
    told: list[str] = []
    if not modes:
        told.append(f"{placed.at}.mode is an empty list; name a mode, exact for none")
    if len(set(modes)) < len(modes):
        told.append(f"{placed.at}.mode names a mode twice: {', '.join(modes)}")
    if "exact" in modes and len(modes) > 1:
        told.append(
            f"{placed.at}.mode holds exact beside {', '.join(m for m in modes if m != 'exact')}; exact stands alone"
        )
    if placed.keys.match.lower().startswith(KIND_PREFIX):
        told.extend(_kind_problems(placed))
    return told


def _kind_problems(placed: PlacedRule) -> list[str]:
    pattern = placed.keys.match.lower().removeprefix(KIND_PREFIX)
    if any(fnmatchcase(kind, pattern) for kind in KINDS):
        return []
    near = nearest(pattern, KINDS)
    hint = f"did you mean {KIND_PREFIX}{near}?" if near else f"kinds are {', '.join(KINDS)}"
    return [f'{placed.at}.match is "{placed.keys.match}", which fits no kind of tool; {hint}']


def _warnings(placed: PlacedRule) -> list[str]:
    keys = placed.keys
    if placed.ungated and keys.gate is None and ("keyword" in keys.mode or "source" in keys.mode):
        return [
            f'{placed.at} (match "{keys.match}"): results are rewritten after one exposure whatever that costs, as in '
            "the reference experiment; say gate = true in the rule to rewrite only where it pays"
        ]
    return []
