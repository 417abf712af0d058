"""Modes of operation, and a store that fails: what was sent exact once stays exact, what stands is sent again."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest
from bodies import changed_literals, messages_bytes, pressed
from cases.talk import assistant, chat, chat_calls, chat_result, log, messages, result, use, user
from cases.through import KEY, gateway
from support import pressing, settings

from coldpress.model.edits import Batch, Standing
from coldpress.model.errors import StoreError
from coldpress.model.identity import EditKey
from coldpress.model.records import Operation, Receipt
from coldpress.stores.memory import MemoryStore
from coldpress.testing import StrictUpstream
from coldpress.wire.registry import FormatName

COUNT = 6
SAID: list[dict[str, Any]] = [user("go")]
CHAT_SAID: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
for _n in range(COUNT):
    SAID += [assistant(use(f"t{_n}")), user(result(f"t{_n}", log(str(_n))))]
    CHAT_SAID += [chat_calls((f"t{_n}", "Bash", {"command": "x"})), chat_result(f"t{_n}", log(str(_n)))]
BODIES: dict[FormatName, list[bytes]] = {
    "anthropic": [messages(*SAID[: 2 * n + 3]) for n in range(COUNT)],
    "openai_chat": [chat(*CHAT_SAID[: 2 * n + 3]) for n in range(COUNT)],
}
TEXTS = [log(str(n)) for n in range(COUNT)]


def which(body: bytes, sent: bytes, name: FormatName = "anthropic") -> list[int]:
    """Which of the results went out pressed."""
    return [TEXTS.index(old) for old, _ in changed_literals(body, sent, name)]


@pytest.mark.parametrize("name", ["anthropic", "openai_chat"])
@pytest.mark.parametrize("restart", [False, True], ids=["warm", "after restarts"])
@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        pytest.param("ppdddp", [[0], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1, 5]], id="drained in the middle"),
        pytest.param("oooppp", [[], [], [], [3], [3, 4], [3, 4, 5]], id="observed, then pressed"),
        pytest.param("ppoopp", [[0], [0, 1], [], [], [0, 1, 4], [0, 1, 4, 5]], id="observed in the middle"),
        pytest.param("ffffpp", [[], [], [], [], [4], [4, 5]], id="off, then pressed"),
        pytest.param("ppffpp", [[0], [0, 1], [], [], [0, 1, 4], [0, 1, 4, 5]], id="off in the middle"),
        pytest.param("dddddp", [[], [], [], [], [], [5]], id="drained from the start"),
        pytest.param("pdofdp", [[0], [0], [], [], [0], [0, 5]], id="all of them"),
    ],
)
def test_a_result_that_was_sent_exact_is_never_touched_later(
    name: FormatName, restart: bool, modes: str, expected: list[list[int]]
) -> None:
    words: dict[str, Operation] = {"p": "press", "o": "observe", "d": "drain", "f": "off"}
    store = MemoryStore()
    found = []
    with pressing(settings("press"), store) as press:
        for mode, body in zip(modes, BODIES[name], strict=True):
            if restart:
                with pressing(settings(words[mode]), store) as again:
                    sent = again(body, name)
            else:
                sent = press(body, name, words[mode])
            assert sent.receipt.operation == words[mode]
            found.append(which(body, sent.body, name))
    assert found == expected


@pytest.mark.parametrize("first", ["observe", "drain"])
def test_a_retry_in_press_of_a_request_that_went_out_exact_stays_exact(first: Operation) -> None:
    body = BODIES["anthropic"][0]
    with pressing() as press:
        assert press(body, operation=first).body is body
        assert press(body, operation="press").body is body


@pytest.mark.parametrize("restart", [False, True], ids=["warm", "after a restart"])
def test_a_rewind_to_a_result_that_went_out_exact_keeps_it_exact(restart: bool) -> None:
    bodies = BODIES["anthropic"]
    with pressing() as press:
        press(bodies[1], operation="off")
        assert which(bodies[2], press(bodies[2]).body) == [2]
        with pressing(store=press.store) as again:
            rewound = (again if restart else press)(bodies[1])
        assert rewound.body is bodies[1]


@pytest.mark.parametrize("mode", ["press", "observe", "drain"])
def test_observing_and_draining_record_what_pressing_would_have_made(mode: Operation) -> None:
    with pressing() as press:
        (line,) = press(BODIES["anthropic"][0], operation=mode).receipt.lines
        totals = press.store.totals()
    assert line.reason == {"press": "pressed"}.get(mode, mode)
    assert line.bytes_after < line.bytes_before
    assert (totals.would_press.count > 0) is (mode == "observe")
    assert (totals.transformations.count > 0) is (mode == "press")


@pytest.mark.parametrize("operation", ["off", "observe", "drain", "press"])
@pytest.mark.parametrize("asked", [None, "off", "observe", "drain", "press"])
def test_a_header_overrules_the_provider_for_one_request_and_never_reaches_it(
    operation: Operation, asked: Operation | None
) -> None:
    body = BODIES["anthropic"][0]
    with StrictUpstream() as upstream, gateway(upstream.url, settings(operation)) as gate:
        headers = KEY + ((("X-Coldpress-Mode", asked),) if asked else ())
        assert gate.post("/v1/messages", body, headers).status == 200
        received = upstream.inference[-1].request
    assert pressed(body, received.raw) == ((asked or operation) == "press")
    assert not [name for name, _ in received.headers if name.startswith("x-coldpress")]


BILLING = [
    {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1"},
    {"type": "text", "text": "An agent."},
]


@pytest.mark.parametrize(
    ("opted_in", "operation", "asked", "expected"),
    [
        pytest.param(False, "press", None, "observe", id="spared by default"),
        pytest.param(True, "press", None, "press", id="opted in"),
        pytest.param(False, "press", "press", "press", id="asked for"),
        pytest.param(False, "drain", None, "drain", id="draining is not pressing"),
        pytest.param(False, "off", None, "off", id="off"),
    ],
)
def test_subscription_traffic(opted_in: bool, operation: Operation, asked: Operation | None, expected: str) -> None:
    body = messages(*SAID[:3], system=BILLING)
    with pressing(settings(operation, press_subscription=opted_in)) as press:
        prepared = press(body, operation=asked)
    assert prepared.receipt.operation == expected
    assert prepared.changed is (expected == "press")
    assert ("subscription" in prepared.receipt.notes) is (expected == "observe")


@pytest.mark.parametrize("tools", [(), ("Bash",)], ids=["no tools offered", "tools forbidden"])
def test_a_clients_own_compaction_sees_every_text_whole_and_leaves_what_stands(tools: tuple[str, ...]) -> None:
    asked = "Your task is to create a detailed summary of the conversation so far."
    words = f"CRITICAL: Respond with TEXT ONLY. {asked}" if tools else asked
    compaction = messages(*SAID[:5], assistant("ok"), user(words), tools=tools)
    with pressing() as press:
        press.all(BODIES["anthropic"][:2])
        prepared = press(compaction)
        assert prepared.body is compaction
        assert "client_compaction" in prepared.receipt.notes
        assert which(BODIES["anthropic"][2], press(BODIES["anthropic"][2]).body) == [0, 1, 2]


def test_a_user_who_talks_about_summaries_is_no_compaction() -> None:
    talk = user("Explain this prompt: Your task is to create a detailed summary of the conversation so far.")
    body = messages(*SAID[:2], user(result("t0", TEXTS[0]), *talk["content"]))
    with pressing() as press:
        assert which(body, press(body).body) == [0]


@pytest.mark.parametrize("more", [{"previous_response_id": "resp_1"}, {"thread": {"type": "continue", "id": "t"}}])
def test_where_the_server_holds_earlier_history_nothing_is_touched(more: dict[str, Any]) -> None:
    body = messages(*SAID[:3], **more)
    with pressing() as press:
        prepared = press(body)
    assert prepared.body is body
    assert prepared.receipt.notes == ("pass_through:stateful",)


def test_a_provider_has_a_mode_of_its_own() -> None:
    made = settings("press")
    made = replace(made, providers=tuple(replace(p, operation="observe") for p in made.providers))
    with pressing(made) as press:
        assert press(BODIES["anthropic"][0]).body is BODIES["anthropic"][0]


class FailingStore(MemoryStore):
    """A disk that is full while `full` is set: nothing new can be put; and that has lost what `lost` is set for."""

    full = False
    lost = False

    def put(
        self,
        originals: Sequence[tuple[str, str]],
        standings: Sequence[Standing],
        receipt: Receipt | None,
        batch: Batch | None = None,
        *,
        require_log: bool = False,
    ) -> Future[None]:
        if self.full:
            return self._failed()
        return super().put(originals, standings, receipt, batch, require_log=require_log)

    def durable(self, keys: Sequence[EditKey], batches: Sequence[bytes] = ()) -> Future[None]:
        return self._failed() if self.lost else super().durable(keys, batches)

    def _failed(self) -> Future[None]:
        failed = Future[None]()
        failed.set_exception(StoreError("the disk is full"))
        return failed


@pytest.mark.parametrize("restart", [False, True], ids=["warm", "after a restart"])
def test_while_the_disk_is_full_what_stands_is_sent_again_and_what_is_new_stays_exact(restart: bool) -> None:
    store, bodies = FailingStore(), BODIES["anthropic"]
    with pressing(store=store) as first, pressing(store=store) as second:
        sent = first.all(bodies[:3])[-1].body
        press = second if restart else first
        store.full = True
        full = press.all(bodies[3:5])
        assert [which(b, p.body) for b, p in zip(bodies[3:5], full, strict=True)] == [[0, 1, 2], [0, 1, 2]]
        assert all(p.body.startswith(messages_bytes(sent)) for p in full)
        assert [("store_failed" in p.receipt.notes, p.receipt.reused) for p in full] == [(True, 3), (True, 3)]
        assert [line for p in full for line in p.receipt.lines] == [], "nothing was pressed"
        store.full = False
        later = press(bodies[5])
        assert which(bodies[5], later.body) == [0, 1, 2, 5], "what went out exact stays exact"


def test_what_may_not_be_durable_is_not_sent_by_a_process_that_never_sent_it() -> None:
    store, bodies = FailingStore(), BODIES["anthropic"]
    with pressing(store=store) as press:
        press.all(bodies[:4])
    with pressing(store=store) as restarted:
        store.lost = True
        assert restarted(bodies[4]).body is bodies[4]
        store.lost = False
        later = restarted(bodies[5])
        assert which(bodies[5], later.body) == [0, 1, 2, 3, 5], "what stood is sent again, what was new stays exact"


def test_a_store_that_cannot_be_read_takes_no_edit_away_from_the_known_prefix() -> None:
    class Unreadable(MemoryStore):
        broken = False

        def standing(self, keys: Sequence[EditKey]) -> dict[EditKey, Standing]:
            if self.broken:
                raise StoreError("the disk is gone")
            return super().standing(keys)

    store, bodies = Unreadable(), BODIES["anthropic"]
    with pressing(store=store) as press:
        sent = press.all(bodies[:3])
        store.broken = True
        blind = press(bodies[3])
        assert blind.receipt.notes == ("pass_through:store_failed",)
        assert which(bodies[3], blind.body) == [0, 1, 2]
        assert blind.body.startswith(messages_bytes(sent[-1].body))
        store.broken = False
        assert which(bodies[4], press(bodies[4]).body) == [0, 1, 2, 4], "what went out undecided stays exact"


def test_a_request_there_is_no_time_to_read_keeps_the_edits_of_its_known_prefix() -> None:
    big = [assistant(use("tb")), user(result("tb", log("big") * 12))]
    bodies = [*BODIES["anthropic"][:3], messages(*SAID[:7], *big), messages(*SAID[:7], *big, *SAID[7:9])]
    store = MemoryStore()
    with pressing(store=store) as press:
        sent = press.all(bodies[:3])
        hurried = settings()
        press.driver._settings = replace(hurried, limits=replace(hurried.limits, prepare_seconds=1e-6))
        slow = press(bodies[3])
        assert slow.receipt.notes == ("pass_through:over_budget",)
        assert which(bodies[3], slow.body) == [0, 1, 2]
        assert slow.receipt.reused == 3
        assert slow.body.startswith(messages_bytes(sent[-1].body))
        press.driver._settings = hurried
        later = press(bodies[4])
        assert which(bodies[4], later.body) == [0, 1, 2, 3], "what there was no time to read stays exact"
