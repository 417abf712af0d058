"""The promises of the design as laws over conversations as strange as JSON allows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import (
    STEPS,
    STYLES,
    Step,
    Style,
    anthropic_messages,
    anthropic_request,
    chat_messages,
    chat_request,
    code_assist_request,
    gemini_contents,
    responses_items,
    responses_request,
    write,
)
from support import failed_quietly, pressing
from support import settings as made

from coldpress.model.conversation import Conversation, ToolResult
from coldpress.stores.sqlite import SqliteStore
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName
from coldpress.wire.span import mask_lone_surrogates

LAW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
RUNS = st.lists(STEPS, min_size=1, max_size=5)
FORMATS: list[FormatName] = ["anthropic", "openai_chat", "openai_responses", "gemini"]


def request(name: FormatName, steps: list[Step], style: Style) -> bytes:
    made = {
        "anthropic": lambda: anthropic_request(anthropic_messages(steps)),
        "openai_chat": lambda: chat_request(chat_messages(steps)),
        "openai_responses": lambda: responses_request(responses_items(steps)),
        "gemini": lambda: code_assist_request(gemini_contents(steps)),
    }
    return write(made[name](), style)


def even(style: Style) -> Style:
    """The same hand without drawn spacing, so that each turn repeats the last one's bytes."""
    return Style(style.seed, False, style.ascii_only, False)


def turns(name: FormatName, steps: list[Step], style: Style) -> list[bytes]:
    return [request(name, steps[:upto], even(style)) for upto in range(1, len(steps) + 1)]


def conversation(body: bytes, name: FormatName) -> Conversation:
    return Reader[None](seed=1).read(body, name, None).conversation


def skeleton(body: bytes, name: FormatName) -> list[bytes]:
    """Every byte of a body outside the texts of its tool results, cut at those texts."""
    spans = sorted(
        (t.span.start, t.span.end)
        for m in conversation(body, name).messages
        for b in m.blocks
        if isinstance(b, ToolResult)
        for t in b.texts
    )
    pieces, at = [], 0
    for start, end in spans:
        pieces.append(body[at:start])
        at = end
    return [*pieces, body[at:]]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("operation", ["off", "observe"])
@LAW
@given(steps=RUNS, style=STYLES)
def test_1_untouched_is_untouched(name: FormatName, operation: Any, steps: list[Step], style: Style) -> None:
    body = request(name, steps, style)
    with pressing(made(operation)) as press:
        prepared = press(body, name)
    assert prepared.body is body and not prepared.changed
    assert not failed_quietly(prepared)


@pytest.mark.parametrize("name", FORMATS)
@LAW
@given(steps=RUNS, style=STYLES)
def test_1_every_byte_outside_the_replaced_literals_is_identical(
    name: FormatName, steps: list[Step], style: Style
) -> None:
    body = request(name, steps, style)
    with pressing() as press:
        prepared = press(body, name)
    assert not failed_quietly(prepared)
    if not prepared.changed:
        assert prepared.body is body
    assert skeleton(prepared.body, name) == skeleton(body, name)


@pytest.mark.parametrize("name", FORMATS)
@LAW
@given(steps=RUNS, style=STYLES)
def test_2_and_3_what_was_sent_stays_the_prefix_of_what_is_sent(
    name: FormatName, steps: list[Step], style: Style
) -> None:
    bodies = turns(name, steps, style)
    with pressing() as press:
        sent = press.all(bodies, name)
        again = press.all(bodies, name)
        assert [p.body for p in again] == [p.body for p in sent], "a retry sends the same bytes"
        with pressing(store=press.store) as restarted:
            assert [p.body for p in restarted.all(reversed(bodies), name)] == [p.body for p in reversed(sent)]
    for body, earlier, later in zip(bodies, sent, sent[1:], strict=False):
        end = conversation(body, name).messages[-1].span.end
        kept = earlier.body[: len(earlier.body) - (len(body) - end)]
        assert later.body.startswith(kept)


@pytest.mark.parametrize("name", FORMATS)
@LAW
@given(steps=RUNS, style=STYLES)
def test_4_never_invalid(name: FormatName, steps: list[Step], style: Style) -> None:
    bodies = turns(name, steps, style)
    with pressing() as press:
        for body, prepared in zip(bodies, press.all(bodies, name), strict=True):
            before, after = (json.loads(mask_lone_surrogates(b)) for b in (body, prepared.body))
            assert without_results(after) == without_results(before)
            for old, new in zip(results(before), results(after), strict=True):
                assert type(old) is type(new), "a string stays a string, an array an array"
                assert bool(json.dumps(old).strip('"[] ')) == bool(json.dumps(new).strip('"[] '))


def results(request: dict[str, Any]) -> list[Any]:
    found = []
    for message in listed(request):
        if "parts" in message:
            found += [response_text(part) for part in message["parts"] if "functionResponse" in part]
        elif message.get("role") == "tool":
            found.append(message["content"])
        elif "output" in message:
            found.append(message["output"])
        elif isinstance(message.get("content"), list):
            found += [b.get("content") for b in message["content"] if b.get("type") == "tool_result"]
    return found


def listed(request: dict[str, Any]) -> list[Any]:
    """The messages of a request, whatever its format calls them."""
    within = request.get("request", request)
    return list(within.get("messages") or within.get("contents") or within["input"])


def response_text(part: dict[str, Any]) -> Any:
    response = part["functionResponse"]["response"]
    return next(response[key] for key in ("output", "error", "content") if key in response)


def without_results(request: dict[str, Any]) -> dict[str, Any]:
    copy = json.loads(json.dumps(request))
    for message in listed(copy):
        if "parts" in message:
            for part in message["parts"]:
                if "functionResponse" in part:
                    response = part["functionResponse"]["response"]
                    response |= {key: shape(response[key]) for key in response.keys() & {"output", "error", "content"}}
        elif message.get("role") == "tool":
            message["content"] = shape(message["content"])
        elif "output" in message:
            message["output"] = shape(message["output"])
        elif isinstance(message.get("content"), list):
            for block in message["content"]:
                if block.get("type") == "tool_result":
                    block["content"] = shape(block.get("content"))
    return dict(copy)


def shape(content: Any) -> Any:
    """The form of a content value without its texts."""
    if isinstance(content, list):
        return [{**part, "text": "…"} if "text" in part else part for part in content]
    return "…" if isinstance(content, str) else content


@pytest.mark.parametrize("name", FORMATS)
@LAW
@given(steps=RUNS, style=STYLES)
def test_5_never_lost(name: FormatName, steps: list[Step], style: Style) -> None:
    bodies = turns(name, steps, style)
    with pressing() as press:
        for body, prepared in zip(bodies, press.all(bodies, name), strict=True):
            before, after = conversation(body, name), conversation(prepared.body, name)
            replaced = [old for old, new in zip(texts(before), texts(after), strict=True) if old != new]
            shas = [line.original for line in prepared.receipt.lines if line.reason in ("pressed", "restored")]
            recalled = [press.store.recall(sha) for sha in shas]
            assert set(recalled) <= set(texts(before))
            assert len(replaced) == prepared.receipt.reused + len(shas)


def texts(found: Conversation) -> list[str]:
    return [
        found.text(t)
        for m in found.messages
        for b in m.blocks
        if isinstance(b, ToolResult)
        for t in b.texts
        if t.readable
    ]


@pytest.mark.parametrize("name", FORMATS)
@LAW
@given(junk=st.binary(max_size=200), steps=RUNS, style=STYLES, cut=st.integers(0, 10_000))
def test_6_what_is_no_request_passes_through(
    name: FormatName, junk: bytes, steps: list[Step], style: Style, cut: int
) -> None:
    whole = request(name, steps, style)
    for body in (junk, whole[: cut % len(whole)], junk + whole):
        with pressing() as press:
            prepared = press(body, name)
        assert prepared.body is body or prepared.receipt.messages > 0


@pytest.mark.parametrize("name", FORMATS)
@LAW
@given(steps=RUNS, style=STYLES)
def test_8_pressing_a_pressed_conversation_changes_nothing(name: FormatName, steps: list[Step], style: Style) -> None:
    bodies = turns(name, steps, style)
    with pressing() as press:
        sent = [p.body for p in press.all(bodies, name)]
    with pressing() as other:
        for body, prepared in zip(sent, other.all(sent, name), strict=True):
            assert prepared.body == body


def test_2_standing_edits_survive_a_restart_on_disk_and_a_changed_policy(tmp_path: Path) -> None:
    log = "\n".join(f"step {i} built module_{i}" for i in range(900))
    step = Step((("Bash", log, False),), False, "", None)
    bodies = turns("anthropic", [step, step, step], Style(0, False, False, False))
    path = tmp_path / "store.sqlite3"
    store = SqliteStore(path)
    with pressing(store=store) as press:
        first = press.all(bodies[:2])
    store.close()
    assert first[0].changed
    reopened = SqliteStore(path)
    with pressing(made(policy=made().policy.__class__(())), reopened) as press:
        later = press(bodies[2])
    reopened.close()
    assert later.changed
    assert later.body.startswith(first[1].body[: first[1].body.rindex(b"]}],")])
    assert log in json.loads(later.body)["messages"][-1]["content"][0]["content"], "the new policy keeps new ones exact"
