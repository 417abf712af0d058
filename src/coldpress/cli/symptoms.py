"""Count what the watchers found and what came of prompts above the trigger, and say what it means and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from coldpress.cli.summary_refusals import MEANING_AND_REMEDY, SummarySymptom, refusal_kind
from coldpress.model.records import FindingKind, Pressure, PressureReason
from coldpress.stores.base import LedgerEntry

PressureSymptom = Literal[
    "escalate",
    "binding_model",
    "no_raw_log",
    "no_time",
    "masked_short",
    "nothing_to_take",
    "no_gain",
    "narrowed",
    "items_dropped",
]
"""What prompts above the trigger tell, each with something to do about it."""

SymptomKind = FindingKind | PressureSymptom | SummarySymptom


@dataclass(frozen=True, slots=True)
class Advice:
    """What something means, and what to do now."""

    meaning: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Symptom:
    """One kind of thing in the ledger.

    Attributes:
        kind: what.
        count: how often: findings, or requests with one.
        requests: on how many requests.
        newest_request: the id of the newest of them, received at `newest_at` (seconds since the epoch).
        tokens: what they cost together, as far as that is known; `None` where it is known of none.
        words: the ledger's own words for it and how often each stands there, the most frequent first.
    """

    kind: SymptomKind
    count: int
    requests: int
    newest_request: str
    newest_at: float
    tokens: int | None = None
    words: tuple[tuple[str, int], ...] = ()

    @property
    def advice(self) -> Advice:
        """What it means and what to do."""
        return ADVICE[self.kind]


ADVICE: Final[dict[SymptomKind, Advice]] = {
    "amnesia_loop": Advice(
        "a call was made again whose result had been taken away",
        "keep results of that tool longer: a larger age in its rule, exact, or a larger budget.keep_turns; agents that "
        "lost nothing repeat about one call in 70",
    ),
    "ruled_out_retried": Advice(
        "an approach was tried again that the summary rules out",
        "tell the agent, or say it in a note (coldpress notes), which stands in a place of its own",
    ),
    "stop_signal_lost": Advice(
        "a prohibition or limit went with the messages that were summarised and is shown nowhere",
        "put it into a note (coldpress notes) now; and report it: users' own words are to be kept",
    ),
    "head_reserialised": Advice(
        "the client wrote system prompt or tools otherwise though they say the same, which can cost the whole cache",
        "have the client write them the same each time: fixed order of keys and tools, one JSON encoder",
    ),
    "drift": Advice(
        "something that the last summary knew is in neither the new one, nor the prompt, nor the notes",
        "coldpress ledger show names the section; what still holds belongs into a note (coldpress notes)",
    ),
    "cached_tokens_dropped": Advice(
        "after results were taken away the provider read less than what was sent unchanged",
        "where it happens once, the provider dropped its cache; where it happens again, set the operation to drain",
    ),
    "window_overflow": Advice(
        "the provider refused a prompt as longer than the model's window",
        "coldpress check --model NAME shows the window that counts; say the right one in the settings "
        "(budget.window_tokens), so that nothing has to be refused first",
    ),
    "sensitive": Advice(
        "a result holds secrets or personal data, and went out as it is since plugins.config.pii only reports",
        'coldpress ledger show names the tool; plugins.config.pii.action "redact" takes it out, "block" holds it back',
    ),
    "withheld": Advice(
        "a request was refused since a result holds secrets or personal data",
        "take it out of the conversation; where it is none, plugins.config.pii.allow lets it through",
    ),
    "escalate": Advice(
        "a conversation was compacted too often, or compacting frees too little",
        "split the work: a sub-agent for each part, subtask() in the library, or a new conversation",
    ),
    "binding_model": Advice(
        "the model's reasoning is bound to the text before it, so nothing may go from in front of it",
        "switch on the provider's own compaction in the client, or accept the loss with allow_thinking_loss = true",
    ),
    "no_raw_log": Advice(
        "the settings ask for the raw log before anything is compacted, and it is not kept",
        "store.raw_log = true, or budget.require_raw_log = false",
    ),
    "no_time": Advice(
        "there was no time to work out what may go, so the prompt went out as it was",
        "nothing where it is once in a conversation; else more time (limits.prepare_seconds), fewer requests at once",
    ),
    "masked_short": Advice(
        "results were masked and the prompt is still above the target",
        'let messages be summarised (budget.stages with "summary"), or keep fewer turns (budget.keep_turns)',
    ),
    "nothing_to_take": Advice(
        "the prompt is above the trigger and all of it stands in the keep zones or is exact",
        "keep fewer turns (budget.keep_turns), or relax the rules that say exact",
    ),
    "no_gain": Advice(
        "what could be taken away frees too little to break the cache for, or nothing",
        "keep fewer turns (budget.keep_turns), split the work, or use a model with a larger window",
    ),
    "narrowed": Advice(
        "fewer turns were kept than the settings ask for, since the prompt would have outgrown the window",
        "smaller results (limits of the tools themselves), or an earlier trigger (budget.trigger)",
    ),
    **{kind: Advice(*told) for kind, told in MEANING_AND_REMEDY.items()},
    "items_dropped": Advice(
        "items of a summary quoted what does not stand in the message they cite, and were dropped",
        "nothing where it is a few; where it is many, another model in [summariser]",
    ),
}

_BY_REASON: Final[dict[PressureReason, PressureSymptom]] = {
    "binding_model": "binding_model",
    "no_raw_log": "no_raw_log",
    "no_time": "no_time",
    "masked_short": "masked_short",
    "nothing_to_take": "nothing_to_take",
    "no_gain": "no_gain",
}


def symptoms(entries: Iterable[LedgerEntry]) -> tuple[Symptom, ...]:
    """Count what ledger entries tell, in the order of `ADVICE`; entries come newest first."""
    found: dict[SymptomKind, Symptom] = {}
    for entry in entries:
        here: dict[SymptomKind, Symptom] = {}
        newest = Symptom("drift", 1, 1, entry.receipt.request_id, entry.receipt.received_at)
        for kind, tokens, word in _told(entry):
            words = ((word, 1),) if word else ()
            _add(here, replace(newest, kind=kind, tokens=tokens, words=words), requests=0)
        for symptom in here.values():
            _add(found, symptom, requests=1)
    kinds = (*get_args(FindingKind), *get_args(PressureSymptom), *get_args(SummarySymptom))
    return tuple(found[kind] for kind in kinds if kind in found)


def _add(found: dict[SymptomKind, Symptom], more: Symptom, *, requests: int) -> None:
    known = found.get(more.kind)
    if known is None:
        found[more.kind] = more
        return
    words = Counter(dict(known.words))
    words.update(dict(more.words))
    counted = [tokens for tokens in (known.tokens, more.tokens) if tokens is not None]
    found[more.kind] = Symptom(
        more.kind,
        known.count + more.count,
        known.requests + requests,
        known.newest_request,
        known.newest_at,
        sum(counted) if counted else None,
        tuple(words.most_common()),
    )


def _told(entry: LedgerEntry) -> Iterator[tuple[SymptomKind, int | None, str]]:
    """Give kind, tokens and the ledger's own word, empty where the kind says it all."""
    outcome = entry.outcome
    for finding in (*entry.receipt.findings, *(outcome.findings if outcome is not None else ())):
        # A refusal's tokens are the window: summed up they would say nothing.
        yield finding.kind, None if finding.kind == "window_overflow" else finding.tokens, ""
    if entry.receipt.pressure is not None:
        for kind in _of_pressure(entry.receipt.pressure):
            yield kind, None, ""
        for word in entry.receipt.pressure.refused:
            yield refusal_kind(word), None, word


def _of_pressure(pressure: Pressure) -> Iterator[PressureSymptom]:
    if pressure.escalate:
        yield "escalate"
    if pressure.reason in _BY_REASON:
        yield _BY_REASON[pressure.reason]
    if pressure.narrowed:
        yield "narrowed"
    if pressure.dropped:
        yield "items_dropped"
