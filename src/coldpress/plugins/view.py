"""A request as a plugin sees it: what it may read is read when asked for, what it may edit is noted and checked."""

from __future__ import annotations

import json

from coldpress.engine.json_text import decoded
from coldpress.plugins.access import Access, text_problem
from coldpress.plugins.drafts import CallDraft, RequestDraft, ResultDraft, ToolDraft
from coldpress.plugins.facts import CallFacts, RequestFacts


class ResultView:
    """One text of one tool result. `tool`, `failed` and `first_sight` are free to read."""

    __slots__ = ("_access", "_draft")

    def __init__(self, access: Access, draft: ResultDraft) -> None:
        self._access = access
        self._draft = draft

    @property
    def tool(self) -> str:
        """The tool's name, empty where its call is missing."""
        self._access.check()
        return self._draft.facts.tool

    @property
    def failed(self) -> bool | None:
        """Whether the wire says that the call failed; `None` where it says nothing."""
        self._access.check()
        return self._draft.facts.failed

    @property
    def first_sight(self) -> bool:
        """Whether no model has seen it yet. Others can only be read."""
        self._access.check()
        return self._draft.facts.first_sight

    @property
    def arguments(self) -> str:
        """JSON text that the tool was called with. Needs `read_results`."""
        self._access.require("read_results", to="read the arguments of a call")
        return self._draft.facts.arguments()

    @property
    def text(self) -> str:
        """The text as plugins before this one left it, and as this one has edited it. Needs `read_results`."""
        self._access.require("read_results", to="read the text of a result")
        draft = self._draft
        return draft.before() if draft.new is None else draft.new

    def replace(self, text: str) -> None:
        """Put a text in the place of this one, for ever. Needs `edit_results`.

        Raises:
            CapabilityError: it was not approved.
            EditRefused: a model has seen the result, or the text is empty, too long (four times the bytes of the
                original, or 64 KiB where that is more) or holds a lone surrogate.
            ViewClosed: the hook is over.
        """
        access = self._access
        access.require("edit_results", to="edit a result")
        what = f"a result of {self._draft.facts.tool or 'an unknown tool'}"
        if not self._draft.facts.first_sight:
            raise access.refuse(what, "would change what a model has read")
        problem = text_problem(text, len(self._draft.facts.text().encode()))
        if problem:
            raise access.refuse(what, problem)
        with access.editing():
            access.check()
            self._draft.new = text


class ToolView:
    """One tool that a request offers. `name` is free to read."""

    __slots__ = ("_access", "_draft")

    def __init__(self, access: Access, draft: ToolDraft) -> None:
        self._access = access
        self._draft = draft

    @property
    def name(self) -> str:
        """As the client calls it."""
        self._access.check()
        return self._draft.facts.name

    @property
    def schema(self) -> object:
        """Its JSON schema, decoded, a value of your own; `None` where it has none to edit. Needs `edit_schemas`."""
        self._access.require("edit_schemas", to="read the schema of a tool")
        return json.loads(self._draft.new or self._draft.before())

    def replace(self, schema: object) -> None:
        """Put another schema in the place of this one. Needs `edit_schemas`.

        The same schema has to be answered with the same bytes every time, or the provider's cache is lost. The first
        answer to it in a process holds; another is not taken.

        Raises:
            CapabilityError: it was not approved.
            EditRefused: the tool has no schema to edit, or this one is no JSON object or too long.
            ViewClosed: the hook is over.
        """
        access = self._access
        access.require("edit_schemas", to="edit the schema of a tool")
        what = f"the schema of {self._draft.facts.name}"
        before = self._draft.before()
        if before == "null":
            raise access.refuse(what, "has nothing to stand in the place of")
        written = _written(schema)
        problem = (
            "is no JSON object" if written is None else text_problem(written, len(before.encode("utf-8", "replace")))
        )
        if problem:
            raise access.refuse(what, problem)
        with access.editing():
            access.check()
            self._draft.new = written


class RequestView:
    """A request in front of its decisions.

    `model`, `provider`, `format`, `harness`, `lineage` and `turn` are free to read and mean what `RequestFacts` says.
    """

    __slots__ = ("_access", "_draft", "_results", "_tools")

    def __init__(self, access: Access, draft: RequestDraft) -> None:
        self._access = access
        self._draft = draft
        self._results: tuple[ResultView, ...] | None = None
        self._tools: tuple[ToolView, ...] | None = None

    @property
    def model(self) -> str | None:
        """The model, as the client names it."""
        return self._open().model

    @property
    def provider(self) -> str:
        """Where the request goes."""
        return self._open().provider

    @property
    def format(self) -> str:
        """The wire format: `anthropic` or `openai_chat`."""
        return self._open().format

    @property
    def harness(self) -> str | None:
        """The client's product name, as its user agent begins with it."""
        return self._open().harness

    @property
    def lineage(self) -> str:
        """The conversation's name, as in the ledger."""
        return self._open().lineage

    @property
    def turn(self) -> int:
        """How many replies of the model the request holds: 0 on a conversation's first one."""
        return self._open().turn

    @property
    def last_user_text(self) -> str:
        """The last text of a user, empty where there is none. Needs `read_results`."""
        self._access.require("read_results", to="read the user's words")
        return self._draft.facts.last_user_text()

    @property
    def results(self) -> tuple[ResultView, ...]:
        """Every text of every tool result, in order; those at first sight can be edited."""
        self._open()
        if self._results is None:
            self._results = tuple(ResultView(self._access, one) for one in self._draft.results())
        return self._results

    @property
    def tools(self) -> tuple[ToolView, ...]:
        """The tools that the request offers, in order."""
        self._open()
        if self._tools is None:
            self._tools = tuple(ToolView(self._access, one) for one in self._draft.tools())
        return self._tools

    def _open(self) -> RequestFacts:
        self._access.check()
        return self._draft.facts


class CallView:
    """One call of the model, in front of the client. Its arguments alone need a capability."""

    __slots__ = ("_access", "_draft")

    def __init__(self, access: Access, draft: CallDraft) -> None:
        self._access = access
        self._draft = draft

    @property
    def tool(self) -> str:
        """The tool's name."""
        return self._open().tool

    @property
    def call_id(self) -> str:
        """The call's id, as the provider wrote it."""
        return self._open().call_id

    @property
    def model(self) -> str | None:
        """The model, as the client named it."""
        return self._open().model

    @property
    def provider(self) -> str:
        """Where the reply comes from."""
        return self._open().provider

    @property
    def lineage(self) -> str:
        """The conversation's name, as in the ledger."""
        return self._open().lineage

    @property
    def arguments(self) -> str:
        """JSON text, as plugins before this one left it. Needs `read_results` or `edit_schemas`."""
        self._access.require("read_results", "edit_schemas", to="read the arguments of a call")
        draft = self._draft
        return draft.before if draft.new is None else draft.new

    def replace(self, arguments: str) -> None:
        """Give the client other arguments. Needs `edit_schemas`.

        Raises:
            CapabilityError: it was not approved.
            EditRefused: the text is no JSON object, or too long.
            ViewClosed: the hook is over.
        """
        access = self._access
        access.require("edit_schemas", to="edit the arguments of a call")
        problem = text_problem(arguments, len(self._draft.before.encode("utf-8", "replace")))
        if problem or not _is_object(arguments):
            raise access.refuse(f"a call of {self._draft.facts.tool}", problem or "is no JSON object")
        with access.editing():
            access.check()
            self._draft.new = arguments

    def _open(self) -> CallFacts:
        self._access.check()
        return self._draft.facts


def _written(schema: object) -> str | None:
    """Write a schema as JSON, `None` where it is no object that JSON can hold."""
    if not isinstance(schema, dict):
        return None
    try:
        return json.dumps(schema, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return None


def _is_object(text: str) -> bool:
    try:
        return isinstance(decoded(text), dict)
    except (ValueError, RecursionError):
        return False
