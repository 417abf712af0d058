"""What is remembered of a conversation between its requests saves time and changes nothing."""

from __future__ import annotations

import asyncio
import random

from cases.talk import assistant, log, messages, result, use, user
from support import pressing, settings

from coldpress.drive import Driver, Inbound, Prepared
from coldpress.model.records import Outcome
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore

START = 1_790_000_000.0
MODELS = ("claude-opus-4-6", "claude-opus-4-6", "claude-opus-4-6", "made-up")


def requests(seed: int) -> list[tuple[bytes, float]]:
    """An agent's requests and when they come: it grows, pauses, goes back and on another way, changes its model."""
    rnd = random.Random(seed)
    said, at, found = [user("go")], START, []
    # The model has seen these before the driver did; with much text behind them they are not worth a rewrite at once.
    for number in range(9 if seed % 3 else 0):
        said += [assistant(use(f"s{number}")), user(result(f"s{number}", log(f"{seed} before {number}", 300)))]
    said += [assistant("And?"), user("so it goes " * 30_000)] if seed % 3 == 2 else []
    model = MODELS[0]
    for number in range(60):
        at += rnd.choice((*[5] * 25, 5_000)) if number > 10 else 5
        found.append((messages(*said, model=model, max_tokens=100), at))
        if rnd.random() < 0.1:
            model = rnd.choice(MODELS)
        if rnd.random() < 0.06 and len(said) > 8:
            said = said[: rnd.randrange(3, len(said), 2)]
        called = f"t{number}"
        said = [*said, assistant(use(called)), user(result(called, log(f"{seed} {number}", rnd.randrange(4, 90))))]
    return found


async def played(driver: Driver, found: list[tuple[bytes, float]], *, forgetful: bool) -> list[Prepared]:
    prepared = []
    sent_tokens = 0
    for number, (body, at) in enumerate(found):
        if forgetful:
            aging, counting = driver._weighing._aging, driver._weighing._counting
            for kept in (aging._known, aging._floors, aging._views, counting._layouts, counting._counted):
                kept.clear()
        name = f"r{number}"
        one = await driver.prepare(Inbound(name, at, "anthropic", "anthropic", body, None, {"user-agent": "x/1"}))
        prepared.append(one)
        tokens = 20_000 + len(one.body) // 3
        read = min(sent_tokens, tokens) if at - found[number - 1][1] < 300 and number else 0
        driver.finish(Outcome(name, 200, "complete", 1.0, Usage(fresh=0, read=read, write_short=tokens - read)))
        sent_tokens = tokens
    return prepared


def play(seed: int, *, forgetful: bool) -> list[Prepared]:
    with MemoryStore() as store, pressing(settings(), store) as press:
        press.driver._accounts.warm()
        return asyncio.run(played(press.driver, requests(seed), forgetful=forgetful))


def test_a_driver_that_remembers_sends_and_decides_as_one_that_forgets() -> None:
    reasons = set()
    for seed in range(6):
        kept, forgotten = play(seed, forgetful=False), play(seed, forgetful=True)
        assert [one.body for one in kept] == [one.body for one in forgotten]
        assert [one.receipt for one in kept] == [one.receipt for one in forgotten]
        assert not [one.receipt.notes for one in kept if any("pass_through" in note for note in one.receipt.notes)]
        reasons |= {one.receipt.cut.reason for one in kept if one.receipt.cut}
    assert reasons >= {"cold", "pays", "waiting", "unpriced"}
