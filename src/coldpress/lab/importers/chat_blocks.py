"""Write messages of OpenAI's Chat form and of Anthropic's as content blocks of Anthropic's form.

Both are read message by message, whatever the list they stand in: the parts of a message tell their form.
"""

from __future__ import annotations

import re
from collections import Counter

from coldpress.lab.importers.dialogue import Block, CallIds, call_block, result_block, text_block
from coldpress.lab.importers.jsonvalues import JsonObject, object_in, objects_in, read_json, text_in
from coldpress.lab.importers.sound_blocks import sound
from coldpress.lab.jsontext import compact_json

REPLY_ROLES = frozenset({"assistant", "model"})
CLIENT_ROLES = frozenset({"user", "tool", "function"})
SYSTEM_ROLES = frozenset({"system", "developer"})
ROLES = REPLY_ROLES | CLIENT_ROLES | SYSTEM_ROLES

_OF_REPLIES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use", "thinking", "redacted_thinking"})
_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_LENGTH = 128
_IMAGE = re.compile(r"data:(image/[a-z+.-]+);base64,(.+)", re.DOTALL)
_BESIDE = frozenset({"cache_control", "annotations"})
_TEXTS = frozenset({"text", "input_text", "output_text"})
_ARGUMENTS = "arguments that are no JSON object (kept as text)"


def is_message(found: object) -> bool:
    """Whether this is one message of a chat: an object with a role that is known, and something said."""
    if not isinstance(found, dict) or text_in(found, "role") not in ROLES:
        return False
    content = found.get("content")
    if isinstance(content, list):
        return all(isinstance(part, dict | str) for part in content)
    return isinstance(content, str) or (content is None and ("content" in found or "tool_calls" in found))


def tool_name(recorded: str) -> str:
    """Give a tool's name in the letters that Anthropic's names may have.

    >>> tool_name("functions.find flight")
    'functions_find_flight'
    """
    return _NAME.sub("_", recorded)[:_NAME_LENGTH] or "unnamed"


class Scribe:
    """Writes the messages of one conversation in order; results find their calls by the recorded ids.

    `notes` counts what is left out or is written in another shape; whoever reads a message may take them.
    """

    def __init__(self) -> None:
        self.notes: Counter[str] = Counter()
        self._ids = CallIds()
        self._written: dict[str, str] = {}
        self._by_name: dict[str, str] = {}
        self._made = 0

    def copy(self) -> Scribe:
        """Give one that knows the same calls and goes on by itself; notes stay here."""
        found = Scribe()
        found._ids, found._made = self._ids.copy(), self._made
        found._written, found._by_name = dict(self._written), dict(self._by_name)
        return found

    def reply(self, said: JsonObject) -> tuple[Block, ...]:
        """Write a message of the model."""
        blocks = [block for part in self._parts(said.get("content")) for block in self._of_reply(part)]
        if isinstance(refusal := said.get("refusal"), str) and refusal.strip():
            blocks.append(text_block(refusal))
        if any(isinstance(said.get(key), str) and said[key] for key in ("reasoning_content", "reasoning")):
            self.notes["reasoning that was not sent again"] += 1
        blocks += [self._function(call, text_in(call, "id")) for call in objects_in(said, "tool_calls")]
        if legacy := object_in(said, "function_call"):
            blocks.append(self._function({"function": legacy}, None))
        return tuple(blocks)

    def client(self, said: JsonObject) -> tuple[Block, ...]:
        """Write a message of the client, be it in the name of the user, of a tool or of the system."""
        if said.get("role") == "tool":
            recorded = text_in(said, "tool_call_id") or text_in(said, "id") or ""
            return (self._result(self._written.get(recorded, recorded), said.get("content"), failed=False),)
        if said.get("role") == "function":
            call = self._by_name.pop(text_in(said, "name") or "", "")
            return (self._result(call, said.get("content"), failed=False),)
        return tuple(block for part in self._parts(said.get("content")) for block in self._of_client(part))

    def _of_reply(self, part: JsonObject) -> list[Block]:
        kind = text_in(part, "type")
        if kind == "tool_use":
            written, name = self._take(text_in(part, "id")), tool_name(text_in(part, "name") or "")
            call = {**_unmarked(part), "id": written, "name": name, "input": self._input(part.get("input"))}
            kept = sound(call, self.notes)
            return [] if kept is None else [Block("tool_use", compact_json(kept), written, name)]
        if kind == "thinking" and not text_in(part, "signature"):
            self.notes["thinking blocks without a signature"] += 1
            return []
        if kind == "thinking":
            shown = {"type": kind, "thinking": text_in(part, "thinking") or "", "signature": part["signature"]}
            return [Block(kind, compact_json(shown))]
        if kind == "refusal":
            return self._text(text_in(part, "refusal") or "")
        if kind == "tool_result":
            self.notes["tool results in a reply"] += 1
            return []
        return self._any(part)

    def _of_client(self, part: JsonObject) -> list[Block]:
        if part.get("type") == "tool_result":
            return [self._answer(part)]
        if text_in(part, "type") in _OF_REPLIES:
            self.notes["calls and thinking in a message of the client"] += 1
            return []
        return self._any(part)

    def _any(self, part: JsonObject) -> list[Block]:
        shown = self._shown(part)
        kept = None if shown is None else sound(shown, self.notes)
        return [] if kept is None else [Block(str(kept["type"]), compact_json(kept))]

    def _text(self, text: str) -> list[Block]:
        if text.strip():
            return [text_block(text)]
        self.notes["text blocks without text"] += 1
        return []

    def _shown(self, part: JsonObject) -> JsonObject | None:
        """Give one part in Anthropic's form; `None`, and a note, where no provider takes it."""
        kind = text_in(part, "type")
        if kind in _TEXTS:
            text = text_in(part, "text") or ""
            if text.strip():
                kept = {key: value for key, value in part.items() if key not in _BESIDE and value is not None}
                return {**kept, "type": "text", "text": text} if kind == "text" else {"type": "text", "text": text}
            self.notes["text blocks without text"] += 1
            return None
        if kind in ("image_url", "input_image"):
            return self._image(part)
        if kind is None or kind in ("input_audio", "file", "video_url", "refusal"):
            self.notes[f"content of an unknown kind: {kind}"] += 1
            return None
        return _unmarked(part)

    def _image(self, part: JsonObject) -> JsonObject | None:
        url = text_in(part, "image_url") or text_in(object_in(part, "image_url"), "url") or ""
        if found := _IMAGE.fullmatch(url):
            source = {"type": "base64", "media_type": found.group(1), "data": found.group(2)}
            return {"type": "image", "source": source}
        if url.startswith(("https://", "http://")):
            return {"type": "image", "source": {"type": "url", "url": url}}
        self.notes["images that are not in the file"] += 1
        return None

    def _answer(self, part: JsonObject) -> Block:
        """Write a tool result in Anthropic's form: as it is, but for marks, and what no provider takes."""
        recorded = text_in(part, "tool_use_id") or ""
        call = self._written.get(recorded, recorded)
        kept = {**_unmarked(part), "tool_use_id": call}
        if "content" in kept:
            kept["content"] = self._content(kept["content"])
        return Block("tool_result", compact_json(sound(kept, self.notes) or kept), call)

    def _result(self, call: str, content: object, *, failed: bool) -> Block:
        """Write a tool result of the Chat form."""
        return result_block(call, self._content(content), failed=failed)

    def _content(self, content: object) -> object:
        """Write what a result holds: a text as a text, a list as a list."""
        if not isinstance(content, list):
            return content if isinstance(content, str) else _as_text(content)
        return [found for part in self._parts(content) for found in (self._shown(part),) if found is not None]

    def _parts(self, content: object) -> list[JsonObject]:
        if isinstance(content, str):
            return [{"type": "text", "text": content}] if content else []
        parts = [part for part in content if part] if isinstance(content, list) else []
        known = [part for part in parts if isinstance(part, str | dict)]
        self.notes["content that is not a block"] += len(parts) - len(known)
        return [{"type": "text", "text": part} if isinstance(part, str) else part for part in known]

    def _function(self, call: JsonObject, recorded: str | None) -> Block:
        """Write a call of the Chat form; one without an id is found by its name."""
        function = object_in(call, "function")
        custom = object_in(call, "custom")  # a tool of free-form text
        name = tool_name(text_in(function, "name") or text_in(custom, "name") or "")
        written = self._take(recorded)
        if recorded is None:
            self._by_name[text_in(function, "name") or ""] = written
        if custom and not function:
            return call_block(written, name, {"input": text_in(custom, "input") or ""})
        return call_block(written, name, self._input(function.get("arguments")))

    def _take(self, recorded: str | None) -> str:
        self._made += 1
        written = self._ids.take(recorded or f"call_{self._made}")
        if recorded is not None:
            self._written[recorded] = written
        return written

    def _input(self, recorded: object) -> JsonObject:
        found = recorded
        if isinstance(found, str):
            try:
                found = read_json(found or "{}", self.notes)
            except (ValueError, RecursionError):
                found = None
        if isinstance(found, dict):
            return found
        if recorded is None:
            return {}
        self.notes[_ARGUMENTS] += 1
        return {"arguments": recorded}


def _unmarked(part: JsonObject) -> JsonObject:
    return {key: value for key, value in part.items() if key != "cache_control"}


def _as_text(content: object) -> str:
    return "" if content is None else compact_json(content)
