"""Agents that speak through the official SDKs to a gateway in front of a strict upstream, all on one clock."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import anthropic
import openai
import pytest
from cases.through import Gate, gateway, send

from coldpress.config import Settings
from coldpress.stores.base import LedgerEntry, Store
from coldpress.stores.memory import MemoryStore
from coldpress.testing import Exchange, Rules, Script, StrictUpstream

Json = dict[str, Any]
Ttl = Literal["5m", "1h"]

AT = 1_795_000_000.0
"""A day in November 2026, in seconds since 1970."""

MINUTE = 60.0
PATIENCE_SECONDS = 10.0
HEAD = "You are an agent in a repository. Work in small steps and say what you found. " * 160
TOOLS = ("Bash", "Read")


@dataclass
class Clock:
    """The time of a whole scene; it moves only when told to."""

    now: float = AT

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


@dataclass(frozen=True)
class Turn:
    """One request of an agent: what it sent, what reached the upstream, what the ledger holds."""

    body: bytes
    exchange: Exchange
    found: LedgerEntry | None

    @property
    def entry(self) -> LedgerEntry:
        """The request in the ledger; fails where it passed through unread."""
        assert self.found is not None
        return self.found

    @property
    def sent(self) -> bytes:
        """The body that reached the upstream."""
        return self.exchange.request.body

    @property
    def read(self) -> int:
        """Tokens that the upstream read from its cache."""
        assert self.exchange.usage is not None
        assert self.exchange.usage.read is not None
        return self.exchange.usage.read

    @property
    def prompt(self) -> int:
        """Tokens of the prompt, as the upstream counted them."""
        assert self.exchange.usage is not None
        assert self.exchange.usage.prompt is not None
        return self.exchange.usage.prompt

    @property
    def cut(self) -> str | None:
        """Why aged results were made smaller, or were not; `None` where there were none."""
        return self.entry.receipt.cut.reason if self.entry.receipt.cut else None


@dataclass
class Scene:
    """A gateway in front of a strict upstream, and the clock they share."""

    gate: Gate
    upstream: StrictUpstream
    clock: Clock

    @property
    def newest(self) -> Exchange:
        """The newest request of a client's: summaries that the gateway asks for come between them at any time."""
        return next(one for one in reversed(self.upstream.inference) if "compaction" not in one.request.json)

    def ended(self, request_id: str) -> LedgerEntry:
        """Wait until the ledger knows how a request ended: that is a moment after the client has its reply."""
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            self.gate.store.flush()
            entry = self.gate.store.receipt(request_id)
            if entry is not None and entry.outcome is not None:
                return entry
            time.sleep(0.001)
        raise AssertionError(f"the ledger does not know how {request_id} ended")

    def stats(self) -> Json:
        """What `/stats` says of the decisions."""
        found: Json = json.loads(send(self.gate.url, "GET", "/stats", b"").body)["decisions"]
        return found


@contextmanager
def scene(
    script: Script,
    *,
    rules: Rules | None = None,
    settings: Settings | None = None,
    store: Store | None = None,
    provider: str = "anthropic",
) -> Iterator[Scene]:
    """Set the stage; `provider` names whose prices and cache rules hold."""
    clock = Clock()
    with (
        StrictUpstream(script, rules=rules, clock=clock) as upstream,
        restarted(upstream, clock, settings=settings, store=store, provider=provider) as ready,
    ):
        yield ready


@contextmanager
def restarted(
    upstream: StrictUpstream,
    clock: Clock,
    *,
    settings: Settings | None = None,
    store: Store | None = None,
    provider: str = "anthropic",
) -> Iterator[Scene]:
    """Start a gateway in front of an upstream that is there already."""
    held = store if store is not None else MemoryStore(clock=clock)
    with gateway(upstream.url, settings, store=held, name=provider, clock=clock) as gate:
        yield Scene(gate, upstream, clock)


def file_or_output(command: str) -> str:
    """What a command or a file gives: some 2,000 tokens, no two alike."""
    return "\n".join(f"{command} step {n:03}: built object {n * 7919 % 10_007} from part {n % 13}" for n in range(90))


class Walking:
    """What takes one step after the other; the agents below say how one is taken."""

    scene: Scene
    turns: list[Turn]

    def step(self) -> Turn:
        """Send the conversation, note the answer, and run the tools it calls."""
        raise NotImplementedError

    def go(self, turns: int, *, pace_seconds: float = 30.0) -> list[Turn]:
        """Take so many turns, each some time after the last; gives all turns so far."""
        for _ in range(turns):
            self.step()
            self.scene.clock.wait(pace_seconds)
        return self.turns


@dataclass
class Agent(Walking):
    """An agent on the Messages wire, with cache marks like those of Claude Code.

    Attributes:
        scene: where it runs.
        ttl: lifetime that its marks ask for.
        stream: whether it asks for streams.
        output: gives what a tool call comes back with.
        top: more fields of the request.
        headers: more headers.
        said: the conversation so far, ready to be sent.
    """

    scene: Scene
    ttl: Ttl = "1h"
    stream: bool = False
    model: str = "claude-sonnet-4-6"
    output: Callable[[str], str] = file_or_output
    top: Json = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    said: list[Json] = field(default_factory=lambda: [{"role": "user", "content": "Find the bug and repair it."}])
    turns: list[Turn] = field(default_factory=list)

    def step(self) -> Turn:
        """Send the conversation, note the answer, and run the tools it calls."""
        bodies: list[bytes] = []
        with self._client(bodies) as client:
            message, request_id = self._ask(client)
        found = self.scene.ended(request_id) if request_id else None
        turn = Turn(bodies[-1], self.scene.newest, found)
        self.turns.append(turn)
        content = [block.to_dict() for block in message.content]
        self.said.append({"role": "assistant", "content": content})
        if results := [self._result(block) for block in content if block["type"] == "tool_use"]:
            self.said.append({"role": "user", "content": results})
        return turn

    def fail(self) -> Turn:
        """Send the conversation and get no answer that could be used; it stays as it is."""
        bodies: list[bytes] = []
        with self._client(bodies) as client, pytest.raises(anthropic.APIError):
            self._ask(client)
        (newest,) = self.scene.gate.store.receipts(limit=1, lineage=None, before=None)
        return Turn(bodies[-1], self.scene.newest, self.scene.ended(newest.receipt.request_id))

    def _client(self, bodies: list[bytes]) -> anthropic.Anthropic:
        http = noting(bodies, anthropic)
        return anthropic.Anthropic(base_url=self.scene.gate.url, api_key="k", max_retries=0, http_client=http)

    def _ask(self, client: anthropic.Anthropic) -> tuple[anthropic.types.Message, str | None]:
        request: Json = {
            "model": self.model,
            "max_tokens": 4000,
            "system": [{"type": "text", "text": HEAD, "cache_control": self._mark}],
            "tools": [{"name": name, "input_schema": {"type": "object", "properties": {}}} for name in TOOLS],
            "messages": self._marked(),
            "extra_headers": {"user-agent": "claude-cli/2.1.0 (external, cli)", **self.headers},
            **self.top,
        }
        if self.stream:
            with client.messages.stream(**request) as stream:
                return stream.get_final_message(), stream.response.headers.get("x-coldpress-request")
        raw = client.messages.with_raw_response.create(**request)
        return raw.parse(), raw.headers.get("x-coldpress-request")

    @property
    def _mark(self) -> Json:
        return {"type": "ephemeral", "ttl": self.ttl} if self.ttl == "1h" else {"type": "ephemeral"}

    def _marked(self) -> list[Json]:
        """The conversation with a mark on its last block, as Claude Code sets it."""
        *before, last = self.said
        content = last["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        return [*before, {**last, "content": [*blocks[:-1], {**blocks[-1], "cache_control": self._mark}]}]

    def _result(self, call: Json) -> Json:
        asked = next(iter(call["input"].values()))
        return {"type": "tool_result", "tool_use_id": call["id"], "content": self.output(str(asked))}


@dataclass
class ChatAgent(Walking):
    """An agent on the Chat Completions wire; `reasoning` sends `reasoning_content` back, as DeepSeek wants it."""

    scene: Scene
    stream: bool = False
    model: str = "gpt-5.3-codex"
    output: Callable[[str], str] = file_or_output
    reasoning: bool = False
    said: list[Json] = field(
        default_factory=lambda: [
            {"role": "system", "content": HEAD},
            {"role": "user", "content": "Find the bug and repair it."},
        ]
    )
    turns: list[Turn] = field(default_factory=list)

    def step(self) -> Turn:
        """Send the conversation, note the answer, and run the tools it calls."""
        bodies: list[bytes] = []
        client = openai.OpenAI(
            base_url=f"{self.scene.gate.url}/v1", api_key="k", max_retries=0, http_client=noting(bodies, openai)
        )
        with client:
            message, request_id = self._ask(client)
        entry = self.scene.ended(request_id)
        turn = Turn(bodies[-1], self.scene.upstream.inference[-1], entry)
        self.turns.append(turn)
        self.said.append(message)
        for call in message.get("tool_calls", ()):
            asked = next(iter(json.loads(call["function"]["arguments"]).values()))
            self.said.append({"role": "tool", "tool_call_id": call["id"], "content": self.output(str(asked))})
        return turn

    def _ask(self, client: openai.OpenAI) -> tuple[Json, str]:
        function = {"parameters": {"type": "object", "properties": {}}}
        request: Json = {
            "model": self.model,
            "messages": self.said,
            "tools": [{"type": "function", "function": {"name": name, **function}} for name in TOOLS],
        }
        if self.stream:
            with client.chat.completions.with_streaming_response.create(
                **request, stream=True, stream_options={"include_usage": True}
            ) as raw:
                return joined(list(raw.parse())), raw.headers["x-coldpress-request"]
        whole = client.chat.completions.with_raw_response.create(**request)
        message = whole.parse().choices[0].message.to_dict()
        return {key: value for key, value in message.items() if value is not None}, whole.headers["x-coldpress-request"]


@dataclass
class ResponsesAgent(Walking):
    """An agent on the Responses wire that keeps its history itself, and sends sealed reasoning back."""

    scene: Scene
    stream: bool = False
    model: str = "gpt-5.6-sol"
    output: Callable[[str], str] = file_or_output
    said: list[Json] = field(default_factory=lambda: [{"role": "user", "content": "Find the bug and repair it."}])
    tools: tuple[str, ...] = TOOLS
    top: Json = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)

    def step(self) -> Turn:
        """Send the conversation, note the answer, and run the tools it calls."""
        bodies: list[bytes] = []
        client = openai.OpenAI(
            base_url=f"{self.scene.gate.url}/v1", api_key="k", max_retries=0, http_client=noting(bodies, openai)
        )
        with client:
            items, request_id = self._ask(client)
        turn = Turn(bodies[-1], self.scene.upstream.inference[-1], self.scene.ended(request_id))
        self.turns.append(turn)
        self.said += items
        for call in items:
            if call["type"] == "function_call":
                asked = next(iter(json.loads(call["arguments"]).values()))
                found = self.output(str(asked))
                self.said.append({"type": "function_call_output", "call_id": call["call_id"], "output": found})
        return turn

    def _ask(self, client: openai.OpenAI) -> tuple[list[Json], str]:
        request: Json = {
            "model": self.model,
            "instructions": HEAD,
            "input": self.said,
            "tools": [
                {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}}
                for name in self.tools
            ],
            "store": False,
            "include": ["reasoning.encrypted_content"],
            **self.top,
        }
        if self.stream:
            with client.responses.with_streaming_response.create(**request, stream=True) as raw:
                last = list(raw.parse())[-1]
                assert last.type == "response.completed", last
                return [item.to_dict() for item in last.response.output], raw.headers["x-coldpress-request"]
        whole = client.responses.with_raw_response.create(**request)
        return [item.to_dict() for item in whole.parse().output], whole.headers["x-coldpress-request"]


def joined(chunks: list[Any]) -> Json:
    """Put the chunks of a stream together, as an agent would."""
    message: Json = {"role": "assistant", "content": ""}
    calls: dict[int, Json] = {}
    for delta in (choice.delta for chunk in chunks for choice in chunk.choices):
        message["content"] += delta.content or ""
        if thought := getattr(delta, "reasoning_content", None):
            message["reasoning_content"] = message.get("reasoning_content", "") + thought
        for part in delta.tool_calls or ():
            call = calls.setdefault(part.index, {"type": "function", "function": {"name": "", "arguments": ""}})
            call |= {"id": part.id} if part.id else {}
            call["function"]["name"] += part.function.name or ""
            call["function"]["arguments"] += part.function.arguments or ""
    return {**message, "tool_calls": [calls[n] for n in sorted(calls)]} if calls else message


def noting(bodies: list[bytes], sdk: Any) -> Any:
    """The SDK's own HTTP client, noting the bodies that it sends."""
    return sdk.DefaultHttpxClient(
        verify=False, event_hooks={"request": [lambda request: bodies.append(request.content)]}
    )
