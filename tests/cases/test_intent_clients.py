"""Agents on the official SDKs never meet the reason of a call, and the upstream is shown it again as the model gave it.

The scripted model fills the field first, in the middle and last, not at all and with a number, calls in parallel, and
writes maps as lists. Streams come a character an event. What is a real client's own is tried in `clients/intent.py`.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import anthropic
import openai
import pytest
from bodies import conversation, messages_bytes, without_marks
from cases.agents import Json, Scene, joined, noting, scene
from support import settings as built_in

from coldpress.config import Settings
from coldpress.config.plugin_keys import IntentKeys, PluginConfigKeys
from coldpress.config.plugin_settings import PluginSettings
from coldpress.model.conversation import ToolCall
from coldpress.stores.base import LedgerEntry
from coldpress.testing import Asked, Call, Delivery, Exchange, Say, Script, Turn
from coldpress.wire.registry import FormatName

FIELD: Final = "intent"
MARK: Final = "xqreason"
NO_TEXT: Final = 470_119_552
TEXT: Final[Json] = {"type": "string"}
SCHEMAS: Final[Mapping[str, Json]] = {
    "bash": {
        "type": "object",
        "properties": {
            "command": TEXT,
            "timeout": {"type": "number"},
            "env": {"type": "object", "additionalProperties": TEXT},
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    "read": {"type": "object", "properties": {"path": TEXT, "limit": {"type": "integer"}}, "required": ["path"]},
    "plan": {"type": "object", "properties": {"steps": {"type": "array"}, FIELD: TEXT}, "required": ["steps"]},
}
"""The tools of the client. `plan` has a field of that name itself."""
SERVER_TOOL: Final[Json] = {"type": "web_search_20250305", "name": "web_search"}

KINDS: Final[Mapping[type, str]] = {str: "string", int: "integer", float: "number", list: "array", dict: "object"}


@dataclass(frozen=True)
class Made:
    """A call that the client has to get, and where the model writes its reason."""

    tool: str
    arguments: Json
    where: str

    @property
    def why(self) -> str:
        """What has to become of the reason."""
        words = {"absent": "absent", "number": "not_text", "native": "native"}
        return words.get(self.where, "captured")


ENV: Final[Json] = {"WORD": 'an ü and "quotes"', "OTHER": ""}
TURNS: Final = (
    (Made("bash", {"command": "make é", "timeout": 60.0}, "first"),),
    (Made("read", {"path": "a.py", "limit": 1e2}, "middle"), Made("bash", {"command": "ls", "env": ENV}, "last")),
    (Made("read", {"path": "b.py"}, "number"), Made("bash", {"command": 'echo "\\n"', "env": ENV}, "absent")),
    (Made("plan", {"steps": [1.0, {FIELD: "an argument"}], FIELD: "the client's own"}, "native"),),
    (Made("bash", {"env": ENV, "command": "make"}, "middle"), Made("bash", {"command": "make"}, "absent")),
)
CALLS: Final = tuple(made for turn in TURNS for made in turn)


def as_written(made: Made, schema: Json) -> Json:
    """Give the arguments as the model writes them for the schema at hand."""
    asked = schema["properties"]
    lists = {key for key in made.arguments if asked[key]["type"] == "array" and isinstance(made.arguments[key], dict)}
    members: list[tuple[str, Any]] = [
        (key, [{"key": name, "value": one} for name, one in value.items()] if key in lists else value)
        for key, value in made.arguments.items()
    ]
    if made.where in ("absent", "native") or FIELD not in asked:
        return dict(members)
    at = {"first": 0, "middle": 1, "number": 0}.get(made.where, len(members))
    members.insert(at, (FIELD, NO_TEXT if made.where == "number" else f'{MARK} "{made.tool}" naïve'))
    return dict(members)


def script() -> Script:
    """The model of the task: it fills the field where a schema has it, as a model would."""

    def answer(asked: Asked) -> Turn | None:
        if asked.calls_made >= len(TURNS):
            return None
        schemas = schemas_of(asked.body)
        made = TURNS[asked.calls_made]
        return Turn((Say("Next."), *(Call(one.tool, as_written(one, schemas[one.tool])) for one in made)))

    return Script(answer=answer, delivery=Delivery(delta_characters=1))


def schemas_of(body: Mapping[str, Any]) -> dict[str, Json]:
    """The schemas of a request's function tools, by name."""
    functions = [tool.get("function", tool) for tool in body["tools"]]
    found = {one["name"]: one.get("input_schema") or one.get("parameters") for one in functions}
    return {name: schema for name, schema in found.items() if schema is not None}


def misfits(tool: str, arguments: Json) -> list[str]:
    """Say what a client that checks calls against its schemas would refuse."""
    schema = SCHEMAS[tool]
    unknown = [f"unexpected {key}" for key in arguments if key not in schema["properties"]]
    lacking = [f"missing {key}" for key in schema["required"] if key not in arguments]
    kinds = {key: KINDS[type(value)] for key, value in arguments.items() if key in schema["properties"]}
    allowed = {"integer": ("integer", "number"), "number": ("number", "integer")}
    wrong = [
        f"{key} is {kind}"
        for key, kind in kinds.items()
        if schema["properties"][key]["type"] not in allowed.get(kind, (kind,))
    ]
    return unknown + lacking + wrong


@dataclass
class Way:
    """An SDK, and whether it streams."""

    wire: FormatName
    stream: bool

    def ask(self, stage: Scene, said: list[Json], bodies: list[bytes]) -> tuple[Json, str]:
        """Send the conversation; give the message and the gateway's name for the exchange."""
        return self._messages(stage, said, bodies) if self.wire == "anthropic" else self._chat(stage, said, bodies)

    def _messages(self, stage: Scene, said: list[Json], bodies: list[bytes]) -> tuple[Json, str]:
        *before, last = said
        marked = [{**last["content"][-1], "cache_control": {"type": "ephemeral"}}]
        tools: list[Any] = [
            *({"name": name, "input_schema": schema, "description": "x " * 900} for name, schema in SCHEMAS.items()),
            SERVER_TOOL,
        ]
        request: Json = {
            "model": "claude-sonnet-4-6",
            "max_tokens": 2000,
            "tools": tools,
            "messages": [*before, {**last, "content": [*last["content"][:-1], *marked]}],
        }
        http = noting(bodies, anthropic)
        with anthropic.Anthropic(base_url=stage.gate.url, api_key="k", max_retries=0, http_client=http) as client:
            if self.stream:
                with client.messages.stream(**request) as stream:
                    message = stream.get_final_message()
                    return message.to_dict(), stream.response.headers["x-coldpress-request"]
            raw = client.messages.with_raw_response.create(**request)
            return raw.parse().to_dict(), raw.headers["x-coldpress-request"]

    def _chat(self, stage: Scene, said: list[Json], bodies: list[bytes]) -> tuple[Json, str]:
        functions = [{"name": name, "parameters": schema} for name, schema in SCHEMAS.items()]
        request: Json = {
            "model": "gpt-5.3-codex",
            "messages": [{"role": "system", "content": "You are an agent. " * 400}, *said],
            "tools": [{"type": "function", "function": function} for function in functions],
        }
        http = noting(bodies, openai)
        with openai.OpenAI(base_url=f"{stage.gate.url}/v1", api_key="k", max_retries=0, http_client=http) as client:
            if self.stream:
                with client.chat.completions.with_streaming_response.create(**request, stream=True) as raw:
                    return joined(list(raw.parse())), raw.headers["x-coldpress-request"]
            whole = client.chat.completions.with_raw_response.create(**request)
            message = whole.parse().choices[0].message.to_dict()
            return {key: value for key, value in message.items() if value}, whole.headers["x-coldpress-request"]

    def calls(self, message: Json) -> list[tuple[str, str, Json]]:
        """Id, tool and arguments of each call, as the SDK decoded them."""
        if self.wire == "anthropic":
            blocks = [block for block in message["content"] if block["type"] == "tool_use"]
            return [(block["id"], block["name"], block["input"]) for block in blocks]
        calls = [(call["id"], call["function"]) for call in message.get("tool_calls", ())]
        return [(name, function["name"], json.loads(function["arguments"])) for name, function in calls]

    def results(self, calls: list[tuple[str, str, Json]]) -> list[Json]:
        """What the client sends back."""
        texts = [(name, f"{tool} went well") for name, tool, _ in calls]
        if self.wire == "openai_chat":
            return [{"role": "tool", "tool_call_id": name, "content": text} for name, text in texts]
        return [
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": name, "content": text} for name, text in texts],
            }
        ]


@dataclass
class Played:
    """What one run left behind: bodies of the client and of the upstream, calls that the client got, and the books."""

    way: Way
    bodies: list[bytes] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    given: list[tuple[str, Json]] = field(default_factory=list)
    entries: list[LedgerEntry] = field(default_factory=list)
    stats: Json = field(default_factory=dict)

    @property
    def sent(self) -> list[bytes]:
        """The bodies that reached the upstream."""
        return [one.request.body for one in self.exchanges]

    def arguments(self, body: bytes) -> list[str]:
        """The JSON texts of all calls in a history."""
        found = conversation(body, self.way.wire)
        blocks = [block for message in found.messages for block in message.blocks]
        return [found.arguments(block) for block in blocks if isinstance(block, ToolCall)]

    @property
    def holds(self) -> list[bool]:
        """For each request but the first, whether it begins with the messages of the one before."""
        whole = [without_marks(messages_bytes(body, self.way.wire)) for body in self.sent]
        return [later.startswith(one) for one, later in itertools.pairwise(whole)]


def play(way: Way, settings: Settings) -> Played:
    """Run the task to its end."""
    found = Played(way)
    content: Any = [{"type": "text", "text": "Do it."}] if way.wire == "anthropic" else "Do it."
    said: list[Json] = [{"role": "user", "content": content}]
    with scene(script(), settings=settings) as stage:
        while len(found.bodies) <= len(TURNS):
            message, name = way.ask(stage, said, found.bodies)
            found.entries.append(stage.ended(name))
            calls = way.calls(message)
            found.given += [(tool, arguments) for _, tool, arguments in calls]
            said += [
                {"role": "assistant", **{key: message[key] for key in ("content", "tool_calls") if key in message}}
            ]
            said += way.results(calls)
        found.exchanges = list(stage.upstream.inference)
        found.stats = stage.stats()
    assert [(one.status, one.refusal) for one in found.exchanges] == [(200, None)] * (len(TURNS) + 1)
    return found


OFF: Final = PluginSettings()
ON: Final = PluginSettings(order=("schema_translator", "intent"))
INFER: Final = PluginSettings(order=("intent",), builtin=PluginConfigKeys(intent=IntentKeys(mode="infer")))


def with_plugins(plugins: PluginSettings) -> Settings:
    """The built-in settings with these plugins."""
    return replace(built_in(), plugins=plugins)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(Way(wire, stream), id=f"{sdk}, {'streamed' if stream else 'whole'}")
        for wire, sdk in (("anthropic", "anthropic SDK"), ("openai_chat", "openai SDK"))
        for stream in (True, False)
    ],
)
def runs(request: pytest.FixtureRequest) -> Callable[[PluginSettings], Played]:
    """Each SDK, streamed and not; a run is made once."""
    made: dict[tuple[str, ...], Played] = {}

    def run(plugins: PluginSettings) -> Played:
        if plugins.order not in made:
            made[plugins.order] = play(request.param, with_plugins(plugins))
        return made[plugins.order]

    return run


Runs = Callable[[PluginSettings], Played]


def test_the_client_gets_calls_that_fit_its_own_schemas(runs: Runs) -> None:
    played = runs(ON)
    assert played.given == [(made.tool, made.arguments) for made in CALLS]
    assert [misfits(tool, arguments) for tool, arguments in played.given] == [[]] * len(CALLS)
    for body in played.bodies:
        assert MARK.encode() not in body
        assert str(NO_TEXT).encode() not in body
        assert {name: FIELD in schema["properties"] for name, schema in schemas_of(json.loads(body)).items()} == {
            "bash": False,
            "read": False,
            "plan": True,
        }


def test_the_upstream_is_asked_for_the_reason_in_every_tool_but_those_with_a_field_of_their_own(runs: Runs) -> None:
    played = runs(ON)
    tools = {json.dumps(one.request.json["tools"]) for one in played.exchanges}
    assert len(tools) == 1
    schemas = schemas_of(played.exchanges[0].request.json)
    assert {name: next(iter(schema["properties"])) for name, schema in schemas.items()} == {
        "bash": FIELD,
        "read": FIELD,
        "plan": "steps",
    }
    assert [schemas[name]["required"] for name in SCHEMAS] == [[FIELD, "command"], [FIELD, "path"], ["steps"]]
    assert schemas["plan"] == SCHEMAS["plan"]
    if played.way.wire == "anthropic":
        assert json.loads(*tools)[-1] == SERVER_TOOL


def test_the_upstream_is_shown_every_earlier_call_as_the_model_wrote_it(runs: Runs) -> None:
    played = runs(ON)
    schemas = schemas_of(played.exchanges[0].request.json)
    compact = played.way.wire == "anthropic" and not played.way.stream
    separators = (",", ":") if compact else None
    written = [
        json.dumps(as_written(made, schemas[made.tool]), ensure_ascii=False, separators=separators) for made in CALLS
    ]
    changed = [as_written(made, schemas[made.tool]) != made.arguments for made in CALLS]
    made_so_far = [0, *itertools.accumulate(len(turn) for turn in TURNS)]
    for number, body in zip(made_so_far, played.sent, strict=True):
        shown = played.arguments(body)
        assert len(shown) == number
        for text, whole, was_changed in zip(shown, written, changed, strict=False):
            assert text == whole if was_changed else json.loads(text) == json.loads(whole)


def test_the_prefix_is_as_stable_as_without_the_plugins(runs: Runs) -> None:
    on, off = runs(ON), runs(OFF)
    assert on.holds == off.holds == [True] * len(TURNS)
    for played in (on, off):
        reads = [one.usage.read or 0 for one in played.exchanges[1:] if one.usage]
        assert len(reads) == len(TURNS)
        assert min(reads) > 1000, "the cache is read on every request but the first"


def test_stats_and_the_ledger_say_what_became_of_each_reason(runs: Runs) -> None:
    played = runs(ON)
    wanted = Counter((made.tool, made.why) for made in CALLS)
    words = ("captured", "native", "absent", "not_text", "unreadable", "left")
    rows = played.stats["capture"].items()
    assert {(tool, word): row[word] for tool, row in rows for word in words if row[word]} == wanted
    outcomes = [entry.outcome for entry in played.entries]
    told = [(one.tool, one.why) for outcome in outcomes if outcome for one in outcome.captures]
    assert told == [(made.tool, made.why) for made in CALLS]


def test_inferring_reasons_changes_no_byte(runs: Runs) -> None:
    infer, off = runs(INFER), runs(OFF)
    assert infer.sent == off.sent
    assert off.sent == off.bodies, "there is nothing to press in this task"
    assert infer.given == off.given == [(made.tool, made.arguments) for made in CALLS]
    assert infer.stats["capture"] == off.stats["capture"] == {}
