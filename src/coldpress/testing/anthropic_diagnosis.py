"""Compare a Messages request with the one before it, and say why it could not find that prefix in the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from coldpress.model.usage import Usage
from coldpress.testing.anthropic_view import message_blocks, rendered, system_blocks, tool_blocks
from coldpress.testing.jsonview import as_object, as_text
from coldpress.testing.meter import messages_settings


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is kept of a request to compare later ones with: as the client sent it, whatever was cleared of it then.

    Attributes:
        model: with the speed it was asked to have.
        system: digests of the blocks.
        tools: likewise.
        messages: likewise, through all messages.
        settings: digest of what else shapes the prompt, such as `thinking` and `tool_choice`.
        cached: tokens of its prefix that were read or written.
    """

    model: str
    system: tuple[bytes, ...]
    tools: tuple[bytes, ...]
    messages: tuple[bytes, ...]
    settings: bytes
    cached: int


def fingerprint(body: Mapping[str, object], usage: Usage) -> Fingerprint:
    """Keep of a request what later comparisons need; `usage` is of its prompt."""
    return Fingerprint(
        model=f"{as_text(body.get('model'))} {as_text(body.get('speed'))}",
        system=tuple(_digest(rendered(placed)) for placed in system_blocks(body)),
        tools=tuple(_digest(rendered(placed)) for placed in tool_blocks(body)),
        messages=tuple(_digest(rendered(placed)) for blocks in message_blocks(body) for placed in blocks),
        settings=messages_settings(body),
        cached=(usage.read or 0) + (usage.write_short or 0) + (usage.write_long or 0),
    )


def previous_message(body: Mapping[str, object]) -> str | None:
    """Name the reply whose request is to be compared with; `None` for a first turn, or where nothing is asked."""
    named = as_object(body.get("diagnostics")).get("previous_message_id")
    return named if isinstance(named, str) else None


def diagnose(earlier: Fingerprint | None, now: Fingerprint, *, read_tokens: int) -> dict[str, object] | None:
    """Write `diagnostics` of an answer.

    Args:
        earlier: the request to compare with, `None` where it is not known.
        now: the request that was answered.
        read_tokens: what it did read from the cache.

    Returns:
        `None` where the earlier prompt stands whole at the front of this one: then nothing of the client's is to
        blame, even if that prefix was forgotten by then.
    """
    if earlier is None:
        return _told("previous_message_not_found")
    reason = _changed(earlier, now)
    if reason is not None:
        return _told(reason, cache_missed_input_tokens=max(earlier.cached - read_tokens, 0))
    return None if earlier.settings == now.settings else _told("unavailable")


def _changed(earlier: Fingerprint, now: Fingerprint) -> str | None:
    changes = (
        (earlier.model != now.model, "model_changed"),
        (earlier.system != now.system, "system_changed"),
        (earlier.tools != now.tools, "tools_changed"),
        (earlier.messages != now.messages[: len(earlier.messages)], "messages_changed"),
    )
    return next((reason for changed, reason in changes if changed), None)


def _told(kind: str, **fields: object) -> dict[str, object]:
    return {"cache_miss_reason": {"type": kind, **fields}}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
