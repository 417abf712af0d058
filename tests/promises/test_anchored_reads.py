"""With a mark of ours an edited request reads up to the last entry before the edit, as the strict upstream bills it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from bodies import conversation, literals

from coldpress.engine.anchor import anchor, life_at, read_ends
from coldpress.measure.cache import PrefixCache
from coldpress.measure.cache_rules import LOOKBACK_BLOCKS, MAX_MARKS, OPENAI_STEPS
from coldpress.model.conversation import Conversation, Span
from coldpress.model.usage import Usage
from coldpress.testing.anthropic_rules import check_messages_request
from coldpress.testing.meter import Meter
from coldpress.wire.marks import Insertion, Mark, entry_ends, insertion, read_marks
from coldpress.wire.span import splice

LONG, SHORT = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}


@dataclass(frozen=True)
class Shorter:
    span: Span
    literal: bytes


def agent_request(turns: int, calls: int, *, long: bool, marked: int) -> bytes:
    """What an agent sends after some turns of parallel calls, with marks on its system and its last messages."""
    messages: list[dict[str, object]] = [{"role": "user", "content": [{"type": "text", "text": "Find the bug."}]}]
    for turn in range(turns):
        ids = [f"toolu_{turn}_{call}" for call in range(calls)]
        uses = [{"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": name}} for name in ids]
        results = [
            {"type": "tool_result", "tool_use_id": name, "content": f"{name} holds a line\n" * 100} for name in ids
        ]
        messages += [{"role": "assistant", "content": uses}, {"role": "user", "content": results}]
    system: list[dict[str, object]] = [
        {"type": "text", "text": "You are an agent. " * 300, "cache_control": LONG if long else SHORT}
    ]
    for message in messages[-marked:]:
        content = message["content"]
        assert isinstance(content, list)
        content[-1]["cache_control"] = LONG if long else SHORT
    return json.dumps({"model": "claude-sonnet-4-6", "max_tokens": 9, "system": system, "messages": messages}).encode()


def marks_of(found: Conversation) -> tuple[Mark, ...]:
    marks = read_marks(found)
    assert marks is not None
    return marks


def in_messages(marks: Sequence[Mark]) -> list[tuple[int, int]]:
    return [(mark.message, mark.block) for mark in marks if mark.message is not None]


def our_mark(found: Conversation, entries: Sequence[int], first_edited: int) -> Insertion | None:
    marks = marks_of(found)
    place = anchor(
        first_edited,
        [len(message.blocks) for message in found.messages],
        entries,
        in_messages(marks),
        free_marks=MAX_MARKS - len(marks),
        lookback_blocks=LOOKBACK_BLOCKS,
        can_mark=lambda message: insertion(found, message, long=False) is not None,
    )
    if place is None:
        return None
    long = life_at(place, [(-1 if mark.message is None else mark.message, mark.long) for mark in marks])
    assert long is not None
    return insertion(found, place, long=long)


def upto(body: bytes, messages: int) -> int:
    """Tokens of the prompt's beginning, on the upstream's own count."""
    request = json.loads(body)
    return meter().count_messages({**request, "messages": request["messages"][:messages]})


def meter() -> Meter:
    return Meter(lambda: 0.0, automatic=PrefixCache(OPENAI_STEPS))


def read_tokens(usage: Usage) -> int:
    assert usage.read is not None
    return usage.read


@pytest.mark.parametrize("long", [False, True], ids=["five minutes", "an hour"])
@pytest.mark.parametrize(
    ("calls", "marked", "edited", "ours"),
    [
        pytest.param(1, 1, 4, True, id="one call a turn, edit far back"),
        pytest.param(1, 1, 28, False, id="one call a turn, edit near the end"),
        pytest.param(6, 1, 24, True, id="six calls a turn"),
        pytest.param(12, 2, 26, True, id="the client marks two messages, one mark is left"),
        pytest.param(1, 3, 4, False, id="the client marks three messages, none is left"),
    ],
)
def test_the_upstream_reads_what_was_foretold(calls: int, marked: int, edited: int, ours: bool, long: bool) -> None:
    upstream, entries = meter(), list[int]()
    for turns in range(1, 15):
        earlier = agent_request(turns, calls, long=long, marked=marked)
        upstream.messages(json.loads(earlier), dropped=())
        found = conversation(earlier)
        entries += entry_ends(found, marks_of(found))
    body = agent_request(15, calls, long=long, marked=marked)
    found = conversation(body)
    marks = marks_of(found)
    pressed = [Shorter(text.span, b'"pressed"') for text in literals(found) if _holds(found, edited, text.span)]
    assert pressed
    mark = our_mark(found, entries, edited)
    assert (mark is not None) == ours
    patches = sorted([*pressed, *([mark] if mark else [])], key=lambda patch: patch.span.start)
    request = json.loads(splice(body, patches))
    ends = [upto(body, messages) for messages in range(len(found.messages) + 1)]
    foretold = read_ends(
        ends,
        [len(message.blocks) for message in found.messages],
        entries,
        in_messages(marks),
        free_marks=MAX_MARKS - len(marks),
        head_marked=Mark(None, -1, long) in marks,
        lookback_blocks=LOOKBACK_BLOCKS,
        minimum_tokens=1024,
        can_mark=lambda message: insertion(found, message, long=False) is not None,
    )
    assert check_messages_request(request) is None
    assert read_tokens(upstream.messages(request, dropped=())) == max(end for end in foretold if end <= ends[edited])


def _holds(found: Conversation, message: int, span: Span) -> bool:
    place = found.messages[message].span
    return place.start <= span.start < place.end
