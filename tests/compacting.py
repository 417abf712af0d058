"""Conversations that outgrow a small window, written in both wire formats, and what is asked of every body sent."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bodies import conversation
from cases import talk
from cases.talk import Json
from support import Press, settings

from coldpress.config import Settings
from coldpress.drive import Prepared
from coldpress.engine.budget import BudgetRule, Budgets
from coldpress.model.edits import Batch, Rebuild
from coldpress.model.records import Pressure
from coldpress.stores.base import Store
from coldpress.testing.anthropic_rules import check_messages_request
from coldpress.testing.chat_rules import check_chat_request
from coldpress.wire.registry import FormatName
from coldpress.wire.span import mask_lone_surrogates

FORMATS: tuple[FormatName, ...] = ("anthropic", "openai_chat")
MODEL = "house-model"
"""Of no known family: it binds nothing, and its tokens are those of the estimate."""

TASK = "Repair the parser so that `make check` passes. Keep the public names of src/api.py as they are."


@dataclass(frozen=True)
class Call:
    """One call of a tool and what it gave."""

    id: str
    output: str
    tool: str = "Bash"
    arguments: Json = field(default_factory=dict)
    failed: bool = False

    @property
    def asked(self) -> Json:
        """What it was called with."""
        return self.arguments or {"command": f"make {self.id}"}


@dataclass(frozen=True)
class Step:
    """A reply of the model with its calls, their results, and what the user says behind them."""

    calls: tuple[Call, ...] = ()
    reply: str = ""
    user: str = ""


def run(number: int, lines: int = 60, **more: Any) -> Step:
    """A step with one call whose output nothing else repeats."""
    return Step((Call(f"c{number}", talk.log(f"n{number}", lines)),), **more)


def prose(number: int, words: int = 120) -> Step:
    """A step without a call: nothing in it can be masked."""
    said = " ".join(f"part{number}_{n}" for n in range(words))
    return Step(reply=f"I looked at {said}.", user=f"Go on with {number}.")


def written(name: FormatName, steps: Iterable[Step], task: str = TASK) -> list[Json]:
    """The messages of a conversation."""
    if name == "anthropic":
        return [talk.user(task), *(m for step in steps for m in _anthropic(step))]
    head = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": task}]
    return [*head, *(m for step in steps for m in _chat(step))]


def _anthropic(step: Step) -> list[Json]:
    uses = [talk.use(call.id, call.tool, **call.asked) for call in step.calls]
    results = [talk.result(c.id, c.output, **({"is_error": True} if c.failed else {})) for c in step.calls]
    said = [step.user] if step.user else []
    reply = talk.assistant(*([step.reply] if step.reply else []), *uses)
    return [reply, *([talk.user(*results, *said)] if results or said else [])]


def _chat(step: Step) -> list[Json]:
    calls = [(call.id, call.tool, call.asked) for call in step.calls]
    reply: Json = {"role": "assistant", "content": step.reply or "."}
    if calls:
        reply = {**talk.chat_calls(*calls), "content": step.reply or None}
    said = [{"role": "user", "content": step.user}] if step.user else []
    return [reply, *(talk.chat_result(c.id, c.output) for c in step.calls), *said]


def request(name: FormatName, listed: Sequence[Json], **top: Any) -> bytes:
    """A whole request of these messages."""
    write: Callable[..., bytes] = talk.messages if name == "anthropic" else talk.chat
    return write(*listed, **{"model": MODEL, **top})


def growing(name: FormatName, steps: Sequence[Step], *, since: int = 0, task: str = TASK, **top: Any) -> list[bytes]:
    """The requests of a conversation that grows by a step a request, from `since` steps on."""
    return [request(name, written(name, steps[:n], task), **top) for n in range(since, len(steps) + 1)]


def windowed(window_tokens: int, operation: Any = "press", *, budget: Json | None = None, **changes: Any) -> Settings:
    """The built-in settings with one window for all."""
    rule = BudgetRule(window_tokens=window_tokens, **(budget or {}))
    return settings(operation, budgets=Budgets(rule), **changes)


def valid(body: bytes, name: FormatName) -> Json:
    """What a body says, which the strict server takes."""
    read: Json = json.loads(mask_lone_surrogates(body))
    refusal = check_messages_request(read) if name == "anthropic" else check_chat_request(read)
    assert refusal is None, refusal
    return read


@contextmanager
def faultless() -> Iterator[None]:
    """Nothing of ours goes wrong inside: every fault that is caught is also logged."""
    told: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("coldpress")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
    assert not told, told


def sent(press: Press, bodies: Sequence[bytes], name: FormatName) -> list[Prepared]:
    """Send requests one after the other; every one is read, and comes out valid."""
    with faultless():
        found = press.all(bodies, name)
    for body, prepared in zip(bodies, found, strict=True):
        assert set(prepared.receipt.notes) <= {"head_changed"}, prepared.receipt.notes
        assert prepared.changed or prepared.body is body
        valid(prepared.body, name)
    return found


def applied(prepared: Prepared) -> bool:
    """Whether something was taken out of the prompt under pressure on this request."""
    pressure = prepared.receipt.pressure
    return pressure is not None and pressure.reason in ("masked", "masked_short", "summarised")


def pressure_of(prepared: Prepared) -> Pressure:
    """What came of a prompt above the trigger."""
    assert prepared.receipt.pressure is not None
    return prepared.receipt.pressure


def compacted(found: Sequence[Prepared]) -> list[int]:
    """The numbers of the requests on which messages were summarised."""
    return [n for n, p in enumerate(found) if p.receipt.pressure and p.receipt.pressure.reason == "summarised"]


def batch_of(store: Store, body: bytes, name: FormatName) -> Batch:
    """The batch that was decided on a request."""
    chain = chains(body, name)[-1]
    return store.batches([chain])[chain]


def rebuild_of(store: Store, body: bytes, name: FormatName) -> Rebuild:
    """The messages that left on a request."""
    rebuild = batch_of(store, body, name).rebuild
    assert rebuild is not None
    return rebuild


def chains(body: bytes, name: FormatName) -> list[bytes]:
    """The names of a request's messages."""
    return [message.chain for message in conversation(body, name).messages]


def said_texts(read: Json) -> list[str]:
    """Every text of a decoded request outside tool results, in order."""
    found: list[str] = []
    for message in read["messages"]:
        content = message["content"]
        if isinstance(content, str) and message["role"] != "tool":
            found.append(content)
        elif isinstance(content, list):
            found += [block["text"] for block in content if block["type"] == "text"]
    return found


def raw_messages(body: bytes, name: FormatName) -> list[bytes]:
    """The bytes of every message."""
    return [body[m.span.start : m.span.end] for m in conversation(body, name).messages]


def up_to_messages_end(body: bytes, name: FormatName) -> bytes:
    """A body from its start to the end of its last message."""
    return body[: conversation(body, name).messages[-1].span.end]
