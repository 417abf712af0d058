"""What a cut saves and costs: the closed form, the published table, and every start against a token-by-token bill."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from coldpress.measure.economics import Prompt, Removal, best_suffix, breakeven_turns, net_usd, suffixes
from coldpress.measure.rates import Prices, Rates, Unpriced

MTOK = 1_000_000


def rates(read: float, write: float, long: float | None = None, out: float = 0.0) -> Rates:
    return Rates(write, read, write, long, out, "test", "2026-11-30")


def flat(read: float, write: float, long: float | None = None) -> Prices:
    return Prices("test", ((0, rates(read, write, long)),))


# The table of docs: R = 50,000 and D = 20,000; N with short and long writes, N with R = 10,000, and N with a summary
# written by the same model from a warm cache (70,000 tokens read, 1,500 written). Prices of November 2026.
TABLE = [
    pytest.param(rates(0.2, 10, 16, 40), (123, 198, 25, 142), id="claude-fable-5-2"),
    pytest.param(rates(0.2, 5, 8, 20), (61, 98, 13, 72), id="claude-opus-5-5"),
    pytest.param(rates(0.5, 6.25, 10, 25), (29, 48, 6, 37), id="claude-opus-5"),
    pytest.param(rates(0.1, 2.5, 5, 10), (61, 123, 13, 72), id="gpt-6.1-sol"),
    pytest.param(rates(0.175, 1.75, None, 14), (23, None, 5, 33), id="gpt-5.3-codex, which sells no long write"),
    pytest.param(rates(0.1, 2, None, 10), (48, None, 10, 59), id="gemini-4-argon"),
    pytest.param(rates(0.022, 0.66, None, 1.98), (73, None, 15, 83), id="deepseek-v4-pro off-peak"),
    pytest.param(rates(0.19, 0.95, None, 4), (11, None, 3, 16), id="kimi-k2.7-code: 10 turns only break even"),
    pytest.param(rates(0.03, 0.15, None, 0.5), (11, None, 3, 15), id="GLM-5.3-Flash: 10 turns only break even"),
    pytest.param(rates(0.06, 0.3, None, 1.2), (11, None, 3, 16), id="MiniMax-M3: 15 with a summary only break even"),
    pytest.param(rates(0.25, 2, None, 6), (18, None, 4, 23), id="qwen3.8-max"),
    pytest.param(rates(0.5, 2, None, 6), (8, None, 2, 12), id="grok-4.7"),
    pytest.param(rates(0.075, 0.15, None, 0.6), (3, None, 1, 7), id="groq gpt-oss-120b"),
    pytest.param(rates(0.003625, 0.435, None, 0.87), (298, None, 60, 320), id="deepseek-v4-pro to August 2026"),
    pytest.param(rates(0.0028, 0.14, None, 0.28), (123, None, 25, 134), id="deepseek-v4-flash to August 2026"),
]


@pytest.mark.parametrize(("model", "expected"), TABLE)
def test_the_published_break_even_table(model: Rates, expected: tuple[int | None, ...]) -> None:
    summary = (70_000 * model.cache_read_usd_per_mtok + 1_500 * model.output_usd_per_mtok) / MTOK
    long = breakeven_turns(50_000, 20_000, model, long=True)
    assert (
        breakeven_turns(50_000, 20_000, model),
        None if isinstance(long, Unpriced) else long,
        breakeven_turns(10_000, 20_000, model),
        breakeven_turns(50_000, 20_000, model, summariser_usd=summary),
    ) == expected


@pytest.mark.parametrize(
    ("rewrite", "removed", "model", "expected"),
    [
        pytest.param(0, 1, rates(0.5, 6.25), 1, id="nothing is written again, so the first request gains"),
        pytest.param(50_000, 0, rates(0.5, 6.25), None, id="nothing is removed"),
        pytest.param(50_000, 20_000, rates(0, 0), None, id="reads are free"),
        pytest.param(50_000, 20_000, rates(0.5, 0.5), 1, id="a server without a cache: rewriting costs nothing more"),
        pytest.param(50_000, 20_000, rates(0.5, 0.25), 1, id="writes under the price of reads are no gain either"),
    ],
)
def test_break_even_at_the_edges(rewrite: int, removed: int, model: Rates, expected: int | None) -> None:
    assert breakeven_turns(rewrite, removed, model) == expected


PRICE = st.integers(1, 4000).map(lambda thousandths: thousandths / 1000)


@given(rewrite=st.integers(0, 10**6), removed=st.integers(1, 10**6), read=PRICE, write=PRICE)
def test_break_even_is_the_first_turn_whose_net_is_above_zero(
    rewrite: int, removed: int, read: float, write: float
) -> None:
    turns = breakeven_turns(rewrite, removed, rates(read, write))
    assert isinstance(turns, int)

    def thousandths(number: int) -> int:
        return number * removed * round(read * 1000) - rewrite * max(0, round(write * 1000) - round(read * 1000))

    assert thousandths(turns) > 0
    assert turns == 1 or thousandths(turns - 1) <= 0


@given(
    sizes=st.tuples(st.integers(0, 10**5), st.integers(0, 10**5), st.integers(0, 10**5)),
    requests=st.integers(1, 300),
    read=PRICE,
    write=PRICE,
    summariser=st.floats(0, 1),
)
def test_with_the_whole_prompt_cached_net_is_the_closed_form(
    sizes: tuple[int, int, int], requests: int, read: float, write: float, summariser: float
) -> None:
    before, removed, behind = sizes
    total = before + removed + behind
    net = net_usd(
        Prompt(total, total),
        [Removal(before, removed)],
        flat(read, write),
        requests=requests,
        summariser_usd=summariser,
    )
    expected = (requests * removed * read - behind * max(0.0, write - read)) / MTOK - summariser
    assert net == pytest.approx(expected, abs=1e-9)


@dataclass(frozen=True)
class World:
    """A small prompt, token by token: which removal each token goes with, `None` for those that stay."""

    tokens: tuple[int | None, ...]
    cached: int
    readable: tuple[int, ...] | None
    waited: tuple[int, ...]
    summariser: tuple[int, ...]
    tiers: tuple[tuple[int, int, int], ...]
    requests: int

    @property
    def prompt(self) -> Prompt:
        return Prompt(len(self.tokens), self.cached, self.readable)

    @property
    def removals(self) -> list[Removal]:
        return [
            Removal(self.tokens.index(number), self.tokens.count(number), waited, usd / MTOK)
            for number, (waited, usd) in enumerate(zip(self.waited, self.summariser, strict=True))
        ]

    @property
    def prices(self) -> Prices:
        return Prices("test", tuple((above, rates(read, write)) for above, read, write in self.tiers))

    def rates_at(self, tokens: int) -> tuple[int, int]:
        return [(read, write) for above, read, write in self.tiers if tokens > above or above == 0][-1]

    def bill(self, start: int | None) -> int:
        """Pay for every single token of every request, in millionths of a dollar."""
        gone = [start is not None and number is not None and number >= start for number in self.tokens]
        kept = gone.count(False)
        read, write = self.rates_at(kept)
        same = gone.index(True) if True in gone else len(gone)
        if same >= self.cached:
            ends = self.cached
        else:
            ends = same if self.readable is None else max([0, *(end for end in self.readable if end <= same)])
        total = 0
        for place, out in enumerate(gone):
            if not out:
                total += read if place < ends else max(read, write) if place < self.cached else write
        return total + (self.requests - 1) * kept * read

    def net(self, start: int) -> int:
        return self.bill(None) - self.bill(start) - sum(self.summariser[start:])


@st.composite
def worlds(draw: st.DrawFn) -> World:
    tokens: list[int | None] = [None] * draw(st.integers(0, 4))
    count = draw(st.integers(1, 6))
    for number in range(count):
        tokens += [number] * draw(st.integers(1, 5)) + [None] * draw(st.integers(0, 5))
    cached = draw(st.integers(0, len(tokens)))
    ends = draw(st.none() | st.sets(st.integers(0, cached), max_size=6).map(lambda some: tuple(sorted(some))))
    starts = sorted({0, *draw(st.sets(st.integers(1, len(tokens)), max_size=2))})
    tiers = tuple((above, draw(st.integers(0, 20)), draw(st.integers(0, 60))) for above in starts)
    many = st.lists(st.integers(0, 30), min_size=count, max_size=count).map(tuple)
    return World(tuple(tokens), cached, ends, draw(many), draw(many), tiers, draw(st.integers(1, 40)))


@given(worlds())
@example(World((0, None, 1, None), 4, None, (0, 0), (0, 0), ((0, 1, 1),), 1))
def test_every_start_has_the_net_of_a_bill_paid_token_by_token(world: World) -> None:
    found = suffixes(world.prompt, world.removals, [world.prices], requests=world.requests)
    assert not isinstance(found, Unpriced)
    nets = [world.net(start) for start in range(len(world.waited))]
    assert [suffix.start for suffix in found] == list(range(len(nets)))
    assert [round(suffix.net_usd * MTOK, 6) for suffix in found] == nets
    for start in range(len(nets)):
        net = net_usd(world.prompt, world.removals[start:], world.prices, requests=world.requests)
        assert net == pytest.approx(nets[start] / MTOK, abs=1e-12)


@given(worlds())
def test_the_best_suffix_is_the_best_of_all_starts_and_the_later_of_two_equal_ones(world: World) -> None:
    # Prices and costs are whole numbers, so that equal nets are equal to the last bit.
    removals = [Removal(r.before_tokens, r.removed_tokens, r.waited) for r in world.removals]
    free = World(
        world.tokens, world.cached, world.readable, world.waited, (0,) * len(removals), world.tiers, world.requests
    )
    best = best_suffix(free.prompt, removals, [free.prices], requests=free.requests)
    nets = [free.net(start) for start in range(len(removals))]
    assert best is not None
    assert not isinstance(best, Unpriced)
    assert best.start == max(start for start, net in enumerate(nets) if net == max(nets))
    assert best.removed_tokens == sum(r.removed_tokens for r in removals[best.start :])


@given(worlds(), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 60)), min_size=1, max_size=3))
def test_of_several_routes_the_one_where_a_cut_is_worth_least_counts(
    world: World, others: list[tuple[int, int]]
) -> None:
    routes = [world.prices, *(flat(read, write) for read, write in others)]
    together = suffixes(world.prompt, world.removals, routes, requests=world.requests)
    alone = [suffixes(world.prompt, world.removals, [route], requests=world.requests) for route in routes]
    assert not isinstance(together, Unpriced)
    for suffix in together:
        of_routes = [found[suffix.start] for found in alone if not isinstance(found, Unpriced)]
        assert suffix.net_usd == min(one.net_usd for one in of_routes)
        assert suffix.rent_covers(0.5) == all(one.rent_covers(0.5) for one in of_routes)


@pytest.mark.parametrize(
    ("thousands", "low", "high", "turns"),
    [
        pytest.param((280, 260, 272), (0.1, 2.5), (0.2, 5), 5, id="280k to 260k on gpt-6.1-sol"),
        pytest.param((210, 190, 200), (0.5, 2), (1, 4), 1, id="210k to 190k on grok-4.7"),
        pytest.param((210, 190, 200), (0.2, 2), (0.4, 4), 2, id="210k to 190k on gemini-3.1-pro"),
        pytest.param((110, 90, 100), (0.01, 0.125), (0.05, 0.625), 2, id="110k to 90k on claude-haiku-5-5"),
    ],
)
def test_a_cut_below_a_price_cliff_is_worth_the_whole_difference(
    thousands: tuple[int, int, int], low: tuple[float, float], high: tuple[float, float], turns: int
) -> None:
    before, after, above = thousands
    cliff = Prices("test", ((0, rates(*low)), (above * 1000, rates(*high))))
    total, removed = before * 1000, (before - after) * 1000
    removals = [Removal(total - removed - 50_000, removed)]
    nets = [net_usd(Prompt(total, total), removals, cliff, requests=number) for number in range(1, 9)]
    assert next(number for number, net in enumerate(nets, 1) if not isinstance(net, Unpriced) and net > 0) == turns


@pytest.mark.parametrize(
    ("cached", "rewritten", "net"),
    [
        pytest.param(0, 0, 10 * 6.25 + 5 * 10 * 0.5, id="nothing is cached: the text itself would be written"),
        pytest.param(40, 0, 10 * 6.25 + 5 * 10 * 0.5, id="the cache ends before it"),
        pytest.param(45, 0, 5 * 0.5 + 5 * 6.25 + 5 * 10 * 0.5, id="the cache ends within it"),
        pytest.param(60, 10, 6 * 10 * 0.5 - 10 * 5.75, id="the cache ends behind it"),
    ],
)
def test_a_text_that_is_not_cached_costs_its_write_and_is_never_taken_for_a_reuse(
    cached: int, rewritten: int, net: float
) -> None:
    found = suffixes(Prompt(100, cached), [Removal(40, 10)], [flat(0.5, 6.25)], requests=6)
    assert not isinstance(found, Unpriced)
    assert found[0].rewrite_tokens == rewritten
    assert found[0].net_usd * MTOK == pytest.approx(net)


@pytest.mark.parametrize(
    ("readable", "rewritten"),
    [
        pytest.param(None, 30, id="a read may end anywhere"),
        pytest.param((0, 64, 90), 36, id="a read ends at the last mark before the edit"),
        pytest.param((90,), 100, id="no mark before the edit: all of it is written again"),
        pytest.param((), 100, id="no marks at all"),
        pytest.param((70,), 30, id="a mark right before the edit"),
    ],
)
def test_where_reads_can_end_decides_what_is_written_again(readable: tuple[int, ...] | None, rewritten: int) -> None:
    found = suffixes(Prompt(120, 120, readable), [Removal(70, 20)], [flat(0.5, 6.25)], requests=6)
    assert not isinstance(found, Unpriced)
    assert found[0].rewrite_tokens == rewritten


def test_rent_is_what_each_removal_was_read_for_while_it_waited() -> None:
    removals = [Removal(10, 100, waited=5), Removal(200, 40, waited=2), Removal(300, 7)]
    found = suffixes(Prompt(400, 400), removals, [flat(0.5, 6.25)], requests=6)
    assert not isinstance(found, Unpriced)
    assert [round(suffix.rent_usd * MTOK, 6) for suffix in found] == [0.5 * 580, 0.5 * 80, 0]
    assert all(longer.rewrite_usd >= shorter.rewrite_usd for longer, shorter in pairwise(found))


def test_above_a_cliff_the_dearer_read_of_the_whole_prompt_is_rent_too() -> None:
    cliff = Prices("test", ((0, rates(0.1, 2)), (350, rates(0.25, 4))))
    found = suffixes(Prompt(400, 400), [Removal(10, 100, waited=3)], [cliff], requests=6)
    assert not isinstance(found, Unpriced)
    assert found[0].rent_usd * MTOK == pytest.approx(0.1 * 300 + 0.15 * 400 * 3)


def test_that_counts_for_as_long_as_the_removal_that_waited_longest() -> None:
    cliff = Prices("test", ((0, rates(0.1, 2)), (350, rates(0.25, 4))))
    removals = [Removal(10, 60, waited=1), Removal(100, 60, waited=4), Removal(200, 60, waited=2)]
    found = suffixes(Prompt(400, 400), removals, [cliff], requests=6)
    assert not isinstance(found, Unpriced)
    rents = [0.1 * 60 * 7 + 0.15 * 400 * 4, 0.1 * 60 * 6 + 0.15 * 400 * 4, 0.1 * 60 * 2 + 0.15 * 400 * 2]
    assert [suffix.rent_usd * MTOK for suffix in found] == pytest.approx(rents)


def test_a_cut_into_a_dearer_tier_owes_no_rent_for_it() -> None:
    odd = Prices("test", ((0, rates(0.5, 2)), (350, rates(0.25, 4))))
    found = suffixes(Prompt(400, 400), [Removal(10, 100, waited=3)], [odd], requests=6)
    assert not isinstance(found, Unpriced)
    assert found[0].rent_usd * MTOK == pytest.approx(0.5 * 300)


def test_long_writes_without_a_price_are_unpriced_and_never_free() -> None:
    unknown, known = flat(0.5, 6.25), flat(0.5, 6.25, 10)
    where = Prompt(100, 100), [Removal(10, 10)]
    assert isinstance(breakeven_turns(50, 20, unknown.at(0), long=True), Unpriced)
    assert isinstance(net_usd(*where, unknown, requests=6, long=True), Unpriced)
    assert isinstance(best_suffix(*where, [known, unknown], requests=6, long=True), Unpriced)
    assert net_usd(*where, known, requests=6, long=True) == pytest.approx((60 * 0.5 - 80 * 9.5) / MTOK)


def test_without_a_route_nothing_is_priced_and_without_removals_there_is_nothing_to_choose() -> None:
    assert isinstance(suffixes(Prompt(10, 10), [Removal(1, 1)], [], requests=6), Unpriced)
    assert best_suffix(Prompt(10, 10), [], [flat(1, 1)], requests=6) is None


@given(worlds(), st.floats(0, 1))
def test_a_forecast_of_less_than_the_request_at_hand_counts_as_that_one(world: World, requests: float) -> None:
    assume(world.removals)
    one = suffixes(world.prompt, world.removals, [world.prices], requests=1)
    assert suffixes(world.prompt, world.removals, [world.prices], requests=requests) == one


@pytest.mark.parametrize("cached", [-1, 11])
def test_a_prompt_is_not_cached_beyond_its_end(cached: int) -> None:
    with pytest.raises(ValueError, match="of 10 prompt tokens cached"):
        Prompt(10, cached)
