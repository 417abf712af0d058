"""Laws of aged results: a sent prefix changes only at a cut and only from there on, and what must stay exact stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pytest
from bodies import changed_literals, conversation, literals, messages_bytes, without_marks
from cases.talk import listing, log
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from provider import LATER, NO_CACHE, SOON, TINY_READS, Json, Provider, Turn, growing, priced, step, talk
from support import failed_quietly, pressing

from coldpress.engine.policy import DEFAULT_POLICY, Policy, Rule, with_source_age
from coldpress.measure.rates import Prices

OUR_MARK = b',"cache_control":{"type":"ephemeral"}'
LAW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
MASK_ALL = Policy((Rule("*", ("mask",), age=2),))
"""A careless policy: every kind of result may be masked."""
PRESS_AND_MASK = Policy((Rule("*", ("lossless", "dedupe", "deterministic", "mask"), age=2),))
"""Views at first sight, and others in their place later."""

FAILED = "\n".join(
    ["collected 90 items", *(f"tests/test_{n}.py ....." for n in range(60)), "1 failed, 89 passed in 3s"]
)
DIFF = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,60 +1,60 @@\n" + "\n".join(
    f"-old {n}\n+new {n}" for n in range(60)
)
SECRET = log("env", 60) + "\nexport DB_PASSWORD=q8Zr2vLmT0\n"


@dataclass(frozen=True)
class Kind:
    """A sort of result: what makes it, and whether it may ever be masked by a careless policy."""

    name: str
    tool: str
    argument: str
    maskable: bool

    def step(self, number: int, size: int) -> list[Json]:
        text = {
            "log": log(f"n{number}", size),
            "search": "\n".join(f"src/a{n}.py:{n}:def found_{number}_{n}(): pass" for n in range(size)),
            "source": listing(f"v{number}", size),
            "failed": f"{FAILED}\nrun {number}",
            "diff": f"{DIFF}\n+last {number}",
            "secret": f"{SECRET}run {number}",
            "edit": f"The file has been updated ({number}).\n" + listing(f"e{number}", size),
            "plan": f"Todos have been modified ({number}). " * 40,
            "short": f"ok {number}",
        }[self.name]
        value = f"f{number % 3}.py" if self.argument == "file_path" else f"git diff {number}"
        command = value if self.name == "diff" or self.argument == "file_path" else f"make {number}"
        return step(number, text, tool=self.tool, **{self.argument: command})


KINDS = (
    Kind("log", "Bash", "command", True),
    Kind("search", "Grep", "pattern", True),
    Kind("source", "Read", "file_path", True),
    Kind("failed", "Bash", "command", False),
    Kind("diff", "Bash", "command", False),
    Kind("secret", "Bash", "command", False),
    Kind("edit", "Edit", "file_path", False),
    Kind("plan", "TodoWrite", "todos", False),
    Kind("short", "Bash", "command", False),
)


@dataclass(frozen=True)
class Run:
    """A conversation by the kinds and sizes of its results, with the pause before each request."""

    parts: tuple[tuple[Kind, int], ...]
    pauses: tuple[float, ...]

    @property
    def steps(self) -> list[list[Json]]:
        return [kind.step(number, size) for number, (kind, size) in enumerate(self.parts)]


@st.composite
def runs(draw: st.DrawFn) -> Run:
    length = draw(st.integers(9, 20))
    likely = [*KINDS, KINDS[0], KINDS[0], KINDS[0], KINDS[1]]
    parts = [(draw(st.sampled_from(likely)), draw(st.integers(20, 140))) for _ in range(length)]
    pauses = [draw(st.sampled_from([SOON, SOON, SOON, SOON, 280.0, 320.0, LATER])) for _ in range(length + 1)]
    return Run(tuple(parts), tuple(pauses))


def first_new_edit(before: Turn | None, turn: Turn) -> int | None:
    """Where in the sent bytes, less marks, the first message begins that was sent otherwise on the turn before."""
    known = {} if before is None else dict(changed_literals(before.body, without_our_mark(before)))
    held = len(conversation(before.body).messages) if before else 0
    mine, theirs = conversation(turn.body), conversation(turn.sent)
    for old, new in zip(literals(mine), literals(theirs), strict=True):
        text, view = mine.text(old), theirs.text(new)
        index = next(i for i, m in enumerate(theirs.messages) if m.span.start <= new.span.start < m.span.end)
        if index < held and view != known.get(text, text):
            return len(without_marks(turn.sent[: theirs.messages[index].span.start]))
    return None


def without_our_mark(turn: Turn) -> bytes:
    """What was sent, without the mark of ours where one was set: the one that stands in a message before the last."""
    if not (turn.cut and turn.cut.mark):
        return turn.sent
    at = turn.sent.index(OUR_MARK)
    assert at < conversation(turn.sent).messages[-1].span.start
    return turn.sent[:at] + turn.sent[at + len(OUR_MARK) :]


@pytest.mark.parametrize("prices", [pytest.param(NO_CACHE, id="no cache"), pytest.param(None, id="unpriced")])
@pytest.mark.parametrize("policy", [DEFAULT_POLICY, MASK_ALL], ids=["own policy", "careless policy"])
@LAW
@given(run=runs())
def test_between_cuts_what_was_sent_is_the_beginning_of_what_is_sent(
    prices: Prices | None, policy: Policy, run: Run
) -> None:
    with pressing(priced(prices, policy=policy)) as press:
        turns = talk(press, growing(run.steps), Provider(), pauses=run.pauses)
    for before, turn in pairwise(turns):
        assert not failed_quietly(turn.prepared)
        sent, now = without_marks(messages_bytes(before.sent)), without_marks(turn.sent)
        if not turn.applied:
            assert now.startswith(sent)
            continue
        assert prices is not None
        same = next((n for n, (a, b) in enumerate(zip(sent, now, strict=False)) if a != b), len(sent))
        at = first_new_edit(before, turn)
        assert at is not None
        assert same >= at, "everything before the first edited message is as it was"


@LAW
@given(run=runs())
def test_what_must_stay_exact_is_never_in_a_batch(run: Run) -> None:
    texts = [part[1]["content"][0]["content"] for part in run.steps]
    with pressing(priced(NO_CACHE, policy=MASK_ALL)) as press:
        turns = talk(press, growing(run.steps), Provider(), pauses=run.pauses)
    for replies, turn in enumerate(turns):
        for text, _ in changed_literals(turn.body, without_our_mark(turn)):
            number = texts.index(text)
            assert run.parts[number][0].maskable
            assert replies - number - 1 >= 2, "the last turns stay"


@LAW
@given(run=runs())
def test_restarts_between_any_two_requests_lose_no_view(run: Run) -> None:
    """A fresh process may know less and then does less; what was sent small is sent small again, byte for byte."""
    provider = Provider()
    with pressing(priced(NO_CACHE)) as press:
        views: dict[str, str] = {}
        for body, pause in zip(growing(run.steps), run.pauses, strict=True):
            with pressing(priced(NO_CACHE), press.store) as fresh:
                (turn,) = talk(fresh, [body], provider, pauses=[pause])
            now = dict(changed_literals(turn.body, without_our_mark(turn)))
            assert turn.applied or all(now[text] == view for text, view in views.items())
            assert set(now) >= set(views)
            views = now


@pytest.mark.parametrize("age", [None, 3, 8])
def test_reads_stay_exact_unless_the_user_gave_an_age(age: int | None) -> None:
    steps = [step(n, listing(f"f{n}", 90), tool="Read", file_path=f"f{n}.py") for n in range(14)]
    policy = DEFAULT_POLICY if age is None else with_source_age(DEFAULT_POLICY, age)
    with pressing(priced(policy=policy)) as press:
        turns = talk(press, growing(steps), Provider(), pauses=dict.fromkeys(range(1, 15), LATER))
    for replies, turn in enumerate(turns):
        masked = [old for old, new in changed_literals(turn.body, turn.sent) if "no longer shown" in new]
        assert masked == [listing(f"f{n}", 90) for n in range(0 if age is None else max(0, replies - age))]


def test_what_a_standing_repeat_points_at_is_never_masked() -> None:
    """The first read is old, but the last one says that its lines still stand there."""
    first, again = listing("f", 120), listing("f", 120) + "\n" + listing("more", 60, first=121)
    steps = [step(0, first, tool="Read", file_path="f.py"), step(1, listing("g", 120), tool="Read", file_path="g.py")]
    steps += [step(n) for n in range(2, 8)]
    steps += [step(8, again, tool="Read", file_path="f.py"), *(step(n) for n in range(9, 23))]
    policy = with_source_age(DEFAULT_POLICY, 4)
    with pressing(priced(TINY_READS, policy=policy)) as press:
        turns = talk(press, growing(steps), Provider(), pauses={9: LATER, 22: LATER, 23: LATER})
    assert [number for number, turn in enumerate(turns) if turn.applied] == [9, 22, 23]
    at_cut = dict(changed_literals(turns[9].body, turns[9].sent))
    assert "Read f.py above" in at_cut[again]
    assert "no longer shown" in at_cut[listing("g", 120)]
    assert "no longer shown" not in at_cut.get(first, "")
    # Once the repeat is old too, it is masked, and from then on nothing points at the first read any more.
    later, last = (dict(changed_literals(turn.body, turn.sent)) for turn in turns[22:])
    assert "no longer shown" in later[again]
    assert "no longer shown" not in later.get(first, "")
    assert "no longer shown" in last[first]


def masked(turns: Sequence[Turn]) -> int:
    return sum(turn.applied for turn in turns)


def test_the_generated_runs_do_cut() -> None:
    """The laws above would hold of a gate that does nothing: in most runs it does something."""
    counts = []

    @settings(max_examples=20, deadline=None, database=None, derandomize=True)
    @given(run=runs())
    def play(run: Run) -> None:
        with pressing(priced(NO_CACHE, policy=MASK_ALL)) as press:
            counts.append(masked(talk(press, growing(run.steps), Provider(), pauses=run.pauses)))

    play()
    assert sum(count > 2 for count in counts) > len(counts) / 2


@pytest.mark.parametrize("restarts", ["one process", "a process for each request"])
@settings(LAW, max_examples=8)
@given(run=runs())
def test_the_sums_are_what_texts_had_fewer_upstream(restarts: str, run: Run) -> None:
    """To the byte, also where a view takes the place of an earlier one."""
    found, provider, turns = priced(NO_CACHE, policy=PRESS_AND_MASK), Provider(), list[Turn]()
    with pressing(found) as press:
        for body, pause in zip(growing(run.steps), run.pauses, strict=True):
            with pressing(found, press.store) as fresh:
                fresh.numbers = press.numbers
                turns += talk(press if restarts == "one process" else fresh, [body], provider, pauses=[pause])
        totals = press.store.totals()
    assert totals.requests == len(turns)
    pairs = [changed_literals(turn.body, without_our_mark(turn)) for turn in turns]
    removed = [sum(len(old.encode()) - len(new.encode()) for old, new in texts) for texts in pairs]
    assert totals.bytes_removed == {"transformations": removed[-1], "applications": sum(removed)}
    made = [{line.original for line in turn.prepared.receipt.lines if line.mode != "exact"} for turn in turns]
    again = [len(texts) - len(new) for texts, new in zip(pairs, made, strict=True)]
    assert [turn.prepared.receipt.reused for turn in turns] == again
