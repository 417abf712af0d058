"""Conversations as odd as JSON allows: odd spacing, escapes, lone surrogates, `1.0`, big integers, unknown blocks."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

from hypothesis import strategies as st

LINE = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=60)
ODD_TEXTS = st.sampled_from(
    [
        "",
        " ",
        "héllo 日本語 🙂",
        'quote " backslash \\ slash /',
        "tab\tnew\nline\r\n",
        "\x00\x1f",
        "\u2028\u2029",
        "𝒳" * 5,
    ]
)


@st.composite
def source_listings(draw: st.DrawFn) -> str:
    """A file as a read tool shows it, numbered with padding."""
    count = draw(st.integers(20, 120))
    first = draw(st.sampled_from([1, 1, 1, 95, 990]))
    salt = draw(st.integers(0, 3))
    lines = [
        f"{number:6}\t    value_{(number * 7 + salt) % 50} = compute({number})  # salt {salt}"
        for number in range(first, first + count)
    ]
    return "\n".join(lines)


@st.composite
def logs(draw: st.DrawFn) -> str:
    """A successful command's output, often long, sometimes coloured or repeating itself."""
    count = draw(st.integers(5, 400))
    word = draw(st.sampled_from(["compiled", "ok", "collected", "héllo"]))
    colour = draw(st.booleans())
    lines = [f"step {i if draw(st.booleans()) else 7} {word} module_{i}" for i in range(min(count, 60))]
    lines += [f"step {i} {word} module_{i} in {i % 17}.{i % 10}s" for i in range(count)]
    if colour:
        lines = [f"\x1b[32m{line}\x1b[0m" for line in lines]
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\r\n"]))


TEXTS = st.one_of(LINE, ODD_TEXTS, source_listings(), logs())


@dataclass(frozen=True)
class Style:
    """How a client writes JSON."""

    seed: int
    spaced: bool
    ascii_only: bool
    lone_surrogates: bool


STYLES = st.builds(
    Style, seed=st.integers(0, 2**32), spaced=st.booleans(), ascii_only=st.booleans(), lone_surrogates=st.booleans()
)


def write(value: object, style: Style) -> bytes:
    """Write JSON in a client's own odd way; deterministic."""
    chance = random.Random(style.seed)

    def gap() -> str:
        return chance.choice(["", " ", "\n", "\t ", "\r\n"]) if style.spaced else ""

    def string(text: str) -> str:
        out = json.dumps(text, ensure_ascii=style.ascii_only)
        if style.spaced and chance.random() < 0.3:
            out = out.replace("/", "\\/")
        return out

    def render(item: object) -> str:
        if isinstance(item, Raw):
            return item.text
        if isinstance(item, str):
            return string(item)
        if isinstance(item, dict):
            inner = ",".join(f"{gap()}{string(k)}{gap()}:{gap()}{render(v)}{gap()}" for k, v in item.items())
            return "{" + inner + "}"
        if isinstance(item, list):
            return "[" + ",".join(f"{gap()}{render(v)}{gap()}" for v in item) + "]"
        return json.dumps(item)

    return render(value).encode()


@dataclass(frozen=True)
class Raw:
    """JSON text to be written as it stands."""

    text: str


ODD_VALUES = st.sampled_from(
    [
        Raw("1.0"),
        Raw("1e400"),
        Raw("123456789012345678901234567890"),
        Raw("-0"),
        Raw("[]"),
        Raw("{}"),
        Raw('"\\ud83d"'),
        Raw("[" * 60 + "]" * 60),
        True,
        None,
    ]
)
TOOLS = st.sampled_from(["Read", "Bash", "Grep", "Glob", "WebFetch", "Edit", "mystery_tool", "mcp__x__y"])


def arguments_for(tool: str, number: int) -> dict[str, object]:
    """Plausible arguments of a call."""
    return {
        "Read": {"file_path": f"src/file_{number % 3}.py"},
        "Bash": {"command": f"make step-{number}"},
        "Grep": {"pattern": "def ", "path": "src"},
        "Glob": {"pattern": "**/*.py"},
        "WebFetch": {"url": "https://example.org/page"},
        "Edit": {"file_path": "src/a.py", "old_string": "a", "new_string": "b"},
    }.get(tool, {"n": number})


@dataclass(frozen=True)
class Step:
    """One turn of an agent: parallel calls with their results, or prose."""

    calls: tuple[tuple[str, str, bool], ...]  # tool, text of the result, as an array
    failed: bool
    prose: str
    odd: object


STEPS = st.builds(
    Step,
    calls=st.lists(st.tuples(TOOLS, TEXTS, st.booleans()), max_size=3).map(tuple),
    failed=st.booleans(),
    prose=LINE,
    odd=ODD_VALUES,
)


def anthropic_messages(steps: list[Step], task: str = "do the task") -> list[dict[str, object]]:
    """Write steps as Anthropic messages, each a list ready for `write`."""
    messages: list[dict[str, object]] = [{"role": "user", "content": task}]
    for number, step in enumerate(steps):
        if not step.calls:
            messages.append({"role": "assistant", "content": [{"type": "text", "text": step.prose or "."}]})
            messages.append(
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": step.prose or "go on"},
                        {"type": "novel_block", "data": step.odd},
                    ],
                }
            )
            continue
        uses = [
            {
                "type": "tool_use",
                "id": f"toolu_{number}_{k}",
                "name": tool,
                "input": {**arguments_for(tool, number), "odd": step.odd},
            }
            for k, (tool, _, _) in enumerate(step.calls)
        ]
        thinking = {"type": "thinking", "thinking": "", "signature": f"sig{number}"}
        messages.append({"role": "assistant", "content": [thinking, *uses]})
        results: list[dict[str, object]] = []
        for k, (_, text, array) in enumerate(step.calls):
            content: object = [{"type": "text", "text": text}] if array else text
            if array and not text:
                content = []
            results.append(
                {
                    "type": "tool_result",
                    "tool_use_id": f"toolu_{number}_{k}",
                    "content": content,
                    "is_error": step.failed and k == 0,
                }
            )
        messages.append({"role": "user", "content": results})
    return messages


def anthropic_request(messages: list[dict[str, object]], **top: object) -> dict[str, object]:
    """A whole request in Claude Code's order: messages before system and tools."""
    names = ["Read", "Bash", "Grep", "Glob", "WebFetch", "Edit", "mystery_tool", "mcp__x__y"]
    return {
        "model": "claude-sonnet-4-6",
        "messages": messages,
        "system": [{"type": "text", "text": "You are an agent."}],
        "tools": [{"name": n, "description": "x", "input_schema": {"type": "object"}} for n in names],
        "max_tokens": 1000,
        **top,
    }


def chat_messages(steps: list[Step], task: str = "do the task") -> list[dict[str, object]]:
    """Write steps as Chat Completions messages."""
    messages: list[dict[str, object]] = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": task},
    ]
    for number, step in enumerate(steps):
        if not step.calls:
            messages.append({"role": "assistant", "content": step.prose or "."})
            messages.append({"role": "user", "content": step.prose or "go on", "odd": step.odd})
            continue
        calls = [
            {
                "id": f"call_{number}_{k}",
                "type": "function",
                "function": {"name": tool, "arguments": json.dumps(arguments_for(tool, number))},
            }
            for k, (tool, _, _) in enumerate(step.calls)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        for k, (_, text, array) in enumerate(step.calls):
            content: object = [{"type": "text", "text": text}] if array else text
            messages.append({"role": "tool", "tool_call_id": f"call_{number}_{k}", "content": content})
    return messages


def chat_request(messages: list[dict[str, object]], **top: object) -> dict[str, object]:
    """A whole request, tools behind the messages."""
    names = ["Read", "Bash", "Grep", "Glob", "WebFetch", "Edit", "mystery_tool", "mcp__x__y"]
    tools = [{"type": "function", "function": {"name": n, "parameters": {}}} for n in names]
    return {"model": "gpt-5-mini", "messages": messages, "tools": tools, **top}


def responses_items(steps: list[Step], task: str = "do the task") -> list[dict[str, object]]:
    """Write steps as input items of Responses, each call and each result an item, with sealed reasoning in front."""
    items: list[dict[str, object]] = [
        {"role": "developer", "content": "You are an agent."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": task}]},
    ]
    for number, step in enumerate(steps):
        sealed = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"gAAA{number}"}
        items.append(sealed)
        if not step.calls:
            said = [{"type": "output_text", "text": step.prose or ".", "annotations": []}]
            items.append({"type": "message", "role": "assistant", "id": f"msg_{number}", "content": said})
            items.append({"role": "user", "content": step.prose or "go on", "odd": step.odd})
            items.append({"type": "item_of_the_future", "data": step.odd})
            continue
        for k, (tool, _, _) in enumerate(step.calls):
            arguments = json.dumps(arguments_for(tool, number))
            call = {"type": "function_call", "id": f"fc_{number}_{k}", "call_id": f"call_{number}_{k}", "name": tool}
            items.append({**call, "arguments": arguments, "status": "completed"})
        for k, (_, text, array) in enumerate(step.calls):
            output: object = [{"type": "input_text", "text": text}] if array else text
            items.append({"type": "function_call_output", "call_id": f"call_{number}_{k}", "output": output})
    return items


def responses_request(items: list[dict[str, object]], **top: object) -> dict[str, object]:
    """A whole request as Codex orders it: the input in front of the tools."""
    names = ["Read", "Bash", "Grep", "Glob", "WebFetch", "Edit", "mystery_tool", "mcp__x__y"]
    tools = [{"type": "function", "name": n, "parameters": {}} for n in names]
    return {"model": "gpt-5-codex", "stream": True, "input": items, "tools": tools, "store": False, **top}


def gemini_contents(steps: list[Step], task: str = "do the task") -> list[dict[str, object]]:
    """Write steps as turns of Gemini's; every other step's calls have ids, and its first call is signed."""
    contents: list[dict[str, object]] = [{"role": "user", "parts": [{"text": task}]}]
    for number, step in enumerate(steps):
        if not step.calls:
            signed = {"text": step.prose, "thoughtSignature": f"c2ln{number}"}
            contents.append({"role": "model", "parts": [{"text": step.prose or ".", "thought": True}, signed]})
            contents.append({"role": "user", "parts": [{"text": step.prose or "go on"}, {"novelPart": step.odd}]})
            continue
        calls: list[object] = []
        answers: list[object] = []
        for k, (tool, text, array) in enumerate(step.calls):
            named = {"id": f"{tool}_{number}_{k}", "name": tool} if number % 2 else {"name": tool}
            signature = {} if k else {"thoughtSignature": f"c2ln{number}"}
            calls.append({"functionCall": {**named, "args": arguments_for(tool, number)}, **signature})
            response: dict[str, object] = {"output": text}
            if array:
                response = {"content": [{"type": "text", "text": text}], "odd": step.odd}
            elif step.failed and k == 0:
                response = {"error": text}
            answers.append({"functionResponse": {**named, "response": response}})
        contents += [{"role": "model", "parts": calls}, {"role": "user", "parts": answers}]
    return contents


def gemini_request(contents: list[dict[str, object]], **top: object) -> dict[str, object]:
    """A whole request in gemini-cli's order: the turns in front of system and tools, the model in the address."""
    names = ["Read", "Bash", "Grep", "Glob", "WebFetch", "Edit", "mystery_tool", "mcp__x__y"]
    return {
        "contents": contents,
        "systemInstruction": {"role": "user", "parts": [{"text": "You are an agent."}]},
        "tools": [{"functionDeclarations": [{"name": n, "parametersJsonSchema": {}} for n in names]}],
        "generationConfig": {"temperature": 1.0},
        **top,
    }


def code_assist_request(contents: list[dict[str, object]]) -> dict[str, object]:
    """The same in the envelope of Code Assist, which names the model."""
    inner = gemini_request(contents, session_id="s")
    return {"model": "gemini-2.5-flash", "project": "p", "user_prompt_id": "u", "request": inner}
