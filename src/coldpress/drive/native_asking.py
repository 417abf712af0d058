"""Look at a request as far as it decides over what a provider is asked to do by itself."""

from __future__ import annotations

from typing import Final

from coldpress.config.settings import Provider, Settings
from coldpress.drive.accounts import Accounts
from coldpress.drive.exchange import Inbound
from coldpress.drive.reads import asks_long_life
from coldpress.engine.compacted import COMPACTIONS
from coldpress.engine.native import Asking, decide
from coldpress.model.conversation import Conversation, Opaque
from coldpress.model.native import Primitive
from coldpress.wire.format import Source
from coldpress.wire.outside import outside
from coldpress.wire.span import Misread

NOT_FIRST_PARTY: Final = frozenset(
    {
        "gemini",
        "code-assist",
        "openrouter",
        "deepseek",
        "deepseek-anthropic",
        "xai",
        "groq",
        "mistral",
        "moonshot",
        "moonshot-anthropic",
        "zai",
        "zai-anthropic",
    }
)
"""Built-in providers that may speak these wires and are not the maker. Of an upstream of their own users know best."""

_REASONS: Final = frozenset({"enabled", "adaptive"})


def asking_of(
    settings: Settings,
    accounts: Accounts,
    conversation: Conversation,
    *,
    provider: Provider,
    harness: str | None,
    at: float,
    dropped: bool = False,
    before: frozenset[Primitive] | None = None,
    draining: bool = False,
) -> Asking:
    """Give what `coldpress.engine.native.decide` goes by.

    The expected requests are those of the settings: the ledger's own forecast moves from request to request.

    Args:
        settings: frozen settings.
        accounts: prices.
        conversation: the request.
        provider: who serves it.
        harness: the client's product name.
        at: seconds since 1970.
        dropped: the client left a summary out.
        before: what the request before it was asked; `None` where there is none.
        draining: only what stands already may go on.

    Raises:
        Misread: the body beside the messages cannot be read without doubt.
    """
    source, fields = outside(conversation)
    head = conversation.head
    return Asking(
        format=conversation.format,
        model=head.model,
        fields=frozenset(fields),
        tools=head.tools,
        harness=harness,
        first_party=provider.name not in NOT_FIRST_PARTY,
        stateful=head.stateful,
        stored="store" not in fields or source.value(fields["store"]) is not False,
        thinks="thinking" in fields and _thinks(source.value(fields["thinking"])),
        replays=has_threshold_summary(conversation),
        dropped=dropped,
        before=before,
        draining=draining,
        routes=accounts.routes(provider.name, head.model, at),
        requests=settings.expected_applications,
        long=asks_long_life(conversation) if conversation.format == "anthropic" else False,
    )


def clears(settings: Settings, accounts: Accounts, inbound: Inbound, conversation: Conversation) -> bool:
    """Whether the provider takes old tool results out of a prompt by itself, given that the request may be changed.

    Nothing is asked of it where nobody can send the headers that go with it.
    """
    known = settings.provider(inbound.provider)
    if known is None or not known.native.clear_tool_uses or inbound.ask is None:
        return False
    harness, at = inbound.harness, inbound.received_at
    try:
        asking = asking_of(settings, accounts, conversation, provider=known, harness=harness, at=at)
    except Misread:
        return False
    asked = decide(known.native, asking)
    return asked is not None and "clear_tool_uses" in asked.asked


def has_summary(conversation: Conversation, *, since: int = 0) -> bool:
    """Whether a provider's summary stands in a message from `since` on."""
    return bool(_summaries(conversation, since))


def has_threshold_summary(conversation: Conversation) -> bool:
    """Whether a summary stands there that a threshold compaction wrote: the other kind is signed.

    Raises:
        Misread: one cannot be read without doubt.
    """
    if conversation.format != "anthropic":
        return False
    source = Source(conversation.body, conversation.body)
    found = _summaries(conversation, 0)
    return any(block.span is None or "signature" not in source.members(block.span) for block in found)


def _summaries(conversation: Conversation, since: int) -> list[Opaque]:
    return [
        block
        for message in conversation.messages[since:]
        for block in message.blocks
        if isinstance(block, Opaque) and block.kind in COMPACTIONS
    ]


def _thinks(value: object) -> bool:
    return isinstance(value, dict) and value.get("type") in _REASONS
