"""Write one run of our own in the format of every program whose recordings can be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coldpress.lab.importers.any import Kind
from coldpress.lab.importers.recording import Recording
from coldpress.model.trajectory import Turn

MODEL = "claude-opus-4-6"
USAGE = {"input_tokens": 40, "cache_creation_input_tokens": 400, "cache_read_input_tokens": 0, "output_tokens": 30}

Json = dict[str, Any]


def write(run: Recording, kind: Kind, path: Path) -> None:
    """Write a run as a program of this kind would have recorded it, `chat` in OpenAI's form."""
    path.write_text(_WRITERS[kind](run), encoding="utf-8")


def messages_api(run: Recording) -> str:
    """Write a run as one list of messages in Anthropic's form, with the head beside it."""
    head = {"system": run.head.system, "tools": [json.loads(tool) for tool in run.head.tools]}
    said = [message for turn in run.trajectory.turns for message in (*_added(turn), _reply(turn))]
    return json.dumps({"model": MODEL, "max_tokens": run.head.max_tokens, **head, "messages": said})


def _added(turn: Turn) -> list[Json]:
    return [json.loads(message) for message in turn.added]


def _reply(turn: Turn) -> Json:
    found: Json = json.loads(turn.reply)
    return found


def _stamp(seconds: float | None) -> str:
    return datetime.fromtimestamp(seconds or 0.0, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _blocks(message: Json, kind: str) -> list[Json]:
    return [block for block in message["content"] if block["type"] == kind]


def _words(message: Json) -> str:
    return "\n".join(block["text"] for block in _blocks(message, "text"))


def _lines(objects: Iterator[Json]) -> str:
    return "".join(json.dumps(found) + "\n" for found in objects)


def _claude_code(run: Recording) -> str:
    def lines() -> Iterator[Json]:
        last: str | None = None
        count = 0

        def line(kind: str, at: float | None, message: Json) -> Json:
            nonlocal last, count
            count += 1
            made = {
                "type": kind, "uuid": f"u{count}", "parentUuid": last, "sessionId": "own", "isSidechain": False,
                "timestamp": _stamp(at), "message": message,
            }  # fmt: skip
            last = f"u{count}"
            return made

        for number, turn in enumerate(run.trajectory.turns):
            for message in _added(turn):
                yield line("user", turn.sent_at, message)
            reply = _reply(turn)
            stop = "tool_use" if _blocks(reply, "tool_use") else "end_turn"
            for block in reply["content"]:
                told = {"id": f"msg_{number}", "model": MODEL, "usage": USAGE, "stop_reason": stop}
                yield line("assistant", turn.replied_at, {"role": "assistant", "content": [block], **told})

    return _lines(lines())


def _pi(run: Recording) -> str:
    def said(turn: Turn) -> Iterator[tuple[float | None, Json]]:
        for message in _added(turn):
            for block in message["content"]:
                if block["type"] == "tool_result":
                    text = [{"type": "text", "text": block["content"]}]
                    call = {"toolCallId": block["tool_use_id"], "toolName": "tool"}
                    yield turn.sent_at, {"role": "toolResult", **call, "content": text, "isError": False}
                else:
                    yield turn.sent_at, {"role": "user", "content": [block]}
        content = [
            block
            if block["type"] == "text"
            else {"type": "toolCall", "id": block["id"], "name": block["name"], "arguments": block["input"]}
            for block in _reply(turn)["content"]
        ]
        usage = {"input": 40, "output": 30, "cacheRead": 0, "cacheWrite": 400}
        told = {"provider": "anthropic", "model": MODEL, "usage": usage, "stopReason": "stop"}
        yield turn.replied_at, {"role": "assistant", "content": content, **told}

    def lines() -> Iterator[Json]:
        yield {"type": "session", "version": 3, "id": "own", "timestamp": _stamp(0.0), "cwd": "/w"}
        last: str | None = None
        for number, (at, message) in enumerate(one for turn in run.trajectory.turns for one in said(turn)):
            stamped = {**message, "timestamp": round((at or 0.0) * 1000)}
            yield {
                "type": "message", "id": f"m{number}", "parentId": last, "timestamp": _stamp(at), "message": stamped
            }  # fmt: skip
            last = f"m{number}"

    return _lines(lines())


def _chat(run: Recording, *, with_times: bool = True) -> list[Json]:
    """Give a run's messages in OpenAI's form."""
    said: list[Json] = [{"role": "system", "content": run.head.system}]
    for turn in run.trajectory.turns:
        at = {"timestamp": turn.sent_at} if with_times else {}
        for message in _added(turn):
            for block in message["content"]:
                if block["type"] == "tool_result":
                    said.append(
                        {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"], **at}
                    )
                else:
                    said.append({"role": "user", "content": block["text"], **at})
        said.append({**_chat_reply(turn), **({"timestamp": turn.replied_at} if with_times else {})})
    return said


def _chat_reply(turn: Turn) -> Json:
    reply = _reply(turn)
    calls = [
        {"id": call["id"], "type": "function"}
        | {"function": {"name": call["name"], "arguments": json.dumps(call["input"])}}
        for call in _blocks(reply, "tool_use")
    ]
    return {"role": "assistant", "content": _words(reply), **({"tool_calls": calls} if calls else {})}


def _tau_bench(run: Recording) -> str:
    found = {"task_id": 1, "reward": 1.0, "info": {}, "traj": _chat(run, with_times=False), "trial": 0}
    return json.dumps([found])


def _mini_swe_agent(run: Recording) -> str:
    said = _chat(run)
    for message in said:
        at = message.pop("timestamp", None)
        message["extra"] = {"timestamp": at}
        if message["role"] == "assistant":
            message["extra"]["response"] = {"model": MODEL, "created": round(at or 0.0), "usage": USAGE}
    return json.dumps({"trajectory_format": "mini-swe-agent-1.1", "instance_id": "own", "info": {}, "messages": said})


def _swe_agent(run: Recording) -> str:
    history: list[Json] = [{"role": "system", "content": run.head.system, "agent": "main"}]
    steps: list[Json] = []
    for turn in run.trajectory.turns:
        for message in _added(turn):
            for block in message["content"]:
                if block["type"] == "tool_result":
                    ids = [block["tool_use_id"]]
                    history.append({"role": "tool", "content": block["content"], "agent": "main", "tool_call_ids": ids})
                else:
                    history.append({"role": "user", "content": block["text"], "agent": "main"})
        reply = _chat_reply(turn)
        history.append({**reply, "agent": "main", "action": "", "message_type": "action"})
        steps.append({"action": "", "observation": "", "response": reply["content"], "thought": reply["content"]})
    return json.dumps({"environment": "own", "trajectory": steps, "history": history, "info": {}})


def _codex(run: Recording) -> str:
    def lines() -> Iterator[Json]:
        first = run.trajectory.turns[0].sent_at
        instructions = {"text": run.head.system}
        opening = {"id": "own", "cwd": "/w", "source": "cli", "base_instructions": instructions}
        yield _codex_line(first, "session_meta", opening)
        yield _codex_line(first, "turn_context", {"model": MODEL, "cwd": "/w"})
        total = 0
        for turn in run.trajectory.turns:
            for message in _added(turn):
                for block in message["content"]:
                    yield _codex_line(turn.sent_at, "response_item", _codex_input(block))
            for block in _reply(turn)["content"]:
                yield _codex_line(turn.replied_at, "response_item", _codex_output(block))
            total += 1000
            counted = {"input_tokens": 1000, "cached_input_tokens": 0, "output_tokens": 7, "reasoning_output_tokens": 0}
            info = {"last_token_usage": counted, "total_token_usage": {**counted, "input_tokens": total}}
            yield _codex_line(turn.replied_at, "event_msg", {"type": "token_count", "info": info})

    return _lines(lines())


def _codex_line(at: float | None, kind: str, payload: Json) -> Json:
    return {"timestamp": _stamp(at), "type": kind, "payload": payload}


def _codex_input(block: Json) -> Json:
    if block["type"] == "tool_result":
        return {"type": "function_call_output", "call_id": block["tool_use_id"], "output": block["content"]}
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": block["text"]}]}


def _codex_output(block: Json) -> Json:
    if block["type"] == "tool_use":
        arguments = json.dumps(block["input"])
        return {"type": "function_call", "call_id": block["id"], "name": block["name"], "arguments": arguments}
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": block["text"]}]}


def _openhands(run: Recording) -> str:
    history: list[Json] = []

    def event(at: float | None, **fields: object) -> None:
        history.append({"id": len(history), "timestamp": _stamp(at).removesuffix("Z"), **fields})

    tools = [
        {"type": "function", "function": {"name": tool["name"], "parameters": tool["input_schema"]}}
        for tool in map(json.loads, run.head.tools)
    ]
    event(
        run.trajectory.turns[0].sent_at, source="agent", action="system",
        args={"content": run.head.system, "tools": tools},
    )  # fmt: skip
    for number, turn in enumerate(run.trajectory.turns):
        for message in _added(turn):
            for block in message["content"]:
                if block["type"] == "tool_result":
                    told = {"tool_call_id": block["tool_use_id"], "function_name": "tool"}
                    event(
                        turn.sent_at, source="agent", observation="run", content=block["content"],
                        extras={"metadata": {"exit_code": 0}}, tool_call_metadata=told, cause=len(history) - 1,
                    )  # fmt: skip
                else:
                    event(turn.sent_at, source="user", action="message", args={"content": block["text"]})
        reply = _chat_reply(turn)
        for call in reply.get("tool_calls", ()):
            answer = {"id": f"r{number}", "model": MODEL, "choices": [{"message": reply}]}
            told = {"tool_call_id": call["id"], "function_name": call["function"]["name"], "model_response": answer}
            event(
                turn.replied_at, source="agent", action="run", args={"thought": reply["content"]},
                tool_call_metadata=told,
            )  # fmt: skip
        if "tool_calls" not in reply:
            event(turn.replied_at, source="agent", action="message", args={"content": reply["content"]})
    return json.dumps({"instance_id": "own", "metadata": {"llm_config": {"model": MODEL}}, "history": history}) + "\n"


_WRITERS: dict[Kind, Callable[[Recording], str]] = {
    "claude-code": _claude_code,
    "pi": _pi,
    "codex": _codex,
    "openhands": _openhands,
    "swe-agent": _swe_agent,
    "mini-swe-agent": _mini_swe_agent,
    "tau-bench": _tau_bench,
    "chat": lambda run: json.dumps({"model": MODEL, "messages": _chat(run)}),
}
