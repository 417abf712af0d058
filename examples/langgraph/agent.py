"""A LangGraph agent that keeps its whole history in the checkpointer and shows the model a window that fits.

    OPENAI_API_KEY=... python examples/langgraph/agent.py "Find out why the build fails."

`--url` points it at any endpoint that speaks Chat Completions, `--window` sets the window it must fit into.

`Window.before` is a `pre_model_hook`: it has the messages of the state compacted and hands the result to the model as
`llm_input_messages`. The state itself is never touched, so that the checkpoint holds every message. `Window.after`, a
`post_model_hook`, tells the session what the reply reported.
"""

from __future__ import annotations

import argparse
import subprocess
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    convert_to_messages,
    convert_to_openai_messages,
)
from langchain_core.tools import BaseTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import create_react_agent

from coldpress import Session

State = dict[str, Any]
MODEL = "gpt-5-mini"
SYSTEM = "You are a careful engineer. Work in the current folder, step by step, and say when you are done."
MOST_STEPS = 1_000
"""Nodes of the graph that one task may pass through; a turn passes through four."""

MOST_AWAITED = 1_000
"""Model calls whose reply may be awaited at a time; those that failed are forgotten in the end."""


def build(
    model: BaseChatModel, tools: Sequence[BaseTool], session: Session, checkpointer: BaseCheckpointSaver[Any]
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Put an agent together whose model sees what the session shows it."""
    window = Window(session, tools)
    return create_react_agent(
        model, tools, pre_model_hook=window.before, post_model_hook=window.after, checkpointer=checkpointer
    )


class Window:
    """What stands between the state and the model; one for any number of threads of the graph.

    Args:
        session: for the model that is asked.
        tools: that the model is offered.
    """

    def __init__(self, session: Session, tools: Sequence[BaseTool]) -> None:
        self._session = session
        self._tools = [convert_to_openai_tool(tool) for tool in tools]
        # By the message that the reply will follow, since graphs of several users may run at a time.
        self._awaited: OrderedDict[str | None, Any] = OrderedDict()

    def before(self, state: State) -> State:
        """Show the model the compacted messages of the state."""
        return {"llm_input_messages": self.compacted(state["messages"])}

    def after(self, state: State) -> State:
        """Report the reply, which stands last, with the usage that the provider told."""
        asked, reply = state["messages"][-2:]
        shown = self._awaited.pop(asked.id, None)
        usage = reply.response_metadata.get("token_usage") if isinstance(reply, AIMessage) else None
        if shown is not None and usage:
            self._session.observe({"usage": usage}, of=shown)
        return {}

    def compacted(self, history: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Compact LangChain messages; every message that was not changed is the very object of `history`.

        A changed result keeps its message's id and everything beside its content.
        """
        dicts = [_as_openai(message) for message in history]
        shown = self._session.compact(dicts, tools=self._tools)
        self._awaited[history[-1].id] = shown
        while len(self._awaited) > MOST_AWAITED:
            self._awaited.popitem(last=False)
        found: list[BaseMessage] = []
        for message, source in zip(shown, shown.sources, strict=True):
            if source is None:
                found += convert_to_messages([message])
            elif message is dicts[source]:
                found.append(history[source])
            else:
                found.append(history[source].model_copy(update={"content": message["content"]}))
        return found


def _as_openai(message: BaseMessage) -> dict[str, Any]:
    """Give the message in the form of the Chat Completions API."""
    converted = convert_to_openai_messages([message])
    if len(converted) != 1:
        raise ValueError(f"message {message.id} stands for {len(converted)} messages of the API; give it as several")
    return converted[0]


@tool
def bash(command: str) -> str:
    """Run a shell command and get its output."""
    done = subprocess.run(["sh", "-c", command], text=True, capture_output=True, check=False)
    failed = f"\nexit code {done.returncode}" if done.returncode else ""
    return f"{done.stdout}{done.stderr}{failed}" or "(no output)"


def work(task: str, model: BaseChatModel, session: Session) -> list[BaseMessage]:
    """Work on a task until the model answers without calling a tool, and give every message as it was said."""
    graph = build(model, [bash], session, InMemorySaver())
    config: Any = {"configurable": {"thread_id": "task"}, "recursion_limit": MOST_STEPS}
    graph.invoke({"messages": [SystemMessage(SYSTEM), HumanMessage(task)]}, config)
    kept: list[BaseMessage] = graph.get_state(config).values["messages"]
    return kept


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run one task."""
    parser = argparse.ArgumentParser(description="A LangGraph agent that does not outgrow its window.")
    parser.add_argument("task")
    parser.add_argument("--url", default=None, help="base URL of the API, without /v1")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--window", type=int, default=None, help="effective window in tokens")
    parser.add_argument("--store", default=None, help="file to keep originals and receipts in, else memory")
    asked = parser.parse_args(arguments)
    url = None if asked.url is None else f"{asked.url}/v1"
    model = ChatOpenAI(model=asked.model, base_url=url)
    with Session(asked.model, format="openai_chat", window_tokens=asked.window, store_path=asked.store) as session:
        print(work(asked.task, model, session)[-1].text)


if __name__ == "__main__":
    main()
