"""Write the items of Codex's conversation, which are those of the Responses API, as content blocks of Anthropic's form.

Left out and counted: reasoning (encrypted, or not sent again), calls that the provider ran itself, encrypted
summaries. A call of a free-form tool has no JSON arguments: its text stands under `input`.
"""

from __future__ import annotations

import json
import re

from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import Block, CallIds, call_block, result_block, text_block
from coldpress.lab.importers.jsonvalues import JsonObject, count_in, object_in, objects_in, read_json, text_in
from coldpress.lab.jsontext import compact_json

CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
RESULTS = frozenset(
    {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"}
)
SPOKEN_UNSHOWN = {
    "reasoning": "reasoning (encrypted or not sent again)",
    "web_search_call": "web searches that the provider ran (results are not recorded)",
    "image_generation_call": "images that the provider made",
}
"""What the model says that cannot be shown in Anthropic's form, with the words it is counted under."""

UNSENT = {
    "ghost_snapshot": "ghost_snapshot items (never sent)",
    "additional_tools": "additional_tools items (definitions of tools)",
    "compaction_trigger": "compaction_trigger items (never sent)",
    "compaction": "summaries that are encrypted",
    "compaction_summary": "summaries that are encrypted",
    "context_compaction": "summaries that are encrypted",
}
"""Known kinds of item that add nothing to a request in Anthropic's form, with the words they are counted under."""

ITEMS = frozenset({"message", "agent_message", *CALLS, *RESULTS, *SPOKEN_UNSHOWN, *UNSENT})
"""Every kind of item that is known."""

CONTEXT = (
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<skill>",
    "<user_shell_command>", "<subagent_notification>", "<permissions instructions>",
)  # fmt: skip
"""How a message begins that Codex itself writes in the user's name."""

_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_LENGTH = 128
_IMAGE = re.compile(r"data:(image/[a-z+.-]+);base64,(.+)", re.DOTALL)
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)\s*$", re.MULTILINE)


def spoken(item: JsonObject) -> bool:
    """Whether the model says this item."""
    kind = text_in(item, "type")
    return kind in CALLS or kind in SPOKEN_UNSHOWN or (kind == "message" and item.get("role") == "assistant")


def of_the_user(item: JsonObject) -> bool:
    """Whether a person typed this item, as far as its beginning tells."""
    if item.get("type") != "message" or item.get("role") != "user":
        return False
    texts = [text_in(part, "text") or "" for part in _content(item)]
    return not (texts and texts[0].lstrip().startswith(CONTEXT))


class Scribe:
    """Writes the items of one file in order; results find their calls by the recorded ids."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._ids = CallIds()
        self._written: dict[str, str] = {}

    def blocks(self, item: JsonObject) -> tuple[Block, ...]:
        """Write one item; nothing, and counted, where it cannot be shown."""
        kind = text_in(item, "type") or "(no type)"
        if kind in CALLS:
            return self._call(kind, item)
        if kind in RESULTS:
            return (self._result(item),)
        if kind in ("message", "agent_message"):
            shown = self._shown(_content(item))
            if not shown:
                self._tally.skipped["messages that say nothing"] += 1
            return tuple(Block(str(one["type"]), compact_json(one)) for one in shown)
        reason = SPOKEN_UNSHOWN.get(kind) or UNSENT.get(kind) or f"items of an unknown kind: {kind}"
        self._tally.skipped[reason] += 1
        return ()

    def _call(self, kind: str, item: JsonObject) -> tuple[Block, ...]:
        recorded = text_in(item, "call_id") or text_in(item, "id")
        if recorded is None:
            self._tally.skipped["calls without an id (the provider ran them)"] += 1
            return ()
        self._written[recorded] = self._ids.take(recorded)
        name = {"local_shell_call": "local_shell", "tool_search_call": "tool_search"}.get(kind) or _tool_name(item)
        return (call_block(self._written[recorded], name, self._arguments(kind, item)),)

    def _arguments(self, kind: str, item: JsonObject) -> JsonObject:
        if kind == "custom_tool_call":
            return {"input": text_in(item, "input") or ""}
        if kind == "local_shell_call":
            return {key: value for key, value in object_in(item, "action").items() if key != "type"}
        found: object = item.get("arguments")
        if isinstance(found, str):
            try:
                found = read_json(found or "{}", self._tally.skipped)
            except (ValueError, RecursionError):
                found = None
        if isinstance(found, dict):
            return found
        self._tally.skipped["arguments that are no JSON object (kept as text)"] += 1
        return {"arguments": item.get("arguments")}

    def _result(self, item: JsonObject) -> Block:
        recorded = text_in(item, "call_id") or text_in(item, "id") or ""
        output = item.get("output", item.get("tools"))
        failed = False
        if isinstance(output, dict) and "type" not in output:  # programs before autumn 2025
            failed = output.get("success") is False
            output = output.get("content")
        content: object
        if isinstance(output, str):
            content, failed = output, failed or _says_failed(output)
        elif item.get("type") == "tool_search_output":
            content = compact_json(output)
        else:
            parts = [output] if isinstance(output, dict) else output if isinstance(output, list) else []
            content = self._shown([part for part in parts if isinstance(part, dict)])
            failed = failed or _says_failed(str(next((part["text"] for part in content if "text" in part), "")))
        return result_block(self._written.get(recorded, recorded), content, failed=failed)

    def _shown(self, parts: list[JsonObject]) -> list[JsonObject]:
        """Write texts and images; what no provider takes, or is not in the file, is counted."""
        found: list[JsonObject] = []
        for part in parts:
            kind = text_in(part, "type") or "(no type)"
            if kind in ("input_text", "output_text", "text"):
                text = text_in(part, "text") or ""
                if text.strip():
                    found.append({"type": "text", "text": text})
                else:
                    self._tally.skipped["text blocks without text"] += 1
            elif kind == "input_image":
                image = _IMAGE.fullmatch(text_in(part, "image_url") or "")
                if image is None:
                    self._tally.skipped["images that are not in the file"] += 1
                else:
                    source = {"type": "base64", "media_type": image.group(1), "data": image.group(2)}
                    found.append({"type": "image", "source": source})
            elif kind == "encrypted_content":
                self._tally.skipped["content that is encrypted"] += 1
            else:
                self._tally.skipped[f"content of an unknown kind: {kind}"] += 1
        return found


def summary_block(text: str) -> Block:
    """Write a compaction's summary, for a program that did not record how it said it."""
    return text_block(f"Summary of what was said before:\n\n{text}")


def _content(item: JsonObject) -> list[JsonObject]:
    text = text_in(item, "content")
    return objects_in(item, "content") if text is None else [{"type": "text", "text": text}]


def _tool_name(item: JsonObject) -> str:
    """Give a tool's name as recorded, behind its namespace, in the letters that Anthropic's names may have."""
    name, space = text_in(item, "name") or "unnamed", text_in(item, "namespace") or ""
    if space:
        name = f"{space.removesuffix('__')}__{name}"
    return _NAME.sub("_", name)[:_NAME_LENGTH]


def _says_failed(text: str) -> bool:
    """Tell a failed command by the exit code above its output, or beside it in programs before autumn 2025."""
    if text.startswith('{"output":'):
        try:
            code = count_in(object_in(json.loads(text), "metadata"), "exit_code")
        except (ValueError, RecursionError):
            return False
        return code not in (None, 0)
    head, behind, _ = text.partition("Output:\n")
    found = _EXIT.search(head) if behind else None
    return found is not None and int(found.group(1)) != 0
