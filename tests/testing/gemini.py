"""Requests of the Gemini wire, as its clients write them."""

from __future__ import annotations

from typing import Any

from testing.wires import Json, Reply, post

from coldpress.testing import StrictUpstream

MODEL = "gemini-3.1-pro-preview"
SCHEMA = {"type": "OBJECT", "properties": {"command": {"type": "STRING"}}, "required": ["command"]}
TOOLS = [{"functionDeclarations": [{"name": "run_shell_command", "parameters": SCHEMA}]}]
THOUGHTS = {"thinkingConfig": {"includeThoughts": True}}


def path(method: str = "generateContent", model: str = MODEL, query: str = "") -> str:
    return f"/v1beta/models/{model}:{method}{query}"


def said(text: str) -> Json:
    return {"role": "user", "parts": [{"text": text}]}


def call(name: str = "run_shell_command", **more: Any) -> Json:
    return {"functionCall": {"name": name, "args": {"command": "ls"}, **more}}


def answer(name: str = "run_shell_command", output: str = "a.py", **more: Any) -> Json:
    return {"functionResponse": {"name": name, "response": {"output": output}, **more}}


def model_turn(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


def user_turn(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts)}


def request(*contents: Json, **more: Any) -> Json:
    return {"contents": list(contents), "tools": TOOLS, "generationConfig": THOUGHTS, **more}


def ask(upstream: StrictUpstream, *contents: Json, **more: Any) -> Reply:
    return post(upstream.url, path(), request(*contents, **more))


def refusal(upstream: StrictUpstream, *contents: Json, **more: Any) -> str:
    """Why a request was refused; empty where it was served."""
    reply = ask(upstream, *contents, **more)
    if reply.status == 200:
        return ""
    error = reply.json["error"]
    assert error["code"] == reply.status
    return str(error["message"])


def answered(turn: Json, output: str) -> list[Json]:
    """A turn of the model just received, and the answers to all its calls."""
    calls = [part["functionCall"] for part in turn["parts"] if "functionCall" in part]
    return [turn, user_turn(*(answer(made["name"], output) for made in calls))]
