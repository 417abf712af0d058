"""Find text that looks like a live credential, so that it is never copied into a store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_SECRET_NAMES: Final = (
    *("PASSWORD=", "PASSWD=", "_PASS=", "SECRET=", "TOKEN=", "APIKEY=", "API_KEY="),
    *("ACCESS_KEY=", "SECRET_KEY=", "PRIVATE_KEY=", "ENCRYPTION_KEY="),
)
"""How the names of secret variables end. `PWD` is not among them: it is the working directory."""

_LINE_HEAD: Final = r"(?:\s*\d+\s*[→|:\t]\s?|[\w./-]+:(?:\d+:)?)?\s*(?:export\s+|set\s+)?"

_SHAPES: Final = (
    ("AKIA", r"(?![A-Z0-9]*EXAMPLE)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("ASIA", r"(?![A-Z0-9]*EXAMPLE)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("sk-", r"(?:ant|proj|or|live|svcacct)-[\w-]{20,}"),
    ("sk-", r"(?=[A-Za-z]*\d)(?=[a-z0-9]*[A-Z]|[a-f0-9]{32})[A-Za-z0-9]{20,}(?![\w-])"),
    *((f"{kind}_live_", r"[A-Za-z0-9]{16,}") for kind in ("sk", "rk")),
    *((f"gh{letter}_", r"[A-Za-z0-9]{36,}") for letter in "pousr"),
    ("github_pat_", r"\w{50,}"),
    ("glpat-", r"[\w-]{20,}"),
    *((f"xox{letter}-", r"\d[\w-]{10,}") for letter in "abeprs"),
    ("xapp-", r"\d-[\w-]{20,}"),
    ("AIza", r"[\w-]{35}(?![\w-])"),
    ("GOCSPX-", r"(?=[A-Za-z_-]*\d)[\w-]{16,}"),
    ("npm_", r"[A-Za-z0-9]{36}(?!\w)"),
    ("hf_", r"[A-Za-z0-9]{30,}(?!\w)"),
    ("eyJ", r"[\w-]{5,}\.eyJ[\w-]{5,}\.[\w-]{16,}"),
)
"""How a key begins and what follows. The beginning comes first in the pattern, since that makes the search fast."""

_PATTERNS: Final = (
    *((begins, re.compile(rf"{begins}(?<![\w-]{begins}){follows}")) for begins, follows in _SHAPES),
    ("PRIVATE KEY", re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")),
    ("earer ", re.compile(r"(?i:authorization\W{1,4}bearer) (?![\w.~+/-]*(?:x{4}|\.{3}))[\w.~+/-]{20,}")),
    ("asic ", re.compile(r"(?i:authorization\W{1,4}basic) (?=[A-Za-z+/]*\d|[a-z+/]*[A-Z])[A-Za-z0-9+/]{8,}={0,2}")),
    ("slack.com/", re.compile(r"hooks\.slack\.com/(?:services|workflows)/T\w+/[AB]\w+/(?!x{4}|X{4})\w{16,}")),
)
"""A needle that is cheap to look for, and the shape around it."""

KEY_BLOCK: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.{0,20000}?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
"""A private key of many lines; one whose end is not there takes everything behind it along."""

_KEY_LINES: Final = re.compile(r"[A-Za-z0-9+/=\\\s]{0,20000}")

_ASSIGNMENT: Final = re.compile(rf"{_LINE_HEAD}[A-Z][A-Z0-9_]*=(['\"]?)([^\s'\"]{{8,}})\1\s*")
"""A whole line of an env dump or a `.env` file, behind the line number or file name that a tool may put before it."""

_PLACEHOLDER: Final = re.compile(
    r"[$<{%(*\[]|.*(?:x{4}|(?<![a-z0-9])x{3}(?![a-z0-9])|\.{3}|…|\*{3}|EXAMPLE)|(?:your|my|change|replace|example|"
    r"dummy|test|fake|secret|passw|pass\b|placeholder|todo|none|null|true|false|redacted|removed|hidden)"
    r"(?![a-z0-9]{12})",
    re.IGNORECASE,
)
"""How the values in manuals and templates look."""

_NEEDLES: Final = (
    *(
        "passw",
        "passphrase",
        "secret",
        "token",
        "apikey",
        "api_key",
        "api-key",
        "accountkey",
        "accesskey",
        "sessionkey",
    ),
    *("privatekey", "signingkey", "encryptionkey", "masterkey", "credential"),
    *(
        f"{of}{dash}key"
        for of in ("access", "account", "private", "session", "signing", "encryption", "master")
        for dash in "_-"
    ),
)
"""One of these, in lower case, stands in every name that `_NAMED` knows."""

_NAME: Final = (
    r"(?:passw(?:or)?d|passphrase|secret|token(?!s\b|s[_-]|iz)|api[_-]?key|credential"
    r"|(?:access|account|private|session|signing|encryption|master)[_-]?key)"
)
_NO_VALUE: Final = (
    r"(?![\w-]{0,30}?(?:count|limit|budget|length|len|size|type|kind|name|path|file|dir|url|uri|ttl|expir\w*|version|"
    r"usage|per|min|max|at|id|ids|arn|ref|hash|digest|field|header|policy|rotat\w*|cost|price|scope)s?\b)"
)
"""What such a name ends with where it names something about a secret that is none itself."""

_NAMED: Final = re.compile(
    rf"{_NAME}{_NO_VALUE}[\w-]{{0,30}}\\?[\"'`]?\]?"
    r"(?P<sign>\s{0,4}(?::=|=>|=|:)\s{0,4}|>|[\"']?\s{0,2},\s{0,2}(?=[\"'])|\s+(?:is|was)\s+)"
    r"(?P<quote>\\?[\"'`]?)(?P<value>[^\s\"'`<,;]{8,400})",
    re.IGNORECASE,
)
"""A name, what stands between it and its value (in JSON, YAML, an env file, code, XML or a sentence), and the value."""

_OPTION: Final = re.compile(
    rf"{_NAME}{_NO_VALUE}[\w-]{{0,30}}[ =](?P<quote>[\"']?)(?P<value>[^\s\"'`<,;]{{6,400}})", re.IGNORECASE
)
"""The rest of an option of a command line, behind `_DASHES`, with its value."""

_DASHES: Final = re.compile(r"(?:\A|\s)--?[\w-]{0,30}\Z")
_MOST_DASHES: Final = 34

_LOGINS: Final = (
    (" -u", re.compile(r" -u[ =]?(?P<quote>[\"']?)[\w.@-]{1,80}:(?P<value>[^\s\"'`<,;]{6,400})")),
    ("--user", re.compile(r"--user[ =](?P<quote>[\"']?)[\w.@-]{1,80}:(?P<value>[^\s\"'`<,;]{6,400})")),
    ("login ", re.compile(r"login (?P<quote>\s*)\S+\s+password\s+(?P<value>\S{6,400})")),
    ("PASS=", re.compile(r"PASS=(?<![A-Za-z0-9]PASS=)(?<=(?P<quote>=))[\"']?(?P<value>[^\s\"'`<,;]{6,400})")),
    ("passwd ", re.compile(r"(?m)(?:^[ \t]*|[:|→\t] ?)passwd(?P<quote> )(?P<value>[^\s\"'`<,;=-]{6,80})[ \t]*$")),
    (
        " -p",
        re.compile(
            r"\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mysqlpump|mariadb|mariadb-dump|sshpass)\b"
            r"[^\n|;&]{0,200}?(?P<quote> -p)[\"']?(?P<value>[^\s\"'`<,;]{6,200})"
        ),
    ),
    (
        "ookie",
        re.compile(
            r"ookie(?:[\"']?\s?[:=]|\s)\s?[\"']?(?:[^\s=;\"']{1,80}=[^\s;\"']{0,400};\s?){0,20}?"
            r"(?!(?i:domain|path|expires|max-age|samesite|version)=)[^\s=;\"']{1,80}(?P<quote>)="
            r"(?P<value>[^\s\"'`<,;]{12,400})"
        ),
    ),
)
"""A needle, and what stands around it where a password or a session is given: to `curl`, in `.netrc`, to a container,
in a settings file, to database clients, in headers. A quote lets a value count that could be a name."""

_USERINFO: Final = re.compile(r"(?<=://)[^\s/@:\"'<>]{0,80}:([^\s/@\"'<>]{2,200})@(?=[\w\[$<{])")
_PUBLIC_PASSWORDS: Final = frozenset({"pass", "password", "passwd", "secret", "user", "username", "token", "port"})
"""What stands for a password in manuals."""

_CODE: Final = re.compile(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$"  # an attribute
    r"|[A-Za-z]+(?:_[A-Za-z]+)+_?\d{0,2}$|[a-z]+(?:[A-Z][a-z]+)+\d{0,2}$|(?:[A-Z][a-z]+)+\d{0,2}$"  # a name
    r"|[A-Za-z]+(?:-[A-Za-z]+)*-?\d{0,2}$"  # a word
)
_NO_SECRET: Final = re.compile(
    r"[./~]|\w+://|[A-Za-z]:\\"  # a path or an address
    r"|[\d.,:_+eTZ/-]+[A-Za-z%]{0,7}\.?$"  # a number, a measure, a date
    r"|(?:sha|md|hs|rs|es|utf|aes|rsa|cl)-?\d+|base\d\d"  # an algorithm
)
_PHRASE: Final = re.compile(
    r"(?!(?:.*-)?(?:pass\w*|secret|token|auth\w*|login|user|field|input|form|text|label|hidden|required|reset|min|max"
    r"|length|strength|current|confirm|new|old|wrong|invalid|not|no|is|has|toggle|show|error|icon|control)(?:-|\Z))"
    r"[a-z]{3,}(?:-[a-z]{3,})+"
)
"""Words as people join them for a password, and none that a form or a program has for its parts."""

_LETTER_AND_DIGIT: Final = re.compile(r"(?=[^A-Za-z]*[A-Za-z])(?=.*[\d!@#^~])")


def holds_secret(text: str) -> bool:
    """Whether a text holds something shaped like a private key, an API key, a token or a password.

    A value counts by its own shape, or by the name in front of it if it looks random. Placeholders, code that only
    handles secrets, and documented examples do not count. A miss is possible: this keeps stores clean, it is no vault.

    >>> holds_secret("export DB_PASSWORD=q8Zr2vLmT0"), holds_secret("export DB_PASSWORD=$SECRET_FROM_VAULT")
    (True, False)
    >>> holds_secret("see postgres://app:q8Zr2vLm@db/prod"), holds_secret("max_tokens: 4096")
    (True, False)
    """
    if any(needle in text and pattern.search(text) is not None for needle, pattern in _PATTERNS):
        return True
    if any(True for name in _SECRET_NAMES for _ in _assignments(text, name)):
        return True
    if "://" in text and any(_is_password(match[1]) for match in _USERINFO.finditer(text)):
        return True
    if any(needle in text and any(map(_is_live, pattern.finditer(text))) for needle, pattern in _LOGINS):
        return True
    return any(_named(text, at) is not None for at in _names(text))


def secret_spans(text: str) -> Iterator[tuple[int, int]]:
    """Say where the secrets stand that `holds_secret` knows: half-open ranges, in no order, some of them overlapping.

    Only the secret itself is meant, not the name in front of it; of a private key all of it, down to its last line.

    >>> text = "export DB_PASSWORD=q8Zr2vLmT0"
    >>> [text[start:end] for start, end in secret_spans(text)]
    ['q8Zr2vLmT0', 'q8Zr2vLmT0']
    """
    for needle, pattern in _PATTERNS:
        if needle in text:
            for match in pattern.finditer(text):
                # What a header or a key's first line begins with is no secret.
                start = match.start() if " " not in needle else text.rfind(" ", match.start(), match.end()) + 1
                yield (start, match.end()) if needle != "PRIVATE KEY" else _key_block(text, match)
    for name in _SECRET_NAMES:
        yield from _assignments(text, name)
    if "://" in text:
        yield from (match.span(1) for match in _USERINFO.finditer(text) if _is_password(match[1]))
    for needle, pattern in _LOGINS:
        if needle in text:
            yield from (_value_span(match) for match in pattern.finditer(text) if _is_live(match))
    for at in _names(text):
        named = _named(text, at)
        if named is not None:
            yield _value_span(named)


def _key_block(text: str, head: re.Match[str]) -> tuple[int, int]:
    """Where a private key stands; one without an end goes as far as its lines look like one."""
    block = KEY_BLOCK.match(text, head.start())
    if block is not None:
        return block.span()
    lines = _KEY_LINES.match(text, head.end())
    return head.start(), lines.end() if lines is not None else head.end()


def _value_span(match: re.Match[str]) -> tuple[int, int]:
    start = match.start("value")
    return start, max(start + 1, start + len(_plain(match["value"])))


def _plain(value: str) -> str:
    """Leave out what a sentence or a program writes behind a value."""
    return value.rstrip("\\).,:!?}]")


def _names(text: str) -> Iterator[int]:
    """Where names that `_NAME` knows may begin."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters become two
        lower = "".join(c.lower() if c.isascii() else c for c in text)
    for needle in _NEEDLES:
        at = lower.find(needle)
        while at >= 0:
            yield at
            at = lower.find(needle, at + 1)


def _named(text: str, at: int) -> re.Match[str] | None:
    """Give the match where a secret's name begins here, and its value follows."""
    found = _NAMED.match(text, at)
    if found is not None and _is_live(found):
        return found
    option = _OPTION.match(text, at)
    if option is None or not _is_live(option):
        return None
    return option if _DASHES.search(text[max(0, at - _MOST_DASHES) : at]) is not None else None


def _assignments(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Say where lines give a variable whose name ends like this a value that is no placeholder."""
    at = text.find(name)
    while at >= 0:
        end = text.find("\n", at)
        end = end if end >= 0 else len(text)
        line = _ASSIGNMENT.fullmatch(text, text.rfind("\n", 0, at) + 1, end)
        if line is not None and not _PLACEHOLDER.match(line[2]):
            yield line.span(2)
        at = text.find(name, end)


def _is_password(word: str) -> bool:
    return word.lower() not in _PUBLIC_PASSWORDS and not _PLACEHOLDER.match(word) and not word.isdigit()


def _is_live(match: re.Match[str]) -> bool:
    """Whether a value that has a secret's name looks like one: random, and neither code nor a stand-in for it."""
    value = _plain(match["value"])
    sign = match.groupdict().get("sign") or ""
    if any(c in value for c in "()[]{}\\|") or _PLACEHOLDER.match(value):
        return False
    if not _LETTER_AND_DIGIT.match(value):
        return _is_phrase(match)
    is_said = sign.strip().lower() in ("is", "was")
    if len(value) < 6 or _NO_SECRET.match(value) or (is_said and "-" in value):
        return False
    return bool(match["quote"] and not is_said) or not _CODE.match(value)


def _is_phrase(match: re.Match[str]) -> bool:
    """Whether a password's name is given words between quotation marks, as in `password: "correct-horse"`."""
    quote, text = match["quote"], match.string
    if len(quote) != 1 or quote not in "\"'" or text[match.end() : match.end() + 1] != quote:
        return False
    return text[match.start() : match.start() + 4].lower() == "pass" and _PHRASE.fullmatch(match["value"]) is not None
