"""Tell the lines of a Codex rollout apart, and keep what they say about the session as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field

from coldpress.lab.importers.codex_items import ITEMS
from coldpress.lab.importers.jsonvalues import JsonObject, object_in, text_in
from coldpress.lab.jsontext import compact_json
from coldpress.lab.rebuild import RequestHead

WRAPPED = frozenset(
    {
        "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state", "token_usage_record",
        "inter_agent_communication", "inter_agent_communication_metadata", "retained_context",
    }
)  # fmt: skip
"""Kinds of line that carry a payload."""

EVENTS = frozenset(
    {
        "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break",
        "apply_patch_approval_request", "background_event", "collab_agent_interaction_begin",
        "collab_agent_interaction_end", "collab_agent_spawn_begin", "collab_agent_spawn_end", "collab_close_begin",
        "collab_close_end", "collab_resume_begin", "collab_resume_end", "collab_waiting_begin", "collab_waiting_end",
        "context_compacted", "deprecation_notice", "dynamic_tool_call_request", "dynamic_tool_call_response",
        "elicitation_request", "entered_review_mode", "error", "exec_approval_request", "exec_command_begin",
        "exec_command_end", "exited_review_mode", "guardian_assessment", "guardian_warning", "hook_completed",
        "hook_started", "image_generation_begin", "image_generation_end", "item_completed", "item_started",
        "mcp_startup_complete", "mcp_startup_update", "mcp_tool_call_begin", "mcp_tool_call_end", "model_reroute",
        "model_verification", "patch_apply_begin", "patch_apply_end", "plan_delta", "plan_update",
        "request_permissions", "request_user_input", "session_configured", "shutdown_complete", "stream_error",
        "sub_agent_activity", "task_complete", "task_started", "terminal_interaction", "thread_goal_updated",
        "thread_name_updated", "thread_settings_applied", "turn_aborted", "turn_complete", "turn_diff",
        "turn_started", "undo_completed", "undo_started", "user_message", "view_image_tool_call", "warning",
        "web_search_begin", "web_search_end",
    }
)  # fmt: skip
"""Known events that tell the screen what the items say, or something that is never sent."""

BARE_HEADER = "(header)"
"""What the first line of a rollout from before autumn 2025 is called here."""

BARE_STATE = "(state)"
"""What the lines that such a rollout keeps its own state in are called here."""


def recognises(found: JsonObject) -> bool:
    """Whether this object can only be a line of a Codex rollout."""
    kind = text_in(found, "type")
    if kind in WRAPPED:
        return isinstance(found.get("payload"), dict) and isinstance(found.get("timestamp"), str)
    return unwrapped(found)[0] in (BARE_HEADER, BARE_STATE)


def unwrapped(found: JsonObject) -> tuple[str, JsonObject]:
    """Give a line's kind and payload, those of a bare line as if it were wrapped."""
    kind = text_in(found, "type")
    if isinstance(found.get("payload"), dict):
        return kind or "(no type)", object_in(found, "payload")
    if kind in ITEMS:
        return "response_item", found
    if text_in(found, "record_type") == "state":
        return BARE_STATE, found
    if kind is None and {"id", "timestamp", "instructions"} <= found.keys():
        return BARE_HEADER, found
    return kind or "(no type)", {}


def label(kind: str, payload: JsonObject) -> str:
    """Name what a line holds: its kind, and that of the item or event in it."""
    parts = [kind]
    if kind in ("response_item", "event_msg"):
        parts += [part for part in (text_in(payload, "type"), text_in(payload, "role")) if part]
    return ":".join(parts)


def is_count(kind: str, payload: JsonObject) -> bool:
    """Whether a line tells of a request's tokens."""
    return kind == "token_usage_record" or (kind == "event_msg" and payload.get("type") == "token_count")


@dataclass(slots=True)
class Head:
    """What the lines say about the session as a whole, gathered as they come."""

    session: str | None = None
    side_chain: bool = False
    model: str = ""
    system: str | None = None
    tools: set[str] = field(default_factory=set)

    def begin(self, meta: JsonObject) -> bool:
        """Take the header; false where there was one before, as in a session that was forked off another."""
        if self.session is not None:
            return False
        self.session = text_in(meta, "id") or text_in(meta, "session_id") or ""
        self.side_chain = "subagent" in object_in(meta, "source")
        self._instruct(meta)
        return True

    def turn(self, context: JsonObject) -> None:
        """Take the settings of a turn."""
        self.model = text_in(context, "model") or self.model
        self._instruct(context)

    def _instruct(self, found: JsonObject) -> None:
        text = text_in(found, "base_instructions") or text_in(object_in(found, "base_instructions"), "text")
        self.system = self.system or text

    def request_head(self) -> RequestHead | None:
        """Give the recorded system prompt, `None` where there is none; the tools are not recorded and made up."""
        if not self.system:
            return None
        tools = (
            {"name": name, "description": f"The tool {name}.", "input_schema": {"type": "object"}}
            for name in sorted(self.tools)
        )
        return RequestHead(self.system, tuple(compact_json(tool) for tool in tools))
