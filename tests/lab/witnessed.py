"""Small conversations with tools, bodies with results taken out, and a slow count to hold the quick one against."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from lab.test_layout import message
from lab.test_replay import compact

from coldpress.lab.blocks import strings
from coldpress.lab.edit_calls import old_texts
from coldpress.lab.evidence import Evidence
from coldpress.lab.identifiers import identifiers
from coldpress.lab.quotes import readings
from coldpress.lab.rebuild import requests
from coldpress.model.trajectory import Trajectory, Turn
from coldpress.model.usage import Usage

Block = dict[str, object]
NAME = "a talk"


def talk(*turns: tuple[list[Block], list[Block]], shared_turns: int = 0, name: str = NAME) -> Trajectory:
    """A conversation of pairs: what the user's side adds, and what the model answers."""
    return Trajectory(name, "session", False, tuple(map(_turn, turns)), shared_turns)


def _turn(pair: tuple[list[Block], list[Block]]) -> Turn:
    added, reply = pair
    return Turn(
        (compact(message("user", *added)),), compact(message("assistant", *reply)), "model", None, None, Usage()
    )


def bodies(trajectory: Trajectory) -> dict[int, bytes]:
    """The client's own, by index of the turn."""
    return dict(enumerate(requests(trajectory), trajectory.shared_turns))


def with_results(body: bytes, shown: Mapping[str, str]) -> bytes:
    """Put other texts in the place of results, by the id of the call."""

    def change(block: Block) -> Block:
        return {**block, "content": shown.get(str(block.get("tool_use_id")), block.get("content"))}

    return changed(body, lambda block: change(block) if block["type"] == "tool_result" else block)


def changed(body: bytes, change: Callable[[Block], Block]) -> bytes:
    """Change the blocks of all messages."""
    request = json.loads(body)
    for one in request["messages"]:
        one["content"] = [change(block) for block in one["content"]]
    return json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode()


def slow_evidence(received: bytes, sent: bytes, reply: str) -> Evidence:
    """Count what a reply used by looking at everything anew."""
    calls = [block for block in json.loads(reply)["content"] if block["type"] == "tool_use"]
    olds = [old for call in calls for old in old_texts(call["name"], call["input"])]
    words = {word for call in calls for text in strings(call["input"]) for word in identifiers(text)}
    results, _ = _texts(received)
    shown = [text for part in _texts(sent) for text in part]
    from_results = [old for old in olds if any(old in text for text in results)]
    known = {word for text in results for word in identifiers(text)} & words
    return Evidence(
        edits=len(olds),
        edits_of_results=len(from_results),
        edits_lost=sum(not any(old in text for text in shown) for old in from_results),
        identifiers=len(known),
        identifiers_lost=sum(not any(word in text for text in shown) for word in known),
        calls=len(calls),
    )


def _texts(body: bytes) -> tuple[list[str], list[str]]:
    """Texts of results with all their readings, and everything else."""
    results: list[str] = []
    said: list[str] = []
    for one in json.loads(body)["messages"]:
        for block in one["content"]:
            if block["type"] == "tool_result":
                parts = block["content"]
                texts = [parts] if isinstance(parts, str) else [p["text"] for p in parts if p["type"] == "text"]
                results += [reading for text in texts for reading in readings(text)]
            elif block["type"] == "tool_use":
                said += strings(block["input"])
            else:
                said += [str(block[key]) for key in ("text", "thinking") if key in block]
    return results, said
