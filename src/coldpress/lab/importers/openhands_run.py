"""Follow one OpenHands run through its events: replies become turns, observations the results of their calls."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import assert_never

from coldpress.lab.importers.chains import Chains
from coldpress.lab.importers.conversation import Conversation, Said, Told
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import Block, CallIds, call_block, result_block, text_block
from coldpress.lab.importers.jsonvalues import HALVES, JsonObject, object_in, text_in
from coldpress.lab.importers.openhands_events import events
from coldpress.lab.importers.openhands_shapes import Acted, Call, Event, Forgot, Opened, Seen, Unused
from coldpress.lab.importers.openhands_usage import Meter, costs
from coldpress.lab.jsontext import compact_json
from coldpress.lab.rebuild import RequestHead

_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_LENGTH = 128
_IMAGE = re.compile(r"data:(image/[a-z+.-]+);base64,(.+)", re.DOTALL)


@dataclass(slots=True)
class _Open:
    """A reply of which more events may come. `late` is what the client said since."""

    at: int
    acted: Acted
    running: JsonObject
    time: float | None
    names: set[str] = field(default_factory=set)
    blocks: list[Block] = field(default_factory=list)
    late: list[Said] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)
    sources: list[int] = field(default_factory=list)


class Run:
    """Reads one record.

    Args:
        record: a line of `output.jsonl`.
        tally: takes what is read and what is left out.
        name: the session's name, where the record has none.
    """

    def __init__(self, record: JsonObject, tally: Tally, *, name: str) -> None:
        self.chains = Chains()
        self._record = record
        self._tally = tally
        self._conversation = Conversation(self.chains, tally, session=text_in(record, "instance_id") or name)
        metrics = object_in(record, "metrics")
        self._events = list(events(record.get("history"), tally.skipped))
        self._meter = Meter(metrics)
        self._costs = costs(metrics, _requests(self._events))
        self._replies = 0
        self._ids = CallIds()
        self._written: dict[str, str] = {}
        self._of_event: dict[str, str] = {}
        self._last_call: str | None = None
        self._order: list[str] = []
        self._open: _Open | None = None
        self._opened: Opened | None = None
        self._opened_by: int | None = None
        self._tools: set[str] = set()

    def read(self) -> None:
        """Take every event."""
        self._begin()
        for at, event in enumerate(self._events):
            self._take(at, event, self._tally.take(event.label))
            self._order.append(event.name)
        self._finish()
        self._conversation.count_unused()

    def _begin(self) -> None:
        """Say the task where no event does: some programs leave the first events out of the history."""
        first = next((event.read for event in self._events if isinstance(event.read, Acted | Seen)), None)
        task = text_in(self._record, "instruction") or ""
        if isinstance(first, Acted) and task.strip():
            self._tally.skipped["tasks that no event says (taken from the record)"] += 1
            self._conversation.hear(Said("user", (text_block(task),)))

    def _take(self, at: int, event: Event, number: int) -> None:
        read = event.read
        match read:
            case Acted():
                self._acted(at, event, read, number)
            case Seen():
                self._heard(event, read, number)
            case Forgot():
                self._forgot(event, read, number)
                self._tally.use(number)
            case Opened():
                if self._opened is None:
                    self._opened, self._opened_by = read, number
                else:
                    self._tally.set_aside("system prompts after the first", number)
            case Unused(reason, known):
                (self._tally.set_aside if known else self._tally.not_known)(reason, number)
            case _:
                assert_never(read)

    def _acted(self, at: int, event: Event, acted: Acted, number: int) -> None:
        """Begin a reply, or add to the one that the same response brought."""
        if self._open is None or not acted.response_id or acted.response_id != self._open.acted.response_id:
            self._finish()
            self._open = _Open(at, acted, event.running, event.time)
            self._open.blocks += self._thinking(acted)
            if acted.text.strip():
                self._open.blocks.append(text_block(acted.text))
            if acted.in_text:
                self._tally.skipped["actions in a reply's text (made into calls)"] += 1
        self._open.sources.append(number)
        self._open.names |= {event.name} - {""}
        self._open.time = event.time if event.time is not None else self._open.time
        for call in acted.calls:
            if not call.id or call.id not in self._open.calls:
                self._open.calls.add(call.id)
                self._call(event, call, self._open)

    def _call(self, event: Event, call: Call, reply: _Open) -> None:
        written = self._ids.take(call.id or f"call_{reply.at}")
        self._written[call.id] = self._of_event[event.name] = self._last_call = written
        name = _NAME.sub("_", call.tool or "unnamed")[:_NAME_LENGTH]
        self._tools.add(name)
        self._tally.skipped[HALVES] += call.halves
        reply.blocks.append(call_block(written, name, call.arguments))

    def _thinking(self, acted: Acted) -> list[Block]:
        """Carry thinking that bears the provider's signature; other thinking is not sent again."""
        found = []
        for block in acted.thinking:
            kind = text_in(block, "type") or "thinking"
            if kind == "redacted_thinking" and text_in(block, "data"):
                found.append(Block(kind, compact_json({"type": kind, "data": block["data"]})))
            elif kind == "thinking" and text_in(block, "thinking") and text_in(block, "signature"):
                kept = {key: block[key] for key in ("thinking", "signature")}
                found.append(Block(kind, compact_json({"type": kind, **kept})))
            else:
                self._tally.skipped["thinking blocks without a signature"] += 1
        return found

    def _finish(self) -> None:
        """Make a turn of the open reply, and let the client say what it said since."""
        reply, self._open = self._open, None
        if reply is None:
            return
        response = reply.acted.response
        paid = self._meter.paid_usd(reply.running)
        told = Told(
            model=text_in(response, "model") or self._model(reply.running),
            usage=self._meter.usage(response, reply.running),
            replied_at=reply.time,
            request_id=reply.acted.response_id or None,
            reported_usd=paid if paid is not None else self._costs[self._replies],
        )
        self._replies += 1
        self._conversation.reply(
            reply.at, tuple(reply.blocks), told, names=frozenset(reply.names), sources=tuple(reply.sources)
        )
        for said in reply.late:
            self._conversation.hear(said)

    def _model(self, running: JsonObject) -> str:
        """Name the model that the run was set to, for a reply that does not name its own."""
        metadata = object_in(self._record, "metadata")
        named = [object_in(metadata, key).get("model") for key in ("llm_config", "llm")]
        named.append(object_in(running, "accumulated_token_usage").get("model"))
        return next((name for name in named if isinstance(name, str) and name), "")

    def _heard(self, event: Event, seen: Seen, number: int) -> None:
        images = self._images(seen.images)
        call = self._answered(seen)
        if call is not None:
            content: object = seen.text
            if images:
                text = [{"type": "text", "text": seen.text}] if seen.text.strip() else []
                content = [*text, *images]
            blocks: list[Block] = [result_block(call, content, failed=seen.failed)]
        else:
            blocks = [text_block(seen.text)] if seen.text.strip() else []
            blocks += [Block("image", compact_json(image)) for image in images]
            if not blocks:
                self._tally.set_aside("text blocks without text", number)
                return
        said = Said(
            "user",
            tuple(blocks),
            event.time,
            names=frozenset({event.name} - {""}),
            starts=not seen.result,
            sources=(number,),
        )
        if self._open is None:
            self._conversation.hear(said)
        else:
            self._open.late.append(said)

    def _answered(self, seen: Seen) -> str | None:
        """Find the call that an observation answers; `None` where it is a text of its own.

        By the call's id; else by the action that it names as its cause, which may be the user's; else, in programs
        that name neither, it is the outcome of the action before.
        """
        if seen.call_id is not None:
            return self._written.get(seen.call_id, seen.call_id)
        if not seen.result:
            return None
        return self._of_event.get(seen.cause) if seen.cause is not None else self._last_call or "none"

    def _images(self, urls: tuple[str, ...]) -> list[JsonObject]:
        found: list[JsonObject] = []
        for url in urls:
            image = _IMAGE.fullmatch(url)
            if image is None:
                self._tally.skipped["images that are not in the file"] += 1
            else:
                source = {"type": "base64", "media_type": image.group(1), "data": image.group(2)}
                found.append({"type": "image", "source": source})
        return found

    def _forgot(self, event: Event, forgot: Forgot, number: int) -> None:
        self._finish()
        self._tally.skipped["condensations (what they kept is said again)"] += 1
        left = [name for name in self._order if name not in forgot.names]
        summary = None
        if forgot.summary.strip():
            names = frozenset({event.name} - {""})
            summary = Said("user", (text_block(forgot.summary),), event.time, names=names, sources=(number,))
        self._conversation.forget(forgot.names, summary, frozenset(left[: forgot.offset]))

    def settle_head(self, *, used: bool) -> None:
        """Say whether the head of the file is this run's."""
        if self._opened_by is not None and used and self.head() is not None:
            self._tally.use(self._opened_by)
        elif self._opened_by is not None:
            self._tally.set_aside(
                "system prompts that are not used (none, or another one in each run)", self._opened_by
            )

    def head(self) -> RequestHead | None:
        """Give the recorded prompt and tools, `None` where there is no prompt; tools without a definition get one."""
        if self._opened is None or not self._opened.system.strip():
            return None
        defined = {tool["name"]: tool for tool in map(_definition, self._opened.tools)}
        for name in sorted(self._tools - defined.keys()):
            defined[name] = {"name": name, "description": f"The tool {name}.", "input_schema": {"type": "object"}}
        return RequestHead(self._opened.system, tuple(compact_json(tool) for tool in defined.values()))


def _definition(tool: JsonObject) -> dict[str, object]:
    """Write a tool's definition in Anthropic's form."""
    function = object_in(tool, "function") or tool
    schema = object_in(function, "parameters") or {"type": "object"}
    name = _NAME.sub("_", text_in(function, "name") or "unnamed")[:_NAME_LENGTH]
    return {"name": name, "description": text_in(function, "description") or "", "input_schema": schema}


def _requests(found: list[Event]) -> int:
    """Count the replies of a run."""
    ids = [event.read.response_id for event in found if isinstance(event.read, Acted)]
    return sum(1 for at, name in enumerate(ids) if not name or at == 0 or ids[at - 1] != name)
