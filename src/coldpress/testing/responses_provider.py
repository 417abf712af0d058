"""Serve one Responses request the way the provider would: check it, compact, bill it, write the scripted answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from coldpress.measure.cache import Piece
from coldpress.model.usage import Usage
from coldpress.testing.delivery import write_document, write_stream
from coldpress.testing.jsonview import as_object, as_text
from coldpress.testing.offered import Offered, resolve, responses_tools
from coldpress.testing.provider import Rules, Served, encoding_header, faulty, refused
from coldpress.testing.refusal import Refusal
from coldpress.testing.responses_compaction import (
    calls_made,
    compact_threshold,
    compaction_item,
    last_compaction,
    wants_compaction,
)
from coldpress.testing.responses_diagnosis import Prompted, diagnose, prompted
from coldpress.testing.responses_events import responses_events
from coldpress.testing.responses_meter import ResponsesMeter, settings_of, tokens_of
from coldpress.testing.responses_pairs import check_pairs
from coldpress.testing.responses_reasoning import ReasoningLedger, ReasoningVerdict
from coldpress.testing.responses_rules import check_responses_request
from coldpress.testing.responses_store import ResponseStore
from coldpress.testing.responses_view import CALLS, Item, kind_of
from coldpress.testing.responses_wire import (
    CREATED,
    ResponsesAnswer,
    build_output,
    output_usage,
    response_document,
    usage_fields,
)
from coldpress.testing.script import Asked, Delivery, Disconnect, HttpError, Say, Script, StopReason, Turn

_WIRE: Final = "openai_responses"


@dataclass(frozen=True, slots=True)
class _Ready:
    """A request that has passed all checks.

    Attributes:
        body: as it came.
        items: its whole conversation, with what the server kept.
        verdict: what of them the model is shown, from the last compaction item on.
        pieces: the prompt, as its cache knows it.
    """

    body: Mapping[str, object]
    items: tuple[Item, ...]
    verdict: ReasoningVerdict
    pieces: tuple[Piece, ...]


class ResponsesProvider:
    """The scripted model behind the Responses wire, with its caches, its sealing key and what it stores."""

    def __init__(self, script: Script, rules: Rules, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._script = script
        self._rules = rules
        self._ledger = ReasoningLedger(b"strict upstream", bind=rules.bind_reasoning, check=rules.check_signatures)
        self._meter = ResponsesMeter(clock)
        self._store = ResponseStore()
        self._prompts: dict[str, Prompted] = {}

    def responses(self, body: Mapping[str, object], *, number: int, request_id: str) -> Served:
        """Answer `POST .../responses`."""
        ready = self._prepare(body)
        if isinstance(ready, Refusal):
            return refused(ready, _WIRE, request_id)
        on_demand = wants_compaction(ready.items)
        tools = responses_tools({**body, "input": list(ready.items)})
        turn = Turn((), "end_turn") if on_demand else self._choose(ready, tools, number)
        if isinstance(turn.fault, HttpError | Disconnect):
            return faulty(turn.fault, _WIRE, request_id)
        usage = self._meter.bill(body, ready.pieces)
        answer = self._answer(ready, turn, tools, number, on_demand=on_demand, usage=usage)
        self._ledger.remember(answer.output)
        if body.get("store") is not False:
            kept = [item for item in ready.items if kind_of(item) != "compaction_trigger"]
            self._store.keep(answer.id, kept, answer.output)
        delivery = turn.delivery or self._script.delivery
        if body.get("stream") is True:
            events = responses_events(answer, delivery)
            written = write_stream(events, wire=_WIRE, delivery=delivery, fault=turn.fault, request_id=request_id)
        else:
            plain = response_document(answer, omit_usage=delivery.omit_usage)
            written = write_document(plain, delivery=delivery, fault=turn.fault)
        return Served(200, written, encoding_header(delivery), delivery, answer.usage)

    def compact(self, body: Mapping[str, object], *, number: int, request_id: str) -> Served:
        """Answer `POST .../responses/compact`: all messages of the user, and one item that stands for everything."""
        ready = self._prepare(body, compacting=True)
        if isinstance(ready, Refusal):
            return refused(ready, _WIRE, request_id)
        usage = self._meter.bill(body, ready.pieces)
        item = compaction_item(ready.items, identifier=f"cmp_{number:08d}_00", sealer=self._ledger.sealer)
        asked = [item for item in ready.items if kind_of(item) == "message" and item.get("role") == "user"]
        users = [_user_message(item, f"msg_{number:08d}_u{place:02d}") for place, item in enumerate(asked)]
        usage = replace(usage, output=output_usage([item], self._ledger).output, reasoning=0)
        document = {
            "id": f"resp_{number:08d}",
            "object": "response.compaction",
            "created_at": CREATED,
            "output": [*users, item],
            "usage": usage_fields(usage),
        }
        written = write_document(document, delivery=Delivery(), fault=None)
        return Served(200, written, usage=usage)

    def count_tokens(self, body: Mapping[str, object], *, request_id: str) -> Served:
        """Answer `POST .../responses/input_tokens`."""
        ready = self._prepare(body)
        if isinstance(ready, Refusal):
            return refused(ready, _WIRE, request_id)
        counted = {"object": "response.input_tokens", "input_tokens": tokens_of(ready.pieces)}
        return Served(200, write_document(counted, delivery=Delivery(), fault=None))

    def _prepare(self, body: Mapping[str, object], *, compacting: bool = False) -> _Ready | Refusal:
        """Check a request in the provider's order, and find what its model is shown."""
        if (refusal := check_responses_request(body, compacting=compacting)) is not None:
            return refusal
        items = self._store.conversation(body)
        if isinstance(items, Refusal):
            return items
        if (refusal := check_pairs(items)) is not None:
            return refusal
        verdict = self._ledger.verify(body, items[last_compaction(items) :])
        if verdict.refusal is not None:
            return verdict.refusal
        return self._fit(_Ready(body, tuple(items), verdict, self._pieces(body, verdict.shown)))

    def _fit(self, ready: _Ready) -> _Ready | Refusal:
        """Hold a request to the window: refuse a longer one, or, where it wants so, drop its oldest items."""
        shown = list(ready.items[last_compaction(ready.items) :])
        while tokens_of(ready.pieces) > self._rules.window_tokens:
            if ready.body.get("truncation") != "auto" or len(shown) < 2:
                return Refusal(
                    "Your input exceeds the context window of this model. Please adjust your input and try again.",
                    param="input",
                    code="context_length_exceeded",
                )
            shown = _without_oldest(shown)
            verdict = self._ledger.verify(ready.body, shown)
            ready = replace(ready, verdict=verdict, pieces=self._pieces(ready.body, verdict.shown))
        return ready

    def _answer(
        self, ready: _Ready, turn: Turn, tools: Sequence[Offered], number: int, *, on_demand: bool, usage: Usage
    ) -> ResponsesAnswer:
        """Make the answer: a compaction where one is due, what the script says, and what both are billed."""
        body, sealer, prefix = ready.body, self._ledger.sealer, ready.verdict.prefix
        threshold = compact_threshold(body, self._rules.window_tokens)
        output: tuple[Item, ...] = ()
        if on_demand or (threshold is not None and tokens_of(ready.pieces) >= threshold):
            item = compaction_item(ready.items, identifier=f"cmp_{number:08d}_00", sealer=sealer)
            output = (item,)
            after = self._ledger.verify(body, output)
            if not on_demand:
                usage = usage.plus(self._meter.bill(body, self._pieces(body, after.shown)))
            prefix = after.prefix
        if turn.parts and as_object(body.get("prompt_cache_options")).get("prewarm") is not True:
            output += build_output(
                turn.parts,
                number=number,
                body=body,
                tools=tools,
                ledger=self._ledger,
                prefix=prefix,
                first=len(output),
            )
        identifier = f"resp_{number:08d}"
        diagnostics = self._diagnose(ready, identifier, usage)
        return ResponsesAnswer(
            id=identifier,
            body=body,
            output=output,
            stop_reason=_stop_reason(turn, output),
            usage=usage.plus(output_usage(output, self._ledger)),
            transformations=tuple(ready.verdict.transformations),
            diagnostics=diagnostics,
        )

    def _diagnose(self, ready: _Ready, identifier: str, usage: Usage) -> Mapping[str, object] | None:
        now = prompted(settings_of(ready.body), ready.pieces, ready.verdict.shown)
        self._prompts[identifier] = now
        compared = as_object(ready.body.get("prompt_cache_options")).get("comparison_response_id")
        if not isinstance(compared, str):
            return None
        return diagnose(self._prompts.get(compared), now, read_tokens=usage.read or 0)

    def _pieces(self, body: Mapping[str, object], shown: Sequence[Item]) -> tuple[Piece, ...]:
        return tuple(self._meter.pieces(body, shown, self._ledger.opened))

    def _choose(self, ready: _Ready, tools: Sequence[Offered], number: int) -> Turn:
        """Let the script choose, and turn its intents into calls of tools the client has."""
        made = calls_made(ready.items, self._ledger.sealer)
        body = {**ready.body, "input": list(ready.items)}
        turn = self._script.choose(Asked(_WIRE, body, number, made, tuple(tool.name for tool in tools)))
        try:
            return replace(turn, parts=tuple(resolve(part, tools) for part in turn.parts))
        except LookupError as missing:
            return replace(turn, parts=(Say(f"I cannot go on: {missing.args[0]}."),))


def _without_oldest(items: Sequence[Item]) -> list[Item]:
    """Drop the oldest item, and whatever cannot stand without it."""
    rest = list(items[1:])
    while rest and check_pairs(rest) is not None:
        rest = rest[1:]
    return rest


def _user_message(item: Item, identifier: str) -> dict[str, object]:
    content = item.get("content")
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    named = as_text(item.get("id")) or identifier
    return {"id": named, "type": "message", "status": "completed", "role": "user", "content": parts}


def _stop_reason(turn: Turn, output: Sequence[Item]) -> StopReason:
    called = any(kind_of(item) in CALLS for item in output)
    return turn.stop_reason or ("tool_use" if called else "end_turn")
