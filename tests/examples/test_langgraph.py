"""The LangGraph example checkpoints every message whole, and its model sees a window that fits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

for package in ("langgraph", "langchain_core", "langchain_openai"):
    pytest.importorskip(package, reason="LangGraph comes with the test extra")

import openai  # noqa: E402
from examples.loaded import example  # noqa: E402
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402

from coldpress import Session  # noqa: E402
from coldpress.testing import Rules, Shell, StrictUpstream, said_steps, task  # noqa: E402

MODEL = "gpt-5-mini"
LOG = "\n".join(f"unit {number} of 2000 compiled" for number in range(2000))
agent = example("langgraph")
pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")


@tool
def bash(command: str) -> str:
    """Run a shell command."""
    return LOG if command != "ls" else "Makefile"


@pytest.fixture
def upstream() -> Iterator[StrictUpstream]:
    with StrictUpstream(task(Shell("make"), Shell("ls"), Shell("make test"))) as found:
        yield found


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(MODEL, format="openai_chat") as found:
        yield found


def build(upstream: StrictUpstream, session: Session) -> Any:
    model = ChatOpenAI(model=MODEL, base_url=f"{upstream.url}/v1", api_key="k", max_retries=0)
    return agent.build(model, [bash], session, InMemorySaver())


def config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def test_the_checkpoint_holds_everything_and_the_model_sees_a_part(upstream: StrictUpstream, session: Session) -> None:
    graph = build(upstream, session)
    said = {"messages": [SystemMessage("Be brief."), HumanMessage("Build it.")]}
    answer = graph.invoke(said, config("one"))["messages"][-1]
    assert answer.content == "All done."
    kept = graph.get_state(config("one")).values["messages"]
    assert [message.content for message in kept if isinstance(message, ToolMessage)] == [LOG, "Makefile", LOG]
    bodies = [json.loads(exchange.request.body) for exchange in upstream.inference]
    assert all(exchange.refusal is None for exchange in upstream.inference)
    assert LOG not in json.dumps(bodies), "no log ever went out whole"
    last = [message["content"] for message in bodies[-1]["messages"] if message["role"] == "tool"]
    assert (last[0].startswith("[coldpress") or "[coldpress" in last[0], last[1]) == (True, "Makefile")
    assert session.recall(session.receipts()[1].receipt.lines[0].original) == LOG


def test_every_reply_is_reported_to_its_own_request(upstream: StrictUpstream, session: Session) -> None:
    graph = build(upstream, session)
    for thread in ("one", "two"):
        graph.invoke({"messages": [HumanMessage(f"Build {thread}.")]}, config(thread))
    reported = [exchange.usage.prompt for exchange in upstream.inference if exchange.usage]
    assert len(reported) == 8
    assert session._line.prompt_tokens == sum(tokens or 0 for tokens in reported)


def test_unchanged_messages_are_the_states_own_and_changed_ones_keep_their_names(session: Session) -> None:
    window = agent.Window(session, [bash])
    call = {"name": "bash", "args": {"command": "make"}, "id": "c1"}
    history = [
        HumanMessage("Build it.", id="h1"),
        AIMessage("", tool_calls=[call], id="a1", additional_kwargs={"kept": True}),
        ToolMessage(LOG, tool_call_id="c1", id="t1", name="bash", artifact={"exit": 0}),
    ]
    shown = window.compacted(history)
    assert shown[0] is history[0] and shown[1] is history[1]
    pressed = shown[2]
    assert isinstance(pressed, ToolMessage) and pressed.content != LOG
    assert pressed.model_copy(update={"content": LOG}) == history[2]
    assert history[2].content == LOG


WINDOW_TOKENS = 12_000
STEPS = 30


@tool("shell")
def entries(command: str) -> str:
    """Run a shell command."""
    return "\n".join(f"{command}, entry {number}: balance {number * 7919 % 9973}" for number in range(60))


@pytest.mark.parametrize("shown", [True, False], ids=["with the hook the task is finished", "without it overflows"])
def test_a_task_that_outgrows_the_window(shown: bool) -> None:
    script = replace(task(*(Shell(f"step {number}") for number in range(STEPS))), progress=said_steps)
    operation: Any = "press" if shown else "off"
    with (
        StrictUpstream(script, rules=Rules(window_tokens=WINDOW_TOKENS)) as upstream,
        Session(MODEL, format="openai_chat", window_tokens=WINDOW_TOKENS, operation=operation) as session,
    ):
        model = ChatOpenAI(model=MODEL, base_url=f"{upstream.url}/v1", api_key="k", max_retries=0)
        graph = agent.build(model, [entries], session, InMemorySaver())
        asked = config("one") | {"recursion_limit": 8 * STEPS}
        if not shown:
            with pytest.raises(openai.BadRequestError, match=r"maximum context length|too long"):
                graph.invoke({"messages": [HumanMessage("Balance the books.")]}, asked)
            return
        graph.invoke({"messages": [HumanMessage("Balance the books.")]}, asked)
        kept = graph.get_state(asked).values["messages"]
        assert len(kept) == 2 * STEPS + 2 and kept[-1].content == "All done."
        assert [message.content for message in kept if isinstance(message, ToolMessage)] == [
            entries.invoke({"command": f"step {number}"}) for number in range(STEPS)
        ]
        assert [exchange.refusal for exchange in upstream.inference] == [None] * (STEPS + 1)
        assert any(entry.receipt.pressure for entry in session.receipts())
