"""See a Responses request as the provider does: its items, and what of each the model is shown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.testing.jsonview import as_array, as_object, as_text, objects

Item = Mapping[str, object]
Opened = Callable[[Item], str]
"""Gives the text behind an item's `encrypted_content`, empty where there is none to read."""

CALLS: Final[Mapping[str, str]] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "shell_call": "shell_call_output",
    "local_shell_call": "local_shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
}
"""Items that ask the client to do something, and the item that answers each."""

OUTPUTS: Final[Mapping[str, str]] = {output: call for call, output in CALLS.items()}
_HOSTED: Final = (
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "tool_search_call",
    "program",
)
_TEXT_PARTS: Final = ("input_text", "output_text", "summary_text", "reasoning_text", "text")
_UNSEEN: Final = ("id", "status", "prompt_cache_breakpoint", "phase", "created_by")


@dataclass(frozen=True, slots=True)
class Shown:
    """A stretch of what the model reads: one content part, or a whole item.

    Attributes:
        text: as caches and the binding of reasoning know it; a picture stands in it as its digest.
        media: how many pictures and files stand in it.
        breakpoint: the cache mark that the client set on it, if any.
    """

    text: str
    media: int = 0
    breakpoint: Mapping[str, object] | None = None


def input_items(body: Mapping[str, object]) -> list[Item]:
    """List the items of a request's `input`; a string is one user message."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return objects(given)


def kind_of(item: Item) -> str:
    """Name the item's type; one without a type is a message if it has a role, and a reference if it has an id."""
    kind = as_text(item.get("type"))
    return kind or ("message" if "role" in item else "item_reference" if "id" in item else "")


def is_from_model(item: Item) -> bool:
    """Whether the model wrote the item."""
    kind = kind_of(item)
    return (kind == "message" and item.get("role") == "assistant") or kind in (*CALLS, *_HOSTED, "reasoning")


def call_id(item: Item) -> str:
    """Give the id that pairs a call with its output; a local shell call's output names it in `id`."""
    if kind_of(item) == "local_shell_call_output":
        return as_text(item.get("call_id")) or as_text(item.get("id"))
    return as_text(item.get("call_id"))


def head_shown(body: Mapping[str, object]) -> tuple[list[Shown], list[Shown]]:
    """Give what stands before the items: tools, then instructions."""
    tools = [Shown(_compact(tool)) for tool in objects(body.get("tools"))]
    instructions = as_text(body.get("instructions"))
    return tools, [Shown(_line("instructions", instructions))] if instructions else []


def item_shown(item: Item, opened: Opened) -> list[Shown]:
    """Give what the model reads of one item; ids of items and their states play no part."""
    kind = kind_of(item)
    if kind == "message":
        role = as_text(item.get("role"))
        return [_part(part, role) for part in _parts(item.get("content"))]
    if kind in ("function_call_output", "custom_tool_call_output"):
        opening = f"{kind} {item.get('call_id') or item.get('name')}"
        return [_part(part, opening) for part in _parts(item.get("output"))]
    if kind in ("reasoning", "compaction"):
        return [Shown(_line(kind, opened(item)))]
    if kind in ("compaction_trigger", "configuration_update"):
        return []
    return [Shown(_compact({key: item[key] for key in item if key not in _UNSEEN}))]


def begin_prefix(body: Mapping[str, object]) -> bytes:
    """Name what stands before the first item."""
    link = b""
    for shown in (*head_shown(body)[0], *head_shown(body)[1]):
        link = _follow(link, shown.text)
    return link


def follow_prefix(prefix: bytes, item: Item, opened: Opened) -> bytes:
    """Name a prefix that goes on with one more item."""
    for shown in item_shown(item, opened):
        prefix = _follow(prefix, shown.text)
    return prefix


def plain_text(item: Item) -> str:
    """Give the words of an item, without the JSON around them; used to make summaries."""
    kind = kind_of(item)
    if kind == "message":
        return "\n".join(as_text(part.get("text")) for part in _parts(item.get("content")))
    if kind in ("function_call", "custom_tool_call"):
        return f"{as_text(item.get('name'))} {as_text(item.get('arguments')) or as_text(item.get('input'))}"
    output = item.get("output")
    if isinstance(output, str):
        return output
    return "\n".join(as_text(part.get("text")) or as_text(part.get("stdout")) for part in objects(output))


def _parts(content: object) -> Sequence[Mapping[str, object]]:
    return [{"type": "input_text", "text": content}] if isinstance(content, str) else objects(as_array(content))


def _part(part: Mapping[str, object], opening: str) -> Shown:
    mark = as_object(part.get("prompt_cache_breakpoint")) or None
    if part.get("type") in _TEXT_PARTS:
        return Shown(_line(opening, as_text(part.get("text"))), breakpoint=mark)
    if part.get("type") == "refusal":
        return Shown(_line(opening, as_text(part.get("refusal"))), breakpoint=mark)
    content = _compact({key: part[key] for key in part if key not in _UNSEEN})
    # A picture is known by its digest: its base64 is not text that the model reads.
    return Shown(_line(opening, hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()), 1, mark)


def _line(opening: str, text: str) -> str:
    return f"{opening}: {text}"


def _follow(link: bytes, text: str) -> bytes:
    return hashlib.sha256(link + hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()).digest()


def _compact(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
