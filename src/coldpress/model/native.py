"""What a provider was asked to do to a prompt by itself, and what it says it did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from coldpress.model.usage import Usage

Primitive = Literal[
    "clear_tool_uses",  # Anthropic: old tool results are taken out of the prompt
    "clear_thinking",  # Anthropic: reasoning of earlier turns is taken out, or kept
    "compact_threshold",  # Anthropic: above a threshold the model writes a summary within the request
    "compact_on_demand",  # Anthropic: a request of our own has the older part of a conversation summarised
    "memory_tool",  # Anthropic: the memory tool is declared
    "compaction",  # OpenAI Responses: above a threshold an opaque item takes the place of what came before
    "diagnostics",  # both: why the cache was missed
]
"""What a provider can do by itself."""


@dataclass(frozen=True, slots=True)
class Declined:
    """A primitive that the settings switch on and that was not asked for on a request; `why` is a fixed word."""

    primitive: Primitive
    why: str


@dataclass(frozen=True, slots=True)
class NativeAsked:
    """What we put beside a client's own fields on one request.

    Attributes:
        asked: what was switched on for it.
        declined: what the settings switch on and was left out, with the reason.
        clear_at_least_tokens: the least that a clearing has to free to pay for what it rewrites; `None` where no
            clearing was asked for.
        replaced_messages: the client's leading messages that a summary on demand stands for, in a request for it or in
            one that goes out with it; `None` where there is none.
    """

    asked: tuple[Primitive, ...] = ()
    declined: tuple[Declined, ...] = ()
    clear_at_least_tokens: int | None = None
    replaced_messages: int | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What a provider did to one prompt by itself, as its reply says. Counts are `None` where it does not say.

    Attributes:
        primitive: what.
        cleared_tokens: tokens that it took out of the prompt.
        cleared_tool_uses: tool calls whose results went.
        cleared_thinking_turns: turns whose reasoning went.
        usage: tokens of the sampling step that wrote a summary; nothing is known of it where a provider does not split
            it from the reply's own.
        usd: what that step cost, inside the bill of the reply; `None` where that is not known.
    """

    primitive: Primitive
    cleared_tokens: int | None = None
    cleared_tool_uses: int | None = None
    cleared_thinking_turns: int | None = None
    usage: Usage = field(default_factory=Usage)
    usd: float | None = None
