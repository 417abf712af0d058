"""Write Claude Code session files line by line, and check request bodies against a provider's rules."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

Json = dict[str, object]


@dataclass
class Session:
    """A session file under construction; every method returns the uuid of the line it wrote."""

    lines: list[str] = field(default_factory=list)
    last: str | None = None

    def write(self, kind: str, *, parent: str | None = "last", **fields: object) -> str:
        uuid = f"u{len(self.lines)}"
        line = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": self.last if parent == "last" else parent,
            "sessionId": "s1",
            "timestamp": f"2026-01-01T00:00:{len(self.lines):02d}Z",
            "isSidechain": False,
            **fields,
        }
        self.lines.append(json.dumps(line, separators=(",", ":")))
        self.last = uuid
        return uuid

    def user(self, content: object, **fields: object) -> str:
        return self.write("user", message={"role": "user", "content": content}, **fields)

    def result(self, call: str, content: object = "out", **fields: object) -> str:
        block = {"tool_use_id": call, "type": "tool_result", "content": content}
        return self.user([block], toolUseResult={"stdout": content}, **fields)

    def reply(self, message_id: str, block: Json, *, stop: str | None = None, output: int = 1, **fields: object) -> str:
        usage = {
            "input_tokens": 3,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 20,
            "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 0},
            "output_tokens": output,
        }
        message = {"id": message_id, "role": "assistant", "model": "claude-x", "content": [block]}
        return self.write("assistant", message={**message, "usage": usage, "stop_reason": stop}, **fields)

    def says(self, message_id: str, text: str, **fields: object) -> str:
        return self.reply(message_id, {"type": "text", "text": text}, **fields)

    def calls(self, message_id: str, call: str, tool: str = "Bash", **fields: object) -> str:
        return self.reply(message_id, {"type": "tool_use", "id": call, "name": tool, "input": {}}, **fields)


def objections(body: bytes) -> list[str]:
    """What a provider would refuse in a Messages request; empty where nothing."""
    request = json.loads(body)
    found = [f"missing {key}" for key in ("model", "messages", "max_tokens") if not request.get(key)]
    offered = {tool["name"] for tool in request.get("tools", ())}
    open_calls: list[str] = []
    seen: set[str] = set()
    last_role = "assistant"
    for at, message in enumerate(request["messages"]):
        blocks = message["content"]
        if message["role"] == last_role:
            found.append(f"messages.{at}: two {last_role} messages in a row")
        last_role = message["role"]
        if not blocks:
            found.append(f"messages.{at}: empty")
        kinds = [block["type"] for block in blocks]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(results) != sorted(open_calls) or kinds[: len(results)] != ["tool_result"] * len(results):
            found.append(f"messages.{at}: calls {open_calls} answered by {results} in {kinds}")
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        found += [f"messages.{at}: {call} again" for call in open_calls if call in seen]
        seen.update(open_calls)
        found += [
            f"messages.{at}: {b['name']} not offered"
            for b in blocks
            if b["type"] == "tool_use" and b["name"] not in offered
        ]
        found += [f"messages.{at}: empty text" for b in blocks if b["type"] == "text" and not b["text"].strip()]
        if message["role"] == "assistant" and set(kinds) <= {"thinking", "redacted_thinking"}:
            found.append(f"messages.{at}: only thinking")
    if last_role != "user":
        found.append("does not end with the user")
    marks = body.count(b'"cache_control":{"type":"ephemeral"')
    if marks > 4:
        found.append(f"{marks} cache marks")
    return found


def messages_bytes(body: bytes) -> bytes:
    """The body up to the end of its messages, without cache marks."""
    plain = body.replace(b',"cache_control":{"type":"ephemeral"}', b"")
    plain = plain.replace(b',"cache_control":{"type":"ephemeral","ttl":"1h"}', b"")
    return plain[: plain.rindex(b'],"system":[{"type":"text"')]
