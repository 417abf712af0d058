"""Which rule holds for a tool."""

from __future__ import annotations

from typing import get_args

import pytest

from coldpress.engine.catalogue import Kind
from coldpress.engine.policy import DEFAULT_POLICY, NO_RULE, Policy, Rule
from coldpress.model.errors import ConfigError

REFERENCE = Policy(
    (
        Rule("read*", ("exact",)),
        Rule("view*", ("exact",)),
        Rule("web_search", ("deterministic",), first_pass=True, rerun="Repeat the search to recover every result."),
        Rule("grep*", ("keyword",), ungated=True),
    )
)


@pytest.mark.parametrize(
    ("tool", "kind", "match"),
    [
        pytest.param("read_file", "source", "read*", id="a pattern"),
        pytest.param("Read", "source", "read*", id="capitals in the name"),
        pytest.param("functions.view_image", "source", "view*", id="a harness prefix in the name"),
        pytest.param("mcp__files__read_file", "mcp", "read*", id="an MCP tool by its own name"),
        pytest.param("web_search", "web", "web_search", id="a plain name"),
        pytest.param("web_search_more", "web", "(no rule)", id="a plain name is no prefix"),
        pytest.param("Grep", "search", "grep*", id="a rule that waits for the model to see a result"),
        pytest.param("thread_dump", "unknown", "(no rule)", id="a pattern is tried from the start"),
    ],
)
def test_reference_settings(tool: str, kind: Kind, match: str) -> None:
    assert REFERENCE.rule_for(tool, kind).match == match


def test_no_rule_is_exact_and_shared() -> None:
    rule = REFERENCE.rule_for("Bash", "shell")
    assert rule is NO_RULE
    assert rule.modes == ("exact",)
    assert Policy(()).rule_for("Bash", "shell") is NO_RULE


def test_the_first_rule_that_matches_wins() -> None:
    policy = Policy((Rule("bash*", ("lossless",)), Rule("kind:shell", ("deterministic",)), Rule("*", ("exact",))))
    assert policy.rule_for("BashOutput", "shell").modes == ("lossless",)
    assert policy.rule_for("exec_command", "shell").modes == ("deterministic",)
    assert policy.rule_for("Grep", "search").modes == ("exact",)


@pytest.mark.parametrize(
    ("match", "kind", "matches"),
    [
        pytest.param("kind:shell", "shell", True, id="a kind"),
        pytest.param("KIND:Shell", "shell", True, id="a kind in capitals"),
        pytest.param("kind:s*", "search", True, id="a pattern of kinds"),
        pytest.param("kind:shell", "search", False, id="another kind"),
        pytest.param("shell", "shell", False, id="a name is no kind"),
        pytest.param("[rb]ash", "shell", True, id="a choice of letters in a name"),
        pytest.param("ba?h", "shell", True, id="any letter in a name"),
    ],
)
def test_patterns(match: str, kind: Kind, matches: bool) -> None:
    assert (Policy((Rule(match, ("lossless",)),)).rule_for("Bash", kind) is not NO_RULE) is matches


@pytest.mark.parametrize("kind", get_args(Kind))
def test_the_default_has_a_rule_for_every_kind(kind: Kind) -> None:
    rule = DEFAULT_POLICY.rule_for("anything", kind)
    assert rule is not NO_RULE
    keeps = {"mutation", "plan", "memory", "diff", "subagent", "mcp", "unknown"}
    assert (rule.modes == ("exact",)) == (kind in keeps)
    assert "deterministic" not in rule.modes or (rule.min_bytes is not None and rule.min_bytes >= 8_192)


def test_the_default_never_cuts_sources() -> None:
    rule = DEFAULT_POLICY.rule_for("Read", "source")
    assert set(rule.modes) == {"dedupe", "lossless"}
    assert rule.first_pass


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: Rule("a", ()), id="no mode"),
        pytest.param(lambda: Rule("a", ("exact", "lossless")), id="exact beside another mode"),
        pytest.param(lambda: Rule("a", ("lossless",), min_bytes=-1), id="a negative size"),
    ],
)
def test_rules_that_make_no_sense_are_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(ConfigError, match="rule 'a'"):
        make()


@pytest.mark.parametrize(
    ("rule", "age", "expected"),
    [
        pytest.param(Rule("a", ("exact",)), 99, None, id="exact, never"),
        pytest.param(Rule("a", ("lossless",)), 99, None, id="what is done at first sight, never later"),
        pytest.param(Rule("a", ("keyword",)), 0, None, id="keyword, not before the model has seen it"),
        pytest.param(Rule("a", ("keyword",)), 1, ("keyword", 1), id="keyword after one exposure"),
        pytest.param(Rule("a", ("keyword", "mask"), age=4), 3, ("keyword", 1), id="keyword until it is old enough"),
        pytest.param(Rule("a", ("keyword", "mask"), age=4), 4, ("mask", 4), id="then the mask"),
        pytest.param(Rule("a", ("keyword", "model")), 1, ("model", 1), id="a summary goes before keywords"),
        pytest.param(Rule("a", ("source",), age=20), 19, None, id="a read that is too young"),
        pytest.param(Rule("a", ("source",), age=20), 20, ("source", 20), id="a read that is old enough"),
        pytest.param(Rule("a", ("deterministic",)), 6, ("deterministic", 6), id="deterministic by its age"),
        pytest.param(Rule("a", ("deterministic",), first_pass=True), 99, None, id="deterministic at first sight only"),
    ],
)
def test_what_may_be_done_to_a_result_that_was_seen(rule: Rule, age: int, expected: tuple[str, int] | None) -> None:
    assert rule.later_mode(age) == expected
    if expected is not None:
        assert rule.youngest is not None and rule.youngest <= age


@pytest.mark.parametrize(
    ("rule", "settles"),
    [
        pytest.param(Rule("a", ("exact",)), 1, id="nothing to wait for"),
        pytest.param(Rule("a", ("keyword",)), 1, id="one exposure"),
        pytest.param(Rule("a", ("keyword", "mask"), age=5), 5, id="its age"),
        pytest.param(Rule("a", ("model",)), None, id="a summary may come late"),
        pytest.param(Rule("a", ("source",)), None, id="what is read later counts"),
    ],
)
def test_when_a_rule_says_the_same_for_ever(rule: Rule, settles: int | None) -> None:
    assert rule.settles == settles
