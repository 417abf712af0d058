"""A spend cap with everything real behind it: prices, ledger, restart, and the next day."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cases.agents import Clock, Scene, restarted
from cases.through import KEY, Reply, send
from support import settings

from coldpress.config import Settings
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing import HttpError, Say, Script, StrictUpstream
from coldpress.testing import Turn as Answer

CHAT_KEY = (("authorization", "Bearer k"), ("content-type", "application/json"))
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
TEXT = "The quick brown fox jumps over the lazy dog. " * 2_000
SONNET = "claude-sonnet-4-5"


def capped(usd: float, **limits: object) -> Settings:
    found = settings()
    return replace(found, limits=replace(found.limits, daily_usd=usd, **limits))  # type: ignore[arg-type]


def ask(stage: Scene, model: str = SONNET, text: str = TEXT, *more: tuple[str, str]) -> Reply:
    body = {"model": model, "max_tokens": 100, "messages": [{"role": "user", "content": text}]}
    reply = stage.gate.post("/v1/messages", json.dumps(body).encode(), (*KEY, *more))
    if reply.status == 200 and "x-coldpress-request" in reply.headers and not more:
        stage.ended(reply.request_id)
    return reply


def stats(stage: Scene) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = json.loads(send(stage.gate.url, "GET", "/stats", b"").body)["limits"]
    return found


@contextmanager
def stage_of(path: Path, clock: Clock, upstream: StrictUpstream, found: Settings) -> Iterator[Scene]:
    with SqliteStore(path, clock=clock) as store, restarted(upstream, clock, settings=found, store=store) as stage:
        yield stage


def test_what_was_spent_counts_over_a_restart_until_the_day_is_over(tmp_path: Path) -> None:
    clock, found = Clock(NOON), capped(0.07)
    with StrictUpstream(Script(closing=Answer((Say("ok"),))), clock=clock) as upstream:
        with stage_of(tmp_path / "s", clock, upstream, found) as stage:
            replies = [ask(stage) for _ in range(3)]
            assert [reply.status for reply in replies] == [200, 200, 429], "the second one went over it"
            spent = stats(stage)["spend"]
            asked = len(upstream.exchanges)
        with stage_of(tmp_path / "s", clock, upstream, found) as stage:
            reply = ask(stage)
            assert stats(stage)["spend"] == spent
            assert stats(stage)["refused"] == {"spend_cap": 1}
            assert (reply.status, reply.headers["x-should-retry"]) == (429, "false")
            assert int(reply.headers["retry-after"]) == 12 * 3600
            told = json.loads(reply.body)
            assert (told["type"], told["error"]["type"]) == ("error", "rate_limit_error")
            for fact in (f"{spent['usd']:.3g} USD", "2026-11-30", "0.07", "2026-12-01T00:00:00Z"):
                assert fact in told["error"]["message"]
            assert len(upstream.exchanges) == asked, "nothing went to the provider"
            clock.wait(12 * 3600 - 1)
            assert ask(stage).status == 429
            clock.wait(1)
            assert ask(stage).status == 200
            assert stats(stage)["spend"]["usd"] < spent["usd"]
    assert spent["cap_usd"] == 0.07 < spent["usd"]
    assert (spent["replies"], spent["unpriced"]) == (2, 0)


def test_a_request_that_nobody_can_price_is_refused_and_says_what_to_do(tmp_path: Path) -> None:
    clock = Clock(NOON)
    with (
        StrictUpstream(Script(closing=Answer((Say("ok"),))), clock=clock) as upstream,
        stage_of(tmp_path / "s", clock, upstream, capped(5.0)) as stage,
    ):
        reply = ask(stage, "claude-of-nobody")
        assert reply.status == 403
        message = json.loads(reply.body)["error"]["message"]
        assert "claude-of-nobody" in message
        assert "[providers.anthropic.pricing]" in message and 'limits.unpriced = "allow"' in message
        assert ask(stage, SONNET, TEXT, ("x-coldpress-mode", "off")).status == 403, "unread, it has no price either"
        assert ask(stage).status == 200
        assert stats(stage)["refused"] == {"unpriced": 2}


def test_where_it_is_allowed_it_counts_as_unknown_and_never_as_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock(NOON)
    with (
        StrictUpstream(Script(closing=Answer((Say("ok"),))), clock=clock) as upstream,
        stage_of(tmp_path / "s", clock, upstream, capped(0.07, unpriced="allow")) as stage,
    ):
        for _ in range(3):
            assert ask(stage, "claude-of-nobody").status == 200
        spend = stats(stage)["spend"]
        assert (spend["usd"], spend["replies"], spend["unpriced"]) == (0, 0, 3)
        assert [ask(stage).status for _ in range(3)] == [200, 200, 429]
        assert "3 requests of unknown cost" in json.loads(ask(stage).body)["error"]["message"]
    warned = [record for record in caplog.records if "daily_usd" in record.message]
    assert len(warned) == 1, "once a day"
    assert warned[0].__dict__["unpriced"] == 1


def test_requests_that_fail_cost_nothing(tmp_path: Path) -> None:
    clock = Clock(NOON)
    script = Script(closing=Answer((Say("ok"),)), faults={0: HttpError(529), 1: HttpError(400)})
    with (
        StrictUpstream(script, clock=clock) as upstream,
        stage_of(tmp_path / "s", clock, upstream, capped(5.0)) as stage,
    ):
        assert [ask(stage).status for _ in range(2)] == [529, 400]
        assert stats(stage)["spend"] == {"usd": 0, "replies": 0, "unpriced": 0, "cap_usd": 5.0}


def test_a_cap_of_nothing_refuses_everything_but_what_asks_no_model(tmp_path: Path) -> None:
    clock = Clock(NOON)
    with (
        StrictUpstream(Script(closing=Answer((Say("ok"),))), clock=clock) as upstream,
        stage_of(tmp_path / "s", clock, upstream, capped(0.0)) as stage,
    ):
        assert ask(stage).status == 429
        body = {"model": SONNET, "messages": [{"role": "user", "content": "hi"}]}
        assert stage.gate.post("/v1/messages/count_tokens", json.dumps(body).encode()).status == 200
        chat = json.dumps(body).encode()
        reply = send(stage.gate.url, "POST", "/v1/chat/completions", chat, CHAT_KEY)
        told = json.loads(reply.body)["error"]
        assert (reply.status, told["type"], told["code"]) == (429, "rate_limit_error", "spend_cap")
