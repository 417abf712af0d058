"""Serve one Messages request the way Anthropic does: check it, edit its prompt, bill it, write the scripted answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from coldpress.model.records import Miss
from coldpress.model.usage import Usage
from coldpress.testing.anthropic_compaction import (
    Compactor,
    instruction_tokens,
    on_demand,
    pauses,
    since_compaction,
    threshold,
)
from coldpress.testing.anthropic_context_rules import check_context, check_finished
from coldpress.testing.anthropic_diagnosis import Fingerprint, diagnose, fingerprint, previous_message
from coldpress.testing.anthropic_editing import edit_prompt
from coldpress.testing.anthropic_marks import marks
from coldpress.testing.anthropic_rules import check_messages_request
from coldpress.testing.anthropic_usage import account
from coldpress.testing.anthropic_view import Placed, render_order
from coldpress.testing.anthropic_wire import (
    Answer,
    build_content,
    messages_document,
    messages_events,
    messages_output_tokens,
)
from coldpress.testing.delivery import write_document, write_stream
from coldpress.testing.jsonview import as_text
from coldpress.testing.meter import Meter
from coldpress.testing.offered import offered_tools
from coldpress.testing.refusal import Refusal
from coldpress.testing.script import Aside, Asked, Delivery, Disconnect, HttpError, Script, Step, StopReason, Turn
from coldpress.testing.served import Rules, Served, choose, encoding_header, faulty, refused, stop_reason
from coldpress.testing.thinking import BINDING_BETA, ThinkingLedger, ThinkingVerdict, prefix_digest

_WIRE: Final = "anthropic"


@dataclass(frozen=True, slots=True)
class _Ready:
    """A request that has passed all checks.

    Attributes:
        body: as it came.
        verdict: of the thinking in it.
        whole: the prompt before anything was cleared from it, from the last summary on.
        shown: the prompt as its model is shown it.
        applied: what was cleared; `None` where the request asks for nothing of the kind.
        tokens: of `shown`.
    """

    body: Mapping[str, object]
    verdict: ThinkingVerdict
    whole: tuple[Placed, ...]
    shown: tuple[Placed, ...]
    applied: tuple[Mapping[str, object], ...] | None
    tokens: int


@dataclass(frozen=True, slots=True)
class _Said:
    """What a model answers, and what its steps are billed.

    Attributes:
        content: the blocks.
        stop_reason: why it ends.
        prompt: what the caches did with the prompt as it came.
        usage: of the step that answers, `None` where there was none.
        aside: what is told beside it, with the step that summarised.
    """

    content: tuple[Mapping[str, object], ...]
    stop_reason: StopReason | Literal["compaction"]
    prompt: Usage
    usage: Usage | None
    aside: Aside


class MessagesProvider:
    """The scripted model behind the Messages wire, with its keys and what it remembers of requests."""

    def __init__(self, script: Script, rules: Rules, meter: Meter) -> None:
        self._script = script
        self._rules = rules
        self._meter = meter
        self._ledger = ThinkingLedger(b"strict upstream", bind=rules.bind_thinking, check=rules.check_signatures)
        self._compactor = Compactor(b"strict upstream", check=rules.check_signatures)
        self._fingerprints: dict[str, Fingerprint] = {}

    def messages(self, body: Mapping[str, object], *, number: int, request_id: str, betas: str) -> Served:
        """Answer `POST /v1/messages`."""
        ready = self._prepare(body, betas)
        if isinstance(ready, Refusal):
            return refused(ready, _WIRE, request_id)
        turn = self._choose(ready, number)
        if isinstance(turn.fault, HttpError | Disconnect):
            return faulty(turn.fault, _WIRE, request_id)
        answer = self._answer(ready, turn, number, betas)
        delivery = turn.delivery or Delivery()
        if body.get("stream") is True:
            events = messages_events(answer, delivery)
            written = write_stream(events, wire=_WIRE, delivery=delivery, fault=turn.fault, request_id=request_id)
        else:
            plain = messages_document(answer, omit_usage=delivery.omit_usage)
            written = write_document(plain, delivery=delivery, fault=turn.fault)
        return Served(200, written, encoding_header(delivery), delivery, answer.told.own, answer.told.others)

    def count_tokens(self, body: Mapping[str, object], *, request_id: str, betas: str | None) -> Served:
        """Answer `POST /v1/messages/count_tokens`: tokens once edits are applied, and before; nothing is compacted."""
        refusal = check_messages_request(body, counting=True) or check_context(body, betas)
        if refusal is not None:
            return refused(refusal, _WIRE, request_id)
        whole = since_compaction(list(render_order(body)))
        shown = edit_prompt(body, whole, self._meter.tokens).shown
        counted: dict[str, object] = {"input_tokens": self._count(shown)}
        if body.get("context_management") is not None:
            counted["context_management"] = {"original_input_tokens": self._count(whole)}
        return Served(200, write_document(counted, delivery=Delivery(), fault=None))

    def _prepare(self, body: Mapping[str, object], betas: str) -> _Ready | Refusal:
        """Check a request in the provider's order, and find what its model is shown."""
        refusal = check_finished(body) or check_messages_request(body) or check_context(body, betas)
        if refusal is not None:
            return refusal
        prompt = since_compaction(list(render_order(body)))
        if (refusal := self._compactor.check(prompt)) is not None:
            return refusal
        verdict = self._ledger.verify(body, prompt, resumed=self._compactor.resumed(prompt, head=_head(prompt)))
        if verdict.refusal is not None:
            return verdict.refusal
        whole = tuple(placed for placed in prompt if placed.path not in verdict.dropped)
        edited = edit_prompt(body, whole, self._meter.tokens)
        tokens = self._count(edited.shown)
        if tokens > self._rules.window_tokens:
            return Refusal(f"prompt is too long: {tokens} tokens > {self._rules.window_tokens} maximum")
        applied = edited.applied if body.get("context_management") is not None else None
        return _Ready(body, verdict, whole, edited.shown, applied, tokens)

    def _answer(self, ready: _Ready, turn: Turn, number: int, betas: str) -> Answer:
        said = self._say(ready, turn, number)
        identifier, body = f"msg_{number:08d}", ready.body
        now = fingerprint(body, said.prompt)
        diagnostics = _scripted_diagnostics(turn.aside.miss)
        if diagnostics is None and (previous := previous_message(body)) is not None:
            read = said.prompt.read or 0
            diagnostics = diagnose(self._fingerprints.get(previous), now, read_tokens=read)
        self._fingerprints[identifier] = now
        asked = isinstance(body.get("diagnostics"), dict)
        return Answer(
            id=identifier,
            model=turn.aside.served_by or as_text(body.get("model")),
            content=said.content,
            stop_reason=said.stop_reason,
            told=account(said.usage, said.aside),
            transformations=_transformations(ready.verdict, turn.aside) if BINDING_BETA in betas else None,
            diagnostics=diagnostics if asked else None,
            asked_diagnostics=asked,
            applied_edits=ready.applied,
        )

    def _say(self, ready: _Ready, turn: Turn, number: int) -> _Said:
        """Make the blocks of an answer: a summary where one is due, and what the script says."""
        body, verdict, shown = ready.body, ready.verdict, ready.shown
        prompt = self._meter.messages(body, shown=shown)
        usage, aside = prompt, turn.aside
        content: tuple[Mapping[str, object], ...] = ()
        if block := self._summary(ready):
            content = (block,)
            written = messages_output_tokens(content)
            read = replace(prompt, fresh=(prompt.fresh or 0) + instruction_tokens(body), output=written)
            aside = replace(aside, steps=(*aside.steps, Step("compaction", read)))
            if on_demand(body) or pauses(body):
                return _Said(content, "compaction", prompt, None, replace(aside, served_by=None))
            shown = _behind(shown, block, body)
            verdict = replace(verdict, prefix=prefix_digest(shown))
            usage = self._meter.messages(body, shown=shown)
        parts = turn.parts if body.get("max_tokens") != 0 else ()
        said = build_content(parts, number=number, body=body, verdict=verdict, ledger=self._ledger)
        reason = stop_reason(turn, called=any(block["type"] == "tool_use" for block in said))
        usage = replace(usage, output=messages_output_tokens(said))
        return _Said((*content, *said), reason if parts else "max_tokens", prompt, usage, aside)

    def _summary(self, ready: _Ready) -> Mapping[str, object] | None:
        """Write the summary that was asked for, or that is due; `None` where neither is."""
        if on_demand(ready.body):
            head, prefix = _head(ready.shown), ready.verdict.prefix
            return self._compactor.on_demand(ready.body, ready.whole, head=head, prefix=prefix)
        due = threshold(ready.body)
        if due is None or ready.tokens < due:
            return None
        return self._compactor.at_threshold(ready.body, ready.shown)

    def _choose(self, ready: _Ready, number: int) -> Turn:
        tools = offered_tools(ready.body)
        made = self._compactor.turns(ready.shown)
        asked = Asked(_WIRE, ready.body, number, made, tuple(tool.name for tool in tools))
        return choose(self._script, asked, tools)

    def _count(self, prompt: Sequence[Placed]) -> int:
        return sum(self._meter.tokens(placed) for placed in prompt)


def _head(prompt: Sequence[Placed]) -> bytes:
    return prefix_digest(placed for placed in prompt if placed.message < 0)


def _behind(shown: Sequence[Placed], block: Mapping[str, object], body: Mapping[str, object]) -> tuple[Placed, ...]:
    """Give the prompt that is left when a summary stands for the messages.

    The mark that the provider sets by itself on the last block is then on the summary.
    """
    path = list(marks(body))[-1] if body.get("cache_control") is not None else "compaction"
    head = [placed for placed in shown if placed.message < 0]
    return (*head, Placed(path, shown[-1].message, "assistant", block))


def _transformations(verdict: ThinkingVerdict, aside: Aside) -> list[dict[str, str]]:
    scripted = [
        {"type": kind, "path": f"messages.1.content.{place}", "reason": reason}
        for place, (kind, reason) in enumerate(aside.transformations)
    ]
    return verdict.transformations + scripted


def _scripted_diagnostics(miss: Miss | None) -> dict[str, object] | None:
    if miss is None:
        return None
    tokens = {} if miss.tokens is None else {"cache_missed_input_tokens": miss.tokens}
    return {"cache_miss_reason": {"type": miss.reason, **tokens}}
