"""Tell which wire format messages have, and whose model answers them, where the caller does not say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from coldpress.config.settings import Settings
from coldpress.library.plain import elements, member
from coldpress.model.errors import ConfigError, FormatError
from coldpress.wire.registry import FormatName

FORMATS: Final[tuple[FormatName, ...]] = ("anthropic", "openai_chat")
_SAY: Final = 'say which with format="anthropic" or format="openai_chat"'
_ANTHROPIC_BLOCKS: Final = frozenset(
    ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document", "search_result")
)
_CHAT_BLOCKS: Final = frozenset(("image_url", "input_audio", "refusal"))
_CHAT_NAMES: Final = re.compile(r"(?:gpt-|chatgpt-|o[1-9](?![a-z0-9]))")

_PROVIDERS: Final[tuple[tuple[str, str, str], ...]] = (
    # A model's name as its maker's own API takes it; a provider's name as in the settings, by format.
    (r"deepseek-", "deepseek-anthropic", "deepseek"),
    (r"grok-", "xai", "xai"),
    (r"(?:mistral|codestral|devstral|magistral|ministral)-", "", "mistral"),
    (r"(?:kimi|moonshot)-", "moonshot-anthropic", "moonshot"),
    (r"glm-", "zai-anthropic", "zai"),
    (r"claude-", "anthropic", "anthropic"),
    (r"[^/]+/", "openrouter", "openrouter"),
)


def checked_format(name: str | None) -> FormatName | None:
    """Check a format that a caller names; `None` stays.

    Raises:
        ConfigError: there is no such format.
    """
    if name is None:
        return None
    found = next((known for known in FORMATS if known == name), None)
    if found is None:
        raise ConfigError(f"format is {name!r}; use one of {', '.join(FORMATS)}, or leave it out")
    return found


def checked_provider(name: str | None, settings: Settings) -> str | None:
    """Check a provider that a caller names; `None` stays.

    Raises:
        ConfigError: the settings have no such provider.
    """
    if name is not None and settings.provider(name) is None:
        known = ", ".join(provider.name for provider in settings.providers)
        raise ConfigError(f"provider is {name!r}, which the settings do not have; they have {known}")
    return name


def evidence(messages: Sequence[object], *, system: object, tools: object) -> FormatName | None:
    """Tell the format by what a request holds; `None` where it fits both.

    Raises:
        FormatError: it holds signs of both.
    """
    seen: dict[FormatName, str] = {}
    if system is not None:
        seen["anthropic"] = "the system prompt beside the messages"
    for format_name, sign in (*_signs_of_tools(tools), *_signs(messages)):
        seen.setdefault(format_name, sign)
    if len(seen) == 2:
        raise FormatError(
            f"the request looks like both formats: {seen['anthropic']} is Anthropic's, {seen['openai_chat']} is "
            f"OpenAI's; {_SAY}"
        )
    return next(iter(seen), None)


def _signs_of_tools(tools: object) -> Iterator[tuple[FormatName, str]]:
    for index, tool in enumerate(elements(tools)):
        if member(tool, "input_schema") is not None:
            yield "anthropic", f"tools[{index}].input_schema"
        elif member(tool, "function") is not None:
            yield "openai_chat", f"tools[{index}].function"


def _signs(messages: Sequence[object]) -> Iterator[tuple[FormatName, str]]:
    for index, message in enumerate(messages):
        role = member(message, "role")
        # Anthropic takes system messages too, but none at the beginning.
        if role in ("tool", "function", "developer") or (role == "system" and index == 0):
            yield "openai_chat", f"the role {role!r} of messages[{index}]"
        if member(message, "tool_calls"):
            yield "openai_chat", f"messages[{index}].tool_calls"
        for block in elements(member(message, "content")):
            kind = member(block, "type")
            if kind in _ANTHROPIC_BLOCKS:
                yield "anthropic", f"the {kind} block of messages[{index}]"
            elif kind in _CHAT_BLOCKS:
                yield "openai_chat", f"the {kind} part of messages[{index}]"


def by_name(model: str) -> FormatName:
    """Tell the format by the name of a model that is usually asked in one of them.

    Raises:
        FormatError: it is asked in both.
    """
    if model.startswith("claude-"):
        return "anthropic"
    if _CHAT_NAMES.match(model):
        return "openai_chat"
    raise FormatError(f"neither the messages nor the model's name ({model}) tell the format; {_SAY}")


def provider_of(model: str, format_name: FormatName, settings: Settings) -> str:
    """Name the provider that a model is most likely asked from, as the settings call it.

    The settings' own default where the name says nothing. Prices and the rules of its cache go by it.
    """
    for pattern, messages, chat in _PROVIDERS:
        if re.match(pattern, model):
            name = messages if format_name == "anthropic" else chat
            if settings.provider(name) is not None:
                return name
    return settings.bare_path_provider(format_name).name
