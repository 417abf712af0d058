"""An idle conversation is refreshed as often as that may pay, no longer than the settings say, and not once more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from bodies import conversation
from support import settings as built_in

from coldpress.config.settings import Settings
from coldpress.config.warmth_keys import WarmthKeys
from coldpress.drive.exchange import Inbound, OwnReply
from coldpress.drive.warmth import MOST_BYTES, NOTE, Warmth
from coldpress.measure.rates import Prices, Rates, Unpriced
from coldpress.model.records import Outcome
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore
from coldpress.wire.registry import FormatName

NOON = 1_800_000_000.0
MODEL = "claude-sonnet-4-5"
PRICES = Prices(MODEL, ((0, Rates(3.0, 0.3, 3.75, 6.0, 15.0, "made up", "2026-11-30")),))
READ = {"input_tokens": 0, "cache_read_input_tokens": 90_000, "cache_creation_input_tokens": 0, "output_tokens": 0}
WROTE = Usage(fresh=5, read=80_000, write_short=10_000, write_long=0, output=50)


@dataclass
class World:
    """A provider that answers refreshes, and a time that passes while somebody sleeps."""

    status: int | None = 200
    usage: dict[str, int] = field(default_factory=lambda: dict(READ))
    now: float = NOON
    asked: list[tuple[float, bytes, tuple[str, ...]]] = field(default_factory=list)
    refreshed: list[float] = field(default_factory=list)
    store: MemoryStore = field(default_factory=MemoryStore)
    hold: asyncio.Event | None = None

    async def sleep(self, seconds: float) -> None:
        if self.hold is not None:
            await self.hold.wait()
        await asyncio.sleep(0)
        self.now += seconds

    async def ask(self, body: bytes, *, betas: Sequence[str], timeout_seconds: float) -> OwnReply | None:
        self.asked.append((self.now - NOON, body, tuple(betas)))
        reply = json.dumps({"id": "msg_1", "model": MODEL, "usage": self.usage}).encode()
        return None if self.status is None else OwnReply(self.status, reply)

    def warmth(self, seconds: float | None = 3600.0, *, prices: Prices | Unpriced = PRICES) -> Warmth:
        return Warmth(
            settings(seconds),
            self.store,
            lambda *_: prices,
            lambda chain, sent_at, answered_at, tokens: self.refreshed.append(answered_at - NOON),
            clock=lambda: self.now,
            sleep=self.sleep,
        )


def settings(seconds: float | None) -> Settings:
    plain = built_in()
    providers = (replace(p, warmth=WarmthKeys(keep_warm_seconds=seconds)) for p in plain.providers)
    return replace(plain, providers=tuple(providers))


def body(text: str = "go on", **fields: object) -> bytes:
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "yes"}]
    said = {"model": MODEL, "max_tokens": 4000, "stream": True, "messages": messages} | fields
    return json.dumps(said, separators=(",", ":")).encode()


def send(
    world: World, warmth: Warmth, sent: bytes | None = None, *, name: str = "r1", wire: FormatName = "anthropic"
) -> None:
    sent = body() if sent is None else sent
    provider = "anthropic" if wire == "anthropic" else "openai"
    inbound = Inbound(name, world.now, provider, wire, sent, None, {"user-agent": "agent/1"}, ask=world.ask)
    warmth.sent(inbound, conversation(sent, wire), sent, ("a-beta",))


async def settled() -> None:
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)


def idle(world: World, warmth: Warmth, usage: Usage = WROTE, *, sent: bytes | None = None, status: int = 200) -> World:
    async def scenario() -> None:
        send(world, warmth, sent)
        warmth.ended(Outcome("r1", status, "complete", 2.0, usage))
        await settled()
        await warmth.close()

    asyncio.run(scenario())
    return world


def test_the_prompt_is_read_again_before_its_lifetime_is_over_until_the_deadline() -> None:
    world = World()
    idle(world, world.warmth(1000.0))
    # 300 s less a tenth: every 270 s; the fourth would come after the deadline
    assert [at for at, _, _ in world.asked] == [270.0, 540.0, 810.0]
    sent = body()
    assert {one for _, one, _ in world.asked} == {
        sent.replace(b'"max_tokens":4000', b'"max_tokens":0').replace(b'"stream":true', b'"stream":false')
    }
    assert {betas for _, _, betas in world.asked} == {("a-beta",)}
    assert world.refreshed == [270.0, 540.0, 810.0]


def test_no_more_refreshes_go_out_than_a_write_costs() -> None:
    # 3.75 / 0.3 - 1 = 11.5
    world = World()
    assert len(idle(world, world.warmth(86_400.0)).asked) == 11


def test_a_long_lifetime_is_refreshed_as_seldom_as_it_ends_and_paid_as_it_is_written() -> None:
    # 6 / 0.3 - 1 = 19, an hour less six minutes apart
    world = World()
    idle(world, world.warmth(7 * 86_400.0), replace(WROTE, write_short=0, write_long=10_000))
    assert (len(world.asked), world.asked[0][0]) == (19, 3240.0)


def test_every_refresh_stands_in_the_ledger_with_its_cost_and_belongs_to_no_conversation() -> None:
    world = World()
    idle(world, world.warmth(400.0))
    (entry,) = world.store.receipts(limit=10, lineage=None, before=None)
    assert (entry.receipt.notes, entry.receipt.lineage, entry.receipt.model) == ((NOTE,), "", MODEL)
    assert entry.outcome is not None and entry.outcome.money is not None
    assert entry.outcome.usage.read == 90_000
    assert entry.outcome.money.bill_usd == pytest.approx(0.027)
    assert entry.outcome.money.net_usd == pytest.approx(-0.027)


@pytest.mark.parametrize(
    ("world", "asked"),
    [
        pytest.param(World(status=429), 1, id="refused"),
        pytest.param(World(status=None), 1, id="no answer"),
        pytest.param(World(usage=READ | {"cache_read_input_tokens": 0}), 1, id="nothing was read"),
        pytest.param(World(usage={}), 1, id="no usage"),
    ],
)
def test_what_does_not_help_is_not_repeated(world: World, asked: int) -> None:
    assert len(idle(world, world.warmth()).asked) == asked
    assert world.refreshed == []
    assert len(world.store.receipts(limit=10, lineage=None, before=None)) == asked


@pytest.mark.parametrize(
    ("seconds", "prices", "usage", "status"),
    [
        pytest.param(None, PRICES, WROTE, 200, id="off"),
        pytest.param(3600.0, Unpriced(("rates",)), WROTE, 200, id="no prices"),
        pytest.param(3600.0, PRICES, Usage(), 200, id="unknown usage"),
        pytest.param(3600.0, PRICES, Usage(fresh=90_000, read=0, write_short=0, output=1), 200, id="nothing is held"),
        pytest.param(3600.0, PRICES, WROTE, 529, id="a failed request"),
        pytest.param(200.0, PRICES, WROTE, 200, id="the deadline comes first"),
    ],
)
def test_nothing_is_asked_where_it_cannot_pay(
    seconds: float | None, prices: Prices | Unpriced, usage: Usage, status: int
) -> None:
    world = World()
    assert idle(world, world.warmth(seconds, prices=prices), usage, status=status).asked == []


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(body(max_tokens=None).replace(b'"max_tokens":null,', b""), id="no limit to set to 0"),
        pytest.param(body(thread={"type": "continue"}), id="the server holds the history"),
    ],
)
def test_requests_that_cannot_be_made_to_answer_nothing_are_left(sent: bytes) -> None:
    world = World()
    assert idle(world, world.warmth(), sent=sent).asked == []


def test_a_conversation_that_goes_on_is_not_idle() -> None:
    async def scenario() -> World:
        world = World(hold=asyncio.Event())
        warmth = world.warmth()
        send(world, warmth)
        warmth.ended(Outcome("r1", 200, "complete", 2.0, WROTE))
        await asyncio.sleep(0.01)
        send(world, warmth, name="r2")
        assert world.hold is not None
        world.hold.set()
        await settled()
        await warmth.close()
        return world

    assert asyncio.run(scenario()).asked == []


def test_a_reply_that_comes_after_the_next_request_begins_nothing() -> None:
    async def scenario() -> World:
        world = World()
        warmth = world.warmth()
        send(world, warmth)
        send(world, warmth, name="r2")
        warmth.ended(Outcome("r1", 200, "complete", 2.0, WROTE))
        await settled()
        return world

    assert asyncio.run(scenario()).asked == []


def test_no_more_bodies_are_held_than_the_bound_and_none_once_it_is_closed() -> None:
    async def scenario() -> World:
        world = World()
        warmth = world.warmth()
        for number in range(3):
            send(world, warmth, body(str(number) + "x" * (MOST_BYTES // 2)), name=f"r{number}")
        for number in range(3):
            warmth.ended(Outcome(f"r{number}", 200, "complete", 2.0, WROTE))
        await warmth.close()
        return world

    world = asyncio.run(scenario())
    assert world.asked == []


def test_the_oldest_bodies_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coldpress.drive.warmth.MOST_BYTES", 3000)

    async def scenario() -> World:
        world = World()
        warmth = world.warmth()
        for number in range(3):
            send(world, warmth, body(str(number) + "x" * 1000), name=f"r{number}")
        for number in range(3):
            warmth.ended(Outcome(f"r{number}", 200, "complete", 2.0, WROTE))
        await settled()
        return world

    asked = asyncio.run(scenario()).asked
    assert {sent[sent.index(b'"content":"') + 11 :][:1] for _, sent, _ in asked} == {b"1", b"2"}


def test_openai_is_asked_for_a_prewarm_of_models_that_take_one() -> None:
    async def scenario(model: str) -> World:
        world = World(usage={"prompt_tokens": 90_000, "prompt_tokens_details": {"cached_tokens": 80_000}})  # type: ignore[dict-item]
        warmth = world.warmth(4000.0)
        send(world, warmth, body(model=model, prompt_cache_options={"mode": "implicit"}), wire="openai_chat")
        warmth.ended(Outcome("r1", 200, "complete", 2.0, WROTE))
        await settled()
        return world

    (at, sent, _), *_ = asyncio.run(scenario("gpt-5.6-sol")).asked
    assert (at, json.loads(sent)["prompt_cache_options"]) == (1620.0, {"mode": "implicit", "prewarm": True})
    assert asyncio.run(scenario("gpt-5.1")).asked == []
