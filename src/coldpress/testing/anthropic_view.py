"""See a Messages request as the provider does: every block with its place, and turns with equal roles joined."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from coldpress.testing.jsonview import as_array, as_object, as_text, objects

THINKING = ("thinking", "redacted_thinking")
_BILLING_LINE = "x-anthropic-billing-header:"


@dataclass(frozen=True, slots=True)
class Placed:
    """A content block, with the path an error message names it by and the index of its message."""

    path: str
    message: int
    role: str
    block: Mapping[str, object]

    @property
    def kind(self) -> str:
        """The block's type, empty where it has none."""
        return as_text(self.block.get("type"))


@dataclass(frozen=True, slots=True)
class JoinedTurn:
    """Consecutive messages of one role, which the provider treats as one."""

    role: str
    blocks: tuple[Placed, ...]


def message_blocks(body: Mapping[str, object]) -> list[list[Placed]]:
    """List the blocks of each message; a string content is one text block, an empty one none."""
    listed = []
    for index, message in enumerate(objects(body.get("messages"))):
        role, content = as_text(message.get("role")), message.get("content")
        if isinstance(content, str):
            listed.append(
                []
                if not content
                else [Placed(f"messages.{index}.content", index, role, {"type": "text", "text": content})]
            )
            continue
        listed.append(
            [
                Placed(f"messages.{index}.content.{place}", index, role, as_object(block))
                for place, block in enumerate(as_array(content))
            ]
        )
    return listed


def joined_turns(body: Mapping[str, object]) -> list[JoinedTurn]:
    """Join consecutive messages of one role; system messages between them are left out."""
    turns: list[JoinedTurn] = []
    for blocks in message_blocks(body):
        if not blocks or blocks[0].role == "system":
            continue
        if turns and turns[-1].role == blocks[0].role:
            turns[-1] = JoinedTurn(turns[-1].role, (*turns[-1].blocks, *blocks))
        else:
            turns.append(JoinedTurn(blocks[0].role, tuple(blocks)))
    return turns


def system_blocks(body: Mapping[str, object]) -> list[Placed]:
    """List the blocks of the top-level system prompt."""
    system = body.get("system")
    if isinstance(system, str):
        return [] if not system else [Placed("system", -1, "system", {"type": "text", "text": system})]
    return [Placed(f"system.{i}", -1, "system", block) for i, block in enumerate(objects(system))]


def tool_blocks(body: Mapping[str, object]) -> list[Placed]:
    """List the tool definitions as if they were blocks."""
    return [Placed(f"tools.{i}", -1, "tools", tool) for i, tool in enumerate(objects(body.get("tools")))]


def render_order(body: Mapping[str, object]) -> Iterator[Placed]:
    """Give everything a model is shown, in the order the prefix cache sees it: tools, system, messages."""
    yield from tool_blocks(body)
    yield from system_blocks(body)
    for blocks in message_blocks(body):
        yield from blocks


def rendered(placed: Placed) -> str:
    """Write one block as the text that caches and signatures are bound to.

    Cache marks are left out, and so is the billing line some clients put into the system prompt. A string and an
    array with one text are the same. The order of keys inside a call's input counts, since a model is shown it.
    """
    block = placed.block
    match placed.kind:
        case "text":
            text = as_text(block.get("text"))
            shown: object = "" if placed.role == "system" and text.startswith(_BILLING_LINE) else text
        case "tool_use":
            shown = [block.get("id"), block.get("name"), block.get("input")]
        case "tool_result":
            shown = [block.get("tool_use_id"), block.get("is_error") is True, _result_content(block.get("content"))]
        case "compaction":
            shown = block.get("content")
        case _:
            shown = {key: block[key] for key in sorted(block) if key != "cache_control"}
    return json.dumps([placed.role, placed.kind, shown], ensure_ascii=False, separators=(",", ":"))


def _result_content(content: object) -> object:
    if isinstance(content, str):
        return [["text", content]]
    return [
        ["text", part.get("text")]
        if part.get("type") == "text"
        else {key: part[key] for key in sorted(part) if key != "cache_control"}
        for part in objects(content)
    ]
