"""A head that is written anew and says the same, and reads that fall short of what was sent before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cases.talk import Json, chat, messages, user

from coldpress.engine.belief import Held
from coldpress.engine.watch_prefix import dropped_reads, head_writing, reserialised
from coldpress.model.records import Belief, CacheState
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName

SYSTEM = [{"type": "text", "text": "You are an agent / for Ä."}, {"type": "text", "text": "Be brief."}]
TOOLS = [
    {"name": "A", "description": "a", "input_schema": {"type": "object", "properties": {"x": {"type": "string"}}}},
    {"name": "B", "description": "b", "input_schema": {"type": "object"}},
]
MARK = {"cache_control": {"type": "ephemeral"}}
BILLING = {"type": "text", "text": "x-anthropic-billing-header: cch="}


def body(system: object = SYSTEM, tools: object = TOOLS, **layout: Any) -> bytes:
    whole = {"model": "m", "system": system, "tools": tools, "messages": [user("hi")]}
    return json.dumps(whole, **layout).encode()


def flipped(value: Json) -> Json:
    return {key: flipped(inner) if isinstance(inner, dict) else inner for key, inner in reversed(value.items())}


def found(before: bytes, after: bytes, name: FormatName = "anthropic") -> list[str]:
    writings = [head_writing(Reader[None](seed=1).read(one, name, None).conversation) for one in (before, after)]
    assert writings[0] is not None
    assert writings[1] is not None
    return [finding.where for finding in reserialised(*writings)]


@pytest.mark.parametrize(
    ("after", "where"),
    [
        pytest.param(body(), [], id="the same bytes"),
        pytest.param(body(separators=(",", ":")), ["system", "tools"], id="other spacing"),
        pytest.param(body(ensure_ascii=False), ["system"], id="other escapes"),
        pytest.param(body(tools=[flipped(tool) for tool in TOOLS]), ["tools"], id="keys in another order"),
        pytest.param(body(tools=TOOLS[::-1]), ["tools"], id="tools in another order"),
        pytest.param(body([flipped(one) for one in SYSTEM]), ["system"], id="keys of the system prompt"),
        pytest.param(body(SYSTEM[::-1]), [], id="texts in another order say something else"),
        pytest.param(body([SYSTEM[0]]), [], id="a text less"),
        pytest.param(body(tools=TOOLS[:1]), [], id="a tool less"),
        pytest.param(body(tools=[{**TOOLS[0], "description": "c"}, TOOLS[1]]), [], id="another description"),
        pytest.param(body([SYSTEM[0], {**SYSTEM[1], **MARK}]), [], id="a cache mark that came"),
        pytest.param(body(tools=[TOOLS[0], {**TOOLS[1], **MARK}]), [], id="a cache mark on a tool"),
    ],
)
def test_a_head_written_otherwise(after: bytes, where: list[str]) -> None:
    assert found(body(), after) == where
    assert found(after, body()) == where


def test_a_bare_string_says_what_one_text_says() -> None:
    assert found(body("You are."), body([{"type": "text", "text": "You are."}])) == ["system"]


def test_a_billing_line_that_changes_is_none_of_the_prompt() -> None:
    one, other = ([{**BILLING, "text": BILLING["text"] + value}, *SYSTEM] for value in ("1a", "2b"))
    assert found(body(one), body(other)) == []
    assert found(body(one), body(other, ensure_ascii=False)) == ["system"]


@pytest.mark.parametrize(
    ("first", "where"),
    [
        pytest.param({"content": "Be brief.", "role": "system"}, ["system"], id="keys in another order"),
        pytest.param({"role": "system", "content": [{"type": "text", "text": "Be brief."}]}, ["system"], id="an array"),
        pytest.param({"role": "system", "content": "Be long."}, [], id="another text"),
    ],
)
def test_system_messages_are_the_head_of_a_chat(first: Json, where: list[str]) -> None:
    before = chat({"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"})
    assert found(before, chat(first, {"role": "user", "content": "hi"}), "openai_chat") == where


def test_what_follows_in_the_conversation_is_no_part_of_the_head() -> None:
    assert found(messages(user("hi")), messages(user("hi"), {"role": "assistant", "content": "a"}, user("b"))) == []


@pytest.mark.parametrize(
    ("state", "tokens", "read", "lost"),
    [
        pytest.param("warm", 100_000, 100_000, None, id="all was read"),
        pytest.param("warm", 100_000, 95_000, None, id="all but the last step"),
        pytest.param("warm", 100_000, 20_000, 80_000, id="the head alone"),
        pytest.param("warm", 100_000, 0, 100_000, id="nothing"),
        pytest.param("warm", 100_000, None, None, id="not reported"),
        pytest.param("warm", None, 0, None, id="nobody knows what was sent"),
        pytest.param("warm", 3_000, 0, None, id="too short to be kept"),
        pytest.param("cold", 100_000, 0, None, id="it was believed cold"),
        pytest.param("unknown", 100_000, 0, None, id="nothing was believed"),
    ],
)
def test_reads_that_fall_short(state: CacheState, tokens: int | None, read: int | None, lost: int | None) -> None:
    held = Held(Belief(state, "within_lifetime"), 7, (), tokens)
    findings = dropped_reads(held, read, smallest_tokens=4_608)
    assert [(f.kind, f.messages, f.tokens) for f in findings] == (
        [] if lost is None else [("cached_tokens_dropped", (7,), lost)]
    )
