"""Tell which models bind their reasoning to the text before it, and from where on a conversation may still be edited.

Such a model takes reasoning back only if everything before it is as it was when the model thought: Claude refuses
the request or drops the reasoning, OpenAI drops it without a word. Reasoning before an edit stays valid.
"""

from __future__ import annotations

import re
from typing import Final

from coldpress.engine.compacted import compacted_before
from coldpress.model.conversation import Conversation, Message, Opaque

FIRST_BINDING: Final[dict[str, tuple[int, int]]] = {
    "fable": (5, 1),
    "mythos": (5, 1),
    "opus": (5, 5),
    "sonnet": (5, 5),
    "haiku": (5, 5),
}
"""The first version of each Claude family that binds, on every host; later ones are taken to bind as well.

Source: platform.claude.com, "Preserved thinking", as of November 2026."""

FIRST_BINDING_UNLISTED: Final = min(FIRST_BINDING.values())
"""For Claude families that are not listed: newer than any family that is known not to bind."""

FIRST_BINDING_GPT: Final = (5, 6)
"""The first GPT whose reasoning of earlier turns is shown to it again, so that a changed prefix costs it."""

REASONING_BLOCKS: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""Blocks that hold reasoning: the first two in Messages, the last in Responses and Chat Completions. Plain text counts:
a gateway on the way may keep the signature that belongs to it."""

REASONING_FIELDS: Final = (
    b'"thinking_blocks"',
    b'"reasoning_details"',
    b'"reasoning_opaque"',
    b'"encrypted_content"',
    b'"signature"',
)
"""Fields of a Chat Completions message in which gateways carry signed reasoning, and of items of Responses beside
those of reasoning. A text that speaks of these words holds them with escaped quotes."""

_FAMILY: Final = "|".join(sorted(FIRST_BINDING))
_VERSION: Final = r"v?(\d{1,2})(?:[-.p](\d{1,2}))?(?!\d)"
_CLAUDE: Final = re.compile(rf"claude-(?:([a-z]+)-)?{_VERSION}")
_BARE: Final = re.compile(rf"(?:^|[/:.~])({_FAMILY})-{_VERSION}")
_GPT: Final = re.compile(r"(?:^|[/:.~])gpt-(\d{1,2})(?:\.(\d{1,2}))?(?!\d)")
_GEMINI: Final = re.compile(r"(?:^|[/:.~])gemini-")


def binds(model: str | None) -> bool:
    """Whether a model binds its reasoning to its prefix.

    Names may carry a provider, a region, a date or a variant. A Claude whose name tells no version is taken to bind,
    since it may be the newest; any other model that is not known to bind is taken not to.

    >>> [binds(name) for name in ("claude-opus-5-5-20261101", "us.anthropic.claude-opus-5-v1:0", "deepseek-v4-pro")]
    [True, False, False]
    """
    if not model:
        return False
    name = model.lower()
    if "claude" in name:
        return _claude_binds(name)
    bare = _BARE.search(name)
    if bare is not None:
        return _version(bare[2], bare[3]) >= FIRST_BINDING[bare[1]]
    gpt = _GPT.search(name)
    return gpt is not None and _version(gpt[1], gpt[2]) >= FIRST_BINDING_GPT


def signs_calls(model: str | None) -> bool:
    """Whether a model signs its calls: what is signed must go back as it was written, or not at all.

    Source: ai.google.dev, "Thought signatures", as of November 2026: Gemini puts one on each call, in Chat Completions
    under `extra_content`.

    >>> signs_calls("google/gemini-3-pro-preview"), signs_calls("deepseek-v4-pro")
    (True, False)
    """
    return model is not None and _GEMINI.search(model.lower()) is not None


def edit_floor(conversation: Conversation, *, since: int = 0) -> int:
    """Index of the first message that may be edited without changing what stands before some reasoning.

    It is the one behind the last message that holds reasoning, and 0 where none does. Whether that matters is for
    `binds` to say. In Chat Completions and Responses it is looked for in the fields that carry it signed, too.

    Args:
        conversation: the request.
        since: messages before this one are not looked at.
    """
    for index in range(len(conversation.messages) - 1, since - 1, -1):
        if _reasons(conversation, conversation.messages[index]):
            return index + 1
    return 0


def editable_from(conversation: Conversation, *, allow_thinking_loss: bool, since: int = 0) -> int:
    """Index of the first message in which an aged result may become smaller on this request.

    It is behind what the server has compacted, and behind the last reasoning that is bound to what stands before it.

    Args:
        conversation: the request.
        allow_thinking_loss: the user accepts that reasoning behind an edit is lost.
        since: messages before this one are not looked at.
    """
    floor = compacted_before(conversation, since=since)
    if allow_thinking_loss or not binds(conversation.head.model):
        return floor
    return max(floor, edit_floor(conversation, since=since))


def _claude_binds(name: str) -> bool:
    found = _CLAUDE.search(name)
    if found is None:
        return True
    return _version(found[2], found[3]) >= FIRST_BINDING.get(found[1] or "", FIRST_BINDING_UNLISTED)


def _version(major: str, minor: str | None) -> tuple[int, int]:
    return int(major), int(minor or 0)


def _reasons(conversation: Conversation, message: Message) -> bool:
    if any(isinstance(block, Opaque) and block.kind in REASONING_BLOCKS for block in message.blocks):
        return True
    if conversation.format not in ("openai_chat", "openai_responses") or message.role != "assistant":
        return False
    start, end = message.span.start, message.span.end
    return any(conversation.body.find(field, start, end) >= 0 for field in REASONING_FIELDS)
