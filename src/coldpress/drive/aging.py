"""Consider the aged results of a request: count what has to be counted, and ask the gate on what is known now."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from coldpress.config.settings import Settings
from coldpress.drive.accounts import Accounts
from coldpress.drive.counting import Counting, ends_of
from coldpress.drive.deciders import Deciders
from coldpress.drive.memory import Lineage, Recent, Refused
from coldpress.drive.reads import Reads
from coldpress.drive.result_summaries import ResultSummaries, Sought
from coldpress.drive.runs import run_of
from coldpress.engine import aged as aged_results
from coldpress.engine.aged import Aged, Due, Known, RuleOf
from coldpress.engine.aged_view import View
from coldpress.engine.belief import Held
from coldpress.engine.binding import editable_from
from coldpress.engine.cut import Weighed, weigh
from coldpress.engine.gate import Terms
from coldpress.engine.policy import RuleMode
from coldpress.engine.rebuild import Written
from coldpress.engine.session import Session
from coldpress.engine.source_reads import pressable, regretted
from coldpress.measure.prices import Unpriced
from coldpress.measure.token_families import family_of
from coldpress.model.conversation import Conversation, ToolName
from coldpress.model.edits import Batch
from coldpress.model.identity import EditKey
from coldpress.model.records import Cut, Line, Offloaded, Operation, Pressure
from coldpress.wire.marks import Insertion

COUNT_BYTES: Final = 8 * 1024
"""More uncounted bytes than this are counted in a thread."""

MOST_VIEWS: Final = 20_000
"""Aged results whose view is remembered."""

MOST_RULES: Final = 4_096
"""Tools whose rule is remembered."""

MOST_REMEMBERED: Final = 256
"""Conversations of which it is remembered what aged results there are."""

MOST_WEIGHED: Final = 150
"""More aged results than this are weighed in a thread: a hundred take about half a millisecond."""

MOST_LOOKED_AT: Final = 200
"""More results than this of which nothing is known are gone through in a thread."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request that is to be weighed: against its budget, and for its aged results.

    Attributes:
        name: of the conversation.
        conversation: the request.
        session: the state after it, with everything decided at first sight.
        provider: who serves it.
        harness: the client's product name.
        lineage: what replies have told about the conversation.
        held: what the provider is believed to hold.
        at: seconds since 1970.
        operation: only `press` makes edits.
        headers: of the request, those that say how its body is read.
        learned_tokens: of the model's window, where a refusal has told it.
        refused: the request that this one is or goes on from, where that was the last one and too long for this model.
        cleared: the provider is asked to take old results out of the prompt by itself, so masks rest.
        on_demand: a provider's own summary stands in the conversation or is on its way, so no other is made.
    """

    name: str
    conversation: Conversation
    session: Session
    provider: str
    harness: str | None
    lineage: Lineage
    held: Held
    at: float
    operation: Operation
    headers: tuple[tuple[str, str], ...] = ()
    learned_tokens: int | None = None
    refused: Refused | None = None
    cleared: bool = False
    on_demand: bool = False

    @property
    def branch(self) -> str:
        """Names the conversation by its first reply too: runs of one task begin alike and have one `name`."""
        return f"{self.name}:{run_of(self.conversation)}"

    @property
    def scale(self) -> float:
        """The provider's tokens for one of `coldpress.measure.tokens.estimate`."""
        return family_of(self.conversation.head.model).scale * self.lineage.calibration.scale


@dataclass(frozen=True, slots=True)
class Look:
    """A first look at a request: what has to be done, and whether that is work for a thread.

    Attributes:
        asked: the request.
        known: of the conversation's oldest results.
        terms: what the gate decides on, or the reason why it cannot; `None` where finding out would take long.
        due: results to judge now, as `coldpress.engine.aged.due` gives them; `None` where nobody has looked yet.
        is_heavy: whether it would hold up an event loop.
    """

    asked: Question
    known: Known = field(repr=False)
    terms: Terms | Cut | None
    due: tuple[list[Due], int] | None = None
    is_heavy: bool = False


@dataclass(frozen=True, slots=True)
class Considered:
    """What came of it.

    Attributes:
        weighed: the decision.
        ends: tokens of the prompt up to the end of each message before the decision, on the provider's scale; empty
            where nothing was counted.
        counted_tokens: of the messages as they are sent, as we count them.
        mark: a cache mark of ours that goes with the decision.
        pressure: where the prompt came up to the trigger of its budget.
        written: messages that go altogether with the decision, and what takes their place.
        sought: summaries of single results that would pay if they were there; `None` where no rule asks for any.
        offloaded: what came of asking for them.
    """

    weighed: Weighed
    ends: Sequence[int] = ()
    counted_tokens: int | None = None
    mark: Insertion | None = None
    pressure: Pressure | None = None
    written: Written | None = None
    sought: Sought | None = None
    offloaded: Offloaded | None = None

    @property
    def applied(self) -> bool:
        """Whether something becomes smaller because of it."""
        return bool(self.weighed.chosen) or self.written is not None

    @property
    def first_changed(self) -> int | None:
        """Index of the first message that is sent otherwise because of it; `None` where none is."""
        changed = [aged.seen.message for aged in self.weighed.chosen[:1]]
        if self.written is not None:
            changed.append(self.written.start)
        return min(changed, default=None)

    @property
    def prompt_tokens(self) -> int | None:
        """Tokens of the prompt as it is sent, `None` where nothing was counted."""
        if not self.ends:
            return None
        return self.ends[-1] - (self.weighed.cut.removed_tokens if self.applied else 0)

    def kept(self, reason: Literal["store_failed"]) -> Considered:
        """The same where what was chosen stays as it is after all."""
        if not self.applied:
            return self
        cut = replace(self.weighed.cut, reason=reason, applied=0, mark=False)
        pressure = self.pressure and replace(self.pressure, reason=reason, after_tokens=self.pressure.before_tokens)
        return Considered(Weighed((), cut), self.ends, pressure=pressure, offloaded=self.offloaded)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The ledger's lines for what becomes smaller now."""
        return tuple(aged.view.line for aged in self.weighed.chosen)


def batch_of(
    conversation: Conversation, considered: Considered, after: bytes
) -> tuple[Batch, tuple[tuple[str, str], ...]]:
    """Give the decisions to keep, by the message with this chain, and `(sha256, text)` of everything they replace."""
    chosen, written = considered.weighed.chosen, considered.written
    standings = tuple(aged.view.standing for aged in chosen)
    originals = tuple((aged.view.standing.original, conversation.text(aged.seen.literal)) for aged in chosen)
    if written is None:
        return Batch(after, standings), originals
    batch = Batch(after, (*standings, *written.restores), written.rebuild)
    return batch, (*originals, *written.originals, *written.restored)


class Aging:
    """Considers requests one after the other; safe to use from any thread.

    Args:
        settings: with the rules.
        accounts: for prices and forecasts.
        counting: of tokens.
        deciders: of the engine, or others in their place.
        summaries: of single results, `None` where nobody makes any.
    """

    def __init__(
        self,
        settings: Settings,
        accounts: Accounts,
        counting: Counting,
        deciders: Deciders,
        summaries: ResultSummaries | None = None,
    ) -> None:
        self._deciders = deciders
        self._settings = settings
        self._accounts = accounts
        self._counting = counting
        self._summaries = summaries
        rules = settings.policy.rules
        self._youngest = min((rule.youngest for rule in rules if rule.youngest is not None), default=sys.maxsize)
        self._has_ungated = any(rule.ungated for rule in rules)
        self.rule_of: RuleOf = functools.lru_cache(MOST_RULES)(settings.policy.rule_for)
        self._views: Recent[tuple[EditKey, str, RuleMode, bool], View | None] = Recent(MOST_VIEWS)
        self._known: Recent[tuple[str, tuple[ToolName, ...]], Known] = Recent(MOST_REMEMBERED)
        self._floors: Recent[tuple[str, str | None], tuple[int, bytes, int]] = Recent(MOST_REMEMBERED)

    def look(self, asked: Question) -> Look:
        """Say what has to be done to consider a request; cheap."""
        known = self._known.get((asked.name, asked.conversation.head.tools)) or Known()
        known = known if known.holds(asked.session) else Known()
        terms = self._gate_terms(asked) if self._accounts.ready else None
        if terms is None or len(asked.session.shown) - len(known.shown) > MOST_LOOKED_AT:
            return Look(asked, known, terms, is_heavy=True)
        due = aged_results.due(asked.session, self.rule_of, known, prefilled=_is_prefilled(asked.conversation))
        return Look(asked, known, terms, due, is_heavy=self._is_heavy(asked, known, due[0], terms))

    def may_have_aged(self, session: Session) -> bool:
        """Whether any result of the conversation is old enough that something could be done, cheaply judged."""
        if not session.seen:
            return False
        return session.age(session.seen[0].message) >= self._youngest or any(seen.left for seen in session.seen)

    def consider(self, look: Look) -> Considered | None:
        """Decide on the aged results of a request; `None` where there are none."""
        asked, terms = look.asked, look.terms or self._gate_terms(look.asked)
        conversation, session = asked.conversation, asked.session
        prefilled = _is_prefilled(conversation)
        due, settled = look.due or aged_results.due(session, self.rule_of, look.known, prefilled=prefilled)
        if isinstance(terms, Cut) and not self._has_ungated:
            self._learn(look, aged_results.learned(session, due, settled, look.known, None))
            count = len(look.known.gains) + len(look.known.unviewed) + len(due)
            return Considered(Weighed((), replace(terms, candidates=count))) if count else None
        candidates, gains = aged_results.aged(session, due, look.known, functools.partial(self.view, conversation))
        self._learn(look, aged_results.learned(session, due, settled, look.known, gains))
        candidates = _in_order((*pressable(conversation, session, candidates), *regretted(conversation, session)))
        unwritten = self._summaries.unwritten(conversation, session, due) if self._summaries is not None else ()
        if not candidates and not unwritten:
            return None
        layout = self._counting.layout(asked.name, conversation, session)
        ends = ends_of(layout, conversation, asked.lineage, asked.held)
        reads = Reads.of(conversation, session, asked.held, ends, asked.provider)
        weighed, mark = self._weighed(asked, candidates, reads, terms, asked.scale)
        sought = None
        if unwritten and self._summaries is not None:
            free = [aged for aged in candidates if not aged.view.only_cold]
            sought = self._summaries.sought(
                unwritten, free, reads, asked.held, terms, scale=asked.scale, floor=self._floor(asked)
            )
        if not candidates and sought is not None and sought.declined is not None:
            weighed = Weighed((), sought.declined)
        freed = sum(aged.view.freed_tokens for aged in weighed.chosen)
        counted = max(0, round(layout.sums[-1] - freed * family_of(conversation.head.model).scale))
        return Considered(weighed, ends, counted, mark, sought=sought)

    def _is_heavy(self, asked: Question, known: Known, due: Sequence[Due], terms: Terms | Cut) -> bool:
        """Whether there is much to read, count or weigh, or something to load first."""
        if isinstance(terms, Cut) and not self._has_ungated:
            return False
        conversation, unviewed = asked.conversation, (*known.unviewed, *due)
        if len(known.gains) + len(unviewed) > MOST_WEIGHED:
            return True
        offered = conversation.head.tools
        size = sum(len(one.seen.literal.span) for one in unviewed if _name(one, offered) not in self._views)
        return self._counting.uncounted_bytes(conversation, enough=COUNT_BYTES, so_far=size) > COUNT_BYTES

    def _learn(self, look: Look, learned: Known) -> None:
        if learned is not look.known:
            self._known.note((look.asked.name, look.asked.conversation.head.tools), learned)

    def _weighed(
        self, asked: Question, candidates: Sequence[Aged], reads: Reads, terms: Terms | Cut, scale: float
    ) -> tuple[Weighed, Insertion | None]:
        """Ask the gate; where a warm cut would go, once more with the client's marks, which are costly to read."""
        ask = functools.partial(
            weigh,
            candidates,
            reads.ends,
            asked.held,
            terms,
            scale=scale,
            floor=self._floor(asked),
            operation=asked.operation,
            stopped=asked.lineage.stopped,
            choose=self._deciders.choose,
        )
        weighed = ask(readable=reads.hopeful)
        if not weighed.chosen or asked.held.belief.state == "cold" or not reads.needs_marks:
            return weighed, None
        marked = reads.marked()
        weighed = ask(readable=marked.ends())
        mark = marked.mark(weighed.chosen[0].seen.message) if weighed.chosen else None
        if mark is not None and asked.session.rebuild is not None and mark.message in asked.session.rebuild:
            mark = None  # what stands in the place of these messages takes no mark of ours
        return (replace(weighed, cut=replace(weighed.cut, mark=True)) if mark else weighed), mark

    def _gate_terms(self, asked: Question) -> Terms | Cut:
        """The same as `terms`, but where the provider clears the prompt by itself."""
        return Cut("native") if asked.cleared else self.terms(asked)

    def terms(self, asked: Question) -> Terms | Cut:
        """What the gate decides on, or the reason why it cannot."""
        routes = self._accounts.routes(asked.provider, asked.conversation.head.model, asked.at)
        if isinstance(routes, Unpriced):
            return Cut("unpriced")
        if asked.held.belief.state == "unknown":
            return Cut("unknown_cache")
        if not asked.lineage.reads_reported:
            return Cut("unknown_usage")
        return Terms(
            routes=routes,
            requests=self._accounts.requests_to_come(asked.harness, len(asked.session.replies)),
            state=asked.held.belief.state,
            long=asked.lineage.long_writes,
        )

    def _floor(self, asked: Question) -> int:
        """The first message that may be edited; of the known ones that is remembered."""
        conversation, name = asked.conversation, (asked.name, asked.conversation.head.model)
        messages, known = conversation.messages, conversation.known
        count, chain, before = self._floors.get(name) or (0, b"", 0)
        if count > len(messages) or (count > 0 and messages[count - 1].chain != chain):
            count, before = 0, 0
        allowed = self._settings.allow_thinking_loss
        floor = editable_from(conversation, allow_thinking_loss=allowed, since=count) or before
        if known > 0 and floor <= known:
            self._floors.note(name, (known, messages[known - 1].chain, floor))
        return floor

    def view(self, conversation: Conversation, due: Due) -> View | None:
        """Give the view of a result in a mode; `None` where it must stay, or gains too little."""
        if due.mode == "model":
            return self._summarised(conversation, due)
        name = _name(due, conversation.head.tools)
        if name in self._views:
            return self._views.get(name)
        made = self._deciders.view(conversation, due.seen, due.rule, due.mode)
        self._views.note(name, made)
        return made

    def _summarised(self, conversation: Conversation, due: Due) -> View | None:
        """Give the view with another model's summary; it may come at any time, so nothing is remembered of it."""
        if self._summaries is None:
            return None
        summary_of = functools.partial(self._summaries.summary, conversation)
        return self._deciders.view(conversation, due.seen, due.rule, due.mode, summary_of=summary_of)


def _is_prefilled(conversation: Conversation) -> bool:
    """Whether a request ends with the beginning of a reply, which nobody has answered to yet."""
    return bool(conversation.messages) and conversation.messages[-1].role == "assistant"


def _in_order(found: Sequence[Aged]) -> tuple[Aged, ...]:
    return tuple(sorted(found, key=_place_of))


def _place_of(aged: Aged) -> int:
    return aged.seen.literal.span.start


def _name(due: Due, offered: Sequence[ToolName]) -> tuple[EditKey, str, RuleMode, bool]:
    """Name a view: it depends on what is shown now, and says how to call a tool again that is still offered."""
    shown = due.seen.standing.mode if due.seen.standing else "exact"
    return due.seen.key, shown, due.mode, due.seen.tool in offered
