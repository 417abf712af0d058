"""Say how each family of models counts: its tokenizer against o200k, and what a request's structure adds.

A prompt has more tokens than its texts: the provider writes every message, call and result in a form of its own, and
counts reasoning and images by rules of its own. The figures come from recorded sessions with reported usage where a
source says so (docs/decisions/0008-token-counts.md), else from the provider's pages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Family:
    """How one family of models counts. All figures but `scale` are tokens on the family's own scale.

    Attributes:
        name: short and stable; part of a counter's name.
        pattern: what the bare name of such a model (lower case, without a provider's prefix) begins with.
        scale: tokens of a text over its o200k tokens.
        o200k: whether the family's vocabulary is o200k itself, so that an exact count is one.
        message_tokens: added by each message.
        call_tokens: added by each tool call beside its name and arguments; `result_tokens` by each result.
        image_tokens: of one image.
        signature_tokens_per_byte: reasoning that comes back with a signature is counted by the signature's bytes,
            less `signature_free_tokens` a block: the signature holds all of it, the text beside it a digest.
        source: where the figures come from.
    """

    name: str
    pattern: str
    scale: float
    o200k: bool = False
    message_tokens: int = 0
    call_tokens: int = 0
    result_tokens: int = 0
    image_tokens: int = 1600
    signature_tokens_per_byte: float = 0.21
    signature_free_tokens: int = 40
    source: str = ""


_CLAUDE_VISION: Final = "image: the largest an image is scaled to (platform.claude.com, Vision, 2026-11)"

FAMILIES: Final[tuple[Family, ...]] = (
    Family(
        name="claude-4.7",
        pattern=r"claude-(?:opus|sonnet|haiku|fable|mythos)-(?:4[-.][7-9](?!\d)|[5-9](?!\d))",
        scale=1.82,
        call_tokens=24,
        result_tokens=24,
        image_tokens=4784,
        signature_tokens_per_byte=0.26,
        source="fit of 29 requests of one recorded session with Opus 4.7; later models are taken to be alike. "
        "image: the most that models from 4.7 on read (2,576 px)",
    ),
    Family(
        name="claude",
        pattern=r"claude",
        scale=1.115,
        call_tokens=45,
        result_tokens=45,
        source=f"fit of 2,895 requests of 37 recorded Claude Code sessions, models 4 to 4.6; {_CLAUDE_VISION}",
    ),
    Family(
        name="gemini",
        pattern=r"gemini",
        scale=1.16,
        message_tokens=9,
        image_tokens=1120,
        source="scale and message: recorded mini-swe-agent runs with Gemini 3 Pro; image: ai.google.dev, "
        "Media resolution, the default of Gemini 3",
    ),
    Family(
        name="o200k",
        pattern=r"gpt-(?:4o|4\.1|4\.5|5|6|oss)|chatgpt-4o|o[134](?![a-z0-9])|codex-mini",
        scale=1.0,
        o200k=True,
        message_tokens=4,
        call_tokens=12,
        image_tokens=765,
        source="message and call: the special tokens of the published chat format of gpt-oss; "
        "image: 1,024 px square at high detail (platform.openai.com, Images and vision)",
    ),
    Family(
        name="qwen",
        pattern=r"qwen-?(?:2\.5|2|3)(?![\d.])",
        scale=1.10,
        message_tokens=5,
        source="scale: the vocabulary of Qwen 2.5 and 3 against o200k on 1,743 recorded tool outputs (6.1 MB); "
        "message: the special tokens of its published chat template",
    ),
)
"""Looked through in order; the first whose pattern fits counts."""

OTHER: Final = Family(
    name="other",
    pattern="",
    scale=1.0,
    message_tokens=4,
    source="no evidence: taken to be like o200k until usage is reported",
)

_NAMES_KEPT: Final = 4096
"""Names come from clients, so the memory of look-ups has a bound."""

_CLOUD_PREFIX: Final = re.compile(r"^(?:(?:us|eu|apac|jp|au|global)\.)?(?:anthropic|openai|google)\.")


@lru_cache(_NAMES_KEPT)
def family_of(model: str | None) -> Family:
    """Find the family of a model by the name that requests carry; `OTHER` where none fits or there is no name.

    A provider's prefix (`openai/`, `us.anthropic.`, `ft:`) plays no part.

    >>> family_of("anthropic/claude-opus-4.5").name, family_of("claude-sonnet-4-20250514").name
    ('claude', 'claude')
    >>> family_of("us.anthropic.claude-opus-4-7").name, family_of("o4-mini").name, family_of("llama-4").name
    ('claude-4.7', 'o200k', 'other')
    """
    if not model:
        return OTHER
    bare = _CLOUD_PREFIX.sub("", model.lower().removeprefix("ft:").rpartition("/")[2])
    return next((family for family in FAMILIES if re.match(family.pattern, bare)), OTHER)
