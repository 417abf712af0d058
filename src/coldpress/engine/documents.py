"""Recognise reads of documents, whose text speaks to the reader, and among them those that set rules for an agent."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from coldpress.engine.catalogue import Classified
from coldpress.engine.shellwords import split

_RULES: Final = re.compile(
    r"(?:^|/)[^/]*(?:AGENTS|CLAUDE|CONTRIBUTING|README|POLICY|RULES|GUIDELINES)[^/]*$|\.mdc$", re.IGNORECASE
)
_MANUAL: Final = re.compile(r"\.(?:md|mdx|rst|txt|adoc)$", re.IGNORECASE)


_TEXTS: Final = frozenset(("", ".md", ".mdx", ".mdc", ".rst", ".txt", ".adoc"))
_ORDERS: Final = re.compile(
    r"(?:^|/)[^/]*(?:AGENTS|CLAUDE|GEMINI|POLICY|POLICIES|RULES|GUIDELINES|CONVENTIONS|copilot-instructions)[^/]*$|\.mdc$",
    re.IGNORECASE,
)


def sets_rules(found: Classified) -> bool:
    """Whether a call reads a document that tells an agent how to work: `AGENTS.md`, `docs/POLICY.md`, a rule file."""
    return any(_RULES.search(path) or _ORDERS.search(path) for path in _texts(found))


def gives_orders(found: Classified) -> bool:
    """Whether it reads one that is made of rules, so that a sentence is an order without a word that says so."""
    return any(_ORDERS.search(path) for path in _texts(found))


def is_document(found: Classified) -> bool:
    """Whether a call reads a document, one that sets rules or any other."""
    return sets_rules(found) or any(_MANUAL.search(path) for path in _paths(found))


def _texts(found: Classified) -> Iterator[str]:
    """Leave out code of that name, `policy.py` for one."""
    return (path for path in _paths(found) if posixpath.splitext(path)[1].lower() in _TEXTS)


def _paths(found: Classified) -> Iterator[str]:
    """Give the file that a call reads; of a command line that shows several, every word that may be one."""
    if found.kind != "source":
        return
    if found.target is not None:
        yield found.target
        return
    for pipeline in split(found.command or "") or ():
        for stage in pipeline:
            yield from stage.words[1:]
