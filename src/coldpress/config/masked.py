"""Show what stands in a settings file without ever showing a key that was pasted into it."""

from __future__ import annotations

import re
from typing import Final

from coldpress.engine.credentials import holds_secret

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_NAME: Final = 64
_BEGINS: Final = re.compile(
    r"(?:sk|pk|rk|gsk|csk|fw|hf|r8|xai|pplx|nvapi|gh[pousr]|npm|glpat|xox[a-z])[_-](?=.*[0-9]|[^_]{12})"
)
"""How providers' keys begin, in lower case as they write it; variables are commonly named in upper case."""

_RUN: Final = re.compile(r"[A-Za-z0-9]*[0-9][A-Za-z0-9]*")
_LEAST_RUN: Final = 16
"""Words in names are shorter than this, or hold no digit."""

_MASK: Final = "a value that looks like a key"


def looks_like_key(text: str) -> bool:
    """Whether text may be a live API key: by its beginning, or by a long run of letters and digits.

    >>> looks_like_key("sk-ant-api03-Zq8w"), looks_like_key("0f3c9a7be1d24f58a6b1c2d3e4f50617")
    (True, True)
    >>> looks_like_key("ANTHROPIC_API_KEY"), looks_like_key("claude-opus-4-6"), looks_like_key("https://llm.test/v1")
    (False, False, False)
    """
    if holds_secret(text) or any(_BEGINS.match(part) for part in re.split(r"[\s/?&=:@,;\"']+", text)):
        return True
    return any(len(run) >= _LEAST_RUN for run in _RUN.findall(text))


def shown(text: str) -> str:
    """Quote text for a message; what looks like a key is named in its place.

    >>> shown("press"), shown("sk-ant-api03-Zq8w")
    ('"press"', 'a value that looks like a key')
    """
    return _MASK if looks_like_key(text) else f'"{text}"'


def variable_problem(name: str) -> str:
    """Say why this is no name of an environment variable, without showing it; empty where it can be one.

    >>> variable_problem("OPENAI_API_KEY")
    ''
    """
    if looks_like_key(name):
        why = "looks like a key"
    elif not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        why = "is no name of an environment variable"
    else:
        return ""
    return (
        f"{why}; write the name of the variable that holds the key there, such as EXAMPLE_API_KEY, and put the key "
        "itself into the environment. The value is not shown here"
    )
