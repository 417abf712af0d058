"""An entry of the ledger tells what a provider was asked to do by itself, what it did, and what that cost."""

from __future__ import annotations

from dataclasses import replace

from stores.samples import outcome, receipt

from coldpress.cli.ledger_extras import extra_facts
from coldpress.model.native import Applied, Declined, NativeAsked
from coldpress.model.usage import Usage
from coldpress.stores.base import LedgerEntry


def told(native: NativeAsked | None, *applied: Applied) -> dict[str, str]:
    entry = LedgerEntry(replace(receipt("r1"), native=native), replace(outcome("r1"), applied=applied))
    return dict(extra_facts(entry))


def test_where_nothing_was_asked_nothing_is_said() -> None:
    assert not {"asked for", "applied"} & set(told(None))


def test_what_was_asked_and_what_was_left_out_is_named_with_its_reason() -> None:
    asked = NativeAsked(("clear_tool_uses",), (Declined("clear_thinking", "no_thinking"),), 31_000)
    said = told(asked)["asked for"]
    assert said == "clear_tool_uses; clearing 31,000 tokens or more; no clear_thinking (no_thinking)"
    assert (
        told(NativeAsked((), (Declined("diagnostics", "client"),)))["asked for"] == "nothing; no diagnostics (client)"
    )


def test_a_summary_on_demand_says_what_it_stands_for() -> None:
    asked = NativeAsked(("compact_on_demand",), replaced_messages=1_025)
    assert told(asked)["asked for"] == "compact_on_demand; a summary for the first 1,025 messages"


def test_what_was_done_comes_with_the_counts_that_are_known() -> None:
    cleared = Applied("clear_tool_uses", cleared_tokens=40_000, cleared_tool_uses=7)
    wrote = Applied("compact_threshold", usage=Usage(180_000, 0, 0, 0, 3_500), usd=0.5925)
    said = told(None, cleared, wrote, Applied("compaction"))["applied"]
    first, second, third = said.split("; ")
    assert first == "clear_tool_uses: 40,000 tokens out, 7 calls"
    assert second.startswith("compact_threshold: 180,000 tokens in, 3,500 out, 0.59")
    assert third == "compaction: no counts"
