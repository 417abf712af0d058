"""Find text that looks like a live credential, so that it is never copied into a store."""

from __future__ import annotations

import re
from typing import Final

_SECRET_NAMES: Final = (
    *("PASSWORD=", "PASSWD=", "SECRET=", "TOKEN=", "APIKEY=", "API_KEY="),
    *("ACCESS_KEY=", "SECRET_KEY=", "PRIVATE_KEY=", "ENCRYPTION_KEY="),
)
"""How the names of secret variables end. `PWD` is not among them: it is the working directory."""

_LINE_HEAD: Final = r"(?:\s*\d+\s*[→|:\t]\s?|[\w./-]+:(?:\d+:)?)?\s*(?:export\s+|set\s+)?"

_SHAPES: Final = (
    ("AKIA", r"(?![A-Z0-9]*EXAMPLE)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("ASIA", r"(?![A-Z0-9]*EXAMPLE)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("sk-", r"(?:ant|proj|or|live|svcacct)-[\w-]{20,}"),
    ("sk-", r"(?=[A-Za-z]*\d)(?=[a-z0-9]*[A-Z]|[a-f0-9]{32})[A-Za-z0-9]{20,}(?![\w-])"),
    ("sk_live_", r"[A-Za-z0-9]{16,}"),
    *((f"gh{letter}_", r"[A-Za-z0-9]{36,}") for letter in "pousr"),
    ("github_pat_", r"\w{50,}"),
    ("glpat-", r"[\w-]{20,}"),
    *((f"xox{letter}-", r"\d[\w-]{10,}") for letter in "abprs"),
    ("AIza", r"[\w-]{35}(?![\w-])"),
    ("npm_", r"[A-Za-z0-9]{36}(?!\w)"),
    ("hf_", r"[A-Za-z0-9]{30,}(?!\w)"),
    ("eyJ", r"[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}"),
)
"""How a key begins and what follows. The beginning comes first in the pattern, since that makes the search fast."""

_PATTERNS: Final = (
    *((begins, re.compile(rf"{begins}(?<![\w-]{begins}){follows}")) for begins, follows in _SHAPES),
    ("PRIVATE KEY-----", re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----")),
    ("earer ", re.compile(r"(?i:authorization\W{1,4}bearer) [\w.~+/-]{20,}")),
)
"""A needle that is cheap to look for, and the shape around it."""

_ASSIGNMENT: Final = re.compile(rf"{_LINE_HEAD}[A-Z][A-Z0-9_]*=(['\"]?)([^\s'\"]{{8,}})\1\s*")
"""A whole line of an env dump or a `.env` file, behind the line number or file name that a tool may put before it."""

_PLACEHOLDER: Final = re.compile(
    r"[$<{%(*\[]|.*(?:x{3}|\.{3}|\*{3})|(?:your|my|change|replace|example|dummy|test|fake|secret|password|placeholder|"
    r"todo|none|null|true|false|redacted)(?![a-z0-9]{12})",
    re.IGNORECASE,
)
"""How the values in manuals and templates look."""


def holds_secret(text: str) -> bool:
    """Whether a text holds something shaped like a private key, an API key, a token or a password in an env dump.

    Placeholders and documented examples do not count. A miss is possible: this keeps stores clean, it is no vault.

    >>> holds_secret("export DB_PASSWORD=q8Zr2vLmT0"), holds_secret("export DB_PASSWORD=$SECRET_FROM_VAULT")
    (True, False)
    """
    if any(needle in text and pattern.search(text) is not None for needle, pattern in _PATTERNS):
        return True
    return any(_assigned(text, name) for name in _SECRET_NAMES)


def _assigned(text: str, name: str) -> bool:
    """Whether some line gives a variable whose name ends like this a value that is no placeholder."""
    at = text.find(name)
    while at >= 0:
        end = text.find("\n", at)
        end = end if end >= 0 else len(text)
        line = _ASSIGNMENT.fullmatch(text, text.rfind("\n", 0, at) + 1, end)
        if line is not None and not _PLACEHOLDER.match(line[2]):
            return True
        at = text.find(name, end)
    return False
