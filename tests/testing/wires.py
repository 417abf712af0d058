"""Talk to an upstream over plain HTTP, and read its answers the way a client does."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

TOOLS = [{"name": "Bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}]
CHAT_TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": TOOLS[0]["input_schema"]}}]
RESPONSES_TOOLS = [{"type": "function", "name": "bash", "parameters": TOOLS[0]["input_schema"]}]


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        decoded: Json = json.loads(self.body)
        return decoded

    @property
    def events(self) -> list[Json]:
        """The data of every server-sent event but `[DONE]`."""
        blocks = self.body.replace(b"\r\n", b"\n").decode().split("\n\n")
        data = [line[6:] for block in blocks for line in block.split("\n") if line.startswith("data: ")]
        return [json.loads(line) for line in data if line != "[DONE]"]


def post(url: str, path: str, body: Json | bytes, headers: Mapping[str, str] | None = None) -> Reply:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return exchange(url, "POST", path, raw, {"anthropic-version": "2023-06-01", **(headers or {})})


def exchange(url: str, method: str, path: str, raw: bytes = b"", headers: Mapping[str, str] | None = None) -> Reply:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
    try:
        connection.request(method, path, raw, {"content-type": "application/json", **(headers or {})})
        response = connection.getresponse()
        return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def messages(*listed: Json, **more: Any) -> Json:
    return {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": list(listed), "tools": TOOLS, **more}


def chat(*listed: Json, **more: Any) -> Json:
    return {"model": "gpt-5-mini", "messages": list(listed), "tools": CHAT_TOOLS, **more}


def responses(*listed: Json, **more: Any) -> Json:
    """A stateless request, as coding agents send it."""
    return {"model": "gpt-5.6-sol", "input": list(listed), "tools": RESPONSES_TOOLS, "store": False, **more}


def outputs(items: list[Json], output: str) -> list[Json]:
    """The outputs of all function calls among the items just received."""
    calls = [item for item in items if item["type"] == "function_call"]
    return [{"type": "function_call_output", "call_id": call["call_id"], "output": output} for call in calls]


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def answered(content: list[Json], output: str) -> list[Json]:
    """The assistant turn just received, and the results of all its calls."""
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": output}
        for block in content
        if block["type"] == "tool_use"
    ]
    return [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
