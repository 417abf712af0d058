"""Match the model and provider names that clients send with those of the price list, and refuse look-alikes.

The list's own match takes any name that begins with, or holds, one of its models: `deepseek-v4-pro-distill-8b` would be
priced as `deepseek-v4-pro`, and `claude-fable-5-1` on Vertex as `claude-fable-5`. Here what stands around the known
part must be a version or a path, and of several fits the longest counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from genai_prices.types import MatchLogic

PROVIDER_ALIASES: Final[dict[str, str]] = {
    # Providers of our settings.
    "xai": "x-ai",
    "moonshot": "moonshotai",
    "moonshot-anthropic": "moonshotai",
    "deepseek-anthropic": "deepseek",
    "zai-anthropic": "zai",
    # Subscriptions: what the same tokens cost those who pay for tokens.
    "chatgpt": "openai",
    "code-assist": "google",
    # Prefixes that OpenRouter and litellm write before a model's name.
    "z-ai": "zai",
    "mistralai": "mistral",
    "gemini": "google",
    "vertex_ai": "google",
    "vertex": "google",
    "bedrock": "aws",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "azure_ai": "azure",
    "github_copilot": "github-copilot",
}
"""Other names of a provider, and its id in the list."""

_EXACT: Final = 1_000_000
_VERSION = r"(?:latest|preview|exp|default|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{3,4}|v\d+(?::\d+)?)"
_TAIL: Final = re.compile(rf"(?:[-@:.]{_VERSION})*")
_TAIL_GOES_ON: Final = re.compile(rf"(?:\d{{2,4}}|{_VERSION})?(?:[-@:.]{_VERSION})*")
"""Behind a known part that itself ends with a separator or in the middle of a date or a build number."""

_SNAPSHOT: Final = re.compile(r"[-@:](?:latest|\d{8}|\d{4}-\d{2}-\d{2})$")
_RESOURCE: Final = re.compile(r"^(?:models/|publishers/[^/]+/models/)")
_MID_NUMBER: Final = re.compile(r"(?:[-@:.]|-20\d{2}|-0)$")


def canonical(model: str) -> str:
    """Give a name in lower case, without the resource path that Gemini and Vertex write before it.

    >>> canonical("models/Gemini-3.8-Flash")
    'gemini-3.8-flash'
    """
    return _RESOURCE.sub("", model.strip().lower())


def without_snapshot(model: str) -> str:
    """Take a date or `-latest` off the end of a name.

    >>> without_snapshot("gpt-5.3-codex-2026-02-05"), without_snapshot("claude-opus-5-5@20260901")
    ('gpt-5.3-codex', 'claude-opus-5-5')
    """
    return _SNAPSHOT.sub("", model)


def fit(clause: MatchLogic, model: str) -> int | None:
    """Measure how well a canonical name fits a clause of the list: greater is better, `None` is not at all."""
    from genai_prices import types  # noqa: PLC0415 - only callers that have the list loaded come here

    match clause:
        case types.ClauseEquals(equals=known):
            return _EXACT if model == known.lower() else None
        case types.ClauseRegex(regex=pattern):
            span = re.search(pattern, model)
            return _around(model, span.start(), span.end()) if span else None
        case types.ClauseStartsWith(starts_with=known):
            return _around(model, 0, len(known)) if model.startswith(known.lower()) else None
        case types.ClauseEndsWith(ends_with=known):
            return _around(model, len(model) - len(known), len(model)) if model.endswith(known.lower()) else None
        case types.ClauseContains(contains=known):
            start = model.find(known.lower())
            return _around(model, start, start + len(known)) if start >= 0 else None
        case types.ClauseOr(or_=clauses):
            fits = [found for inner in clauses if (found := fit(inner, model)) is not None]
            return max(fits, default=None)
        case types.ClauseAnd(and_=clauses):
            return _fit_of_all(clauses, model)


def _fit_of_all(clauses: list[MatchLogic], model: str) -> int | None:
    """The list joins a beginning with expressions that only forbid something; those say nothing of how well it fits."""
    if not all(clause.is_match(model) for clause in clauses):
        return None
    return max((found for clause in clauses if (found := fit(clause, model)) is not None), default=None)


def _around(model: str, start: int, end: int) -> int | None:
    """Length of a known part, where a path stands before it and a version behind it, or nothing does."""
    before, known, behind = model[:start], model[start:end], model[end:]
    if before and before[-1] not in "./:":
        return None
    tail = _TAIL_GOES_ON if _MID_NUMBER.search(known) else _TAIL
    return len(known) if tail.fullmatch(behind) else None
