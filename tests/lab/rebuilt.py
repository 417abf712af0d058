"""Read imported recordings in tests: what their turns say, and whether a provider would take their requests."""

from __future__ import annotations

import json

from lab.recording import objections

from coldpress.lab.importers.chains import Imported
from coldpress.lab.rebuild import requests
from coldpress.testing.anthropic_rules import check_messages_request

Json = dict[str, object]


def content(message: str) -> list[Json]:
    blocks = json.loads(message)["content"]
    assert isinstance(blocks, list)
    return blocks


def words(*messages: str) -> list[object]:
    """What stands in the blocks, in order: a text, the input of a call, the content of a result."""
    keys = {"text": "text", "tool_use": "input", "tool_result": "content", "image": "source", "thinking": "thinking"}
    return [block[keys[str(block["type"])]] for message in messages for block in content(message)]


def skipped(found: Imported) -> dict[str, int]:
    return dict(found.counts.skipped)


def settled(found: Imported) -> bool:
    """Whether it is said of every piece of the file what became of it."""
    counts = found.counts
    said = counts.used + counts.set_aside + counts.unknown + counts.broken
    return counts.unsettled == 0 and said == counts.pieces


def refused(found: Imported) -> list[object]:
    """What a provider would refuse in any request of the recording; empty where nothing."""
    refusals: list[object] = []
    for trajectory in found.trajectories:
        for head in (found.head, None):
            for body in requests(trajectory, head):
                refusals += objections(body)
                refusal = check_messages_request(json.loads(body))
                refusals += [refusal] if refusal else []
    return refusals
