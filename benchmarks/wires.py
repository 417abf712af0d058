"""How each wire format writes an agent's conversation: its turns, and what stands around them.

`chat` and `anthropic` carry the calls as `outputs.py` makes them. `responses` is written as Codex writes it: one shell
tool, results under a header, sealed reasoning in front of every turn. `gemini` is written as Gemini CLI writes it: its
own tool names, results inside `response`, a signature on the first call of a turn.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from outputs import Call

Format = Literal["chat", "anthropic", "responses", "gemini"]
FORMATS: tuple[Format, ...] = get_args(Format)
MODELS: dict[Format, str] = {
    "chat": "gpt-bench",
    "anthropic": "claude-bench",
    "responses": "gpt-bench",
    "gemini": "gemini-bench",
}
FIRST_NONCE = "@@FIRST-NONCE-@@"
TASK = f"The import of configuration files fails on Windows. Find out why, fix it and run the tests. ({FIRST_NONCE})"
MANY_TOOLS, FEW_TOOLS = 24, 3
SEALED_BYTES, FEW_SEALED_BYTES = 384, 48
"""Length of sealed reasoning before its base64, which makes a third more of it: of a turn, and in small requests."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model said and called, and what came back. Several calls are parallel calls."""

    number: int
    text: str
    calls: tuple[Call, ...]
    sealed_bytes: int = SEALED_BYTES

    def ids(self, prefix: str) -> list[str]:
        """Name the calls of this turn."""
        return [f"{prefix}_{self.number:05d}{i:02d}bench" for i in range(len(self.calls))]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request in pieces: bytes before the messages, each message, bytes behind them."""

    head: bytes
    messages: tuple[bytes, ...]
    suffix: bytes


@dataclass(frozen=True, slots=True)
class Wire:
    """How one format writes things.

    Attributes:
        turn: writes the messages of a turn.
        around: writes the first messages and what stands behind all of them; told whether it is a small request, and
            whether it asks for a stream.
        messages: the key of the messages.
        call_bytes: what a call and its result cost beside their arguments and output, about.
        turn_bytes: what a turn costs beside its calls, about, without sealed reasoning.
        seals: whether a turn carries such.
        names_model: whether the body does; else the path.
    """

    turn: Callable[[Turn], list[object]]
    around: Callable[[bool, bool], tuple[list[object], dict[str, object]]]
    messages: str = "messages"
    call_bytes: int = 190
    turn_bytes: int = 90
    seals: bool = False
    names_model: bool = True

    def cost(self, turn: Turn) -> int:
        """Say how many bytes a turn has, about."""
        sealed = turn.sealed_bytes * 4 // 3 if self.seals else 0
        calls = sum(len(dump(c.output)) + len(dump(c.arguments)) + self.call_bytes for c in turn.calls)
        return calls + self.turn_bytes + sealed


def dump(value: object) -> bytes:
    """Encode as the JavaScript clients do: no spaces, no escapes that are not needed."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


CLAUDE_TOOLS = {
    "Read": ("file_path", "offset", "limit"),
    "Bash": ("command", "description"),
    "Grep": ("pattern", "path", "output_mode"),
    "Edit": ("file_path", "old_string", "new_string"),
    "Glob": ("pattern", "path"),
    "Write": ("file_path", "content"),
}
CODEX_TOOLS = {
    "exec_command": ("cmd", "workdir", "yield_time_ms"),
    "write_stdin": ("session_id", "chars"),
    "update_plan": ("plan", "explanation"),
    "view_image": ("path",),
}
GEMINI_TOOLS = {
    "read_file": ("file_path", "start_line", "end_line"),
    "run_shell_command": ("command", "description"),
    "grep_search": ("pattern", "dir_path"),
    "replace": ("file_path", "old_string", "new_string"),
    "glob": ("pattern", "dir_path"),
    "write_file": ("file_path", "content"),
}


def tools(count: int, own: Mapping[str, tuple[str, ...]] = CLAUDE_TOOLS) -> list[dict[str, object]]:
    """Describe `count` tools; the first ones are those that the conversation calls."""
    named = list(own.items()) + [(f"mcp__tracker__action_{i}", ("id", "query", "limit")) for i in range(30)]
    return [
        {
            "name": name,
            "description": f"{name}: works on the files and processes of the current workspace. "
            * (1 if count < 9 else 6),
            "schema": {
                "type": "object",
                "properties": {key: {"type": "string", "description": f"The {key} to use"} for key in keys},
                "required": [keys[0]],
            },
        }
        for name, keys in named[:count]
    ]


def _offered(small: bool, own: Mapping[str, tuple[str, ...]], schema_key: str) -> list[dict[str, object]]:
    found = tools(FEW_TOOLS if small else MANY_TOOLS, own)
    return [{(schema_key if key == "schema" else key): value for key, value in tool.items()} for tool in found]


def _system(small: bool, few: int = 3) -> str:
    text = "You are a coding agent. Follow the repository's conventions and run its tests. "
    return text * (few if small else 120)


def _sealed(turn: Turn) -> str:
    """Make text that looks like sealed reasoning: nobody can read it, and it has to go back as it came."""
    return base64.b64encode(random.Random(turn.number).randbytes(turn.sealed_bytes)).decode()


def chat_turn(turn: Turn) -> list[object]:
    """Write a turn for chat completions."""
    ids = turn.ids("call")
    calls = [
        {"id": i, "type": "function", "function": {"name": c.name, "arguments": dump(c.arguments).decode()}}
        for i, c in zip(ids, turn.calls, strict=True)
    ]
    said = {"role": "assistant", "content": turn.text, "tool_calls": calls}
    return [
        said,
        *({"role": "tool", "tool_call_id": i, "content": c.output} for i, c in zip(ids, turn.calls, strict=True)),
    ]


def chat_around(small: bool, stream: bool) -> tuple[list[object], dict[str, object]]:
    first: list[object] = [{"role": "system", "content": _system(small)}, {"role": "user", "content": TASK}]
    after: dict[str, object] = {
        "tools": [{"type": "function", "function": tool} for tool in _offered(small, CLAUDE_TOOLS, "parameters")]
    }
    return first, after | ({"stream": True, "stream_options": {"include_usage": True}} if stream else {})


def anthropic_turn(turn: Turn) -> list[object]:
    """Write a turn for the Messages API."""
    ids = turn.ids("toolu")
    pairs = list(zip(ids, turn.calls, strict=True))
    uses = [{"type": "tool_use", "id": i, "name": c.name, "input": c.arguments} for i, c in pairs]
    results: list[dict[str, object]] = [
        {"tool_use_id": i, "type": "tool_result", "content": c.output} | ({"is_error": True} if c.failed else {})
        for i, c in pairs
    ]
    return [
        {"role": "assistant", "content": [{"type": "text", "text": turn.text}, *uses]},
        {"role": "user", "content": results},
    ]


def anthropic_around(small: bool, stream: bool) -> tuple[list[object], dict[str, object]]:
    after: dict[str, object] = {
        "system": [{"type": "text", "text": _system(small), "cache_control": {"type": "ephemeral"}}],
        "tools": _offered(small, CLAUDE_TOOLS, "input_schema"),
        "metadata": {"user_id": "user_bench_session_7a1c"},
        "max_tokens": 4096,
    }
    first: list[object] = [{"role": "user", "content": [{"type": "text", "text": TASK}]}]
    return first, after | ({"stream": True} if stream else {})


def codex_call(call: Call) -> tuple[str, str]:
    """Give the tool and its input as Codex's model would call it: all but edits is one shell tool."""
    said = call.arguments
    match call.name:
        case "Read":
            first = int(str(said.get("offset", 1)))
            last = f"{first + int(str(said['limit'])) - 1}" if "limit" in said else "$"
            command = f"nl -ba {said['file_path']} | sed -n '{first},{last}p'"
        case "Grep":
            command = f"rg -n --no-heading '{said['pattern']}' {said['path']}"
        case "Glob":
            command = f"rg --files -g '{said['pattern']}'"
        case "Edit":
            old, new = (
                str(said[key]).replace("\n", f"\n{sign}") for key, sign in (("old_string", "-"), ("new_string", "+"))
            )
            body = f"*** Begin Patch\n*** Update File: {said['file_path']}\n@@\n-{old}\n+{new}\n*** End Patch\n"
            return "apply_patch", body
        case _:
            command = str(said["command"])
    return "exec_command", dump({"cmd": command}).decode()


def responses_turn(turn: Turn) -> list[object]:
    """Write a turn for the Responses API, as Codex does."""
    number, ids = turn.number, turn.ids("call")
    calls: list[object] = []
    outputs: list[object] = []
    for place, (name, call) in enumerate(zip(ids, turn.calls, strict=True)):
        tool, given = codex_call(call)
        unique = f"{number:05d}{place:02d}"
        if tool == "apply_patch":
            item = {"type": "custom_tool_call", "status": "completed", "id": f"ctc_{unique}", "call_id": name}
            calls.append(item | {"name": tool, "input": given})
            outputs.append({"type": "custom_tool_call_output", "call_id": name, "output": call.output})
            continue
        item = {"type": "function_call", "status": "completed", "id": f"fc_{unique}", "name": tool}
        calls.append(item | {"arguments": given, "call_id": name})
        header = f"Chunk ID: {number * 16 + place:06x}\nWall time: 0.0421 seconds\nProcess exited with code "
        header += f"{int(call.failed)}\nOriginal token count: {len(call.output) // 4}\nOutput:\n"
        shown = {"type": "function_call_output", "id": f"fco_{unique}", "call_id": name}
        outputs.append(shown | {"output": header + call.output})
    thought = {"type": "reasoning", "id": f"rs_{number:05d}", "summary": [], "content": None}
    said = {"type": "message", "id": f"msg_{number:05d}", "role": "assistant"}
    return [
        thought | {"encrypted_content": _sealed(turn)},
        said | {"content": [{"type": "output_text", "text": turn.text}]},
        *calls,
        *outputs,
    ]


def responses_around(small: bool, stream: bool) -> tuple[list[object], dict[str, object]]:
    def message(place: int, role: str, text: str) -> object:
        content = [{"type": "input_text", "text": text}]
        return {"type": "message", "id": f"msg_first_{place}", "role": role, "content": content}

    where = "<environment_context>\n  <cwd>/srv/app</cwd>\n  <shell>bash</shell>\n</environment_context>"
    first = [message(0, "developer", _system(small, 1)), message(1, "user", where), message(2, "user", TASK)]
    offered = [{"type": "function", **tool, "strict": False} for tool in _offered(small, CODEX_TOOLS, "parameters")]
    after: dict[str, object] = {"tools": offered, "tool_choice": "auto", "parallel_tool_calls": True}
    after |= {"reasoning": {"summary": "auto"}, "store": False, "include": ["reasoning.encrypted_content"]}
    after |= {"prompt_cache_key": "01a22c5c-d4fc-71e0-9755-b92414a54757"}
    return first, after | ({"stream": True} if stream else {})


_GEMINI_NAMES = {
    "Read": "read_file",
    "Bash": "run_shell_command",
    "Grep": "grep_search",
    "Edit": "replace",
    "Glob": "glob",
}


def gemini_call(call: Call) -> tuple[str, dict[str, object], str]:
    """Give the tool, its arguments and its output as Gemini CLI has them."""
    said, output = call.arguments, call.output
    match call.name:
        case "Read" if "limit" in said:
            first = int(str(said["offset"]))
            last = first + int(str(said["limit"])) - 1
            said = {"file_path": said["file_path"], "start_line": first, "end_line": last}
        case "Grep":
            said = {"pattern": said["pattern"], "dir_path": said["path"]}
        case "Bash":
            output = f"<untrusted_context>\nOutput: {output}\nProcess Group PGID: 1052\n</untrusted_context>"
        case _:
            pass
    return _GEMINI_NAMES[call.name], said, output


def gemini_turn(turn: Turn) -> list[object]:
    """Write a turn for `generateContent`, as Gemini CLI does."""
    parts: list[dict[str, object]] = [{"text": turn.text}]
    results: list[dict[str, object]] = []
    for place, (unique, call) in enumerate(zip(turn.ids("run"), turn.calls, strict=True)):
        name, arguments, output = gemini_call(call)
        part: dict[str, object] = {"functionCall": {"id": unique, "args": arguments, "name": name}}
        parts.append(part if place else part | {"thoughtSignature": _sealed(turn)})
        results.append({"functionResponse": {"name": name, "response": {"output": output}, "id": unique}})
    return [{"parts": parts, "role": "model"}, {"parts": results, "role": "user"}]


def gemini_around(small: bool, stream: bool) -> tuple[list[object], dict[str, object]]:
    """Here the path says whether the answer is a stream."""
    del stream
    opening = "<session_context>\nThis is the Gemini CLI. My operating system is: linux\n</session_context>"
    first: list[object] = [{"parts": [{"text": opening}, {"text": TASK}], "role": "user"}]
    offered = _offered(small, GEMINI_TOOLS, "parametersJsonSchema")
    settings = {"temperature": 1, "topP": 0.95, "topK": 64, "thinkingConfig": {"includeThoughts": True}}
    return first, {
        "systemInstruction": {"parts": [{"text": _system(small)}], "role": "user"},
        "tools": [{"functionDeclarations": offered}],
        "generationConfig": settings,
    }


WIRES: dict[Format, Wire] = {
    "chat": Wire(chat_turn, chat_around),
    "anthropic": Wire(anthropic_turn, anthropic_around),
    "responses": Wire(responses_turn, responses_around, "input", 410, 230, seals=True),
    "gemini": Wire(gemini_turn, gemini_around, "contents", 215, 140, seals=True, names_model=False),
}
