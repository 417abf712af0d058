"""Providers are asked only for what the settings say, never over the client, and to clear only where that pays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.native import Asking, Native, compacts, decide, least_cleared
from coldpress.measure.economics import breakeven_turns
from coldpress.measure.rates import Prices, Rates, Unpriced
from coldpress.model.native import Declined, Primitive

MODEL = "claude-opus-4-8"
RATES = Rates(5.0, 0.5, 6.25, 10.0, 25.0, "made up", "2026-11-30")
PRICES = Prices(MODEL, ((0, RATES),))
HEAD = frozenset({"model", "max_tokens", "messages", "tools", "thinking"})
ALL = Native(
    clear_tool_uses=True,
    clear_thinking=True,
    compact_threshold_tokens=150_000,
    memory_tool=True,
    compaction_tokens=200_000,
    clients=frozenset({"agent"}),
)
MESSAGES = Asking(
    format="anthropic",
    model=MODEL,
    fields=HEAD,
    routes=(PRICES,),
    requests=30.0,
    tools=("Bash",),
    harness="agent",
    thinks=True,
)
RESPONSES = replace(
    MESSAGES, format="openai_responses", model="gpt-6-sol", fields=frozenset({"model", "input", "store"})
)
OF_MESSAGES: tuple[Primitive, ...] = ("clear_thinking", "clear_tool_uses", "compact_threshold", "memory_tool")


def why(primitive: Primitive, asking: Asking, native: Native = ALL) -> str | None:
    """The word for why something is left out; `None` where it is asked for."""
    found = decide(native, asking)
    assert found is not None
    declined = {one.primitive: one.why for one in found.declined}
    assert (primitive in found.asked) != (primitive in declined)
    return declined.get(primitive)


def test_nothing_is_asked_for_and_nothing_is_told_where_the_settings_switch_nothing_on() -> None:
    assert decide(Native(diagnostics=True, clients=frozenset({"agent"})), MESSAGES) is None


def test_a_request_is_asked_what_its_wire_knows_reasoning_first() -> None:
    found = decide(ALL, MESSAGES)
    assert found is not None
    assert found.asked == OF_MESSAGES
    assert found.declined == (Declined("compaction", "format"),)
    theirs = decide(ALL, RESPONSES)
    assert theirs is not None
    assert theirs.asked == ("compaction",)
    assert theirs.declined == tuple(Declined(primitive, "format") for primitive in OF_MESSAGES)
    assert theirs.clear_at_least_tokens is None


@pytest.mark.parametrize("name", ["openai_chat", "gemini"])
def test_wires_without_primitives_are_left_alone(name: Any) -> None:
    found = decide(ALL, replace(MESSAGES, format=name))
    assert found is not None
    assert found.asked == ()
    assert {one.why for one in found.declined} == {"format"}


@pytest.mark.parametrize("field", ["context_management", "compaction"])
def test_the_clients_own_fields_are_never_written_over(field: str) -> None:
    asking = replace(MESSAGES, fields=HEAD | {field})
    assert [why(one, asking) for one in OF_MESSAGES[:3]] == ["client"] * 3
    assert why("memory_tool", asking) is None, "it is none of them"
    theirs = replace(RESPONSES, fields=RESPONSES.fields | {"context_management"})
    assert why("compaction", theirs) == "client"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        pytest.param({"fields": HEAD | {"thread"}}, "thread", id="a thread at the server"),
        pytest.param({"stateful": True}, "stateful", id="history at the server"),
        pytest.param({"first_party": False}, "provider", id="somebody else's server"),
    ],
)
def test_what_the_server_holds_or_does_not_know_is_left_alone(changes: dict[str, Any], word: str) -> None:
    asking = replace(MESSAGES, **changes)
    assert [why(one, asking) for one in OF_MESSAGES] == [word] * 4


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        pytest.param({"first_party": False}, "provider", id="somebody else's server"),
        pytest.param({"stateful": True}, "stateful", id="history at the server"),
        pytest.param({"stored": True}, "stored", id="kept at the server"),
        pytest.param({"dropped": True}, "compaction_dropped", id="a client that lost one"),
        pytest.param({"harness": "other"}, "client_unknown", id="a client nobody vouches for"),
        pytest.param({"harness": None}, "client_unknown", id="a client without a name"),
    ],
)
def test_an_item_that_would_be_lost_is_not_asked_for(changes: dict[str, Any], word: str) -> None:
    assert why("compaction", replace(RESPONSES, **changes)) == word


def test_a_request_without_reasoning_never_gets_the_edit_for_it() -> None:
    """T05."""
    asking = replace(MESSAGES, thinks=False)
    assert why("clear_thinking", asking) == "no_thinking"
    assert why("clear_tool_uses", asking) is None


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        pytest.param({"harness": "other"}, "client_unknown", id="a client nobody vouches for"),
        pytest.param({"dropped": True}, "compaction_dropped", id="a client that lost one"),
        pytest.param({"model": "claude-haiku-4-5"}, "model", id="a model that does not"),
        pytest.param({"model": None}, "model", id="no model"),
    ],
)
def test_a_summary_is_asked_for_of_those_who_keep_it(changes: dict[str, Any], word: str) -> None:
    assert why("compact_threshold", replace(MESSAGES, **changes)) == word
    shown = replace(MESSAGES, replays=True, **changes)
    assert why("compact_threshold", shown) is None, "without the edit the summary it shows is refused"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        pytest.param({"tools": ("Bash", "memory")}, "client", id="it has one of that name"),
        pytest.param({"tools": ()}, "no_tools", id="a request that offers none"),
        pytest.param({"before": frozenset({"clear_tool_uses"})}, "begun", id="a conversation that began without"),
        pytest.param({"harness": "other"}, "client_unknown", id="nobody to answer its calls"),
        pytest.param({"model": "claude-opus-5-5"}, "model", id="reasoning that is bound to the tools"),
        pytest.param({"before": frozenset({"memory_tool"})}, None, id="a conversation that began with it"),
    ],
)
def test_the_memory_tool_is_declared_from_the_first_request_on(changes: dict[str, Any], word: str | None) -> None:
    assert why("memory_tool", replace(MESSAGES, **changes)) == word


def test_draining_keeps_what_stands_and_asks_for_nothing_new() -> None:
    before: frozenset[Primitive] = frozenset({"clear_tool_uses", "memory_tool"})
    draining = replace(MESSAGES, draining=True, before=before)
    assert [why(one, draining) for one in OF_MESSAGES] == ["drain", None, "drain", None]
    assert why("compact_threshold", replace(draining, replays=True)) is None
    assert why("clear_tool_uses", replace(draining, before=None)) == "drain"
    assert why("compaction", replace(RESPONSES, draining=True, before=before)) == "drain"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        pytest.param({"routes": Unpriced(("rates",))}, "no_price", id="no price"),
        pytest.param({"routes": ()}, "no_price", id="no route"),
        pytest.param({"routes": (Prices(MODEL, ((0, replace(RATES, cache_read_usd_per_mtok=0.0)),)),)}, "never_pays"),
        pytest.param(
            {"routes": (Prices(MODEL, ((0, replace(RATES, cache_write_long_usd_per_mtok=None)),)),), "long": True},
            "no_price",
            id="no price for what it writes",
        ),
    ],
)
def test_a_clearing_whose_rewrite_cannot_be_priced_is_not_asked_for(changes: dict[str, Any], word: str) -> None:
    asking = replace(MESSAGES, **changes)
    assert why("clear_tool_uses", asking) == word
    found = decide(ALL, asking)
    assert found is not None
    assert found.clear_at_least_tokens is None


@given(
    trigger=st.integers(1_000, 500_000),
    requests=st.integers(1, 300),
    read=st.decimals("0.01", "5", places=3),
    times=st.decimals("1", "60", places=2),
)
def test_one_token_less_would_not_pay(trigger: int, requests: int, read: Any, times: Any) -> None:
    """By the formula of the library's own break-even, which knows nothing of this search."""
    write = float(read * times)
    rates = Rates(write, float(read), write, write, 0.0, "made up", "2026-11-30")
    found = least_cleared(trigger, (Prices("m", ((0, rates),)),), requests=float(requests))
    assert isinstance(found, int)

    def turns(tokens: int) -> int:
        needed = breakeven_turns(trigger - tokens, tokens, rates)
        assert needed is None or isinstance(needed, int)
        return 10**9 if needed is None else needed

    assert turns(found) <= requests
    # Money is rounded to a ten-thousandth of a millionth of a dollar, so next to the edge one token may not show.
    assert found <= 2 or turns(found - 2) > requests


def test_the_example_of_the_paper_is_what_comes_out() -> None:
    # 30 * D * 0.5 > (100_000 - D) * 5.75
    assert least_cleared(100_000, (PRICES,), requests=30.0) == 27_711
    dearer = Prices("other", ((0, replace(RATES, cache_write_usd_per_mtok=12.5)),))
    both = least_cleared(100_000, (PRICES, dearer), requests=30.0)
    assert both == least_cleared(100_000, (dearer,), requests=30.0)
    long = least_cleared(100_000, (PRICES,), requests=30.0, long=True)
    assert isinstance(both, int) and isinstance(long, int)
    assert both > 27_711 < long


def test_what_a_request_is_asked_does_not_go_by_how_far_the_conversation_is() -> None:
    first = decide(ALL, MESSAGES)
    assert decide(ALL, replace(MESSAGES, before=frozenset(OF_MESSAGES), replays=True)) == first


@pytest.mark.parametrize(
    ("model", "does"),
    [
        ("claude-opus-4-6", True),
        ("claude-opus-4-5-20250929", False),
        ("claude-opus-5-20261101", True),
        ("claude-sonnet-4-6", True),
        ("claude-sonnet-4-20250514", False),
        ("claude-haiku-5-5", True),
        ("claude-fable-5-2", True),
        ("claude-3-5-sonnet-latest", False),
        ("house-model", False),
    ],
)
def test_models_that_are_not_known_to_compact_are_not_asked_to(model: str, does: bool) -> None:
    assert compacts(model) is does
