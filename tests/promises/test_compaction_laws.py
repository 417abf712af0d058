"""Laws of compaction over conversations as strange as JSON allows, in windows as small as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pytest
from bodies import conversation, literals
from compacting import applied, faultless, raw_messages, up_to_messages_end, windowed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import (
    STEPS,
    Step,
    Style,
    anthropic_messages,
    anthropic_request,
    chat_messages,
    chat_request,
    write,
)
from support import pressing

from coldpress.config import Settings
from coldpress.drive import Prepared
from coldpress.model.edits import Rebuild
from coldpress.stores.base import Store
from coldpress.testing.anthropic_rules import check_messages_request
from coldpress.testing.chat_rules import check_chat_request
from coldpress.wire.registry import FormatName
from coldpress.wire.span import mask_lone_surrogates

LAW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
FORMATS: list[FormatName] = ["anthropic", "openai_chat"]


@dataclass(frozen=True)
class Run:
    """A conversation with how its client writes it, and the budget it runs under."""

    steps: tuple[Step, ...]
    ascii_only: bool
    indented: bool
    window_tokens: int
    keep_turns: int
    stages: tuple[str, ...]

    def settings(self) -> Settings:
        """What the gateway runs with."""
        return windowed(self.window_tokens, budget={"keep_turns": self.keep_turns, "stages": self.stages})

    def bodies(self, name: FormatName) -> list[bytes]:
        """The requests, one for each step; each repeats the bytes of the one before."""
        return [self._written(name, list(self.steps[:n])) for n in range(1, len(self.steps) + 1)]

    def _written(self, name: FormatName, steps: list[Step]) -> bytes:
        made: Any = anthropic_messages(steps) if name == "anthropic" else chat_messages(steps)
        value: Any = anthropic_request(made) if name == "anthropic" else chat_request(made)
        value["model"] = "house-model"
        body = write(value, Style(0, False, self.ascii_only, False))
        return body.replace(b'},{"role"', b'} ,\n  {"role"') if self.indented else body


RUNS = st.builds(
    Run,
    steps=st.lists(STEPS, min_size=5, max_size=14).map(tuple),
    ascii_only=st.booleans(),
    indented=st.booleans(),
    window_tokens=st.integers(1_500, 12_000),
    keep_turns=st.integers(1, 4),
    stages=st.sampled_from([("mask", "summary"), ("summary",), ("mask",)]),
)


def prepared_by(settings: Settings, bodies: Sequence[bytes], name: FormatName, store: Store | None = None) -> Any:
    """What a gateway sends for requests, and the store it kept its decisions in."""
    with faultless(), pressing(settings, store) as press:
        found = press.all(bodies, name)
        assert all(p.receipt.notes == () for p in found), [p.receipt.notes for p in found]
        return found, press.store


def takes(body: bytes, name: FormatName) -> bool:
    """Whether the strict server takes it."""
    read = json.loads(mask_lone_surrogates(body))
    return (check_messages_request(read) if name == "anthropic" else check_chat_request(read)) is None


def in_force(store: Store, body: bytes, name: FormatName) -> Rebuild | None:
    """The last rebuild that was decided on in this conversation."""
    chains = [message.chain for message in conversation(body, name).messages]
    batches = store.batches(chains)
    return next((batches[c].rebuild for c in reversed(chains) if c in batches and batches[c].rebuild), None)


def hollow(body: bytes, name: FormatName) -> list[bytes]:
    """Every message without the texts of its results, then the bytes behind the last one."""
    found = conversation(body, name)
    texts = [(text.span.start, text.span.end) for text in literals(found)]
    pieces = []
    for message in found.messages:
        at, kept = message.span.start, b""
        for start, end in texts:
            if message.span.start <= start < message.span.end:
                kept, at = kept + body[at:start] + b"_", end
        pieces.append(kept + body[at : message.span.end])
    return [*pieces, body[found.messages[-1].span.end :]]


@pytest.mark.parametrize("name", FORMATS)
@LAW
@given(run=RUNS)
def test_what_is_sent_is_valid_and_begins_with_what_was_sent_between_decisions(name: FormatName, run: Run) -> None:
    bodies = run.bodies(name)
    found, _ = prepared_by(run.settings(), bodies, name)
    for body, prepared in zip(bodies, found, strict=True):
        assert takes(prepared.body, name) or not takes(body, name)
    for before, prepared in pairwise(found):
        if not applied(prepared):
            assert prepared.body.startswith(up_to_messages_end(before.body, name))
        else:
            pressure = prepared.receipt.pressure
            assert pressure.after_tokens < pressure.before_tokens >= pressure.trigger_tokens


@pytest.mark.parametrize("name", FORMATS)
@LAW
@given(run=RUNS, order=st.randoms(use_true_random=False))
def test_whoever_comes_fresh_sends_the_same(name: FormatName, run: Run, order: Any) -> None:
    bodies = run.bodies(name)
    found, store = prepared_by(run.settings(), bodies, name)
    again, _ = prepared_by(run.settings(), bodies, name, store)
    assert [p.body for p in again] == [p.body for p in found]
    mixed = list(range(len(bodies)))
    order.shuffle(mixed)
    other = replace(run.settings(), budgets=type(run.settings().budgets)())
    shuffled, _ = prepared_by(other, [bodies[n] for n in mixed], name, store)
    assert [p.body for p in shuffled] == [found[n].body for n in mixed]


@pytest.mark.parametrize("name", FORMATS)
@LAW
@given(run=RUNS)
def test_nothing_outside_the_patches_differs_and_every_original_can_be_recalled(name: FormatName, run: Run) -> None:
    bodies = run.bodies(name)
    found, store = prepared_by(run.settings(), bodies, name)
    for body, prepared in zip(bodies, found, strict=True):
        _is_patched(store, body, prepared, name)


def _is_patched(store: Store, body: bytes, prepared: Prepared, name: FormatName) -> None:
    rebuild, mine, theirs = in_force(store, body, name), hollow(body, name), hollow(prepared.body, name)
    if rebuild is None:
        assert theirs == mine
        return
    chains = [message.chain for message in conversation(body, name).messages]
    front, stop = chains.index(rebuild.anchor) + 1, chains.index(rebuild.last) + 1
    kept = len(mine) - stop
    assert theirs[:front] == mine[:front]
    assert theirs[len(theirs) - kept :] == mine[stop:]
    raw, sent = raw_messages(body, name), raw_messages(prepared.body, name)
    assert b",".join(sent[front : len(sent) - (kept - 1)]).decode() == rebuild.literal
    assert [str(store.recall(sha)).encode() for sha in rebuild.covered] == raw[front:stop]
    for chain in store.batches(chains).values():
        for standing in chain.standings:
            assert store.recall(standing.original)


@pytest.mark.parametrize("name", FORMATS)
@LAW
@given(run=RUNS, fork=st.integers(0, 13), word=st.sampled_from(["Stop.", "Other way: 🙂", "\\ud83d"]))
def test_a_fork_is_sent_as_its_parent_was_up_to_where_it_parts(
    name: FormatName, run: Run, fork: int, word: str
) -> None:
    bodies = run.bodies(name)
    place = fork % len(bodies)
    extra = {"role": "user", "content": word}
    cut = conversation(bodies[place], name).messages[-1].span.end
    forked = bodies[place][:cut] + b"," + json.dumps(extra).encode() + bodies[place][cut:]
    with pressing(run.settings()) as press:
        found = press.all(bodies, name)
        (other,) = press.all([forked], name)
    if not applied(other):
        assert other.body.startswith(up_to_messages_end(found[place].body, name))
    assert takes(other.body, name) or not takes(forked, name)


@pytest.mark.parametrize("name", FORMATS)
@LAW
@given(run=RUNS)
def test_pressing_what_was_sent_takes_no_more_out_below_the_trigger(name: FormatName, run: Run) -> None:
    found, _ = prepared_by(run.settings(), run.bodies(name), name)
    sent = [p.body for p in found]
    with pressing(windowed(1_000_000)) as other:
        again = other.all(sent, name)
    assert [p.body for p in again] == sent
