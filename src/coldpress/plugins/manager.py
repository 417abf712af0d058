"""Ask the plugins that are on, one after the other, and put together what they want."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from coldpress.config.plugin_keys import BUILTIN_PLUGINS
from coldpress.config.plugin_settings import PluginSettings
from coldpress.model.identity import EditKey
from coldpress.model.plugins import PluginNote
from coldpress.plugins.admission import Admission, admissions
from coldpress.plugins.afterwards import Afterwards
from coldpress.plugins.discovery import Found, installed
from coldpress.plugins.drafts import CallDraft, RequestDraft
from coldpress.plugins.facts import CallFacts, PluginEdits, ReplySummary, RequestFacts
from coldpress.plugins.first_answers import FirstAnswers
from coldpress.plugins.member import Asked, Member
from coldpress.plugins.totals import PluginTotals
from coldpress.plugins.view import CallView, RequestView


def _nobody(note: PluginNote) -> None:
    """Take a note that nobody asked for; it is in the totals."""


class Plugins:
    """The plugins of other packages in one process. Used from several threads; close it at the end.

    Args:
        settings: what is on and what was approved.
        found: what is installed; looked up where it is not given. What is on and approved is imported.

    Attributes:
        warnings: what people should know of plugins that are not used, one sentence each.
        wants_requests: whether any plugin looks at requests now; every request asks several times.
        wants_calls: whether any plugin looks at calls in replies now.
        wants_replies: whether any plugin wants to know how requests end now.
    """

    def __init__(self, settings: PluginSettings, *, found: Sequence[Found] | None = None) -> None:
        others = settings.others
        if found is None:
            found = installed() if others else ()
        judged = admissions(others, settings, found, loading="approved")
        self._members = tuple(
            _member(admission, settings.hook_seconds, on_rest=self._look_who_is_there)
            for admission in judged
            if admission.acts and admission.loaded
        )
        self._look_who_is_there()
        self._idle = tuple(admission for admission in judged if not admission.acts)
        self._order = others
        self._answers = FirstAnswers()
        self._afterwards = Afterwards()
        self.warnings = (*(one.warning for one in judged if one.warning), *_shadowed(found))

    @property
    def is_empty(self) -> bool:
        """Whether no plugin would be asked anything, ever: then nothing of a request needs to be told."""
        return not self._members

    def before_request(self, facts: RequestFacts) -> PluginEdits:
        """Ask all plugins about a request, in order; each sees what those before it want.

        Blocks for at most `plugins.hook_seconds` for each. Raises nothing but what `facts` does.
        """
        chain = _Chain()
        for member in self._members:
            if member.has("before_request"):
                self._ask_about(member, facts, chain)
        schemas = {name: (json.loads(text), by) for name, (text, by) in chain.schemas.items()}
        return PluginEdits(dict(chain.texts), schemas, tuple(chain.notes))

    def on_tool_call(self, call: CallFacts, *, told: Callable[[PluginNote], None] = _nobody) -> str | None:
        """Ask all plugins about a call of the model, in order; `told` gets a note from each.

        Blocks for at most `plugins.hook_seconds` for each. Never raises.

        Returns:
            JSON text of other arguments for the client, `None` to leave them as they are.
        """
        arguments = call.arguments
        for member in self._members:
            if not member.has("on_tool_call"):
                continue
            access = member.access()
            draft = CallDraft(call, arguments)
            asked = member.ask("on_tool_call", access, call=CallView(access, draft))
            wanted = draft.wanted() if asked.stands else None
            told(member.count(replace(asked.note, edits=int(wanted is not None))))
            arguments = arguments if wanted is None else wanted
        return None if arguments == call.arguments else arguments

    def after_response(self, summary: ReplySummary, *, told: Callable[[PluginNote], None] = _nobody) -> None:
        """Tell all plugins how a request ended, in a thread behind; `told` gets a note from each. Never blocks."""
        for member in self._members:
            if member.has("after_response") and not self._afterwards.put(_telling(member, summary, told)):
                member.missed()

    def totals(self) -> tuple[PluginTotals, ...]:
        """Sum up what every plugin of another package did, in the order in which they are on."""
        found = {member.name: member.totals() for member in self._members}
        for one in self._idle:
            version = one.declaration.version if one.declaration is not None else ""
            found[one.name] = PluginTotals(one.name, version, "off", why=one.why)
        return tuple(found[name] for name in self._order)

    def drain(self) -> None:
        """Wait until plugins were told of the end of every request so far."""
        self._afterwards.drain()

    def close(self) -> None:
        """Tell no more ends of requests; wait a second for those that are waiting."""
        self._afterwards.close()

    def _look_who_is_there(self) -> None:
        """Say anew what any plugin wants.

        Where two begin to rest at one moment it may go on saying yes for them: they are asked nothing all the same.
        """
        self.wants_requests = any(member.has("before_request") for member in self._members)
        self.wants_calls = any(member.has("on_tool_call") for member in self._members)
        self.wants_replies = any(member.has("after_response") for member in self._members)

    def _ask_about(self, member: Member, facts: RequestFacts, chain: _Chain) -> None:
        access = member.access()
        draft = RequestDraft(
            facts,
            texts={key: text for key, (text, _) in chain.texts.items()},
            schemas={name: text for name, (text, _) in chain.schemas.items()},
        )
        asked = member.ask("before_request", access, view=RequestView(access, draft))
        edits = 0
        if asked.stands:
            texts = draft.wanted_texts()
            for key, text in texts.items():
                chain.texts[key] = (text, _by(chain.texts.get(key), member.name))
            edits += len(texts)
        if "edit_schemas" in member.granted:
            asked, changed = self._schemas(member, draft, asked, chain)
            edits += changed
        chain.notes.append(member.count(replace(asked.note, edits=edits)))

    def _schemas(self, member: Member, draft: RequestDraft, asked: Asked, chain: _Chain) -> tuple[Asked, int]:
        """Take over the schemas a plugin wants, each as it was first answered, and note where that differs.

        What it answered before holds on a request on which it fails, too: the tools stand at the front of all that a
        provider has cached.
        """
        changed = 0
        for tool in draft.tools():
            name, before = tool.facts.name, tool.before()
            wanted = tool.wanted() if asked.stands else self._answers.known(member.name, name, before)
            first = self._answers.first(member.name, name, before, wanted) if asked.stands else wanted
            if first != wanted:
                detail = f"the schema of {name} was answered otherwise before; the first answer holds"
                asked = replace(asked, note=replace(asked.note, fault="refused", detail=detail))
            if first is not None:
                chain.schemas[name] = (first, _by(chain.schemas.get(name), member.name))
                changed += 1
        return asked, changed


class _Chain:
    """What the plugins asked so far want of one request."""

    def __init__(self) -> None:
        self.texts: dict[EditKey, tuple[str, str]] = {}
        self.schemas: dict[str, tuple[str, str]] = {}
        self.notes: list[PluginNote] = []


def _by(before: tuple[str, str] | None, name: str) -> str:
    return name if before is None else f"{before[1]}+{name}"


def _telling(member: Member, summary: ReplySummary, told: Callable[[PluginNote], None]) -> Callable[[], None]:
    def tell() -> None:
        if member.has("after_response"):
            told(member.count(member.ask("after_response", member.access(), summary=summary).note))

    return tell


def _member(admission: Admission, hook_seconds: float, *, on_rest: Callable[[], None]) -> Member:
    loaded = admission.loaded
    if loaded is None:
        raise ValueError(f"{admission.name} was not loaded")
    return Member(
        loaded.declaration,
        granted=loaded.declaration.capabilities,
        settings=admission.settings,
        hooks=loaded.hooks,
        hook_seconds=hook_seconds,
        on_rest=on_rest,
    )


def _shadowed(found: Sequence[Found]) -> tuple[str, ...]:
    return tuple(
        f"the package {one.package} has a plugin named {one.name}, which is built in; the package's is not used"
        for one in found
        if one.name in BUILTIN_PLUGINS
    )
