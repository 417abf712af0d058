"""Write the history of a SWE-agent run as messages, each with the step that tells of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from coldpress.lab.importers.chat_blocks import ROLES, SYSTEM_ROLES, Scribe, tool_name
from coldpress.lab.importers.conversation import Told
from coldpress.lab.importers.dialogue import Block, CallIds, call_block, result_block, text_block
from coldpress.lab.importers.jsonvalues import JsonObject, objects_in, text_in
from coldpress.lab.importers.weave import Spoken

Actions = Literal["calls", "text"]
"""Whether actions in text become calls, or stay the text that was sent."""

MADE = "actions in a reply's text (made into calls)"
KEPT = "actions that do not stand in the reply's text (it stays as it is)"
STEPPED = "replies that the history does not show"

_FENCE = r"```[a-zA-Z]*[ \t]*\n?{}\n?[ \t]*```"
_TAGS = re.compile(r"<command>\s*</command>")
_OPENING_WORD = re.compile(r"\s*(\S+)")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the trajectory: what the model answered, and its number as an object."""

    number: int
    response: str
    found: JsonObject


@dataclass(slots=True)
class Reading:
    """What the history of one agent came to. `left` are messages of an unknown role, by kind."""

    spoken: list[Spoken] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    system: str | None = None
    system_kinds: list[str] = field(default_factory=list)


class Writer:
    """Writes the messages of one agent in order.

    Args:
        actions: what becomes of actions in text.
        model: that answered, empty where not known.
    """

    def __init__(self, actions: Actions, model: str) -> None:
        self._actions = actions
        self._told = Told(model)
        self._scribe = Scribe()
        self._ids = CallIds()
        self._made = 0
        self._waiting: str | None = None

    def write(self, history: Sequence[JsonObject], steps: Sequence[Step]) -> Reading:
        """Write a history; replies that only a step tells of stand in front of what follows them."""
        reading = Reading()
        for found, own, hidden in _with_steps(history, steps):
            reading.spoken += [self._hidden(step) for step in hidden]
            if found is not None:
                self._message(found, own, reading)
        return reading

    def _message(self, found: JsonObject, own: Step | None, reading: Reading) -> None:
        role = text_in(found, "role") or "(none)"
        kind = f"message:{role}"
        if role not in ROLES:
            reading.left.append(kind)
        elif role in SYSTEM_ROLES and reading.system is None and not reading.spoken:
            texts = [str(part.get("text") or "") for part in _content(found)]
            reading.system = "\n".join(texts)
            reading.system_kinds.append(kind)
        elif role == "assistant":
            blocks = self._reply(found)
            again = found.get("is_demo") is True
            beside = () if own is None else (own.number,)
            said = Spoken("assistant", blocks, kind, self._notes(), told=self._told, again=again, beside=beside)
            reading.spoken.append(said)
        else:
            reading.spoken.append(Spoken("user", self._client(found), kind, self._notes()))

    def _notes(self) -> Counter[str]:
        notes, self._scribe.notes = self._scribe.notes, Counter()
        return notes

    def _hidden(self, step: Step) -> Spoken:
        """Write a reply that only a step tells of: it was paid for, and shown to nobody."""
        blocks, notes = (text_block(step.response),), Counter({STEPPED: 1})
        return Spoken(
            "assistant", blocks, "", notes, told=self._told, shown=False, beside=(step.number,)
        )  # fmt: skip

    def _reply(self, found: JsonObject) -> tuple[Block, ...]:
        """Write a reply, its action as a call: the recorded one, or one made of the action in the text."""
        self._waiting = None
        action = text_in(found, "action") or ""
        if objects_in(found, "tool_calls") or not action.strip() or self._actions == "text":
            return self._scribe.reply(found)
        text = "\n".join(str(part.get("text") or "") for part in _content(found))
        left = _without(text, action)
        if left is None:
            self._scribe.notes[KEPT] += 1
            return self._scribe.reply(found)
        self._made += 1
        self._waiting = self._ids.take(f"call_{self._made}")
        self._scribe.notes[MADE] += 1
        word = _OPENING_WORD.match(action)
        name = tool_name(word.group(1)) if word else "unnamed"
        call = call_block(self._waiting, name, {"command": action.strip("\n")})
        return (text_block(left), call) if left.strip() else (call,)

    def _client(self, found: JsonObject) -> tuple[Block, ...]:
        """Write what the client says: the outcome of the action before, or a text."""
        call, self._waiting = self._waiting, None
        named = found.get("tool_call_ids")
        if isinstance(named, list) and named and all(isinstance(one, str) for one in named):
            # One message answers all calls of a reply; it stands as the result of the first.
            blocks = self._scribe.client({**found, "role": "tool", "tool_call_id": named[0]})
            rest = [self._scribe.client({"role": "tool", "tool_call_id": one, "content": ""}) for one in named[1:]]
            return (*blocks, *(block for one in rest for block in one))
        if call is None or found.get("role") == "tool":
            return self._scribe.client(found)
        content = _content(found)
        if any(part.get("type") != "text" for part in content):
            blocks = self._scribe.client({**found, "role": "tool", "tool_call_id": call})
            return blocks
        return (result_block(call, "\n".join(str(part.get("text") or "") for part in content), failed=False),)


def _with_steps(
    history: Sequence[JsonObject], steps: Sequence[Step]
) -> Iterator[tuple[JsonObject | None, Step | None, list[Step]]]:
    """Give each message with its step, and with the steps before it that no message tells of; then what is left over.

    Both lists are in the order of time, and a message repeats its step's response. A demonstration has no step.
    """
    said = Counter(_said(found) for found in history if _of_model(found))
    at = 0
    for found in history:
        if not _of_model(found):
            yield found, None, []
            continue
        text = _said(found)
        hidden: list[Step] = []
        left = {step.response for step in steps[at:]}
        if text in left:
            while steps[at].response != text:
                hidden.append(steps[at])
                at += 1
        own = steps[at] if at < len(steps) and (steps[at].response == text or not said[steps[at].response]) else None
        at += own is not None
        said[text] -= 1
        yield found, own, hidden
    if at < len(steps):
        yield None, None, list(steps[at:])


def _of_model(found: JsonObject) -> bool:
    return found.get("role") == "assistant" and found.get("is_demo") is not True


def _said(found: JsonObject) -> str:
    return "\n".join(str(part.get("text") or "") for part in _content(found))


def _content(found: JsonObject) -> list[JsonObject]:
    text = text_in(found, "content")
    return objects_in(found, "content") if text is None else [{"type": "text", "text": text}]


def _without(text: str, action: str) -> str | None:
    """Take an action and the fence around it out of a reply's text; `None` where it does not stand there.

    The last place counts: a reply may name a command before it gives it.
    """
    bare = action.strip("\n")
    places = list(re.finditer(_FENCE.format(re.escape(bare)), text))
    if places:
        return text[: places[-1].start()].rstrip() + text[places[-1].end() :].rstrip()
    at = text.rfind(bare)
    if at < 0:
        return None
    return _TAGS.sub("", text[:at].rstrip() + text[at + len(bare) :].lstrip()).rstrip()
