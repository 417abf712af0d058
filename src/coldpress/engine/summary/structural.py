"""Fill a summary from calls, results and prose by rules alone, without a model; every item is a quotation."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from coldpress.engine import signals
from coldpress.engine.acting import results_in_texts
from coldpress.engine.catalogue import Kind
from coldpress.engine.credentials import holds_secret
from coldpress.engine.documents import gives_orders, is_document, sets_rules
from coldpress.engine.injected import is_nobodys, without_injected
from coldpress.engine.memo import Memo, unremembered
from coldpress.engine.summary import prose
from coldpress.engine.summary.bound import MOST_BYTES, MOST_ITEMS, Bounded, Candidate, chars_of, fitted
from coldpress.engine.summary.commands import Failure, error_lines, first_line, standing_failures
from coldpress.engine.summary.events import ACTING_TOOL, Event, Ran, Said, events, within
from coldpress.engine.summary.heard import Heard, Known
from coldpress.engine.summary.identifiers import labelled, load_bearing, telling
from coldpress.engine.summary.made import made
from coldpress.engine.summary.plans import plan
from coldpress.engine.transcript import literal_text
from coldpress.model.conversation import Conversation, Text
from coldpress.model.summary import Item, Section

MAX_GOALS: Final = 4
MAX_SCANNED_CHARS: Final = 40_000
"""How much of one result is searched for prohibitions and limits: its head; policies and reports are shorter."""

MAX_TYPED_CHARS: Final = 2_000
"""A longer text of a user was pasted, or put there by a harness: it is no list of the user's own constraints."""

_MANY_BINDING: Final = 4
_FORBIDDING: Final = 7
"""What a prohibition weighs; so does a limit with an amount."""

_MIN_UNENDED_CHARS: Final = 60
_EMPHASIS: Final = "*_`'\")"
_SPEAKS: Final[frozenset[Kind]] = frozenset({"mcp", "unknown", "memory", "subagent", "plan", "shell"})
"""Kinds whose results may tell an agent what it must not do; a source does only where it is a document."""

_LOOKS: Final[frozenset[Kind]] = frozenset({"source", "search", "listing"})
"""Kinds of calls that only look: that one of them found nothing is soon seen again."""

MAX_RULES: Final = 12
"""So many orders of one document are quoted; those that forbid, limit or require are not counted."""

_LIGHTEST_BINDING: Final = 3
"""What a requirement in a result weighs at least."""

_NUMBERED: Final = re.compile(r"^ *\d+(?:→|\t|\|)", re.MULTILINE)
_CODE_LIKE: Final = re.compile(r"[{};=]\s*$|^\s*(?://|/\*|\*|#!|def |class |func |import |return )|\w\(.*\)\s*[:{;]?$")
_WORTH: Final = re.compile(
    rf"never|must|n{signals.APOSTROPHE}t|not |only|always|most|limit|cap|budget|than|ensure|sure|deadline|quota|"
    r"required|dont|stop|matter|mandatory|forbidden|prohibited|circumstances|without|at least|maximum|read-only|"
    r"off.limits",
    re.IGNORECASE,
)
"""Without one of these a sentence binds nobody: cheaper to look for than what really counts."""

_WORTHY: Final = (
    *("never", "must", "n't", "n\\u0027t", "not ", "only", "always", "most", "limit", "cap", "budget", "than"),
    *("ensure",),
    *("sure", "deadline", "quota", "required", "dont", "stop", "matter", "mandatory", "forbidden", "prohibited"),
    *("circumstances", "without", "at least", "maximum", "read-only"),
)
"""What `_WORTH` finds in plain ASCII, in a tenth of the time."""


def build(
    conversation: Conversation,
    start: int,
    stop: int,
    *,
    task_stop: int,
    most_items: int = MOST_ITEMS,
    most_bytes: int = MOST_BYTES,
    happened: Sequence[Event] | None = None,
    memo: Memo = unremembered,
) -> Bounded:
    """Summarise messages `start` to `stop` - 1 (indices from 0) without a model.

    Every item is made of pieces of the message it cites, exact to the byte, so that it passes
    `coldpress.engine.summary.check`. Nothing is rephrased: a sentence that says "probably" still does.

    Args:
        conversation: as the client sent it.
        start: index of the first message that goes.
        stop: index behind the last one.
        task_stop: messages before it state the task; they stay in the conversation, so little of them is repeated.
        most_items: of one section.
        most_bytes: UTF-8 bytes of all items together.
        happened: `coldpress.engine.summary.events.events` of the whole conversation, where they are there already.
        memo: remembers what is found in a message.
    """
    found = candidates(conversation, start, stop, task_stop=task_stop, happened=happened, memo=memo)
    return fitted(found, most_items=most_items, most_bytes=most_bytes)


def candidates(
    conversation: Conversation,
    start: int,
    stop: int,
    *,
    task_stop: int,
    happened: Sequence[Event] | None = None,
    memo: Memo = unremembered,
) -> tuple[Candidate, ...]:
    """Give everything that `build` chooses from, with its weight; the arguments are those of `build`."""
    inside = events(conversation, start, stop, memo=memo) if happened is None else within(happened, start, stop)
    happened = tuple(inside)
    given_back = tuple(made(happened, memo=memo))
    return (
        *_goal(conversation, task_stop),
        *_said(happened, Known("\n".join(candidate.item.text for candidate in given_back)), memo),
        *_told(happened, memo),
        *plan(happened),
        *given_back,
        *_failed(standing_failures(happened, memo=memo), memo),
        *_questions(conversation, happened, stop),
    )


def _goal(conversation: Conversation, task_stop: int) -> Iterator[Candidate]:
    """Quote the first sentence of the task and those that say when it is reached."""
    found: list[Item] = []
    for index, message in enumerate(conversation.messages[:task_stop]):
        if message.role == "user":
            for block in message.blocks:
                if isinstance(block, Text):
                    said = without_injected(literal_text(conversation, block.literal))
                    found += [_quote(s, index + 1, prose.CRITERIA.search(s)) for s in prose.sentences(said)]
    first = [item for item in found if item.text]
    wanted = [item for item in first if prose.CRITERIA.search(item.text)]
    for item in tuple(dict.fromkeys((*first[:1], *wanted)))[:MAX_GOALS]:
        yield Candidate("goal", item, 4)


def _said(happened: Sequence[Event], known: Known, memo: Memo) -> Iterator[Candidate]:
    """Take constraints, decisions and names from what users and the assistant said; `known` are names told already."""
    for event in happened:
        if isinstance(event, Said):
            binding = 0
            for heard in _heard_in(event, memo):
                for candidate in heard.beside(known):
                    binding += candidate.section == "constraints"
                    # Thinking aloud is full of "must": its later sentences go last, so that they crowd out nothing.
                    crowds = (
                        candidate.section == "constraints" and event.role == "assistant" and binding > _MANY_BINDING
                    )
                    yield candidate._replace(weight=1) if crowds else candidate


def _heard_in(event: Said, memo: Memo) -> tuple[Heard, ...]:
    def hear() -> tuple[Heard, ...]:
        found = tuple(prose.sentences(event.text))
        ends = (0, len(found) - 1)
        heard = (_heard(event, sentence, at_an_end=place in ends) for place, sentence in enumerate(found))
        return tuple(one for one in heard if any(one))

    return memo(event.place, "heard", hear, size=lambda heard: sum(one.chars for one in heard))


def _heard(event: Said, sentence: str, *, at_an_end: bool) -> Heard:
    """Say what a sentence is good for."""
    if sentence.rstrip(_EMPHASIS).endswith(("?", ":")) or holds_secret(sentence):
        return Heard()
    binding = _binding(sentence)
    if binding is not None:
        match, weight = binding
        if event.role == "user":
            # What a user says is kept to the letter elsewhere: here it only goes first of what is left.
            weight = 0 if len(event.text) > MAX_TYPED_CHARS else weight - 1
        label = f"{event.role}: "
        return Heard(
            (*_candidate("constraints", sentence, event.number, weight, needle=match, label=label),) * bool(weight)
        )
    if event.role != "assistant" or prose.NARRATES.match(sentence):
        return Heard()
    is_heading = len(sentence) < _MIN_UNENDED_CHARS and sentence.rstrip(_EMPHASIS)[-1:].isalnum()
    reason = prose.DECIDES.search(sentence)
    if reason is not None and not is_heading:
        weight = 4 if at_an_end else 3
        return Heard((*_candidate("decisions", sentence, event.number, weight, needle=reason),))
    names = load_bearing(sentence)
    named = tuple(_candidate("artifacts", sentence, event.number, 5)) if names else ()
    closes = at_an_end and not is_heading and len(sentence) > 40
    closing = tuple(_candidate("decisions", sentence, event.number, 1)) if closes else ()
    return Heard((), names, telling(sentence) if names else (), named, closing)


def _is_worth(text: str) -> bool:
    """Whether a text may bind anybody."""
    if not text.isascii():
        return _WORTH.search(text) is not None
    plain = text.lower()
    return any(word in plain for word in _WORTHY)


def _binding(sentence: str) -> tuple[re.Match[str], int] | None:
    """Find what makes a sentence a constraint, with its weight; an amount makes it weigh more."""
    if not _is_worth(sentence):
        return None
    for pattern, weight in ((signals.FORBIDS, _FORBIDDING), (signals.LIMITS, 5), (signals.REQUIRES, 4)):
        match = pattern.search(sentence)
        if match is not None:
            return match, weight + 2 * bool(load_bearing(sentence))
    return None


def _told(happened: Sequence[Event], memo: Memo) -> Iterator[Candidate]:
    """Take prohibitions and limits from results that speak in prose: documents, reports, answers of tools."""
    for event in happened:
        if isinstance(event, Ran) and not event.failed and _speaks(event):
            yield from memo(event.place, "told", functools.partial(_told_by, event), size=chars_of)


def _told_by(run: Ran) -> tuple[Candidate, ...]:
    text = run.text[:MAX_SCANNED_CHARS]
    lines = text.split("\n") if _NUMBERED.match(text) or run.classified.kind == "shell" else None
    told: list[Candidate] = []
    rules = 0
    for sentence in _prose_of(text, lines, is_rules=gives_orders(run.classified)):
        found = _from_result(run, sentence, rules=rules)
        rules += found is not None and found.weight < _LIGHTEST_BINDING
        if found is not None:
            told.append(found)
    return tuple(told)


def _from_result(run: Ran, sentence: str, *, rules: int) -> Candidate | None:
    """Make a candidate of a sentence; so many `rules` of its document without a word that binds were taken already."""
    if _CODE_LIKE.search(sentence) or holds_secret(sentence):
        return None
    match: re.Match[str] | None
    binding, label = _binding(sentence), f"result of {run.tool}: "
    is_manual = run.classified.kind == "source" and not sets_rules(run.classified)
    if binding is not None and (binding[1] >= _FORBIDDING or not is_manual):
        match, weight = binding
        return Candidate("constraints", _quote(sentence, run.number, match, label=label), weight - 1)
    if not gives_orders(run.classified) or sentence.rstrip(_EMPHASIS).endswith(("?", ":")):
        return None
    if labelled(sentence):
        return Candidate("artifacts", _quote(sentence, run.number), 5)
    for pattern, weight in ((prose.NEGATES, _LIGHTEST_BINDING - 1), (prose.INSTRUCTS, _LIGHTEST_BINDING - 2)):
        if rules < MAX_RULES and pattern.match(sentence):
            return Candidate("constraints", _quote(sentence, run.number, label=label), weight)
    return None


def _prose_of(text: str, lines: Sequence[str] | None, *, is_rules: bool) -> Iterator[str]:
    if lines is None:
        yield from prose.sentences(text)
        return
    if not is_rules and not _is_worth(text):
        return
    for line in lines:
        if is_rules or _is_worth(line):
            yield from prose.sentences(_NUMBERED.sub("", line))


def _speaks(run: Ran) -> bool:
    if run.classified.kind == "source":
        return is_document(run.classified)
    return run.classified.kind in _SPEAKS


def _failed(failures: Iterable[Failure], memo: Memo) -> Iterator[Candidate]:
    """Tell of a failing check as a failure, of another failed call that was left behind as ruled out."""
    for failure in failures:
        run = failure.run
        call = first_line(run)
        lines = memo(run.place, "errors", functools.partial(error_lines, run), size=_chars)
        if not lines or not (call or (run.tool == ACTING_TOOL and not run.shown_call)):
            continue
        section: Section = "failures" if failure.checks or not failure.went_on else "ruled_out"
        label = "" if run.classified.command is not None else f"{run.tool} with "
        told = (f"{label}{call}", *lines) if call else lines
        item = Item("\n".join(told), run.number, tuple(dict.fromkeys((call, *lines) if call else lines)))
        yield Candidate(section, item, 6 if section == "failures" else 1 if run.classified.kind in _LOOKS else 3)


def _chars(lines: Sequence[str]) -> int:
    return sum(map(len, lines))


def _questions(conversation: Conversation, happened: Sequence[Event], stop: int) -> Iterator[Candidate]:
    """Give the questions that end the assistant's last text, where no user has spoken since."""
    said = [event for event in happened if isinstance(event, Said)]
    if not said or said[-1].role != "assistant" or _user_speaks(conversation, stop):
        return
    for sentence in prose.sentences(said[-1].text):
        if sentence.endswith("?") and not holds_secret(sentence):
            yield from _candidate("questions", sentence, said[-1].number, 4)


def _user_speaks(conversation: Conversation, start: int) -> bool:
    results = results_in_texts(conversation, start, len(conversation.messages))
    return any(
        isinstance(block, Text)
        and (index, place) not in results
        and _is_said(literal_text(conversation, block.literal))
        for index, message in enumerate(conversation.messages[start:], start)
        if message.role == "user"
        for place, block in enumerate(message.blocks)
    )


def _is_said(text: str) -> bool:
    return not is_nobodys(text) and bool(without_injected(text).strip())


def _candidate(
    section: Section, sentence: str, number: int, weight: int, *, needle: re.Match[str] | None = None, label: str = ""
) -> Iterator[Candidate]:
    item = _quote(sentence, number, needle, label=label)
    if item.text:
        yield Candidate(section, item, weight)


def _quote(sentence: str, number: int, needle: re.Match[str] | None = None, *, label: str = "") -> Item:
    """Make an item of a sentence; one of which only a piece is left says so."""
    piece = prose.within(sentence, needle)
    if not piece:
        return Item("", number)
    rest = "" if piece == sentence else " …"
    return Item(f"{label}{piece}{rest}", number, (piece,))
