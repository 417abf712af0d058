"""Read the events of OpenHands' newer agent SDK, which have a `kind`."""

from __future__ import annotations

from coldpress.lab.importers.jsonvalues import JsonObject, count_in, object_in, objects_in, text_in
from coldpress.lab.importers.openhands_shapes import (
    Acted,
    Opened,
    Read,
    Seen,
    Unused,
    call_of,
    forgot_of,
    strings_in,
)

UNSENT_KINDS = frozenset(
    {
        "AgentErrorNote", "CondensationRequest", "CondensationSummaryEvent", "ConversationErrorEvent",
        "ConversationIterationLimitEvent", "ConversationStateUpdateEvent", "LLMCompletionLogEvent", "PauseEvent",
        "StreamingDeltaEvent", "TokenEvent", "HookExecutionEvent", "WarningEvent", "InterruptEvent", "ACPToolCallEvent",
    }
)  # fmt: skip
"""Known events of the agent SDK that add nothing to a conversation."""


def sdk_event(kind: str, found: JsonObject) -> Read:
    """Read one event of this kind."""
    if kind == "SystemPromptEvent":
        texts = [text_in(object_in(found, key), "text") or "" for key in ("system_prompt", "dynamic_context")]
        return Opened("\n\n".join(text for text in texts if text), tuple(objects_in(found, "tools")))
    if kind == "ActionEvent":
        return Acted(
            text_in(found, "llm_response_id") or "",
            _texts(found.get("thought")),
            tuple(objects_in(found, "thinking_blocks")),
            (
                call_of(
                    object_in(found, "tool_call") or {"id": found.get("tool_call_id"), "name": found.get("tool_name")}
                ),
            ),
        )
    if kind == "MessageEvent":
        said = object_in(found, "llm_message")
        text = "\n".join(t for t in (_texts(said.get("content")), _texts(found.get("extended_content"))) if t)
        if said.get("role", found.get("source")) in ("assistant", "agent"):
            name = text_in(found, "llm_response_id") or ""
            return Acted(name, text, tuple(objects_in(said, "thinking_blocks")))
        return Seen(text, _images(said.get("content")))
    if kind in ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent"):
        return _sdk_result(found)
    if kind == "Condensation":
        return forgot_of(found)
    known = kind in UNSENT_KINDS
    return Unused(f"{kind} events (never sent)" if known else f"events of an unknown kind: {kind}", known)


def _sdk_result(found: JsonObject) -> Seen:
    seen = object_in(found, "observation")
    text = _texts(seen.get("content")) or text_in(seen, "output") or text_in(seen, "error") or ""
    text = text or text_in(found, "error") or text_in(found, "rejection_reason") or ""
    metadata = object_in(seen, "metadata")
    text = (text_in(metadata, "prefix") or "") + text + (text_in(metadata, "suffix") or "")
    extended = _texts(found.get("extended_content"))
    code = count_in(metadata, "exit_code")
    return Seen(
        f"{text}\n{extended}" if extended else text,
        _images(seen.get("content")),
        text_in(found, "tool_call_id") or "",
        failed=not seen or bool(seen.get("is_error") or seen.get("error") is True) or code not in (None, 0),
        result=True,
    )


def _texts(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(text_in(part, "text") or "" for part in parts if isinstance(part, dict) and "text" in part)


def _images(content: object) -> tuple[str, ...]:
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return tuple(url for part in parts for url in strings_in(part.get("image_urls")))
