"""With the reason field on, client and model each see what they wrote, and the prefix stays as stable as without."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from bodies import messages_bytes, without_marks
from cases.talk import assistant, chat, chat_result, log, messages, result, use, user
from support import Press, failed_quietly, pressing, settings

from coldpress.config import Settings
from coldpress.config.plugin_keys import IntentKeys, PluginConfigKeys
from coldpress.config.plugin_settings import PluginSettings
from coldpress.drive import Prepared
from coldpress.engine.policy import Policy, Rule
from coldpress.model.errors import StoreError
from coldpress.model.kept import Kept
from coldpress.model.records import Capture, Operation, Outcome
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing.anthropic_rules import check_messages_request
from coldpress.testing.chat_rules import check_chat_request
from coldpress.wire.registry import FormatName

Json = dict[str, Any]
FORMATS: tuple[FormatName, ...] = ("anthropic", "openai_chat")
INTENTS = ["find where the budget is set", "see the whole file", "run the tests", "look at TestRetry"]


def asking(*order: str, operation: Operation = "press", **keys: Any) -> Settings:
    """Settings with these plugins on."""
    builtin = PluginConfigKeys(intent=IntentKeys(**keys))
    found = settings(operation, plugins=PluginSettings(order=order or ("intent",), builtin=builtin))
    return replace(found, limits=replace(found.limits, prepare_seconds=30.0))


@dataclass
class Agent:
    """A client that plays a conversation: it is given calls as they come through, and writes the history of them."""

    name: FormatName
    said: list[Json] = field(default_factory=list)
    model: str | None = None
    indent: bool = False
    tools: Sequence[str] = ("Grep", "Bash")

    def __post_init__(self) -> None:
        self.said = self.said or [user("Make it pass.") if self.name == "anthropic" else said("user", "Make it pass.")]

    @property
    def body(self) -> bytes:
        write = messages if self.name == "anthropic" else chat
        top = {} if self.model is None else {"model": self.model}
        return write(*self.said, tools=self.tools, **top)

    def called(self, call: str, tool: str, arguments: str, output: str) -> None:
        """Take a call as it came and answer it; the arguments are parsed and written anew, as clients do."""
        given = json.loads(arguments)
        if self.name == "anthropic":
            self.said += [assistant(use(call, tool, **given)), user(result(call, output))]
        else:
            text = json.dumps(given, indent=1 if self.indent else None)
            function = {"name": tool, "arguments": text}
            called = {"role": "assistant", "content": None, "tool_calls": [{"id": call, "type": "function"}]}
            called["tool_calls"][0]["function"] = function  # type: ignore[index]
            self.said += [called, chat_result(call, output)]


def said(role: str, text: str) -> Json:
    return {"role": role, "content": text}


def replied(press: Press, prepared: Prepared, call: str, tool: str, written: str) -> str:
    """Let a call of the model pass to the client, as the gateway does, and end the reply."""
    got = written
    if prepared.calls is not None:
        through = prepared.calls.filter_of(tool, call)
        if through is not None:
            got = "".join([through.feed(part) for part in pieces(written)] + [through.end()])
            asyncio.run(prepared.calls.settled())  # as the gateway waits before it sends the end of a call
        prepared.calls.taken()
    press.driver.finish(Outcome(prepared.receipt.request_id, 200, "complete", 0.0))
    return got


def pieces(text: str) -> Iterator[str]:
    """A text in pieces as models stream it."""
    for start in range(0, len(text), 7):
        yield text[start : start + 7]


def play(press: Press, agent: Agent, turns: range = range(4)) -> list[Prepared]:
    """Play turns of a conversation in which the model fills the field."""
    found = []
    for turn in turns:
        prepared = press(agent.body, agent.name)
        assert not failed_quietly(prepared)
        found.append(prepared)
        tool = "Grep" if turn % 2 == 0 else "Bash"
        plain = {"pattern": f"budget_{turn}"} if tool == "Grep" else {"command": f"make t{turn}"}
        offers = '"intent"' in json.dumps(json.loads(prepared.body)["tools"])
        written = json.dumps({"intent": INTENTS[turn % 4], **plain} if offers else plain)
        got = replied(press, prepared, f"call_{turn}", tool, written)
        assert json.loads(got) == plain, "the client gets what its schema says, and no more"
        agent.called(f"call_{turn}", tool, got, log(f"n{turn}", 12))
    return found


def calls_in(body: bytes, name: FormatName) -> list[Json]:
    """The arguments of all calls in a request, in order."""
    found = []
    for message in json.loads(body)["messages"]:
        if name == "anthropic":
            blocks = message["content"] if isinstance(message["content"], list) else []
            found += [block["input"] for block in blocks if block["type"] == "tool_use"]
        else:
            found += [json.loads(call["function"]["arguments"]) for call in message.get("tool_calls", ())]
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_every_request_shows_the_model_the_calls_as_it_wrote_them(name: FormatName) -> None:
    with pressing(asking()) as press:
        last = play(press, Agent(name))[-1]
    check = check_messages_request if name == "anthropic" else check_chat_request
    assert check(json.loads(last.body)) is None
    assert [call["intent"] for call in calls_in(last.body, name)] == INTENTS[:3]


@pytest.mark.parametrize("name", FORMATS)
def test_with_the_field_on_from_the_first_request_the_prefix_is_as_stable_as_without(name: FormatName) -> None:
    with pressing(asking()) as press:
        sent = [prepared.body for prepared in play(press, Agent(name))]
    heads = {json.dumps({k: v for k, v in json.loads(body).items() if k != "messages"}) for body in sent}
    assert len(heads) == 1
    for before, after in itertools.pairwise(sent):
        assert without_marks(after).startswith(without_marks(messages_bytes(before)))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("where", ["same process", "another process", "from disk"])
def test_history_is_sent_as_before_whoever_sends_it(name: FormatName, where: str, tmp_path: Any) -> None:
    store = SqliteStore(tmp_path / "s.sqlite3") if where == "from disk" else MemoryStore()
    agent = Agent(name)
    with pressing(asking(), store) as press:
        play(press, agent)
        before = press(agent.body, name).body
        if where == "from disk":
            store.close()
            store = SqliteStore(tmp_path / "s.sqlite3")
        with pressing(asking(), store) as other:
            again = (press if where == "same process" else other)(agent.body, name).body
    store.close()
    assert again == before


def test_a_client_that_writes_arguments_otherwise_finds_its_calls() -> None:
    with pressing(asking()) as press:
        agent = Agent("openai_chat", indent=True)
        play(press, agent)
        with pressing(asking(), press.store) as other:
            sent = [one(agent.body, "openai_chat").body for one in (press, other)]
    assert sent[0] == sent[1]
    assert [call["intent"] for call in calls_in(sent[0], "openai_chat")] == INTENTS


def test_calls_of_one_conversation_are_not_put_into_another() -> None:
    """Some servers count their calls, so that ids and arguments repeat from one conversation to the next."""
    with pressing(asking()) as press:
        play(press, Agent("openai_chat"))
        other = Agent("openai_chat", [said("user", "Something else, and somebody else.")])
        other.called("call_0", "Grep", '{"pattern": "budget_0"}', "x")
        assert calls_in(press(other.body, "openai_chat").body, "openai_chat") == [{"pattern": "budget_0"}]


@pytest.mark.parametrize("name", FORMATS)
def test_a_call_that_nobody_kept_stays_as_the_client_wrote_it(name: FormatName) -> None:
    agent = Agent(name)
    with pressing(asking()) as press:
        play(press, agent)
    with pressing(asking()) as press:
        body = press(agent.body, name).body
    assert calls_in(body, name) == calls_in(agent.body, name)


@pytest.mark.parametrize(
    ("changes", "model"),
    [
        pytest.param({"mode": "infer"}, None, id="inferred"),
        pytest.param({"operation": "observe"}, None, id="observed only"),
        pytest.param({"operation": "off"}, None, id="off"),
        pytest.param({}, "claude-opus-5-5", id="a model that binds its reasoning to the prefix"),
    ],
)
@pytest.mark.parametrize("name", FORMATS)
def test_where_nothing_may_be_added_bytes_and_replies_stay(name: FormatName, changes: Json, model: str | None) -> None:
    agent = Agent(name, model=model)
    with pressing(asking(**changes)) as press:
        for prepared in play(press, agent):
            assert prepared.calls is None
            assert not prepared.changed


def test_what_was_added_stays_while_draining() -> None:
    agent = Agent("anthropic")
    with pressing(asking()) as press:
        sent = play(press, agent)[-1].body
        with pressing(asking(operation="drain"), press.store) as other:
            drained = other(agent.body, "anthropic").body
    assert without_marks(drained).startswith(without_marks(messages_bytes(sent)))
    assert json.loads(drained)["tools"] == json.loads(sent)["tools"]


def test_a_clients_own_compaction_reads_the_same_prefix() -> None:
    agent = Agent("anthropic")
    with pressing(asking()) as press:
        sent = play(press, agent)[-1].body
        asked = "Respond with TEXT ONLY. Your task is to create a detailed summary of the conversation so far."
        agent.said.append(user(asked))
        prepared = press(agent.body, "anthropic")
    assert "client_compaction" in prepared.receipt.notes
    assert without_marks(prepared.body).startswith(without_marks(messages_bytes(sent)))


@pytest.mark.parametrize(
    ("written", "why"),
    [
        pytest.param('{"intent":"see it","pattern":"x"}', "captured", id="filled"),
        pytest.param('{"pattern":"x"}', "absent", id="left out"),
        pytest.param('{"intent":"  ","pattern":"x"}', "absent", id="blank"),
        pytest.param('{"intent":7,"pattern":"x"}', "not_text", id="a number"),
        pytest.param('{"pattern":"x","intent":{"a":"b"}}', "not_text", id="an object"),
        pytest.param('{"pattern":"x', "unreadable", id="cut off"),
    ],
)
def test_what_came_of_each_call_is_in_the_ledger(written: str, why: Any) -> None:
    with pressing(asking()) as press:
        prepared = press(Agent("anthropic").body, "anthropic")
        replied(press, prepared, "c1", "Grep", written)
        entry = press.store.receipt(prepared.receipt.request_id)
    assert entry is not None and entry.outcome is not None
    restored = why in ("captured", "not_text") or "  " in written
    assert entry.outcome.captures == (Capture("Grep", why, restored=restored),)


def test_a_tool_with_a_field_of_its_own_keeps_it_and_is_read() -> None:
    agent = Agent("anthropic", tools=("Grep",))
    body = json.loads(agent.body)
    body["tools"][0]["input_schema"] = {"type": "object", "properties": {"intent": {"type": "string"}}}
    raw = json.dumps(body).encode()
    with pressing(asking()) as press:
        prepared = press(raw, "anthropic")
        assert not prepared.changed
        written = '{"intent": "mine", "pattern": "x"}'
        assert replied(press, prepared, "c1", "Grep", written) == written
        entry = press.store.receipt(prepared.receipt.request_id)
    assert entry is not None and entry.outcome is not None
    assert [capture.why for capture in entry.outcome.captures] == ["native"]


@pytest.mark.parametrize("name", FORMATS)
def test_another_gateway_on_the_same_file_finds_a_call_as_soon_as_the_client_has_it(
    name: FormatName, tmp_path: Path
) -> None:
    first, second = SqliteStore(tmp_path / "s.sqlite3"), SqliteStore(tmp_path / "s.sqlite3")
    with pressing(asking(), first) as one, pressing(asking(), second) as other:
        agent = Agent(name)
        for turn in range(6):
            play((one, other)[turn % 2], agent, range(turn, turn + 1))
        sent = [press(agent.body, name).body for press in (one, other)]
    first.close()
    second.close()
    assert sent[0] == sent[1]
    assert [call["intent"] for call in calls_in(sent[0], name)] == [*INTENTS, *INTENTS[:2]]


def test_a_call_that_went_out_as_the_client_wrote_it_does_so_for_ever() -> None:
    """A client may go on before a gateway has read the reply to its end; what is kept afterwards comes too late."""
    agent = Agent("openai_chat")
    with pressing(asking()) as press:
        prepared = press(agent.body, "openai_chat")
        agent.called("call_0", "Grep", '{"pattern":"x"}', "y")
        before = press(agent.body, "openai_chat").body
        replied(press, prepared, "call_0", "Grep", '{"intent":"late","pattern":"x"}')
        with pressing(asking(), press.store) as restarted:
            assert restarted(agent.body, "openai_chat").body == before


def test_calls_with_one_id_at_several_places_keep_their_own_reasons() -> None:
    """Some servers count calls anew on every turn, and legacy functions have no ids at all."""
    agent = Agent("openai_chat")
    written = ['{"pattern":"x"}', '{"intent":"one","pattern":"x"}', '{"pattern":"x"}', '{"intent":"two","pattern":"x"}']
    with pressing(asking()) as press:
        for one in written:
            got = replied(press, press(agent.body, "openai_chat"), "call_0", "Grep", one)
            agent.called("call_0", "Grep", got, "y")
        here = press(agent.body, "openai_chat").body
        with pressing(asking(), press.store) as restarted:
            there = restarted(agent.body, "openai_chat").body
    assert there == here
    assert calls_in(here, "openai_chat") == [json.loads(one) for one in written]


@pytest.mark.parametrize("name", FORMATS)
def test_another_system_prompt_takes_no_reason_away(name: FormatName) -> None:
    agent = Agent(name)
    with pressing(asking()) as press:
        play(press, agent)
        body = json.loads(agent.body)
        if name == "anthropic":
            body["system"] = [{"type": "text", "text": "You are an agent, and a server has connected."}]
        else:
            body["messages"] = [said("system", "A server has connected."), *body["messages"]]
        changed = json.dumps(body).encode()
        here = press(changed, name).body
        with pressing(asking(), press.store) as restarted:
            assert restarted(changed, name).body == here
    assert [call["intent"] for call in calls_in(here, name)] == INTENTS


@pytest.mark.parametrize("name", FORMATS)
def test_a_model_that_gets_no_field_sees_none_in_its_history(name: FormatName) -> None:
    agent = Agent(name)
    with pressing(asking()) as press:
        play(press, agent)
        agent.model = "claude-opus-5-5"
        prepared = press(agent.body, name)
    assert prepared.body == agent.body
    assert prepared.calls is None


def test_half_a_character_in_a_call_costs_that_call_alone() -> None:
    agent = Agent("openai_chat")
    with pressing(asking()) as press:
        play(press, agent, range(2))
        prepared = press(agent.body, "openai_chat")
        half = "\ud83d"
        replied(press, prepared, "call_x", "Grep", '{"intent":"see","pattern":"' + half + '"}')
        function = {"name": "Grep", "arguments": '{"pattern":"' + half + '"}'}
        called = [{"id": "call_x", "type": "function", "function": function}]
        agent.said.append({"role": "assistant", "content": None, "tool_calls": called})
        agent.said.append(chat_result("call_x", "nothing"))
        last = press(ascii_body(agent).encode(), "openai_chat")
    assert not failed_quietly(last)
    assert [call.get("intent") for call in calls_in(last.body, "openai_chat")][:2] == INTENTS[:2]


def ascii_body(agent: Agent) -> str:
    """The request with every character that is no ASCII escaped, as clients do that hold half a character."""
    tools = [{"type": "function", "function": {"name": n, "parameters": {"type": "object"}}} for n in agent.tools]
    return json.dumps({"model": "gpt-5-mini", "messages": agent.said, "tools": tools})


def test_tools_of_one_name_that_differ_go_out_as_they_are() -> None:
    """Nobody can tell which of them a call is for, and one of them may have a field of that name itself."""
    body = json.loads(Agent("anthropic", tools=("run", "run", "Grep")).body)
    body["tools"][1]["input_schema"] = {"type": "object", "properties": {"intent": {"type": "string"}}}
    with pressing(asking()) as press:
        prepared = press(json.dumps(body).encode(), "anthropic")
        written = '{"intent":"mine","command":"x"}'
        assert replied(press, prepared, "c1", "run", written) == written
        assert replied(press, prepared, "c2", "Grep", '{"intent":"see","pattern":"x"}') == '{"pattern":"x"}'
    shown = json.loads(prepared.body)["tools"]
    assert shown[:2] == body["tools"][:2]
    assert "intent" in shown[2]["input_schema"]["properties"]


class Unreadable(MemoryStore):
    """A disk that gives back nothing of what was kept."""

    def kept(self, keys: Sequence[bytes]) -> dict[bytes, Kept]:
        raise StoreError("the disk is gone")


def test_a_store_that_cannot_be_read_passes_the_clients_bytes() -> None:
    with pressing(asking(), Unreadable()) as press:
        agent = Agent("anthropic")
        agent.called("c1", "Grep", '{"pattern":"x"}', "y")
        prepared = press(agent.body, "anthropic")
    assert prepared.body == agent.body
    assert prepared.calls is None


def test_open_maps_are_lists_for_the_model_and_maps_for_the_client() -> None:
    agent = Agent("openai_chat", tools=("run",))
    body = json.loads(agent.body)
    env = {"type": "object", "additionalProperties": {"type": "string"}}
    body["tools"][0]["function"]["parameters"] = {"type": "object", "properties": {"env": env}, "required": ["env"]}
    with pressing(asking("schema_translator", "intent")) as press:
        prepared = press(json.dumps(body).encode(), "openai_chat")
        shown = json.loads(prepared.body)["tools"][0]["function"]["parameters"]
        assert shown["properties"]["env"]["type"] == "array"
        written = '{"intent":"set it","env":[{"key":"A","value":"1"},{"key":"B","value":"2"}]}'
        got = replied(press, prepared, "c1", "run", written)
        assert json.loads(got) == {"env": {"A": "1", "B": "2"}}
        agent.called("c1", "run", got, "done")
        body["messages"] = agent.said
        again = press(json.dumps(body).encode(), "openai_chat")
    assert calls_in(again.body, "openai_chat") == [json.loads(written)]


def test_results_are_pressed_by_the_captured_reason() -> None:
    """The reason that a model gave decides which lines stay, whatever the arguments were."""

    output = "\n".join(f"line {n} about {'TestRetry' if n % 50 == 9 else 'nothing much'} at all" for n in range(300))
    policy = Policy((Rule("grep*", ("keyword",), ungated=True),))
    with pressing(replace(asking(), policy=policy)) as press:
        agent = Agent("anthropic")
        prepared = press(agent.body, "anthropic")
        got = replied(press, prepared, "c1", "Grep", '{"intent":"look at TestRetry","pattern":"line"}')
        agent.called("c1", "Grep", got, output)
        press(agent.body, "anthropic")
        agent.said += [assistant("I see."), user("Go on.")]
        last = press(agent.body, "anthropic").body.decode()
    assert "line 9 about TestRetry at all" in last
    assert "line 120 about nothing much at all" not in last
