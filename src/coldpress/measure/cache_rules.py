"""Rules of providers' prefix caches as data: what is kept, how long, where a read may end, what breaks a prefix.

Every row names its source and the day it holds for. Minimum lengths are in the provider's own tokens. A provider that
is not listed has no rules here: unknown is not "no cache".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

Kind = Literal["marks", "steps", "units", "none"]
"""How a prefix is kept.

`marks`: it ends at a block that carries a cache mark. `steps`: any prompt, read in whole steps. `units`: whole
inputs, outputs and detected common beginnings, each read whole or not at all. `none`: nothing is kept.
"""

Life = Literal["short", "long"]
"""Which of a provider's two lifetimes an entry has; they are written at different prices."""

MAX_MARKS: Final = 4
LOOKBACK_BLOCKS: Final = 20
_NAMES_KEPT: Final = 4096
"""Names come from clients, so the memory of look-ups has a bound."""

_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class CacheRules:
    """How one provider caches the prompts of one model.

    Attributes:
        name: whose rules these are.
        kind: see `Kind`.
        minimum_tokens: a shorter prefix is neither written nor read.
        step_tokens: a read is a whole number of these, counted from the prompt's start; 1 where it ends exactly.
        short_seconds: how long an unused entry lives; `None` where the provider does not say.
        long_seconds: the longer lifetime that can be asked for; `None` where there is none.
        at_least: the lifetimes are the least a provider promises, entries may be read later too.
        refreshed: a read starts an entry's lifetime again.
        lookback_blocks: `marks` only: a mark finds an entry at its own block or the ones before it, this many
            in all; `None` where there is no limit.
        max_marks: marks that one request may carry.
        marks_end: the provider sets a mark at the end of the prompt by itself.
        keeps_replies: what the model answered is kept too and can be read as part of the next prompt.
        write_priced: writing costs more than plain input (some providers report writes at its price).
        tiered: changes reach only what comes behind them in the order tools, system, messages; what does not stand in
            the text (tool choice, thinking, pictures coming or going) reaches the messages only. Elsewhere such a
            change breaks the whole prefix.
        source: where this is written.
        as_of: ISO date that the row holds for.
    """

    name: str
    kind: Kind
    minimum_tokens: int
    short_seconds: float | None
    source: str
    as_of: str = "2026-11-30"
    step_tokens: int = 1
    long_seconds: float | None = None
    at_least: bool = False
    refreshed: bool = True
    lookback_blocks: int | None = None
    max_marks: int = 0
    marks_end: bool = False
    keeps_replies: bool = False
    write_priced: bool = False
    tiered: bool = False

    def seconds(self, life: Life) -> float | None:
        """Lifetime of an unused entry in seconds; `None` where the provider does not say."""
        return self.long_seconds if life == "long" else self.short_seconds


ANTHROPIC: Final = CacheRules(
    name="anthropic",
    kind="marks",
    minimum_tokens=1024,
    short_seconds=5 * _MINUTE,
    long_seconds=_HOUR,
    lookback_blocks=LOOKBACK_BLOCKS,
    max_marks=MAX_MARKS,
    write_priced=True,
    tiered=True,
    source="platform.claude.com/docs, prompt caching",
)
BEDROCK: Final = replace(ANTHROPIC, name="bedrock", source="docs.aws.amazon.com/bedrock, prompt caching")
BEDROCK_NOVA: Final = replace(BEDROCK, name="bedrock-nova", long_seconds=None, write_priced=False)
OPENAI_MARKS: Final = CacheRules(
    name="openai-marks",
    kind="marks",
    minimum_tokens=1024,
    short_seconds=30 * _MINUTE,
    long_seconds=12 * _HOUR,
    at_least=True,
    max_marks=MAX_MARKS,
    marks_end=True,
    write_priced=True,
    source="developers.openai.com/api/docs, prompt caching (gpt-5.6 and later)",
)
OPENAI_STEPS: Final = CacheRules(
    name="openai-steps",
    kind="steps",
    minimum_tokens=1024,
    step_tokens=128,
    short_seconds=5 * _MINUTE,
    long_seconds=24 * _HOUR,
    at_least=True,
    source="developers.openai.com/api/docs, prompt caching (before gpt-5.6; 5 to 10 minutes, at most an hour)",
)
DEEPSEEK: Final = CacheRules(
    name="deepseek",
    kind="units",
    minimum_tokens=64,
    short_seconds=None,
    keeps_replies=True,
    source="api-docs.deepseek.com, context caching (complete prefix units; hours to days, best effort)",
)
GEMINI: Final = CacheRules(
    name="gemini",
    kind="steps",
    minimum_tokens=2048,
    # Not published. Reads in recordings of gemini-3-pro-preview end at multiples of 1,980 to 2,040 tokens.
    step_tokens=2000,
    short_seconds=None,
    source="ai.google.dev/gemini-api/docs/caching (implicit; minutes, best effort, no promise); step measured",
)
XAI: Final = CacheRules(
    name="xai",
    kind="steps",
    minimum_tokens=128,
    step_tokens=128,
    short_seconds=None,
    source="docs.x.ai, prompt caching (per server, evicted at any time; the step of 128 from reports of users)",
)
GROQ: Final = CacheRules(
    name="groq",
    kind="steps",
    minimum_tokens=1024,
    step_tokens=128,
    short_seconds=2 * _HOUR,
    source="console.groq.com/docs/prompt-caching (minimum 128 to 1024 by model; step from reports of users)",
)
MISTRAL: Final = CacheRules(
    name="mistral",
    kind="steps",
    minimum_tokens=64,
    step_tokens=64,
    short_seconds=None,
    source="docs.mistral.ai, prompt caching (with prompt_cache_key; blocks of 64)",
)
KIMI: Final = CacheRules(
    name="kimi",
    kind="steps",
    minimum_tokens=1,
    short_seconds=None,
    source="platform.moonshot.ai/docs (automatic; minimum, step and lifetime not published)",
)
KIMI_TTL: Final = replace(
    KIMI,
    name="kimi-ttl",
    short_seconds=5 * _MINUTE,
    long_seconds=_HOUR,
    source="platform.moonshot.ai/docs (K3 and later: 5 minutes or an hour)",
)
GLM: Final = replace(KIMI, name="glm", source="docs.z.ai, context caching (automatic; nothing else is published)")
MINIMAX: Final = replace(KIMI, name="minimax", source="platform.minimax.io/docs (automatic; nothing else is published)")
QWEN_IMPLICIT: Final = CacheRules(
    name="qwen-implicit",
    kind="steps",
    minimum_tokens=1024,
    short_seconds=None,
    source="alibabacloud.com/help/model-studio, context cache (implicit, cannot be turned off)",
)
QWEN_EXPLICIT: Final = CacheRules(
    name="qwen-explicit",
    kind="marks",
    minimum_tokens=1024,
    short_seconds=5 * _MINUTE,
    lookback_blocks=LOOKBACK_BLOCKS,
    max_marks=MAX_MARKS,
    write_priced=True,
    source="alibabacloud.com/help/model-studio, context cache (explicit; excludes the implicit one)",
)
VLLM: Final = CacheRules(
    name="vllm",
    kind="steps",
    minimum_tokens=16,
    step_tokens=16,
    short_seconds=None,
    keeps_replies=True,
    source="docs.vllm.ai, automatic prefix caching (full blocks of 16, oldest out; 528 on hybrid models)",
)
SGLANG: Final = CacheRules(
    name="sglang",
    kind="steps",
    minimum_tokens=1,
    short_seconds=None,
    keeps_replies=True,
    source="docs.sglang.ai, RadixAttention (token by token, oldest out)",
)
NONE: Final = CacheRules(
    name="none", kind="none", minimum_tokens=0, short_seconds=0.0, source="a server that keeps nothing"
)

_ANTHROPIC_MINIMUMS: Final = (
    (re.compile(r"opus-4[-.][56]|haiku-4[-.]5"), 4096),
    (re.compile(r"opus-4[-.]7"), 2048),
    (re.compile(r"(opus|fable|mythos)-5(?![-.]\d\b)"), 512),
)
"""Shortest cacheable prompt where it is not 1024. The 5.1 to 5.5 models are not listed there and count as 1024."""

_BEDROCK_MINIMUMS: Final = (
    (re.compile(r"opus-4[-.][567]|haiku-4[-.]5"), 4096),
    (re.compile(r"opus-5(?![-.]\d\b)"), 512),
)
_GEMINI_MINIMUMS: Final = (
    # The page says 4096 for all of Gemini 3; recordings of this one read 2,033 tokens of a prompt of 4,103.
    (re.compile(r"gemini-3-pro-preview"), 2000),
    (re.compile(r"gemini-([3-9]|\d\d)"), 4096),
)
_OPENAI_MARKED: Final = re.compile(r"gpt-(5\.[6-9]|[6-9]|\d\d)")
_KIMI_WITH_TTL: Final = re.compile(r"kimi-k([3-9]|\d\d)")
_NOVA: Final = re.compile(r"\bnova\b")

_PROVIDER_NAMES: Final[Mapping[str, str]] = {
    "anthropic": "anthropic",
    "openai": "openai",
    "azure": "openai",
    "chatgpt": "openai",
    "bedrock": "bedrock",
    "aws": "bedrock",
    "amazon-bedrock": "bedrock",
    "deepseek": "deepseek",
    "deepseek-anthropic": "deepseek",
    "google": "google",
    "gemini": "google",
    "code-assist": "google",
    "xai": "xai",
    "x-ai": "xai",
    "groq": "groq",
    "mistral": "mistral",
    "mistralai": "mistral",
    "moonshot": "moonshot",
    "moonshotai": "moonshot",
    "moonshot-anthropic": "moonshot",
    "zai": "zai",
    "z-ai": "zai",
    "zai-anthropic": "zai",
    "minimax": "minimax",
    "qwen": "qwen",
    "dashscope": "qwen",
    "alibaba": "qwen",
    "vllm": "vllm",
    "sglang": "sglang",
    "none": "none",
}
"""Names that settings and price lists use, and the family of rules each stands for."""

_MAKERS: Final = (
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"\b(gpt-[3-9]|o[134]\b|codex)"), "openai"),
    (re.compile(r"deepseek"), "deepseek"),
    (re.compile(r"gemini"), "google"),
    (re.compile(r"grok"), "xai"),
    (re.compile(r"mistral|codestral|devstral|magistral"), "mistral"),
    (re.compile(r"kimi"), "moonshot"),
    (re.compile(r"\bglm-"), "zai"),
    (re.compile(r"minimax"), "minimax"),
    (re.compile(r"qwen"), "qwen"),
)
"""Who serves a model where nobody says: its maker."""

_PASSING_ON: Final = ("openrouter",)
"""Providers that pass a request to the maker of the model and its cache."""

_FIXED: Final[Mapping[str, CacheRules]] = {
    "deepseek": DEEPSEEK,
    "xai": XAI,
    "groq": GROQ,
    "mistral": MISTRAL,
    "zai": GLM,
    "minimax": MINIMAX,
    "vllm": VLLM,
    "sglang": SGLANG,
    "none": NONE,
}


@lru_cache(_NAMES_KEPT)
def rules_for(model: str, provider: str | None, *, marked: bool = False) -> CacheRules | None:
    """Give the cache rules of a model as one provider serves it.

    Args:
        model: the model's name as requests carry it; a maker before a slash is fine.
        provider: name of the provider in the settings or a price list; `None` takes the maker of the model.
        marked: the request carries explicit cache marks: where a provider has two caches that exclude each
            other, this says which one is used.

    Returns:
        `None` where nothing is known of the provider, or of a model whose provider is not said.

    >>> rules_for("claude-haiku-4-5-20251001", "anthropic").minimum_tokens
    4096
    >>> rules_for("gpt-5.3-codex", None).step_tokens
    128
    >>> rules_for("some-model", "some-host") is None
    True
    """
    name = model.lower()
    family = _maker(name) if provider is None or provider in _PASSING_ON else _PROVIDER_NAMES.get(provider.lower())
    match family:
        case "anthropic":
            return replace(ANTHROPIC, minimum_tokens=_minimum(name, _ANTHROPIC_MINIMUMS, ANTHROPIC))
        case "bedrock" if _NOVA.search(name):
            return BEDROCK_NOVA
        case "bedrock":
            return replace(BEDROCK, minimum_tokens=_minimum(name, _BEDROCK_MINIMUMS, BEDROCK))
        case "openai":
            return OPENAI_MARKS if _OPENAI_MARKED.search(name) else OPENAI_STEPS
        case "google":
            return replace(GEMINI, minimum_tokens=_minimum(name, _GEMINI_MINIMUMS, GEMINI))
        case "moonshot":
            return KIMI_TTL if _KIMI_WITH_TTL.search(name) else KIMI
        case "qwen":
            return QWEN_EXPLICIT if marked else QWEN_IMPLICIT
        case None:
            return None
        case other:
            return _FIXED[other]


def _maker(model: str) -> str | None:
    return next((maker for pattern, maker in _MAKERS if pattern.search(model)), None)


def _minimum(model: str, known: tuple[tuple[re.Pattern[str], int], ...], rules: CacheRules) -> int:
    return next((tokens for pattern, tokens in known if pattern.search(model)), rules.minimum_tokens)
