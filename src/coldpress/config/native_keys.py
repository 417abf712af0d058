"""The keys of `[providers.NAME.native]`: what a provider is asked to do to prompts by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from coldpress.config.about import say
from coldpress.engine.native import CLEAR_KEEP, CLEAR_TRIGGER_TOKENS, Native

LEAST_COMPACT_TOKENS: Final = 50_000
"""Anthropic refuses a smaller trigger of its threshold compaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeKeys:
    """What a provider is asked to do to prompts by itself, where the client asks for nothing of it; off by default."""

    clear_tool_uses: bool = field(
        default=False,
        metadata=say(
            "Have Anthropic take old tool results out of prompts (`clear_tool_uses_20250919`). coldpress's own masks "
            "of aged results rest in these conversations."
        ),
    )
    clear_thinking: bool = field(
        default=False,
        metadata=say(
            "Say at Anthropic which turns keep their reasoning (`clear_thinking_20251015`), on requests that ask for "
            "reasoning."
        ),
    )
    clear_thinking_keep: int | None = field(
        default=None,
        metadata=say(
            "The newest turns that keep their reasoning. With a number the prompt changes with every turn, and what "
            "stands behind the change is written to the cache again.",
            unit="turns",
            least=1,
            example="2",
            unset="all of them, which leaves the cached prompt as it is",
        ),
    )
    clear_trigger_tokens: int = field(
        default=CLEAR_TRIGGER_TOKENS,
        metadata=say("Prompts longer than this have their tool results cleared.", unit="tokens", least=1),
    )
    clear_keep: int = field(
        default=CLEAR_KEEP,
        metadata=say("The newest tool calls whose results stay.", unit="calls", least=0),
    )
    exclude_tools: tuple[str, ...] = field(
        default=(),
        metadata=say("Tools whose results are never cleared; `memory` is one wherever the memory tool is declared."),
    )
    compact_threshold_tokens: int | None = field(
        default=None,
        metadata=say(
            "Have Anthropic summarise prompts longer than this within the request (`compact_20260112`). Only for "
            "`clients`.",
            unit="tokens",
            least=LEAST_COMPACT_TOKENS,
            example="150000",
            unset="nothing is summarised there",
        ),
    )
    memory_tool: bool = field(
        default=False,
        metadata=say(
            "Declare Anthropic's memory tool in conversations from their first request on. The client must answer its "
            "calls. Only for `clients`."
        ),
    )
    compaction_tokens: int | None = field(
        default=None,
        metadata=say(
            "Have OpenAI compact prompts longer than this within requests of the Responses API that keep nothing at "
            "the server (`context_management`). Only for `clients`.",
            unit="tokens",
            least=1000,
            example="200000",
            unset="nothing is compacted there",
        ),
    )
    compact_on_demand_tokens: int | None = field(
        default=None,
        metadata=say(
            "Have Anthropic summarise the older part of prompts longer than this, in a request of coldpress's own "
            "beside the client's (`compaction` with `compact-2026-09-04`). Its summary stands for that part from the "
            "next request on; the client goes on sending its whole history and needs to know nothing of it.",
            unit="tokens",
            least=LEAST_COMPACT_TOKENS,
            example="150000",
            unset="nothing is summarised on demand",
        ),
    )
    diagnostics: bool = field(
        default=False,
        metadata=say("Ask the provider why its cache was missed, so that the ledger can say whose miss it was."),
    )
    clients: tuple[str, ...] = field(
        default=(),
        metadata=say(
            "Clients that send back what they do not know, by the name that their `user-agent` begins with: a client "
            "that drops the summary would have it written, and billed, on every request."
        ),
    )


def build_native(keys: NativeKeys, at: str, warnings: list[str]) -> Native:
    """Give what the engine goes by.

    Args:
        keys: of one provider.
        at: full key of the provider, for messages.
        warnings: gets one for everything that does nothing.
    """
    for name, wished in (
        ("compact_threshold_tokens", keys.compact_threshold_tokens is not None),
        ("compaction_tokens", keys.compaction_tokens is not None),
        ("memory_tool", keys.memory_tool),
    ):
        if wished and not keys.clients:
            warnings.append(
                f"{at}.native.{name} is set and {at}.native.clients names nobody, so it is asked for on no request; "
                "name the clients that send back what they do not know"
            )
    if keys.clear_thinking_keep is not None and not keys.clear_thinking:
        warnings.append(f"{at}.native.clear_thinking_keep does nothing without clear_thinking = true")
    edits = keys.clear_tool_uses or keys.clear_thinking or keys.compact_threshold_tokens is not None
    if keys.compact_on_demand_tokens is not None and edits:
        warnings.append(
            f"{at}.native.compact_on_demand_tokens does nothing beside clear_tool_uses, clear_thinking and "
            "compact_threshold_tokens; Anthropic takes one or the other"
        )
    return Native(
        clear_tool_uses=keys.clear_tool_uses,
        clear_thinking=keys.clear_thinking,
        clear_thinking_keep=keys.clear_thinking_keep,
        clear_trigger_tokens=keys.clear_trigger_tokens,
        clear_keep=keys.clear_keep,
        exclude_tools=keys.exclude_tools,
        compact_threshold_tokens=keys.compact_threshold_tokens,
        memory_tool=keys.memory_tool,
        compaction_tokens=keys.compaction_tokens,
        compact_on_demand_tokens=keys.compact_on_demand_tokens,
        diagnostics=keys.diagnostics,
        clients=frozenset(name.strip().lower() for name in keys.clients),
    )
