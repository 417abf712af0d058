"""A LangGraph agent that keeps its whole history in the checkpointer and shows the model a window that fits.

`Window.before` is a `pre_model_hook`: it has the messages of the state compacted and hands the result to the model as
`llm_input_messages`. The state itself is never touched, so that the checkpoint holds every message. `Window.after`, a
`post_model_hook`, tells the session what the reply reported.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages, convert_to_openai_messages
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import create_react_agent

from coldpress import Session

State = dict[str, Any]
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
