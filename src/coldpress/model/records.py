"""What the ledger keeps: one receipt per request, with a line per tool result that was looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from coldpress.model.usage import Usage

Operation = Literal["press", "observe", "drain", "off"]
"""What the gateway may do: press; decide and record only; keep standing edits but make none; nothing."""

Reason = Literal[
    "pressed",  # made smaller
    "restored",  # a refusal to read again was answered with the exact text
    "exact_by_policy",  # the rule says exact, or no rule matched
    "too_small",  # under the size a rule asks for
    "gain_too_small",  # a view was made and saves less than it must
    "failed_result",  # the result tells of a failure
    "protected_kind",  # mutation, plan, memory or diff
    "already_pressed",  # carries our marker, or the client has cut it itself
    "unpaired",  # its call is missing or ambiguous
    "unreadable",  # holds a lone surrogate
    "drain",  # no new edits while draining
    "observe",  # would have been pressed
    "mode_not_built",  # the rule names a mode that this version does not have
]


@dataclass(frozen=True, slots=True)
class Line:
    """What was decided about one text of one tool result when it was first seen.

    Sizes are UTF-8 bytes of the text; tokens are estimates of `coldpress.measure.tokens`, `None` where not counted.
    """

    tool: str
    kind: str
    mode: str
    reason: Reason
    rule: str
    original: str
    bytes_before: int
    bytes_after: int
    tokens_before: int | None = None
    tokens_after: int | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """One request: what was decided, what was sent, and later what the provider reported.

    `reused` counts standing edits applied again, `lines` only what was decided on this request. `notes` are fixed
    words for things worth knowing: `head_changed`, `volatile_head`, `subscription`, `client_compaction`,
    `store_failed`, `pass_through:REASON`.
    """

    request_id: str
    received_at: float
    provider: str
    format: str
    model: str | None
    lineage: str
    harness_session: str | None
    operation: Operation
    messages: int
    body_bytes: int
    sent_bytes: int
    lines: tuple[Line, ...] = ()
    reused: int = 0
    reused_bytes_saved: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended. `status` is `None` where no answer came; `ended` says how the exchange closed."""

    request_id: str
    status: int | None
    ended: Literal["complete", "client_gone", "upstream_failed", "upstream_broken", "error_event"]
    duration_seconds: float
    usage: Usage = field(default_factory=Usage)
