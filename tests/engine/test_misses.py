"""Every kind of miss, told and inferred, is put down to who caused it; what nobody can tell is not made up."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from coldpress.engine.misses import Case, attribute, explains_read, missed_tokens
from coldpress.engine.shown import Compared, Outside, Shown
from coldpress.model.misses import Attribution
from coldpress.model.records import Miss

BEFORE = Shown(1_000.0, "a-model", b"s", Outside(b"t"), b"m" * 80, cached=50_000, read=40_000)
SAME = Compared(BEFORE, head_share=0.1)
WARM = Case(SAME, prompt=52_000, read=0, idle_seconds=20.0, lifetime_seconds=300.0, minimum_tokens=1_024)
"""Nothing is otherwise, twenty seconds have passed, and nothing was read of 50,000 tokens."""

COLD = replace(WARM, idle_seconds=900.0)
OURS = replace(SAME, ours="edit", touched=True, kept_share=0.2)
CLIENTS = replace(SAME, parted=True, same_share=0.98, kept_share=0.2)
TOUCHED = replace(SAME, touched=True)


def case(compared: Compared | None = SAME, of: Case = WARM, **changes: object) -> Case:
    return replace(of, compared=compared, **changes)  # type: ignore[arg-type]


def told(reason: str, tokens: int | None = None) -> Miss:
    return Miss(reason, tokens)


INFERRED = [
    pytest.param(case(), "provider", "evicted", id="nothing changed and no time passed"),
    pytest.param(case(of=COLD), "time", "expired", id="idle for longer than the lifetime"),
    *(
        pytest.param(case(replace(SAME, head=(part,)), of), "client", part, id=f"client changed {part}, {when}")
        for part, (when, of) in product(
            ("model", "tools", "system", "settings", "key"), (("at once", WARM), ("after a pause", COLD))
        )
    ),
    pytest.param(case(replace(SAME, head=("tools", "settings"))), "client", "tools", id="the outermost change counts"),
    pytest.param(case(CLIENTS), "client", "messages", id="client changed an earlier message"),
    pytest.param(case(CLIENTS, COLD), "time", "expired", id="client changed a message of what had expired"),
    pytest.param(case(OURS), "us", "edit", id="we changed a result"),
    pytest.param(case(replace(OURS, ours="summary")), "us", "summary", id="we put a summary"),
    pytest.param(case(replace(OURS, ours="addition")), "us", "addition", id="we changed a call"),
    pytest.param(case(replace(SAME, added=True)), "us", "addition", id="we changed something outside the messages"),
    pytest.param(case(replace(SAME, added=True, head=("tools",))), "us", "addition", id="we and the client: ours"),
    pytest.param(case(replace(OURS, parted=True)), "us", "edit", id="we in front of the client: ours"),
    pytest.param(case(OURS, COLD), "time", "expired", id="our edit of what had expired"),
    pytest.param(case(OURS, keeps_nothing=True), "provider", "evicted", id="our edit where nothing was ever read"),
    pytest.param(
        case(OURS, keeps_nothing=True, read=10_000), "us", "edit", id="our edit where something is read after all"
    ),
    pytest.param(case(replace(SAME, added=True), COLD), "time", "expired", id="our addition to what had expired"),
    pytest.param(case(OURS, COLD, read=10_000), "us", "edit", id="our edit of what was held after all"),
    pytest.param(case(OURS, COLD, read=5_000), "time", "expired", id="the head alone was still held"),
    pytest.param(case(cleared=True), "provider", "provider_edit", id="the provider cleared results"),
    pytest.param(
        case(replace(CLIENTS, before=replace(BEFORE, cleared=True))),
        "provider",
        "provider_edit",
        id="the client goes on from the provider's summary",
    ),
    pytest.param(
        case(replace(SAME, new_blocks=25), lookback_blocks=20),
        "client",
        "marks",
        id="more blocks than a mark looks back",
    ),
    pytest.param(case(seen_elsewhere=True), "unknown", "untold", id="others may have sent something in between"),
    pytest.param(
        case(lifetime_seconds=None, idle_seconds=4_000.0), "unknown", "untold", id="a pause, and no known lifetime"
    ),
    pytest.param(case(lifetime_seconds=None), "provider", "evicted", id="no pause, and no known lifetime"),
    pytest.param(case(None, earlier_tokens=50_000), "unknown", "untold", id="after a restart"),
    pytest.param(case(None, COLD, earlier_tokens=50_000), "time", "expired", id="after a restart and a long pause"),
    pytest.param(
        case(None, earlier_tokens=50_000, told=told("previous_message_not_found")),
        "unknown",
        "not_found",
        id="after a restart, and the provider knows nothing either",
    ),
    *(
        pytest.param(case(told=told(word)), "provider", "evicted", id=f"{word}: as if nothing was told")
        for word in ("unavailable", "previous_message_not_found", "comparison_response_not_found", "some_new_word")
    ),
    pytest.param(
        case(replace(SAME, head=("settings",)), told=told("unavailable")),
        "client",
        "settings",
        id="unavailable, and reasoning was switched on",
    ),
    pytest.param(
        case(told=told("messages_changed", 300)), "provider", "evicted", id="what is told explains less than was missed"
    ),
]


@pytest.mark.parametrize(("one", "cause", "why"), INFERRED)
def test_what_is_not_told_follows_from_what_was_sent_and_when(one: Case, cause: str, why: str) -> None:
    found = attribute(one)
    assert found is not None
    assert (found.cause, found.why, found.told) == (cause, why, False)
    assert found.tokens == missed_tokens(one)


TOLD = [
    *(
        pytest.param(case(compared, told=told(word, 9_000)), "client", why, id=f"{word}, {name}")
        for word, why in (
            ("model_changed", "model"),
            ("tools_changed", "tools"),
            ("system_changed", "system"),
            ("prompt_cache_key_changed", "key"),
            ("text_format_changed", "settings"),
            ("reasoning_effort_changed", "settings"),
            ("verbosity_changed", "settings"),
            ("service_tier_changed", "settings"),
            ("messages_changed", "messages"),
            ("input_changed", "messages"),
        )
        for name, compared in (("nothing known to be changed", SAME), ("nothing of ours", CLIENTS))
    ),
    *(
        pytest.param(case(OURS, told=told(word, 9_000)), "us", "edit", id=f"{word}, by us")
        for word in ("messages_changed", "input_changed")
    ),
    *(
        pytest.param(case(replace(SAME, added=True), told=told(word, 9_000)), "us", "addition", id=f"{word}, by us")
        for word in ("tools_changed", "system_changed")
    ),
    pytest.param(
        case(replace(TOUCHED, parted=True), told=told("messages_changed", 9_000)),
        "client",
        "messages",
        id="the client, in a conversation with edits of ours that stand",
    ),
    pytest.param(
        case(replace(TOUCHED, head=("tools",)), told=told("tools_changed", 9_000)),
        "client",
        "tools",
        id="the client's tools, in a conversation with edits of ours that stand",
    ),
    pytest.param(
        case(TOUCHED, told=told("messages_changed", 9_000)), "us", "edit", id="nobody is known to: ours where we edit"
    ),
    pytest.param(
        case(TOUCHED, told=told("tools_changed", 9_000)), "us", "addition", id="nobody is known to: ours, tools too"
    ),
    pytest.param(case(told=told("context_compacted", 9_000)), "provider", "provider_edit", id="the provider's summary"),
    pytest.param(
        case(cleared=True, told=told("input_changed", 9_000)), "provider", "provider_edit", id="the provider's clearing"
    ),
    pytest.param(case(None, told=told("model_changed", 9_000)), "client", "model", id="after a restart, model"),
    pytest.param(
        case(None, told=told("messages_changed", 9_000)), "unknown", "messages", id="after a restart, messages"
    ),
    pytest.param(case(None, told=told("tools_changed", 9_000)), "unknown", "tools", id="after a restart, tools"),
    pytest.param(case(CLIENTS, COLD, told=told("messages_changed", 9_000)), "client", "messages", id="after a pause"),
]


@pytest.mark.parametrize(("one", "cause", "why"), TOLD)
def test_what_is_told_is_believed_and_split_between_client_and_us(one: Case, cause: str, why: str) -> None:
    assert attribute(one) == Attribution(cause, why, 9_000, told=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["input_changed", "messages_changed"])
def test_no_more_is_missed_than_could_have_been_read(word: str) -> None:
    """One word counts all behind the change, the new too; the other all that was kept, what the client took out too."""
    assert attribute(case(CLIENTS, read=10_000, told=told(word, 60_000))) == Attribution(
        "client", "messages", missed_tokens(case(CLIENTS, read=10_000)), told=True
    )


@pytest.mark.parametrize("compared", [SAME, TOUCHED, OURS], ids=["nothing of ours", "ours stands", "ours changed too"])
def test_a_system_prompt_that_counts_as_input_is_the_clients(compared: Compared) -> None:
    one = case(replace(compared, head=("system",)), told=told("input_changed", 9_000))
    assert attribute(one) == Attribution("client", "system", 9_000, told=True)


def test_an_edit_of_ours_in_what_had_expired_is_times_whatever_is_told() -> None:
    assert attribute(case(OURS, COLD, told=told("messages_changed", 9_000))) == Attribution("time", "expired", 9_000)


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(case(is_first=True), id="a first request"),
        pytest.param(case(read=50_000), id="all was read"),
        pytest.param(case(read=52_000), id="more than that was read"),
        pytest.param(case(read=50_000 - 1_023), id="nearly all was read"),
        pytest.param(case(read=50_000 - 1_500, step_tokens=2_000), id="less than a step is missing"),
        pytest.param(case(read=50_000, told=told("messages_changed", 9_000)), id="all was read, whatever is told"),
        pytest.param(case(OURS, read=40_000, removed_tokens=10_000), id="all was read but for what we took out"),
        pytest.param(case(replace(CLIENTS, same_share=0.1), read=5_000), id="the client began anew behind the head"),
        pytest.param(case(replace(SAME, before=replace(BEFORE, cached=0))), id="nothing had been written"),
        pytest.param(case(replace(SAME, before=replace(BEFORE, cached=1_000))), id="too short to be kept"),
        pytest.param(case(read=None), id="nobody says what was read"),
        pytest.param(case(replace(SAME, before=replace(BEFORE, cached=None))), id="nobody said what was kept"),
        pytest.param(case(caches=False), id="a provider that is not known to keep anything"),
        pytest.param(case(None), id="nothing is known of what was before"),
        pytest.param(case(None, earlier_tokens=50_000, read=51_000), id="after a restart, and all was read"),
    ],
)
def test_nothing_is_made_up(one: Case) -> None:
    assert attribute(one) is None


@pytest.mark.parametrize(
    ("one", "tokens"),
    [
        pytest.param(case(), 50_000, id="all that was kept"),
        pytest.param(case(read=20_000), 30_000, id="less what was read"),
        pytest.param(case(OURS, read=10_000, removed_tokens=15_000), 25_000, id="less what we took out"),
        pytest.param(case(prompt=30_000), 30_000, id="no more than the prompt holds"),
        pytest.param(case(replace(CLIENTS, same_share=0.5), read=6_000), 20_000, id="no more than was there before"),
        pytest.param(case(None, earlier_tokens=40_000, read=10_000), 30_000, id="of the ledger's last request"),
        pytest.param(case(OURS, removed_tokens=90_000), 0, id="never less than none"),
    ],
)
def test_tokens_are_those_that_would_have_been_read(one: Case, tokens: int) -> None:
    assert missed_tokens(one) == tokens


def test_a_diagnosis_counts_where_reads_are_not_reported() -> None:
    one = case(CLIENTS, read=None, told=told("messages_changed", 9_000))
    assert attribute(one) == Attribution("client", "messages", 9_000, told=True)
    assert attribute(replace(one, told=told("messages_changed"))) == Attribution("client", "messages", None, told=True)
    assert attribute(replace(one, told=told("messages_changed", 1_000))) is None


@pytest.mark.parametrize(
    ("found", "explained"),
    [
        pytest.param(None, False, id="no miss"),
        pytest.param(Attribution("client", "tools"), True, id="client"),
        pytest.param(Attribution("us", "edit"), True, id="us"),
        pytest.param(Attribution("time", "expired"), False, id="time"),
        pytest.param(Attribution("provider", "evicted"), False, id="provider"),
        pytest.param(Attribution("unknown", "untold"), False, id="unknown"),
    ],
)
def test_only_a_change_explains_a_read(found: Attribution | None, explained: bool) -> None:
    assert explains_read(found) is explained
