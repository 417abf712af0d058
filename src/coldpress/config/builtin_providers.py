"""The providers that need no settings: name, address, wire formats.

Addresses are without the version that clients' paths begin with, so `/provider/groq/v1/chat/completions`
goes to `https://api.groq.com/openai/v1/chat/completions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from coldpress.wire.registry import FORMATS, FormatName

ALL: Final[tuple[FormatName, ...]] = FORMATS
OPENAI: Final[tuple[FormatName, ...]] = ("openai_chat", "openai_responses")
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
    BuiltinProvider("anthropic", "https://api.anthropic.com", ("anthropic", "openai_chat")),
    BuiltinProvider("openai", "https://api.openai.com", OPENAI),
    BuiltinProvider("chatgpt", "https://chatgpt.com/backend-api/codex", ("openai_responses",), ""),
    BuiltinProvider("gemini", "https://generativelanguage.googleapis.com", ("gemini", "openai_chat"), "/v1beta"),
    BuiltinProvider("code-assist", "https://cloudcode-pa.googleapis.com", ("gemini",), ""),
    BuiltinProvider("openrouter", "https://openrouter.ai/api", (*OPENAI, "anthropic")),
    BuiltinProvider("deepseek", "https://api.deepseek.com", OPENAI),
    BuiltinProvider("deepseek-anthropic", "https://api.deepseek.com/anthropic", _MESSAGES),
    BuiltinProvider("xai", "https://api.x.ai", (*OPENAI, "anthropic")),
    BuiltinProvider("groq", "https://api.groq.com/openai", OPENAI),
    BuiltinProvider("mistral", "https://api.mistral.ai", OPENAI),
    BuiltinProvider("moonshot", "https://api.moonshot.ai", _CHAT),
    BuiltinProvider("moonshot-anthropic", "https://api.moonshot.ai/anthropic", _MESSAGES),
    BuiltinProvider("zai", "https://api.z.ai/api/paas", _CHAT, "/v4"),
    BuiltinProvider("zai-anthropic", "https://api.z.ai/api/anthropic", _MESSAGES),
)
