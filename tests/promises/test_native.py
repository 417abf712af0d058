"""Promise: what a provider does to a prompt by itself is asked for beside the client, and billed to the token."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import pytest
from cases.talk import log
from missed import none_is_ours
from provider import SOON, START, Json
from support import settings
from wired import HEADERS

from coldpress.drive import Driver
from coldpress.engine.native import Native
from coldpress.engine.policy import Policy, Rule
from coldpress.gateway.serve import serving
from coldpress.gateway.settings import gateway_settings
from coldpress.model.records import Outcome, Receipt
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore
from coldpress.testing import Asked, Call, Rules, Say, Script, StrictUpstream, Turn
from coldpress.testing.exchange import Exchange

KEPT = Policy((Rule("*", ("exact",)),))
"""So that prompts are as long as they are written."""

CLIENTS = frozenset({"claude-cli"})
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
ROOMY = Rules(window_tokens=400_000)
SYSTEM = "You are an agent that works on one repository. " * 60


@dataclass(frozen=True)
class Told:
    """One request: what the upstream got and billed, and what the ledger says of it."""

    exchange: Exchange
    receipt: Receipt
    outcome: Outcome

    @property
    def body(self) -> Mapping[str, Any]:
        return self.exchange.request.json

    @property
    def betas(self) -> str:
        return self.exchange.request.header("anthropic-beta") or ""

    @property
    def asked(self) -> tuple[str, ...]:
        return () if self.receipt.native is None else self.receipt.native.asked

    @property
    def declined(self) -> set[str]:
        return set() if self.receipt.native is None else {one.why for one in self.receipt.native.declined}

    @property
    def applied(self) -> set[str]:
        return {one.primitive for one in self.outcome.applied}

    @property
    def input_tokens(self) -> int:
        """Of the whole prompt, as billed."""
        assert self.exchange.usage is not None and self.exchange.usage.prompt is not None
        return self.exchange.usage.prompt


class Client:
    """An agent that sends its whole history each time, and what came back in it; `drops` leaves out what is named."""

    path = "/v1/messages"

    def __init__(self, *, drops: str = "", lines: int = 600, betas: str = "", **fields: Any) -> None:
        self.drops, self.lines, self.fields = drops, lines, fields
        self.streams = fields.get("stream") is True
        self.headers = HEADERS | ({"anthropic-beta": betas} if betas else {})
        self.history: list[Json] = [{"role": "user", "content": "Make it."}]

    def body(self) -> Json:
        tools = [{"name": "Bash", "description": "Runs a command.", "input_schema": {"type": "object"}}]
        mark = {"type": "ephemeral"}
        return {
            "model": "claude-opus-4-8",
            "max_tokens": 1000,
            "system": [{"type": "text", "text": SYSTEM, "cache_control": mark}],
            "tools": tools,
            "messages": self._marked(mark),
            **self.fields,
        }

    def _marked(self, mark: Json) -> list[Json]:
        """The history with a cache mark on its last block, where clients set it."""
        *before, last = self.history
        content = last["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        blocks[-1] = {**blocks[-1], "cache_control": mark}
        return [*before, {**last, "content": blocks}]

    def raw(self) -> bytes:
        """Write the next request."""
        return json.dumps(self.body(), separators=(",", ":")).encode()

    def read(self, answer: bytes) -> Json:
        """Read a reply, whole or streamed."""
        return joined(events(answer)) if self.streams else json.loads(answer)

    def take(self, reply: Mapping[str, Any], turn: int) -> None:
        content = [one for one in reply["content"] if one["type"] != self.drops]
        self.history.append({"role": "assistant", "content": content})
        results = [
            {"type": "tool_result", "tool_use_id": one["id"], "content": log(f"n{turn}", self.lines)}
            for one in content
            if one["type"] == "tool_use"
        ]
        self.history.append({"role": "user", "content": results or "And now?"})


class ResponsesClient(Client):
    """The same on the Responses API, where nothing stays at the server."""

    path = "/v1/responses"

    def __init__(self, *, drops: str = "", lines: int = 600, **fields: Any) -> None:
        super().__init__(drops=drops, lines=lines, **fields)
        self.history = [{"type": "message", "role": "user", "content": "Make it."}]

    def body(self) -> Json:
        tool = {"type": "function", "name": "Bash", "description": "Runs.", "parameters": {"type": "object"}}
        return {
            "model": "gpt-5.6-sol",
            "store": False,
            "instructions": SYSTEM,
            "tools": [tool],
            "input": list(self.history),
            **self.fields,
        }

    def read(self, answer: bytes) -> Json:
        """Read a reply, whole or streamed."""
        if not self.streams:
            return super().read(answer)
        response: Json = events(answer)[-1]["response"]
        return response

    def take(self, reply: Mapping[str, Any], turn: int) -> None:
        kept = [one for one in reply["output"] if one["type"] != self.drops]
        self.history += kept
        calls = [one for one in kept if one["type"] == "function_call"]
        for one in calls:
            output = log(f"n{turn}", self.lines)
            self.history.append({"type": "function_call_output", "call_id": one["call_id"], "output": output})
        if not calls:
            self.history.append({"type": "message", "role": "user", "content": "And now?"})


def events(answer: bytes) -> list[Json]:
    """The data of every event of a stream."""
    return [json.loads(line[6:]) for line in answer.decode().splitlines() if line.startswith("data: ")]


def joined(listed: Sequence[Mapping[str, Any]]) -> Json:
    """Put a streamed message together, as an agent would."""
    blocks: list[Json] = []
    asked = ""
    for event in listed:
        if event["type"] == "content_block_start":
            blocks.append(dict(event["content_block"]))
            asked = ""
        elif event["type"] == "content_block_delta":
            delta = {key: value for key, value in event["delta"].items() if key != "type"}
            asked += delta.pop("partial_json", "")
            for key, value in delta.items():
                old = blocks[-1].get(key)
                blocks[-1][key] = old + value if isinstance(old, str) and key in ("text", "thinking") else value
        elif event["type"] == "content_block_stop" and asked:
            blocks[-1]["input"] = json.loads(asked)
    return {"content": blocks}


def talk(native: Native, client: Client, turns: int, store: MemoryStore | None = None) -> list[Told]:
    """Let a client talk through a gateway with a strict upstream."""
    store, now = store or MemoryStore(), [START]
    using = settings(policy=KEPT)

    async def run(url: str, driver: Driver) -> list[str]:
        names = []
        async with (
            serving(gateway_settings(local, control_port=0), driver, clock=lambda: now[0]) as gateway,
            aiohttp.ClientSession() as session,
        ):
            for turn in range(turns):
                now[0] += SOON
                async with session.post(
                    gateway.url + client.path, data=client.raw(), headers=client.headers
                ) as response:
                    answer = await response.read()
                    assert response.status == 200, answer[:400]
                    names.append(response.headers["x-coldpress-request"])
                client.take(client.read(answer), turn)
        return names

    script = Script(answer=lambda asked: _answer(asked, turns))
    with StrictUpstream(script, rules=ROOMY, clock=lambda: now[0]) as upstream:
        rows = (replace(one, url=upstream.url, api_key=None, native=native) for one in using.providers)
        local = replace(using, host="127.0.0.1", port=0, providers=tuple(rows))
        with closing(Driver(local, store, clock=lambda: now[0])) as driver:
            names = asyncio.run(run(upstream.url, driver))
    none_is_ours(store)
    told = []
    for name, exchange in zip(names, upstream.inference, strict=True):
        entry = store.receipt(name)
        assert entry is not None
        assert entry.outcome is not None
        told.append(Told(exchange, entry.receipt, entry.outcome))
    return told


def _answer(asked: Asked, turns: int) -> Turn:
    if asked.number % 4 == 3:
        return Turn((Say("It is made."),))
    return Turn((Say("I will make it."), Call("Bash", {"command": f"make part-{asked.number}"})))


def billed_alike(told: Sequence[Told]) -> None:
    """Fail where the ledger's bill is another than the upstream's own, in any bucket of any model."""
    for one in told:
        assert one.exchange.refusal is None
        assert one.outcome.usage == one.exchange.usage
        assert dict(one.outcome.others) == dict(one.exchange.others)
        assert one.outcome.money is not None and one.outcome.money.bill_usd is not None
    assert sum((one.exchange.usage or Usage()).prompt or 0 for one in told) > 0


@STREAMS
def test_responses_are_compacted_for_a_client_that_sends_the_item_back(stream: bool) -> None:
    told = talk(Native(compaction_tokens=30_000, clients=CLIENTS), ResponsesClient(stream=stream), 12)
    billed_alike(told)
    assert all(one.asked == ("compaction",) for one in told)
    assert {json.dumps(one.body["context_management"]) for one in told} == {
        '[{"type": "compaction", "compact_threshold": 30000}]'
    }
    items = [sum(item["type"] == "compaction" for item in one.body["input"]) for one in told]
    assert items[-1] >= 1
    assert "compaction" in set().union(*(one.applied for one in told))


@STREAMS
def test_a_client_that_loses_the_item_is_billed_for_it_once(stream: bool) -> None:
    told = talk(
        Native(compaction_tokens=30_000, clients=CLIENTS), ResponsesClient(drops="compaction", stream=stream), 12
    )
    billed_alike(told)
    (at,) = [number for number, one in enumerate(told) if "compaction" in one.applied]
    assert all(one.asked == ("compaction",) for one in told[: at + 1])
    assert all(one.declined == {"compaction_dropped"} for one in told[at + 1 :])
    assert len(told) > at + 2


CLEARING = Native(clear_tool_uses=True, clear_trigger_tokens=30_000, clear_keep=2, exclude_tools=("Edit",))


@STREAMS
def test_old_results_are_cleared_as_soon_as_that_pays(stream: bool) -> None:
    told = talk(CLEARING, Client(stream=stream), 12)
    billed_alike(told)
    (edits,) = {json.dumps(one.body["context_management"], sort_keys=True) for one in told}
    assert {one.betas for one in told} == {"context-management-2025-06-27"}
    (edit,) = json.loads(edits)["edits"]
    least = edit["clear_at_least"]["value"]
    assert {one.receipt.native.clear_at_least_tokens for one in told if one.receipt.native} == {least}
    cleared = [found for one in told for found in one.outcome.applied]
    assert cleared and {found.primitive for found in cleared} == {"clear_tool_uses"}
    assert all((found.cleared_tokens or 0) >= least and (found.cleared_tool_uses or 0) > 0 for found in cleared)
    assert told[-1].input_tokens < max(one.input_tokens for one in talk(Native(), Client(stream=stream), 12))


def test_clearing_makes_a_long_conversation_cheaper() -> None:
    def usd(native: Native) -> float:
        told = talk(native, Client(lines=100), 40)
        billed_alike(told)
        return sum(one.outcome.money.bill_usd or 0.0 for one in told if one.outcome.money is not None)

    assert usd(CLEARING) < 0.8 * usd(Native())


def test_a_clearing_that_would_not_pay_is_not_made() -> None:
    """With results this small the server never frees the least that it was told."""
    small = replace(CLEARING, clear_trigger_tokens=3_000, clear_keep=11)
    told = talk(small, Client(lines=20), 8)
    billed_alike(told)
    assert all(one.asked == ("clear_tool_uses",) and not one.outcome.applied for one in told)


def test_reasoning_is_kept_and_never_spoken_of_without_any() -> None:
    thinks = {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 4000}
    both = replace(CLEARING, clear_thinking=True)
    told = talk(both, Client(**thinks), 8)
    billed_alike(told)
    assert all(one.asked == ("clear_thinking", "clear_tool_uses") for one in told)
    told = talk(both, Client(), 8)
    billed_alike(told)
    assert all(one.asked == ("clear_tool_uses",) and one.declined == {"no_thinking"} for one in told)


THRESHOLD = Native(compact_threshold_tokens=50_000, clients=CLIENTS)


@STREAMS
def test_a_summary_is_written_for_a_client_that_sends_it_back(stream: bool) -> None:
    told = talk(THRESHOLD, Client(stream=stream), 14)
    billed_alike(told)
    assert {one.betas for one in told} == {"compact-2026-01-12"}
    assert all(one.asked == ("compact_threshold",) for one in told)
    written = [(number, found) for number, one in enumerate(told) for found in one.outcome.applied]
    assert written
    for number, found in written:
        assert found.primitive == "compact_threshold"
        assert (found.usage.prompt or 0) >= 50_000
        assert (found.usage.output or 0) > 0
        money = told[number].outcome.money
        assert found.usd is not None and money is not None and money.bill_usd is not None
        assert 0 < found.usd < money.bill_usd
    assert len(written) < 4, "one for each time that the prompt has grown so long again"
    assert "compaction" in json.dumps(told[-1].body["messages"])


@STREAMS
def test_a_client_that_loses_the_summary_is_billed_for_it_once(stream: bool) -> None:
    told = talk(THRESHOLD, Client(drops="compaction", stream=stream), 12)
    billed_alike(told)
    (at,) = [number for number, one in enumerate(told) if "compact_threshold" in one.applied]
    assert len(told) > at + 2
    assert all(one.asked == ("compact_threshold",) for one in told[: at + 1])
    assert all(one.declined == {"compaction_dropped"} for one in told[at + 1 :])
    assert all("context_management" not in one.body for one in told[at + 1 :])


def test_a_client_that_nobody_vouches_for_never_gets_one() -> None:
    told = talk(replace(THRESHOLD, clients=frozenset({"another"})), Client(), 8)
    billed_alike(told)
    assert all(one.declined == {"client_unknown"} and not one.applied for one in told)


def test_what_the_client_asks_for_itself_goes_as_it_is() -> None:
    own = {"edits": [{"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 20_000}}]}
    told = talk(
        replace(CLEARING, compact_threshold_tokens=50_000),
        Client(betas="own-1,context-management-2025-06-27", context_management=own),
        8,
    )
    billed_alike(told)
    assert all(one.body["context_management"] == own and one.declined == {"client"} for one in told)
    assert {one.betas for one in told} == {"own-1,context-management-2025-06-27"}
    assert any("clear_tool_uses" in one.applied for one in told), "the ledger tells it all the same"


@STREAMS
def test_the_memory_tool_stands_in_every_prompt_of_a_conversation(stream: bool) -> None:
    later = replace(CLEARING, clear_trigger_tokens=200_000)
    told = talk(replace(later, memory_tool=True, clients=CLIENTS), Client(stream=stream), 8)
    billed_alike(told)
    assert all(one.body["tools"][-1] == {"type": "memory_20250818", "name": "memory"} for one in told)
    assert all((one.exchange.usage or Usage()).read for one in told[2:]), "the prefix is the same"


class DrainedClient(Client):
    """Its gateway drains once a summary has come back."""

    def take(self, reply: Mapping[str, Any], turn: int) -> None:
        super().take(reply, turn)
        if "compaction" in json.dumps(self.history):
            self.headers = {**self.headers, "x-coldpress-mode": "drain"}


@STREAMS
def test_a_drained_conversation_goes_on_with_the_edit_that_its_summary_needs(stream: bool) -> None:
    told = talk(THRESHOLD, DrainedClient(stream=stream), 10)
    billed_alike(told)
    drained = [one for one in told if one.receipt.operation == "drain"]
    assert len(drained) > 2
    assert all("context_management" in one.body and one.betas == "compact-2026-01-12" for one in drained)


@pytest.mark.parametrize("client", [Client, ResponsesClient], ids=["messages", "responses"])
@STREAMS
def test_drained_from_the_start_nothing_is_asked_for(client: type[Client], stream: bool) -> None:
    talker = client(stream=stream)
    talker.headers = {**talker.headers, "x-coldpress-mode": "drain"}
    native = replace(CLEARING, compact_threshold_tokens=50_000, compaction_tokens=30_000, clients=CLIENTS)
    told = talk(native, talker, 8)
    billed_alike(told)
    assert all(one.asked == () and "context_management" not in one.body and not one.betas for one in told)


class UnreadClient(Client):
    """Once a summary has come back, it writes a key twice: nobody may say what such a body means."""

    def raw(self) -> bytes:
        body = super().raw()
        return body[:-1] + b',"metadata":{},"metadata":{}}' if "compaction" in json.dumps(self.history) else body


@STREAMS
def test_what_nobody_can_read_keeps_the_edit_that_its_summary_needs(stream: bool) -> None:
    told = talk(THRESHOLD, UnreadClient(stream=stream), 10)
    assert [one.exchange.refusal for one in told] == [None] * 10
    unread = [one for one in told if "pass_through:unreadable_body" in one.receipt.notes]
    assert len(unread) > 2
    assert all(one.betas == "compact-2026-01-12" for one in unread)
    assert all("context_management" in one.body for one in unread)
