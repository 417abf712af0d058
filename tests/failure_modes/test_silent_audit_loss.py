"""Silent audit loss: what a compaction took is nowhere to be found, nor that it took anything."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from failure_modes.naive import Naive, drop_middle, one_shot, paraphrase
from failure_modes.world import MODEL, Json, Pressed, World, budgeted, build_log, coldpress, say, texts_of

from coldpress import Session
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing import Part

STEPS: Final = 16
EVIDENCE: Final = "warning: checksum of shard 7 differs, went on"


def answer(shown: str) -> tuple[Part, ...]:
    done = max(map(int, re.findall(r"make part_(\d+)\"", shown)), default=0)
    return say("On.", "Bash", command=f"make part_{done + 1}") if done < STEPS else say("Built.")


def bash(given: Json) -> str:
    log = build_log(given["command"].split()[1])
    return log.replace("\n", f"\n{EVIDENCE}\n", 1) if given["command"] == "make part_2" else log


BUILD: Final = World("Build all parts.", answer, {"Bash": bash}, window_tokens=16_000)


@pytest.mark.parametrize(
    "compactor",
    [pytest.param(drop_middle, id="drop the middle"), pytest.param(one_shot(paraphrase), id="free-form summary")],
)
def test_off_the_evidence_is_nowhere_afterwards(compactor: object) -> None:
    arm = Naive(compactor, BUILD.window_tokens)  # type: ignore[arg-type]
    run = BUILD.run(arm)
    assert run.ending == "done" and arm.rounds >= 2
    assert any(EVIDENCE in one.text for one in run.asked), "the model saw it once"
    assert EVIDENCE not in "\n".join(text for message in arm.history for text in texts_of(message))
    assert len(arm.history) < 2 * len(run.calls), "and nothing says how much there was"


def test_on_the_ledger_leads_to_every_message_that_went(tmp_path: Path) -> None:
    """By the path that a person takes: the events, the summary's text, the list that it names, the message itself."""
    path = tmp_path / "store.sqlite3"
    settings = budgeted(BUILD.window_tokens, ("summary",))
    with Session(MODEL, provider="anthropic", settings=settings, store_path=path) as session:
        arm = Pressed(session, BUILD.offered)
        run = BUILD.run(arm)
        assert run.ending == "done"
        assert EVIDENCE not in run.asked[-1].text, "it went"
        history = arm.history
    store = SqliteStore(path)
    try:
        events = [entry.receipt.pressure for entry in store.compactions(lineage=None, limit=50)]
        applied = [one for one in events if one is not None and one.reason == "summarised"]
        assert len(applied) >= 2
        assert all(one.before_tokens > one.after_tokens and one.summarised_tokens > 0 for one in applied)
        last = applied[0]
        text = store.recall(last.summary)
        named = re.search(r"coldpress recall ([0-9a-f]{16})`", text)
        assert named is not None, text
        listed = dict(line.split() for line in store.recall(named[1]).splitlines())
        assert list(listed) == [f"m{number}" for number in range(2, 2 + last.summarised)]
        for number, sha in listed.items():
            assert json.loads(store.recall(sha)) == history[int(number[1:]) - 1]
        assert sum(EVIDENCE in store.recall(sha) for sha in listed.values()) == 1
    finally:
        store.close()


def test_on_without_a_log_nothing_goes() -> None:
    """`require_raw_log`: where requests are not kept, none is compacted, and the receipt says so."""
    with coldpress(BUILD, require_raw_log=True) as arm:
        run = BUILD.run(arm)
        assert run.ending == "refused", "it is the window that ends it"
        reasons = {entry.receipt.pressure.reason for entry in arm.session.receipts() if entry.receipt.pressure}
        assert reasons == {"no_raw_log"}


def test_on_the_log_holds_each_request_that_was_compacted() -> None:
    settings = budgeted(BUILD.window_tokens)
    logged = replace(settings, require_raw_log=True, store=replace(settings.store, raw_log=True))
    with Session(MODEL, provider="anthropic", settings=logged) as session:
        arm = Pressed(session, BUILD.offered)
        assert BUILD.run(arm).ending == "done"
        store = session._line.runtime.store
        pressed = [e.receipt for e in session.receipts() if e.receipt.pressure and e.receipt.pressure.summarised]
        assert pressed
        for receipt in pressed:
            (event,) = (event for event in store.events(receipt.request_id) if event.direction == "request")
            assert json.loads(event.body)["messages"] == arm.history[: receipt.messages]
