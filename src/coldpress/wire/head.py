"""What stands outside the messages: model, system prompt, tools, session; read once per distinct bytes.

The identity of a system prompt leaves out what clients change in it by themselves (clock times, dates, long
numbers, uuids, Claude Code's billing line), so that such a change does not make another conversation.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from coldpress.model.conversation import Head, Span, ToolName
from coldpress.wire.format import Source
from coldpress.wire.span import Misread

OUTER: Final = "../"
"""Stands in front of the keys beside the object that holds the messages, where that is not the whole body."""

BILLING_LINE = "x-anthropic-billing-header:"
"""Claude Code puts a text with this beginning in `system[0]`; some versions carry a hash over the body in it."""

_VOLATILE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # a uuid
    r"|[0-9]{1,4}[:/.-][0-9][0-9:/.T+-]*Z?(?: ?[AaPp][Mm])?"  # a clock time, a date, a version
    r"|[0-9]{8,}"  # seconds or milliseconds since 1970, a process id with company
    r"|(?:[A-Z][a-z]{2,8},? )?[A-Z][a-z]{2,8}\.? [0-9]{1,2}(?:,? [0-9]{4})?"  # Mon, Nov 30 2026
)
_CANONICAL = msgspec.json.Encoder(order="deterministic")
_SESSION_IN_USER = re.compile(r"_session_([0-9a-f-]{36})")


@dataclass(frozen=True, slots=True)
class System:
    """A system prompt: the name of its stable part, the name of its exact text, and whose it is."""

    identity: bytes
    exact: bytes
    subscription: bool


NO_SYSTEM = System(b"\0" * 32, b"\0" * 32, False)


@dataclass(frozen=True, slots=True)
class Parts:
    """The values of a request's top level that we use; `None` where the request has none."""

    model: str | None = None
    stream: bool = False
    system: System | None = None
    leading: System | None = None
    tools: tuple[ToolName, ...] | None = None
    session: str | None = None
    stateful: bool = False
    server_clears: bool = False
    thinking: bytes = b""
    tool_choice: bytes = b""

    def head(self, format_name: str) -> Head:
        """Give the head of the conversation.

        Only at Anthropic are reasoning parameters and the choice of tools known to decide over cached messages.
        """
        system = _joined(self.system or NO_SYSTEM, self.leading or NO_SYSTEM)
        return Head(
            model=self.model,
            identity=system.identity,
            exact=system.exact,
            tools=self.tools or (),
            stream=self.stream,
            subscription=system.subscription,
            harness_session=self.session,
            stateful=self.stateful,
            server_clears=self.server_clears,
            settings=self.thinking + self.tool_choice if format_name == "anthropic" else b"",
        )


def _joined(beside: System, leading: System) -> System:
    """Name a system prompt of which a part stands beside the messages and a part in front of them."""
    if NO_SYSTEM in (beside, leading):
        return leading if beside == NO_SYSTEM else beside
    identity = hashlib.sha256(beside.identity + leading.identity).digest()
    exact = hashlib.sha256(beside.exact + leading.exact).digest()
    return System(identity, exact, beside.subscription or leading.subscription)


def read_system(texts: list[str]) -> System:
    """Name a system prompt by its texts."""
    subscription = bool(texts) and texts[0].startswith(BILLING_LINE)
    stable = texts[1:] if subscription else texts
    joined = "\0".join(stable)
    return System(
        hashlib.sha256(_VOLATILE.sub("~", joined).encode()).digest(),
        hashlib.sha256(joined.encode()).digest(),
        subscription,
    )


def texts_of(content: Any) -> list[str]:
    """Give the texts of a content value: a bare string, an array of text blocks, or an object with such `parts`."""
    if isinstance(content, str):
        return [content]
    if isinstance(content, dict):
        content = content.get("parts")  # Gemini's
    if not isinstance(content, list):
        return []
    return [block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)]


def read_tools(value: Any) -> tuple[ToolName, ...]:
    """Give the names of the tools a request offers, in order."""
    if not isinstance(value, list):
        return ()
    names: list[ToolName] = []
    for tool in value:
        if not isinstance(tool, dict):
            continue
        inner = tool.get("functionDeclarations") or tool.get("function_declarations") or tool.get("tools")
        if isinstance(inner, list):  # Gemini's list, or a namespace of Responses
            space = tool.get("name")
            held = read_tools(inner)
            names += [ToolName(name_in_namespace(space, name)) for name in held] if isinstance(space, str) else held
            continue
        function = tool.get("function")
        name = (function if isinstance(function, dict) else tool).get("name") or tool.get("type")
        if isinstance(name, str):
            names.append(ToolName(name))
    return tuple(names)


def name_in_namespace(namespace: str, name: str) -> str:
    """Name a tool of a namespace of Responses: a server's tool as agents write it, any other by its own name.

    >>> name_in_namespace("mcp__github", "get_issue"), name_in_namespace("agents", "spawn_agent")
    ('mcp__github__get_issue', 'spawn_agent')
    """
    if not namespace.startswith("mcp__") or name.startswith("mcp__"):
        return name
    return f"{namespace.rstrip('_')}__{name.lstrip('_')}"


def read_session(metadata: Any) -> str | None:
    """Give the harness's own session id from request metadata, where it has one."""
    if not isinstance(metadata, dict):
        return None
    for key in ("session_id", "conversation_id"):
        if isinstance(metadata.get(key), str):
            return str(metadata[key])
    user = metadata.get("user_id")
    if not isinstance(user, str):
        return None
    if user.startswith("{"):
        try:
            return read_session(msgspec.json.decode(user))
        except msgspec.MsgspecError:
            return None
    match = _SESSION_IN_USER.search(user)
    return match.group(1) if match else None


def read_parts(source: Source, fields: Mapping[str, Span]) -> dict[str, Any]:
    """Read the top-level values we use from where they stand, as arguments for `Parts`."""
    found: dict[str, Any] = {}
    for name, span in fields.items():
        key = name.removeprefix(OUTER)
        try:
            match key:
                case "model":
                    found["model"] = source.string(span)
                case "stream":
                    found["stream"] = source.value(span) is True
                case "system" | "instructions" | "systemInstruction" | "system_instruction":
                    found["system"] = read_system(texts_of(source.value(span)))
                case "tools":
                    found["tools"] = read_tools(source.value(span))
                case "metadata" | "client_metadata" | "prompt_cache_key" | "session_id":
                    value = source.value(span)
                    names_it = isinstance(value, str) and not key.endswith("metadata")
                    session = value if names_it else read_session(value)
                    if session:
                        found["session"] = session
                case "thread" | "previous_response_id" | "conversation" | "cachedContent" | "cached_content":
                    value = source.value(span)
                    starts = key == "thread" and isinstance(value, dict) and value.get("type") != "continue"
                    if value and not starts:
                        found["stateful"] = True
                case "thinking" | "tool_choice":
                    # `auto` is what holds where nothing is said.
                    raw = _CANONICAL.encode(source.value(span))
                    found[key] = b"" if raw == b'{"type":"auto"}' else hashlib.sha256(key.encode() + raw).digest()
                case "context_management":
                    found["server_clears"] = b'"clear_tool_uses' in source.raw(span)
                case _:
                    continue
        except Misread:
            continue
    return found
