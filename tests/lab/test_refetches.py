"""What hidden results cost that an agent would have had to fetch again, with numbers that were worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lab.test_layout import call, result, said
from lab.witnessed import NAME, bodies, talk, with_results

from coldpress.lab.evidence import Judge, Looked, Lost
from coldpress.lab.evidence_sources import Reply, Source, Use, Uses
from coldpress.lab.refetches import CALL_TOKENS, Refetches, refetches
from coldpress.measure.cache_rules import ANTHROPIC, DEEPSEEK, NONE, CacheRules
from coldpress.measure.rates import Prices, Rates
from coldpress.model.errors import ConfigError
from coldpress.model.usage import Usage

# USD per million tokens: 10 fresh, 1 read, 12 written, 20 written for long, 50 output.
RATES = Rates(10.0, 1.0, 12.0, 20.0, 50.0, "made up", "2026-01-01")
PRICES = Prices("made up", ((0, RATES),))
MTOK = 1_000_000
TOKENS = 880
NEW = TOKENS + CALL_TOKENS
"""A thousand tokens: the result and its call."""


def use(number: int, turn: int) -> Use:
    source = Source(f"call_{number}", "Read", 1, 1, ("text",))
    return Use("edit", "text", turn, (source,), (1,), elsewhere=False)


def run(requests: int, *lost: tuple[int, int, int]) -> list[Looked]:
    """Requests of which some lose a result: its number, the request, and for how many requests it had been shown."""
    found = []
    for turn in range(requests):
        gone = tuple(Lost(use(number, turn), shown) for number, at, shown in lost if at == turn)
        found.append(Looked(NAME, turn, Reply(uses=tuple(one.use for one in gone)), gone))
    return found


def charged(
    looked: list[Looked], usages: list[Usage], *, rules: CacheRules = ANTHROPIC, prices: Prices = PRICES
) -> Refetches:
    return refetches(looked, usages, prices=prices, rules=rules, tokens_of=lambda _, __: TOKENS)


WARM = Usage(fresh=100, read=8_900, write_short=1_000)
COLD = Usage(fresh=100, read=0, write_short=9_900)
ONCE = 9_900 * 1 + 100 * 10 + NEW * 12
"""At `WARM`: what it read and wrote is read again, the rest sent again, the call and the result written; no output."""


@pytest.mark.parametrize(
    ("shown", "usages", "micro_usd"),
    [
        pytest.param(0, [WARM] * 4, ONCE, id="never shown: on the extra request alone"),
        pytest.param(1, [WARM] * 4, ONCE, id="shown once: likewise"),
        pytest.param(3, [WARM] * 5, ONCE + 2 * NEW * 1, id="shown three times: read on two more"),
        pytest.param(9, [WARM] * 5, ONCE + 3 * NEW * 1, id="to the end of the conversation"),
        pytest.param(3, [WARM, WARM, COLD, WARM], ONCE + NEW * 12 + NEW * 1, id="written again by a cold request"),
        pytest.param(1, [WARM, COLD], ONCE, id="after a cold request all is held"),
    ],
)
def test_one_result(shown: int, usages: list[Usage], micro_usd: int) -> None:
    found = charged(run(len(usages), (0, 1, shown)), usages)
    assert found.count == 1
    assert found.usd == pytest.approx(micro_usd / MTOK)


@pytest.mark.parametrize(
    ("rules", "usage", "micro_usd"),
    [
        pytest.param(NONE, Usage(fresh=10_000), 10_000 * 10 + NEW * 10 + NEW * 10, id="no cache: all is fresh"),
        pytest.param(
            DEEPSEEK,
            Usage(fresh=10_000, read=0),
            10_000 * 1 + NEW * 10 + NEW * 10,
            id="no price for writes: the prompt is held, new tokens are fresh; the next is cold",
        ),
        pytest.param(
            ANTHROPIC,
            Usage(fresh=900, read=0, write_short=0),
            900 * 10 + NEW * 10 + NEW * 10,
            id="a prompt too short to be kept",
        ),
        pytest.param(
            ANTHROPIC,
            Usage(fresh=0, read=9_000, write_long=1_000),
            10_000 * 1 + NEW * 20 + NEW * 1,
            id="writes of the long lifetime",
        ),
    ],
)
def test_each_kind_of_cache(rules: CacheRules, usage: Usage, micro_usd: int) -> None:
    found = charged(run(3, (0, 1, 2)), [usage] * 3, rules=rules)
    assert found.usd == pytest.approx(micro_usd / MTOK)


def test_a_result_is_fetched_once_as_long_as_it_is_carried() -> None:
    """Fetched at 1 and carried up to 3; lost again at 2, 3 and 4."""
    looked = run(5, *((0, turn, 3) for turn in (1, 2, 3, 4)))
    found = charged(looked, [WARM] * 5)
    assert [one.turn for one in found.uses] == [1, 4]
    assert found.usd == pytest.approx((2 * ONCE + 2 * NEW * 1) / MTOK)


def test_one_reply_fetches_all_that_it_lost_with_one_request() -> None:
    together = charged(run(2, (0, 1, 1), (0, 1, 1)), [WARM] * 2)
    apart = charged(run(2, (0, 1, 1), (1, 1, 1), (2, 1, 1)), [WARM] * 2)
    assert (together.count, together.usd) == (1, pytest.approx(ONCE / MTOK))
    # 9,900 tokens read and 100 sent again but once; three results and their calls written.
    assert (apart.count, apart.usd) == (3, pytest.approx((9_900 * 1 + 100 * 10 + 3 * 1_000 * 12) / MTOK))


def test_results_of_one_reply_are_carried_each_for_its_own_time() -> None:
    """Fetched together at 1; one had been shown once, one twice and one three times."""
    found = charged(run(5, (0, 1, 1), (1, 1, 2), (2, 1, 3)), [WARM] * 5)
    fetched = 9_900 * 1 + 100 * 10 + 3 * 1_000 * 12
    assert found.usd == pytest.approx((fetched + 2 * 1_000 * 1 + 1 * 1_000 * 1) / MTOK)


def test_replies_that_lose_one_result_each_send_a_request_each() -> None:
    found = charged(run(3, (0, 1, 1), (1, 2, 1)), [WARM] * 3)
    assert (found.count, found.usd) == (2, pytest.approx(2 * ONCE / MTOK))


def test_output_is_no_part_of_a_charge() -> None:
    """Its price does not matter, nor what a provider reports of it; a bill is of input alone."""
    dear = Prices("dear", ((0, replace(RATES, output_usd_per_mtok=1e6)),))
    looked = run(4, (0, 1, 3), (1, 2, 1))
    told = [replace(WARM, output=4_000)] * 4
    assert charged(looked, told, prices=dear) == charged(looked, [WARM] * 4)
    cliff = Prices("cliff", ((0, RATES), (10_500, replace(RATES, output_usd_per_mtok=1e6))))
    assert charged(looked, told, prices=cliff) == charged(looked, [WARM] * 4)


def test_what_is_carried_is_read_when_something_else_is_fetched() -> None:
    found = charged(run(3, (0, 1, 2), (1, 2, 1)), [WARM] * 3)
    second = NEW * 1 + (9_900 + NEW) * 1 + 100 * 10 + NEW * 12
    assert found.usd == pytest.approx((ONCE + second) / MTOK)


def test_conversations_are_charged_apart() -> None:
    one, other = run(3, (0, 1, 9)), [replace(one, conversation="other") for one in run(3, (0, 1, 9))]
    mixed = [looked for pair in zip(one, other, strict=True) for looked in pair]
    found, alone = charged(mixed, [WARM] * 6), charged(one, [WARM] * 3)
    assert (found.count, found.usd) == (2, pytest.approx(2 * alone.usd))


def test_a_prompt_that_comes_over_a_cliff_is_priced_whole() -> None:
    prices = Prices("cliff", ((0, RATES), (10_500, replace(RATES, cache_read_usd_per_mtok=2.0))))
    found = charged(run(3, (0, 1, 2)), [WARM] * 3, prices=prices)
    fetched = 9_900 * 2 + 100 * 10 + NEW * 12
    carried = (8_900 + NEW) * 2 - 8_900 * 1
    assert found.usd == pytest.approx((fetched + carried) / MTOK)


def test_nothing_lost_costs_nothing() -> None:
    assert charged(run(3), [WARM] * 3) == Refetches()


def test_a_missing_price_is_an_error() -> None:
    prices = Prices("short alone", ((0, replace(RATES, cache_write_long_usd_per_mtok=None)),))
    with pytest.raises(ConfigError, match="short alone lack"):
        charged(run(2, (0, 1, 1)), [Usage(fresh=0, read=9_000, write_long=1_000)] * 2, prices=prices)


def test_what_a_judge_found_lost_is_charged_by_its_source() -> None:
    page = "the_first_line(of, a, page)\nthe_second_line(of, a, page)"
    trajectory = talk(
        ([said("go")], [call(0, "Read", file_path="f")]),
        *(([result(n, page if n == 0 else "ok")], [call(n + 1, "Bash", command="wait")]) for n in range(4)),
        ([result(4, "ok")], [call(9, "Edit", file_path="x", old_string=page, new_string="y")]),
    )
    judge = Judge(Uses.of([trajectory]))
    shown = {
        turn: with_results(body, {"call_0": "gone"} if turn > 3 else {}) for turn, body in bodies(trajectory).items()
    }
    looked = [judge.look(NAME, turn, body) for turn, body in shown.items()]
    found = refetches(
        looked,
        [WARM] * len(looked),
        prices=PRICES,
        rules=ANTHROPIC,
        tokens_of=lambda name, source: TOKENS if (name, source.parts) == (NAME, (page,)) else 0,
    )
    assert [one.kind for one in found.uses] == ["edit"]
    assert found.usd == pytest.approx(ONCE / MTOK)  # the last request: there is nothing behind it to carry it
