"""What a provider is asked to do by itself stands beside every byte of the client's, the same on every request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from bodies import conversation
from cases.talk import assistant, dump, messages, result, use, user
from provider import LATER, SOON, START, Provider, flat, growing, priced, step
from support import pressing

from coldpress.config.settings import Settings
from coldpress.drive.accounts import Accounts
from coldpress.drive.beside import NOTHING, Beside
from coldpress.drive.exchange import AsksAsClient, Inbound, OwnReply
from coldpress.drive.native import COMPACT_BETA, EDITING_BETA, MOST_KEPT, Natives
from coldpress.drive.receipts import lineage_of
from coldpress.engine.native import Native
from coldpress.model.native import Applied, Declined, NativeAsked
from coldpress.model.records import Failover, Outcome, Receipt
from coldpress.stores.memory import MemoryStore
from coldpress.wire.registry import FormatName
from coldpress.wire.span import splice

OPUS = "claude-opus-4-8"
SAID = [user("Make it."), assistant(use("t1")), user(result("t1", "done"))]
MORE = [*SAID, assistant("It is made."), user("And now?")]
SUMMARY = {"type": "compaction", "content": "It was made."}
SIGNED = {**SUMMARY, "signature": "c2ln"}
MEMORY = {"type": "memory_20250818", "name": "memory"}
EDIT = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 60_000}}
DONE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Made."}]}
NEXT = {"type": "message", "role": "user", "content": "And now?"}
ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"}
CLIENTS = frozenset({"agent"})


def settings(native: Native, *, is_priced: bool = True) -> Settings:
    found = priced(flat(0.5, 6.25, 5.0, model=OPUS) if is_priced else None)
    return replace(found, providers=tuple(replace(one, native=native) for one in found.providers))


class Asked:
    """One process, and what it puts beside requests."""

    def __init__(self, native: Native, store: MemoryStore | None = None, *, is_priced: bool = True) -> None:
        found = settings(native, is_priced=is_priced)
        self.store = store or MemoryStore()
        self.natives = Natives(found, Accounts(found, self.store), self.store)
        self.number = 0

    def beside(
        self,
        body: bytes,
        name: FormatName = "anthropic",
        *,
        provider: str = "",
        agent: str = "agent/1.0 (cli)",
        draining: bool = False,
    ) -> Beside:
        self.number += 1
        served = provider or ("anthropic" if name == "anthropic" else "openai")
        inbound = Inbound(f"r{self.number}", START, served, name, body, None, {"user-agent": agent})
        found = self.natives.beside(inbound, conversation(body, name), draining=draining)
        out = splice(body, found.additions)
        for one in reversed(found.additions):
            assert one.span.start == one.span.end, "nothing of the client's is replaced"
        rest = out
        for one in found.additions:
            assert rest.count(one.literal) >= 1
            rest = rest.replace(one.literal, b"", 1)
        assert rest == body
        return found

    def sent(self, body: bytes, name: FormatName = "anthropic") -> Any:
        """The body that would go out, decoded."""
        return json.loads(splice(body, self.beside(body, name).additions))

    def words(self, body: bytes, name: FormatName = "anthropic", **more: Any) -> set[str]:
        """The words for what is left out."""
        asked = self.beside(body, name, **more).asked
        assert asked is not None
        assert asked.asked == ()
        return {one.why for one in asked.declined}

    def replied(self, *applied: Applied, failover: Failover | None = None) -> None:
        """End the last request."""
        outcome = Outcome(f"r{self.number}", 200, "complete", 1.0, applied=applied, failover=failover)
        self.natives.ended(outcome)


def request(*said: Any, **top: Any) -> bytes:
    return messages(*said, **{"model": OPUS, **top})


def responses(*items: Any, **top: Any) -> bytes:
    said = [{"type": "message", "role": "user", "content": "Make it."}, *items]
    return dump({"model": "gpt-6-sol", "input": said, "store": False, **top})


def test_nothing_is_added_where_the_settings_switch_nothing_on() -> None:
    assert Asked(Native()).beside(request(*SAID)) == NOTHING
    assert Asked(Native(diagnostics=True)).beside(request(*SAID)) == NOTHING


def test_clearing_is_asked_for_with_the_least_that_pays() -> None:
    asked = Asked(Native(clear_tool_uses=True, clear_keep=5, exclude_tools=("Edit", "Write")))
    found = asked.beside(request(*SAID))
    assert found.betas == (EDITING_BETA,)
    assert found.asked == NativeAsked(("clear_tool_uses",), (), 27_711)
    assert asked.sent(request(*SAID))["context_management"] == {
        "edits": [
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": 100_000},
                "keep": {"type": "tool_uses", "value": 5},
                "clear_at_least": {"type": "input_tokens", "value": 27_711},
                "exclude_tools": ["Edit", "Write"],
            }
        ]
    }


@pytest.mark.parametrize(("turns", "keep"), [(None, "all"), (2, {"type": "thinking_turns", "value": 2})])
def test_reasoning_is_listed_first_and_kept_whole_unless_the_settings_say_otherwise(
    turns: int | None, keep: Any
) -> None:
    asked = Asked(Native(clear_tool_uses=True, clear_thinking=True, clear_thinking_keep=turns))
    for kind in ("enabled", "adaptive"):
        edits = asked.sent(request(*SAID, thinking={"type": kind, "budget_tokens": 2000}))["context_management"][
            "edits"
        ]
        assert edits[0] == {"type": "clear_thinking_20251015", "keep": keep}
        assert [one["type"] for one in edits[1:]] == ["clear_tool_uses_20250919"]


@pytest.mark.parametrize("top", [{}, {"thinking": {"type": "disabled"}}, {"thinking": None}], ids=str)
def test_a_request_without_reasoning_never_gets_the_edit_for_it(top: dict[str, Any]) -> None:
    """T05."""
    assert Asked(Native(clear_thinking=True)).words(request(*SAID, **top)) == {"no_thinking"}


@pytest.mark.parametrize(
    "top",
    [
        {"context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}},
        {"context_management": None},
        {"compaction": {"type": "summarize"}},
    ],
    ids=str,
)
def test_what_the_client_asks_for_itself_goes_as_it_is(top: dict[str, Any]) -> None:
    native = Native(clear_tool_uses=True, clear_thinking=True, compact_threshold_tokens=60_000, clients=CLIENTS)
    asked = Asked(native)
    assert asked.words(request(*SAID, **top)) == {"client"}
    assert asked.beside(request(*SAID, **top)).additions == ()


def test_a_thread_is_left_alone() -> None:
    asked = Asked(Native(clear_tool_uses=True))
    assert asked.words(request(*SAID, thread={"type": "start"})) == {"thread"}


def test_a_request_is_left_alone_where_its_head_cannot_be_read_without_doubt() -> None:
    body = request(*SAID)[:-1] + b',"max_tokens":7}'
    natives = Asked(Native(clear_tool_uses=True))
    found = replace(conversation(request(*SAID)), body=body)
    inbound = Inbound("r", START, "anthropic", "anthropic", body, None, {})
    assert natives.natives.beside(inbound, found).asked == NativeAsked(
        declined=(Declined("clear_tool_uses", "unreadable"),)
    )


def test_other_peoples_servers_and_models_without_a_price_are_not_asked() -> None:
    native = Native(clear_tool_uses=True)
    assert Asked(native).words(request(*SAID), provider="deepseek-anthropic") == {"provider"}
    assert Asked(native, is_priced=False).words(request(*SAID, model="house-model")) == {"no_price"}


def test_long_lived_marks_ask_for_more_to_be_freed() -> None:
    """The price of what a clearing has written again is that of the client's own marks."""
    found = priced(None)
    asked = Asked(Native(clear_tool_uses=True), is_priced=False)
    assert found.providers
    short = asked.beside(request(*SAID)).asked
    marked = [{"type": "text", "text": "You are.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    long = asked.beside(request(*SAID, system=marked)).asked
    assert short is not None and long is not None
    assert (short.clear_at_least_tokens or 0) < (long.clear_at_least_tokens or 0)


class TestThreshold:
    NATIVE = Native(compact_threshold_tokens=60_000, clients=CLIENTS)

    def test_it_is_asked_for_of_a_client_that_keeps_what_comes_back(self) -> None:
        asked = Asked(self.NATIVE)
        assert asked.beside(request(*SAID)).betas == (COMPACT_BETA,)
        assert asked.sent(request(*SAID))["context_management"] == {"edits": [EDIT]}
        assert asked.words(request(*SAID), agent="other/2") == {"client_unknown"}

    def test_the_edit_stays_as_long_as_a_summary_stands_there(self) -> None:
        """A server refuses the summary without it, whoever the client is."""
        asked = Asked(self.NATIVE)
        body = request(user("Make it."), assistant(SUMMARY, "It is made."), user("And now?"))
        assert asked.beside(body, agent="other/2").asked == NativeAsked(("compact_threshold",))
        signed = request(user("Make it."), assistant(SIGNED, "It is made."), user("And now?"))
        assert asked.words(signed, agent="other/2") == {"client_unknown"}

    def test_a_client_that_loses_a_summary_is_not_given_another(self) -> None:
        asked = Asked(self.NATIVE)
        asked.beside(request(*SAID))
        asked.replied(Applied("compact_threshold"))
        assert asked.beside(request(*SAID)).asked == NativeAsked(("compact_threshold",)), "it only asks again"
        asked.replied(Applied("compact_threshold"))
        for body in (request(*MORE), request(*SAID), request(*MORE, assistant("Yes."), user("Go on."))):
            assert asked.words(body) == {"compaction_dropped"}
        other = request(user("Something else."), assistant("Yes."), user("Go on."))
        assert asked.beside(other).asked == NativeAsked(("compact_threshold",)), "another conversation"

    def test_a_client_that_sends_the_summary_back_is_asked_on(self) -> None:
        asked = Asked(self.NATIVE)
        asked.beside(request(*SAID))
        asked.replied(Applied("compact_threshold"))
        kept = [*SAID, assistant(SUMMARY, "It is made."), user("And now?")]
        assert asked.beside(request(*kept)).asked == NativeAsked(("compact_threshold",))
        asked.replied()
        later = request(*kept, assistant("Yes."), user("Go on."))
        assert asked.beside(later).asked == NativeAsked(("compact_threshold",))

    def test_a_second_summary_that_is_lost_counts_too(self) -> None:
        asked = Asked(self.NATIVE)
        kept = [*SAID, assistant(SUMMARY, "It is made."), user("And now?")]
        asked.beside(request(*kept))
        asked.replied(Applied("compact_threshold"))
        body = request(*kept, assistant("Yes."), user("Go on."))
        found = asked.beside(body).asked
        assert found == NativeAsked(("compact_threshold",)), "the first one needs the edit"
        without = request(*SAID, assistant("It is made."), user("And now?"))
        assert asked.words(without) == {"compaction_dropped"}

    def test_draining_goes_on_with_what_stands(self) -> None:
        asked = Asked(self.NATIVE)
        kept = request(*SAID, assistant(SUMMARY, "It is made."), user("And now?"))
        asked.beside(request(*SAID))
        for body in (request(*MORE), kept):
            assert asked.beside(body, draining=True).asked == NativeAsked(("compact_threshold",))
        fresh = Asked(self.NATIVE)
        assert fresh.words(request(*MORE), draining=True) == {"drain"}
        assert fresh.beside(kept, draining=True).asked == NativeAsked(("compact_threshold",))

    def test_a_request_that_is_passed_unread_keeps_the_edit_it_needs(self) -> None:
        def least(body: bytes, native: Native = self.NATIVE) -> Any:
            inbound = Inbound("r", START, "anthropic", "anthropic", body, None, {})
            found = Asked(native).natives.least(inbound)
            assert found.betas == ((COMPACT_BETA,) if found.additions else ())
            return json.loads(splice(body, found.additions))

        kept = request(*SAID, assistant(SUMMARY, "It is made."), user("And now?"))
        assert least(kept) == {**json.loads(kept), "context_management": {"edits": [EDIT]}}
        quoted = request(user(json.dumps(SUMMARY)))
        own = request(*SAID, assistant(SUMMARY, "Made."), user("And?"), context_management={"edits": []})
        for body in (quoted, own, request(*SAID)):
            assert least(body) == json.loads(body)
        assert least(kept, Native()) == json.loads(kept)

    def test_what_another_provider_wrote_is_not_missed(self) -> None:
        asked = Asked(self.NATIVE)
        asked.beside(request(*SAID))
        asked.replied(Applied("compact_threshold"), failover=Failover("beside", "529", "served", OPUS, 200))
        assert asked.beside(request(*MORE)).asked == NativeAsked(("compact_threshold",))

    def test_any_number_of_conversations_take_little_memory(self) -> None:
        asked = Asked(self.NATIVE)
        for number in range(MOST_KEPT + 50):
            asked.beside(request(user(f"Task {number}.")))
            asked.replied(Applied("compact_threshold"))
        assert len(asked.natives._summed_up) == MOST_KEPT
        assert not asked.natives._open


class TestMemoryTool:
    NATIVE = Native(memory_tool=True, clear_tool_uses=True, clients=CLIENTS)
    FIRST = request(user("Make it."))

    def test_it_is_declared_on_every_request_of_a_conversation_that_began_with_it(self) -> None:
        asked = Asked(self.NATIVE)
        tools = json.loads(self.FIRST)["tools"]
        for body in (self.FIRST, request(*SAID), request(*MORE)):
            sent = asked.sent(body)
            assert sent["tools"] == [*tools, MEMORY]
            (edit,) = sent["context_management"]["edits"]
            assert edit["exclude_tools"] == ["memory"]

    def test_a_conversation_that_began_without_it_never_gets_it(self) -> None:
        asked = Asked(replace(self.NATIVE, clear_tool_uses=False))
        assert asked.words(request(*SAID)) == {"begun"}
        assert asked.words(request(*MORE)) == {"begun"}

    def test_another_process_goes_on_with_it(self) -> None:
        asked = Asked(self.NATIVE)
        found = asked.beside(self.FIRST)
        name = lineage_of(conversation(self.FIRST))
        receipt = Receipt("r1", START, "anthropic", "anthropic", OPUS, name, None, "press", 1, 1, 1)
        asked.store.put((), (), replace(receipt, native=found.asked))
        assert MEMORY in Asked(self.NATIVE, asked.store).sent(request(*SAID))["tools"]
        called = [user("Make it."), assistant(use("m1", "memory", command="view")), user(result("m1", "nothing"))]
        assert MEMORY in Asked(self.NATIVE).sent(request(*called))["tools"], "the history itself tells"

    def test_a_clients_own_tool_of_that_name_is_kept_and_never_cleared(self) -> None:
        own = {"name": "memory", "input_schema": {"type": "object"}}
        body = dump({**json.loads(self.FIRST), "tools": [own]})
        sent = Asked(self.NATIVE).sent(body)
        assert sent["tools"] == [own]
        assert sent["context_management"]["edits"][0]["exclude_tools"] == ["memory"]


class TestResponses:
    NATIVE = Native(compaction_tokens=200_000, clients=CLIENTS)

    def test_it_is_asked_for_where_nothing_stays_at_the_server(self) -> None:
        asked = Asked(self.NATIVE)
        for body in (responses(), dump({"model": "gpt-6-sol", "store": False, "input": "Make it."})):
            found = asked.sent(body, "openai_responses")
            assert found["context_management"] == [{"type": "compaction", "compact_threshold": 200_000}]
        assert asked.beside(responses(), "openai_responses").betas == ()

    @pytest.mark.parametrize(
        ("body", "word"),
        [
            pytest.param(responses(store=True), "stored", id="kept"),
            pytest.param(dump({"model": "gpt-6-sol", "input": [NEXT]}), "stored", id="kept by default"),
            pytest.param(responses(previous_response_id="resp_1"), "stateful", id="history at the server"),
            pytest.param(responses(context_management=[]), "client", id="the client's own"),
        ],
    )
    def test_it_is_not_asked_for_elsewhere(self, body: bytes, word: str) -> None:
        assert Asked(self.NATIVE).words(body, "openai_responses") == {word}

    def test_chat_completions_are_left_alone(self) -> None:
        body = dump({"model": "gpt-6-sol", "messages": [{"role": "user", "content": "hi"}], "store": False})
        assert Asked(self.NATIVE).words(body, "openai_chat") == {"format"}

    def test_a_client_that_loses_an_item_is_not_given_another(self) -> None:
        for item, words in ((ITEM, set()), (None, {"compaction_dropped"})):
            asked = Asked(self.NATIVE)
            asked.beside(responses(), "openai_responses")
            asked.replied(Applied("compaction"))
            body = responses(*([item] if item else []), DONE, NEXT)
            found = asked.beside(body, "openai_responses").asked
            assert found is not None
            assert {one.why for one in found.declined} == words


def test_the_same_is_added_on_every_request_of_a_conversation() -> None:
    native = Native(
        clear_tool_uses=True, clear_thinking=True, memory_tool=True, compact_threshold_tokens=60_000, clients=CLIENTS
    )
    asked = Asked(native)
    thinking = {"type": "adaptive"}
    said = [user("Make it.")]
    seen = set()
    for turn in range(30):
        found = asked.beside(request(*said, thinking=thinking))
        seen.add((tuple(one.literal for one in found.additions), found.betas))
        said += [assistant(use(f"t{turn}")), user(result(f"t{turn}", "x" * 500))]
    assert len(seen) == 1
    ((literals, betas),) = seen
    assert len(literals) == 2
    assert betas == (EDITING_BETA, COMPACT_BETA)


async def nobody(body: bytes, *, betas: Sequence[str], timeout_seconds: float) -> OwnReply | None:
    return None


@pytest.mark.parametrize(
    ("native", "ask", "why"),
    [
        pytest.param(Native(clear_tool_uses=True), nobody, "native", id="asked for"),
        pytest.param(Native(clear_tool_uses=True), None, "cold", id="nobody can send the headers"),
        pytest.param(Native(clear_thinking=True), nobody, "cold", id="only reasoning"),
        pytest.param(Native(), nobody, "cold", id="off"),
    ],
)
def test_masks_of_ours_rest_where_the_provider_clears(native: Native, ask: AsksAsClient | None, why: str) -> None:
    """After a pause our own masks would go; what the provider takes out needs none of them."""
    found = priced()
    found = replace(found, providers=tuple(replace(one, native=native) for one in found.providers))
    provider, bodies = Provider(), growing([step(number) for number in range(11)])
    with pressing(found) as press:

        async def run() -> Receipt:
            for number, body in enumerate(bodies):
                provider.now += LATER if number == len(bodies) - 1 else SOON
                inbound = Inbound(f"r{number}", provider.now, "anthropic", "anthropic", body, None, {}, ask=ask)
                prepared = await press.driver.prepare(inbound)
                edits = json.loads(prepared.body).get("context_management")
                assert bool(edits) == (why == "native")
                usage = provider.bill(body)
                press.driver.finish(Outcome(f"r{number}", 200, "complete", 0.0, provider.told(usage)))
            return prepared.receipt

        receipt = asyncio.run(run())
    assert receipt.cut is not None
    assert (receipt.cut.reason, receipt.cut.applied > 0) == (why, why == "cold")
    assert receipt.cut.candidates > 0
