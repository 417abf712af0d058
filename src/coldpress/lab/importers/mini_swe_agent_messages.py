"""Write what mini-swe-agent records as content blocks of Anthropic's form."""

from __future__ import annotations

import re

from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import Block, CallIds, call_block, result_block, text_block
from coldpress.lab.importers.jsonvalues import JsonObject, count_in, object_in, objects_in, read_json, text_in
from coldpress.lab.importers.sound_blocks import sound
from coldpress.lab.jsontext import compact_json
from coldpress.model.errors import RecordingError

BASH = "bash"
"""Name of the one tool there is."""

FENCED = r"```bash\s*\n(.*?)\n```"
"""What counts as an action in the text of programs 1.x, whose files do not say so."""

_RETURN_CODE = re.compile(r'\s*(?:<returncode>|\{\s*"returncode":\s*)(-?\d+)')
_IMAGE = re.compile(r"data:(image/[a-z]+);base64,(.+)", re.DOTALL)


class Scribe:
    """Writes one run's messages in order.

    Args:
        action: finds the actions in a reply's text, the command as its first group; `None` where text stays text.
        timeout: how the message begins that tells of a command which took too long; empty where not known.
        tally: takes what is left out.
    """

    def __init__(self, action: re.Pattern[str] | None, timeout: str, tally: Tally) -> None:
        self._action = action
        self._timeout = timeout
        self._tally = tally
        self._ids = CallIds()
        self._written: dict[str, str] = {}
        self._waiting: str | None = None
        self._made = 0

    def reply(self, said: JsonObject, *, answered: bool) -> tuple[Block, ...]:
        """Write a model's reply; with `answered`, the next message is the outcome of the action in its text."""
        blocks = self._thinking(said)
        text = "\n".join(text_in(part, "text") or "" for part in _content(said) if part.get("type") == "text")
        actions = list(self._action.finditer(text)) if self._action and answered else []
        if len(actions) == 1:
            text = text[: actions[0].start()].rstrip() + text[actions[0].end() :].rstrip()
        if text.strip():
            blocks.append(text_block(text))
        if len(actions) == 1:
            self._made += 1
            self._waiting = self._ids.take(f"call_{self._made}")
            blocks.append(call_block(self._waiting, BASH, {"command": actions[0].group(1).strip()}))
            self._tally.skipped["actions in a reply's text (made into calls)"] += 1
        calls = [self._call(call) for call in objects_in(said, "tool_calls")]
        return (*blocks, *calls)

    def _thinking(self, said: JsonObject) -> list[Block]:
        """Carry the reasoning that goes back to the model; what stands only in the response beside it does not."""
        shown = [
            *objects_in(said, "thinking_blocks"),
            *(part for part in _content(said) if "thinking" in (text_in(part, "type") or "")),
        ]
        reasoning = text_in(said, "reasoning_content") or ""
        if not shown and reasoning.strip():
            shown = [{"type": "thinking", "thinking": reasoning, "signature": ""}]
        kept = [block for one in shown if (block := sound(one, self._tally.skipped)) is not None]
        return [Block(str(block["type"]), compact_json(block)) for block in kept]

    def _call(self, call: JsonObject) -> Block:
        recorded, function = text_in(call, "id") or "", object_in(call, "function")
        self._written[recorded] = self._ids.take(recorded)
        return call_block(self._written[recorded], text_in(function, "name") or BASH, self._arguments(function))

    def _arguments(self, function: JsonObject) -> JsonObject:
        try:
            found = read_json(text_in(function, "arguments") or "{}", self._tally.skipped)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
        self._tally.skipped["arguments that are no JSON object (kept as text)"] += 1
        return {"arguments": function.get("arguments")}

    def client(self, said: JsonObject) -> tuple[Block, ...]:
        """Write a message of the client: the task, an outcome, a complaint."""
        content = _content(said)
        call = self._waiting
        self._waiting = None
        if said.get("role") == "tool":
            recorded = text_in(said, "tool_call_id") or ""
            call = self._written.get(recorded, recorded)
        if call is not None:
            return (self._result(call, said, content),)
        blocks = [self._shown(part) for part in content]
        return tuple(Block(str(block["type"]), compact_json(block)) for block in blocks if block)

    def _result(self, call: str, said: JsonObject, content: list[JsonObject]) -> Block:
        texts = [text_in(part, "text") or "" for part in content if part.get("type") == "text"]
        plain = len(texts) == len(content)
        shown: object = "\n".join(texts) if plain else [part for part in map(self._shown, content) if part]
        return result_block(call, shown, failed=self._failed(object_in(said, "extra"), "\n".join(texts)))

    def _failed(self, extra: JsonObject, text: str) -> bool:
        """Tell a failure by the return code: beside the message, else at the head of its text."""
        code = count_in(extra, "returncode")
        if code is None and (found := _RETURN_CODE.match(text)) is not None:
            code = int(found.group(1))
        if code is None:
            return bool(self._timeout) and text.startswith(self._timeout)
        return code != 0

    def _shown(self, part: JsonObject) -> JsonObject | None:
        """Give one part of a message in Anthropic's form; `None` where no provider takes it."""
        if part.get("type") == "text":
            text = text_in(part, "text") or ""
            if not text.strip():
                self._tally.skipped["text blocks without text"] += 1
                return None
            return {"type": "text", "text": text}
        found = _IMAGE.fullmatch(text_in(object_in(part, "image_url"), "url") or "")
        if found is None:
            self._tally.skipped[f"content of an unknown kind: {part.get('type')}"] += 1
            return None
        return {"type": "image", "source": {"type": "base64", "media_type": found.group(1), "data": found.group(2)}}


def _content(said: JsonObject) -> list[JsonObject]:
    text = text_in(said, "content")
    return objects_in(said, "content") if text is None else [{"type": "text", "text": text}]


def action_pattern(config: JsonObject, *, fenced: bool) -> re.Pattern[str] | None:
    """Find what the run took for an action in a text; `None` where the model called a tool.

    Args:
        config: the file's `info.config`.
        fenced: the file is of a program that only knew actions in texts.

    Raises:
        RecordingError: the configured pattern is no regular expression.
    """
    named = [text_in(object_in(config, part), "action_regex") for part in ("model", "agent")]
    pattern = next((text for text in named if text), FENCED if fenced else None)
    try:
        return None if pattern is None else re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise RecordingError(f"action_regex of this mini-swe-agent run: {pattern!r} is no pattern: {error}") from error


def timeout_opening(config: JsonObject) -> str:
    """Give the fixed words with which the run's message about a timeout begins."""
    template = text_in(object_in(config, "agent"), "timeout_template") or ""
    return re.split(r"\{[{%]|<", template, maxsplit=1)[0].strip()
