"""The providers that need no settings: name, address, wire formats.

Addresses are without the version that clients' paths begin with, so `/provider/groq/v1/chat/completions`
goes to `https://api.groq.com/openai/v1/chat/completions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from coldpress.wire.registry import FormatName

BOTH: Final[tuple[FormatName, ...]] = ("anthropic", "openai_chat")
_CHAT: Final[tuple[FormatName, ...]] = ("openai_chat",)
_MESSAGES: Final[tuple[FormatName, ...]] = ("anthropic",)


@dataclass(frozen=True, slots=True)
class BuiltinProvider:
    """One row: `url` has no trailing slash; `version` is what clients' paths begin with."""

    name: str
    url: str
    formats: tuple[FormatName, ...]
    version: str = "/v1"


BUILTIN_PROVIDERS: Final[tuple[BuiltinProvider, ...]] = (
    BuiltinProvider("anthropic", "https://api.anthropic.com", BOTH),
    BuiltinProvider("openai", "https://api.openai.com", _CHAT),
    BuiltinProvider("openrouter", "https://openrouter.ai/api", BOTH),
    BuiltinProvider("deepseek", "https://api.deepseek.com", _CHAT),
    BuiltinProvider("deepseek-anthropic", "https://api.deepseek.com/anthropic", _MESSAGES),
    BuiltinProvider("xai", "https://api.x.ai", BOTH),
    BuiltinProvider("groq", "https://api.groq.com/openai", _CHAT),
    BuiltinProvider("mistral", "https://api.mistral.ai", _CHAT),
    BuiltinProvider("moonshot", "https://api.moonshot.ai", _CHAT),
    BuiltinProvider("moonshot-anthropic", "https://api.moonshot.ai/anthropic", _MESSAGES),
    BuiltinProvider("zai", "https://api.z.ai/api/paas", _CHAT, "/v4"),
    BuiltinProvider("zai-anthropic", "https://api.z.ai/api/anthropic", _MESSAGES),
)
