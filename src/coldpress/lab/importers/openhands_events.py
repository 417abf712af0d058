"""Read OpenHands' events in order, old and new; the old ones here.

Programs up to 1.x write actions and observations with an `action` or an `observation` field; the first ones put the
arguments beside it, and pairs of both into a list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from coldpress.lab.importers.jsonvalues import JsonObject, count_in, object_in, objects_in, text_in
from coldpress.lab.importers.linefiles import utc_time
from coldpress.lab.importers.openhands_sdk import sdk_event
from coldpress.lab.importers.openhands_shapes import (
    Acted,
    Call,
    Event,
    Opened,
    Read,
    Seen,
    Unused,
    call_of,
    forgot_of,
    strings_in,
)

_WORD = re.compile(r"[a-z_]+")

UNSENT_ACTIONS = frozenset(
    {
        "recall",
        "change_agent_state",
        "null",
        "start",
        "pause",
        "resume",
        "stop",
        "condensation_request",
        "loop_recovery",
    }
)
"""Known actions that add nothing to a conversation."""

UNSENT_OBSERVATIONS = frozenset({"agent_state_changed", "null", "condense", "loop_detection", "server_ready"})
"""Known observations that add nothing to a conversation."""


def is_event(found: JsonObject) -> bool:
    """Whether this object is one of OpenHands' events, old or new."""
    if text_in(found, "kind") is not None:
        return text_in(found, "source") in ("agent", "user", "environment", "hook") and "id" in found
    if "role" in found:  # a message of another agent's history
        return False
    action, observation = text_in(found, "action") or "", text_in(found, "observation") or ""
    acted = _WORD.fullmatch(action) and {"args", "thought", "content"} & found.keys()
    return bool(acted or (_WORD.fullmatch(observation) and "content" in found))


def events(history: object, notes: Counter[str]) -> Iterator[Event]:
    """Read a record's history in order; a list in the list is a pair of an action and its observation.

    Times that cannot be are counted in `notes`.
    """
    for found in history if isinstance(history, list) else ():
        for one in found if isinstance(found, list) else (found,):
            if isinstance(one, dict):
                yield _event(one, notes)
            else:
                yield Event("(no object)", "", None, Unused("history entries that are no object", known=False), {})


def _event(found: JsonObject, notes: Counter[str]) -> Event:
    name = found.get("id")
    kind, action, observation = (text_in(found, key) for key in ("kind", "action", "observation"))
    if kind is not None:
        label, read = f"event:{kind}", sdk_event(kind, found)
    elif action is not None:
        label, read = f"action:{action}", _action(action, found)
    elif observation is not None:
        label, read = f"observation:{observation}", _observation(observation, found)
    else:
        label, read = "(no kind)", Unused("history entries of no kind", known=False)
    return Event(
        label,
        "" if name is None else str(name),
        utc_time(found.get("timestamp"), notes),
        read,
        object_in(found, "llm_metrics"),
    )


def _action(action: str, found: JsonObject) -> Read:
    args = object_in(found, "args") or found
    if action == "system":
        return Opened(text_in(args, "content") or "", tuple(objects_in(args, "tools")))
    if action == "condensation":
        return forgot_of(args)
    if action in UNSENT_ACTIONS:
        return Unused(f"{action} actions (never sent)")
    by_user = found.get("source", "user" if action == "message" else "agent") == "user"
    if action == "message" and by_user:
        images = args.get("image_urls") or args.get("images_urls")
        return Seen(text_in(args, "content") or "", strings_in(images))
    if by_user:
        what = text_in(args, "command") or text_in(args, "path") or text_in(args, "code") or ""
        return Seen(f"The user did this: {action} {what}".strip())
    return _acted(action, args, object_in(found, "tool_call_metadata"))


def _acted(action: str, args: JsonObject, told: JsonObject) -> Acted:
    """Read what the agent did, from the response that brought it where that was kept."""
    response = object_in(told, "model_response")
    said = object_in(next(iter(objects_in(response, "choices")), {}), "message")
    if said:
        thinking = tuple(objects_in(said, "thinking_blocks"))
        calls = tuple(call_of(call) for call in objects_in(said, "tool_calls"))
        text = text_in(said, "content") or "\n".join(text_in(p, "text") or "" for p in objects_in(said, "content"))
        return Acted(text_in(response, "id") or "", text, thinking, calls, response)
    if action == "message":
        return Acted("", text_in(args, "content") or "")
    thought = args.get("thought")
    text = thought if isinstance(thought, str) else text_in(object_in(args, "thought"), "text") or ""
    name, recorded = text_in(told, "function_name") or action, text_in(told, "tool_call_id") or ""
    left = {key: value for key, value in args.items() if key not in _NO_ARGUMENTS and value is not None}
    return Acted("", text, (), (Call(recorded, name, left),), {}, in_text=not told)


_NO_ARGUMENTS = frozenset(
    {
        "action", "action_risk", "blocking", "confirmation_state", "hidden", "id", "is_confirmed", "keep_prompt",
        "kernel_init_code", "llm_metrics", "message", "security_risk", "source", "thought", "timestamp",
        "tool_call_metadata", "args", "cause", "timeout",
    }
)  # fmt: skip
"""What the program keeps beside the arguments of an action."""


def _observation(kind: str, found: JsonObject) -> Read:
    if kind in UNSENT_OBSERVATIONS:
        return Unused(f"{kind} observations (never sent)")
    extras, told = object_in(found, "extras") or found, object_in(found, "tool_call_metadata")
    cause = found.get("cause")
    text = text_in(found, "content") or ""
    if kind == "recall":
        return _recalled(extras)
    metadata = object_in(extras, "metadata")
    text = (text_in(metadata, "prefix") or "") + text + (text_in(metadata, "suffix") or "")
    code = count_in(metadata, "exit_code") if metadata else count_in(extras, "exit_code")
    # These may stand without an action: they tell of something that happened by itself.
    alone = not told and (cause is None and kind in ("error", "message", "success", "delegate"))
    return Seen(
        text,
        strings_in(extras.get("image_urls")),
        text_in(told, "tool_call_id"),
        None if cause is None else str(cause),
        failed=kind == "error" or code not in (None, 0) or found.get("success") is False,
        result=not alone,
    )


def _recalled(extras: JsonObject) -> Read:
    """Say what was called to mind: the texts as recorded, without the words around them."""
    named = ("repo_name", "repo_directory", "repo_instructions", "additional_agent_instructions", "date")
    texts = [text for key in named if (text := text_in(extras, key))]
    texts += [text_in(one, "content") or "" for one in objects_in(extras, "microagent_knowledge")]
    said = "\n\n".join(text for text in texts if text.strip())
    return Seen(said) if said else Unused("recall observations without anything in them")
