"""What one plugin wants of a request or a call: its views write it down here, the manager alone reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from coldpress.model.identity import EditKey
from coldpress.plugins.facts import CallFacts, RequestFacts, ResultFacts, ToolFacts


class ResultDraft:
    """One text of one tool result.

    Args:
        facts: the text as the client sent it.
        before: as plugins before this one left it; `None` where they did.
    """

    __slots__ = ("_before", "facts", "new")

    def __init__(self, facts: ResultFacts, before: str | None) -> None:
        self.facts = facts
        self._before = before
        self.new: str | None = None

    def before(self) -> str:
        """Give the text as plugins before this one left it."""
        return self.facts.text() if self._before is None else self._before

    def wanted(self) -> str | None:
        """Give the text that stands now; `None` where it is the one before."""
        return None if self.new is None or self.new == self.before() else self.new


class ToolDraft:
    """The schema of one tool. Takes what `ResultDraft` does, as JSON text."""

    __slots__ = ("_before", "facts", "new")

    def __init__(self, facts: ToolFacts, before: str | None) -> None:
        self.facts = facts
        self._before = before
        self.new: str | None = None

    def before(self) -> str:
        """Give JSON text of the schema as plugins before this one left it; `null` where it has none."""
        if self._before is None:
            self._before = json.dumps(self.facts.schema(), ensure_ascii=False, separators=(",", ":"))
        return self._before

    def wanted(self) -> str | None:
        """Give JSON text of the schema that stands now; `None` where it is the one before."""
        return None if self.new == self._before else self.new


class CallDraft:
    """The arguments of one call, as JSON text; `before` is how plugins before this one left them."""

    __slots__ = ("before", "facts", "new")

    def __init__(self, facts: CallFacts, before: str) -> None:
        self.facts = facts
        self.before = before
        self.new: str | None = None

    def wanted(self) -> str | None:
        """Give the arguments that stand now; `None` where they are those before."""
        return None if self.new == self.before else self.new


class RequestDraft:
    """A whole request; results and tools are read when they are first asked for.

    Args:
        facts: the request.
        texts: of results, as plugins before this one left them, where they are not the client's.
        schemas: JSON text by tool, likewise.
    """

    __slots__ = ("_results", "_schemas", "_texts", "_tools", "facts")

    def __init__(self, facts: RequestFacts, *, texts: Mapping[EditKey, str], schemas: Mapping[str, str]) -> None:
        self.facts = facts
        self._texts = texts
        self._schemas = schemas
        self._results: tuple[ResultDraft, ...] | None = None
        self._tools: tuple[ToolDraft, ...] | None = None

    def results(self) -> tuple[ResultDraft, ...]:
        """List every text of every tool result, in order."""
        if self._results is None:
            self._results = tuple(ResultDraft(one, self._texts.get(one.key)) for one in self.facts.results())
        return self._results

    def tools(self) -> tuple[ToolDraft, ...]:
        """List the tools that the request offers, in order."""
        if self._tools is None:
            self._tools = tuple(ToolDraft(one, self._schemas.get(one.name)) for one in self.facts.tools())
        return self._tools

    def wanted_texts(self) -> dict[EditKey, str]:
        """Give the texts that the plugin changed."""
        found = ((draft.facts.key, draft.wanted()) for draft in self._results or ())
        return {key: text for key, text in found if text is not None}
