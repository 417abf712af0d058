"""The reference experiment in small: its settings, a scripted model that searches and reads, and an agent that acts.

The settings are those that the design describes: the files themselves are not part of the repository.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import openai
from cases.agents import Clock, Json, Scene, joined, noting, restarted

from coldpress.config import Settings
from coldpress.config.load import Overrides, load
from coldpress.model.records import Operation
from coldpress.model.usage import Usage
from coldpress.stores.base import LedgerEntry
from coldpress.testing import Asked, Call, Exchange, Part, Rules, Say, Script, StrictUpstream, Turn
from coldpress.testing.chat_wire import CacheFields

Arm = Literal["control", "deterministic", "model_gated"]
Prices = Mapping[str, float]

PROVIDER: Final = "deepseek"
MODEL: Final = "deepseek-v4-pro"
SUMMARISER: Final = "deepseek-v4-flash"
RERUN: Final = "Repeat the search to recover every result."
PRO: Final[Prices] = {
    "input_usd_per_mtok": 0.435,
    "output_usd_per_mtok": 0.87,
    "cache_read_usd_per_mtok": 0.003625,
    "cache_write_usd_per_mtok": 0.435,
}
FLASH: Final[Prices] = {
    "input_usd_per_mtok": 0.14,
    "output_usd_per_mtok": 0.28,
    "cache_read_usd_per_mtok": 0.0028,
    "cache_write_usd_per_mtok": 0.14,
}
READS_IN_FULL: Final[Prices] = {**PRO, "cache_read_usd_per_mtok": PRO["input_usd_per_mtok"]}
"""What is read from the cache costs what is not: the prices at which a summary pays."""


def policies(grep: Literal["keyword", "model"]) -> list[Json]:
    """The rules of both arms, in order."""
    return [
        {"match": "read*", "mode": "exact"},
        {"match": "view*", "mode": "exact"},
        {"match": "web_search", "mode": "deterministic", "first_pass": True, "rerun": RERUN},
        {"match": "grep*", "mode": grep},
    ]


def reference_file(arm: Arm, *, pro: Prices = PRO) -> Json:
    """The settings file of an arm, as JSON; control's is that of the deterministic arm without its plugins."""
    if arm == "model_gated":
        compactor = {"expected_applications": 6, "tool_policies": policies("model")}
        return {
            "providers": {
                PROVIDER: {
                    "url": "https://api.deepseek.com/beta",
                    "format": "openai",
                    "pricing": {MODEL: dict(pro), SUMMARISER: dict(FLASH)},
                }
            },
            "plugins": {"order": ["schema_translator", "intent", "compactor"], "config": {"compactor": compactor}},
            "offload": {"enabled": True, "provider": PROVIDER, "model": SUMMARISER},
        }
    found: Json = {
        "providers": {
            PROVIDER: {"url": "https://api.deepseek.com", "format": "openai"},
            f"{PROVIDER}-anthropic": {"url": "https://api.deepseek.com/anthropic", "format": "anthropic"},
        },
        "plugins": {
            "order": ["schema_translator", "intent", "keyword_compactor"],
            "config": {"keyword_compactor": {"tool_policies": policies("keyword")}},
        },
        "offload": {"enabled": False, "provider": PROVIDER, "model": SUMMARISER},
        "limits": {"concurrency": 10, "rpm": 100},
    }
    if arm == "control":
        del found["plugins"]
        found["default_policy"] = False
    return found


def loaded(file: Path, url: str, operation: Operation | None = None) -> Settings:
    """Read a settings file as `coldpress serve --provider-url deepseek=URL --operation OPERATION` does."""
    said = Overrides(provider_urls=((PROVIDER, url),), operation=operation)
    return load(file, environ={"HOME": str(file.parent)}, overrides=said)


# The task: what the tools give, and what the model does.

WEB: Final = "\n\n".join(
    f"[{n}] Retries in version {n}.{n * 7 % 10} of the client library\nhttps://docs.example.org/client/{n}/retries\n"
    + " ".join(f"Release {n} retries a request {n + k} times before it gives up." for k in range(6))
    for n in range(1, 31)
)
GREP: Final = "\n".join(
    f"src/client/part_{n % 29:02}.py:{n}:    "
    + (f"retry_budget = RetryBudget(limit={n})" if n % 40 == 7 else f"value_{n} = compute({n}, 'part {n * 17 % 101}')")
    for n in range(1, 241)
)
PURPOSE: Final = "Find where retry_budget is set"


def source(path: str, lines: int = 60, first: int = 1) -> str:
    """A part of a file as the reading tool shows it."""
    name = path.removesuffix(".py")
    return "\n".join(f"{n:>6}\tdef {name}_{n}(): return {n * 31 % 997}" for n in range(first, first + lines))


def output(tool: str, arguments: Mapping[str, object]) -> str:
    """What a tool gives back."""
    if tool == "web_search":
        return WEB
    return GREP if tool == "grep" else source(str(arguments["path"]))


@dataclass(frozen=True)
class Tool:
    """A tool of the agent; its schema is closed, so that a field of somebody else's would not pass it.

    Attributes:
        argument: a text, which every call has.
        numbers: whole numbers that a call may have.
    """

    name: str
    argument: str
    numbers: tuple[str, ...] = ()

    @property
    def schema(self) -> Json:
        numbers = {name: {"type": "integer"} for name in self.numbers}
        env = {"type": "object", "additionalProperties": TEXT}
        return {
            "type": "object",
            "properties": {self.argument: TEXT, **numbers, "env": env},
            "required": [self.argument],
            "additionalProperties": False,
        }

    def accepts(self, arguments: Mapping[str, object]) -> bool:
        """Whether arguments have the shape that the schema asks for."""
        env = arguments.get("env", {})
        return (
            {self.argument} <= arguments.keys() <= {self.argument, "env", *self.numbers}
            and isinstance(arguments[self.argument], str)
            and all(isinstance(arguments.get(name, 1), int) for name in self.numbers)
            and isinstance(env, dict)
            and all(isinstance(value, str) for value in env.values())
        )


TEXT: Final = {"type": "string"}
TOOLS: Final = (Tool("web_search", "query"), Tool("grep", "pattern"), Tool("read", "path", ("offset", "limit")))
TOOL: Final = {tool.name: tool for tool in TOOLS}

SEARCH_TURN: Final = 1
"""Number of the request that shows the result of the web search first."""
GREP_TURN: Final = 2
"""Number of the request that shows the result of grep first, beside a read."""
READS: Final = ("budget.py", "client.py", "pool.py", "wire.py")


def steps() -> tuple[tuple[Part, ...], ...]:
    """What the model does, turn by turn; every call says what it is for where it is asked to."""
    return (
        (Say("I look at what is known."), Call("web_search", {"query": "client library retries"}, "See the defaults")),
        (
            Say("Two things at once."),
            Call("grep", {"pattern": "retry_budget"}, PURPOSE),
            Call("read", {"path": "retry.py"}, "Read the retries"),
        ),
        *((Say(f"Next is {path}."), Call("read", {"path": path}, f"Read {path}")) for path in READS),
    )


REQUESTS: Final = len(steps()) + 1
CALLS: Final = sum(isinstance(part, Call) for step in steps() for part in step)


def summary(asked: Asked) -> str:
    """What the summariser answers: lines of the output that it was shown."""
    shown = json.dumps(asked.body["messages"], ensure_ascii=False)
    assert GREP.splitlines()[6] in shown
    return "\n".join(line for line in GREP.splitlines() if "retry_budget" in line)


def script() -> Script:
    """The model of the task, and the summariser, at one address."""
    turns = tuple(Turn(parts) for parts in steps())

    def answer(asked: Asked) -> Turn | None:
        return Turn((Say(summary(asked)),)) if asked.body["model"] == SUMMARISER else None

    return Script(turns=turns, closing=Turn((Say("The budget is set in one place."),)), answer=answer)


@dataclass(frozen=True)
class Sent:
    """One request of the agent: its name, what it sent, what reached the upstream."""

    request_id: str
    body: bytes
    exchange: Exchange

    @property
    def upstream(self) -> bytes:
        """The body that reached the upstream."""
        return self.exchange.request.body

    @property
    def usage(self) -> Usage:
        """What the upstream billed."""
        assert self.exchange.usage is not None
        return self.exchange.usage

    def shown(self, tool: str) -> list[str]:
        """What the upstream was shown as the results of a tool, in order."""
        return results(self.exchange.request.json, tool)

    def calls(self) -> list[Json]:
        """Name and arguments of all calls in the history, as the upstream was shown them."""
        return [call["function"] for call in _calls(self.exchange.request.json)]


def results(body: Mapping[str, Any], tool: str) -> list[str]:
    """The results of a tool in a request, in order."""
    names = {call["id"]: call["function"]["name"] for call in _calls(body)}
    return [m["content"] for m in body["messages"] if m["role"] == "tool" and names[m["tool_call_id"]] == tool]


def _calls(body: Mapping[str, Any]) -> list[Json]:
    return [call for message in body["messages"] for call in message.get("tool_calls", ())]


@dataclass
class Agent:
    """An agent on the SDK that checks what it is asked to do against its own schemas.

    Attributes:
        url: of the gateway.
        upstream: behind it.
        stream: whether it asks for streams.
        clock: moves on with each request.
        said: the conversation so far.
        sent: its requests so far.
        done: gives what a tool gives back.
    """

    url: str
    upstream: StrictUpstream
    stream: bool = True
    clock: Clock = field(default_factory=Clock)
    done: Callable[[str, Mapping[str, object]], str] = output
    said: list[Json] = field(
        default_factory=lambda: [
            {"role": "system", "content": "You are an agent in a repository. " * 40},
            {"role": "user", "content": "Where is the retry budget set?"},
        ]
    )
    sent: list[Sent] = field(default_factory=list)

    def run(self, most: int = 2 * REQUESTS) -> list[Sent]:
        """Work until the model has an answer; fails where it needs more requests than it should."""
        for _ in range(most):
            message = self._ask()
            self.said.append(message)
            calls = message.get("tool_calls", ())
            if not calls:
                return self.sent
            for call in calls:
                self.said.append({"role": "tool", "tool_call_id": call["id"], "content": self._do(call["function"])})
            self.clock.wait(20)
        raise AssertionError(f"no answer after {most} requests")

    def _do(self, function: Mapping[str, str]) -> str:
        """Run a call as an agent with a schema check of its own does."""
        arguments = json.loads(function["arguments"])
        assert TOOL[function["name"]].accepts(arguments), function
        return self.done(function["name"], arguments)

    def _ask(self) -> Json:
        bodies: list[bytes] = []
        address = f"{self.url}/provider/{PROVIDER}/v1"
        before = len(self.asked(MODEL))
        with openai.OpenAI(base_url=address, api_key="k", max_retries=0, http_client=noting(bodies, openai)) as client:
            message, request_id = self._answer(client)
        (exchange,) = self.asked(MODEL)[before:]
        self.sent.append(Sent(request_id, bodies[-1], exchange))
        return message

    def _answer(self, client: openai.OpenAI) -> tuple[Json, str]:
        offered = [{"type": "function", "function": {"name": t.name, "parameters": t.schema}} for t in TOOLS]
        request: Json = {"model": MODEL, "messages": self.said, "tools": offered}
        if self.stream:
            with client.chat.completions.with_streaming_response.create(
                **request, stream=True, stream_options={"include_usage": True}
            ) as raw:
                return joined(list(raw.parse())), raw.headers["x-coldpress-request"]
        whole = client.chat.completions.with_raw_response.create(**request)
        message: Json = whole.parse().choices[0].message.to_dict()
        return {key: value for key, value in message.items() if value is not None}, whole.headers["x-coldpress-request"]

    def asked(self, model: str) -> list[Exchange]:
        """What a model was asked."""
        return [one for one in self.upstream.inference if one.request.json["model"] == model]


@dataclass(frozen=True)
class Played:
    """A run: its requests, what the ledger holds of each, what `/stats` says, what the summariser was asked."""

    sent: tuple[Sent, ...]
    entries: tuple[LedgerEntry, ...]
    stats: Json
    summaries: tuple[Exchange, ...]


def settings_file(folder: Path, content: Json) -> Path:
    """Write a settings file."""
    file = folder / "settings.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


@contextmanager
def stage(
    file: Path,
    play: Script | None = None,
    *,
    stream: bool = True,
    operation: Operation | None = None,
    done: Callable[[str, Mapping[str, object]], str] = output,
    cache_fields: CacheFields = "usual",
) -> Iterator[tuple[Agent, Scene]]:
    """Serve a settings file in front of a strict upstream that has DeepSeek's cache and usage fields."""
    clock, rules = Clock(), Rules(dialect="deepseek", cache_fields=cache_fields)
    with StrictUpstream(play or script(), rules=rules, clock=clock) as upstream:
        settings = loaded(file, upstream.url, operation)
        with restarted(upstream, clock, settings=settings, provider=PROVIDER) as scene:
            yield Agent(scene.gate.url, upstream, stream, clock, done), scene


def play(
    file: Path, *, stream: bool, operation: Operation | None = None, cache_fields: CacheFields = "usual"
) -> Played:
    """Run the task with a settings file."""
    with stage(file, stream=stream, operation=operation, cache_fields=cache_fields) as (agent, scene):
        sent = tuple(agent.run())
        entries = tuple(scene.ended(one.request_id) for one in sent)
        return Played(sent, entries, scene.stats(), tuple(agent.asked(SUMMARISER)))
