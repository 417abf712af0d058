"""Make the head of a run's requests from what stands beside its messages: system prompt and definitions of tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.chat_blocks import tool_name
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.jsonvalues import JsonObject, count_in, object_in, objects_in, text_in
from coldpress.lab.jsontext import compact_json
from coldpress.lab.rebuild import MAX_TOKENS, SYSTEM, RequestHead, made_up_head
from coldpress.model.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Beside:
    """What stands beside the messages of a chat: the system prompt, empty where there is none, and tools by name."""

    system: str = ""
    tools: tuple[tuple[str, str], ...] = ()
    max_tokens: int = MAX_TOKENS


def beside(body: JsonObject, system: str) -> Beside:
    """Read what an object holds beside its messages.

    Args:
        body: a request's body, or a record of a chat.
        system: what its messages begin with in the system's name; empty where nothing.
    """
    texts = [text_of(body.get("system")), system]
    limit = count_in(body, "max_tokens") or count_in(body, "max_completion_tokens") or 0
    defined = [*objects_in(body, "tools"), *objects_in(body, "functions")]
    return Beside(
        "\n\n".join(text for text in texts if text.strip()),
        tuple(dict(map(_definition, defined)).items()),
        limit if limit > 0 else MAX_TOKENS,
    )


def text_of(content: object) -> str:
    """Give the text of a system prompt, or of a message's content."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else text_in(part, "text") for part in parts if isinstance(part, str | dict)]
    return "\n\n".join(text for text in texts if text)


def _definition(tool: JsonObject) -> tuple[str, str]:
    """Write a tool's definition in Anthropic's form; one that is in it stays as it is."""
    if "input_schema" in tool or ("type" in tool and tool["type"] != "function" and "name" in tool):
        name = text_in(tool, "name") or "unnamed"
        return name, compact_json({key: value for key, value in tool.items() if key != "cache_control"})
    function = object_in(tool, "function") or object_in(tool, "custom") or tool
    name = tool_name(text_in(function, "name") or "unnamed")
    schema = object_in(function, "parameters") or {"type": "object"}
    written = {"name": name, "description": text_in(function, "description") or "", "input_schema": schema}
    return name, compact_json(written)


def head_of(told: Beside, trajectories: Iterable[Trajectory]) -> RequestHead | None:
    """Make a head; tools that were called and not defined get a definition. `None` where nothing is recorded."""
    if not told.system.strip() and not told.tools:
        return None
    tools = dict(told.tools)
    for one in trajectories:
        for made_up in made_up_head(one).tools:
            tools.setdefault(json.loads(made_up)["name"], made_up)
    return RequestHead(told.system if told.system.strip() else SYSTEM, tuple(tools.values()), told.max_tokens)


def imported(trajectories: Sequence[Trajectory], told: Sequence[Beside], tally: Tally) -> Imported:
    """Put together what a file held.

    Args:
        trajectories: of the file.
        told: what stood beside the messages of each, in the same order.
        tally: of the file.

    Where heads differ, each trajectory has its own, and the file's is that of the trajectory with the most requests,
    with everybody's tools.
    """
    if any(one.tools and not one.system.strip() for one in told):
        tally.skipped["tools without a system prompt (a short one stands in)"] += 1
    if len(set(told)) < 2:
        head = head_of(told[0], trajectories) if told else None
        return Imported(tuple(trajectories), tally.counts(), head, (head,) * len(trajectories))
    tally.skipped["heads that differ from conversation to conversation"] += len(set(told))
    heads = [head_of(one, [trajectory]) for one, trajectory in zip(told, trajectories, strict=True)]
    most = max(range(len(heads)), key=lambda at: (bool(told[at].system.strip()), trajectories[at].requests, -at))
    tools = {name: text for one in reversed(told) for name, text in one.tools} | dict(told[most].tools)
    everybody = Beside(told[most].system, tuple(tools.items()), told[most].max_tokens)
    return Imported(tuple(trajectories), tally.counts(), head_of(everybody, trajectories), tuple(heads))
