"""Promise: what the gate lets go in a warm cache saves money, if as many requests follow as it was told.

The bill here knows nothing of the gate's formulas: it sends every request, token by token, to a provider that
holds the last prompt and reads what is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from coldpress.engine.gate import Terms, settle
from coldpress.measure.economics import Prompt, Removal
from coldpress.measure.rates import Prices, Rates


@dataclass(frozen=True)
class Talk:
    """A conversation: kept and removable texts by turns, the requests to come and what each adds.

    Prices are in hundredths of a dollar per million tokens; `tiers` multiply them above a prompt length.
    """

    texts: tuple[tuple[int, int], ...]
    tail: int
    unseen: int
    waited: tuple[int, ...]
    growth: tuple[int, ...]
    read: int
    write: int
    tiers: tuple[tuple[int, int], ...]
    step: int

    def sent(self, start: int | None) -> list[tuple[str, int]]:
        """The prompt as named tokens, without the removable texts from `start` on."""
        out = []
        for number, (kept, removable) in enumerate(self.texts):
            out += [(f"kept {number}", n) for n in range(kept)]
            if start is None or number < start:
                out += [(f"text {number}", n) for n in range(removable)]
        return out + [("tail", n) for n in range(self.tail)]

    def price(self, read: int, tokens: int) -> int:
        factor = [factor for above, factor in self.tiers if tokens > above or above == 0][-1]
        return factor * (read * self.read + (tokens - read) * self.write)

    def bill(self, start: int | None) -> int:
        """Send all requests, one after the other."""
        held = self.sent(None)
        held = held[: len(held) - self.unseen]
        prompt = self.sent(start)
        total = 0
        for turn, more in enumerate((0, *self.growth)):
            prompt = prompt + [(f"turn {turn}", n) for n in range(more)]
            differ = (n for n, (a, b) in enumerate(zip(held, prompt, strict=False)) if a != b)
            same = next(differ, min(len(held), len(prompt)))
            read = same if same == len(held) else same // self.step * self.step
            total += self.price(read, len(prompt))
            held = prompt
        return total

    @property
    def prompt(self) -> Prompt:
        tokens = len(self.sent(None))
        return Prompt(tokens, tokens - self.unseen, None if self.step == 1 else tuple(range(0, tokens, self.step)))

    @property
    def removals(self) -> list[Removal]:
        place, out = 0, []
        for (kept, removable), waited in zip(self.texts, self.waited, strict=True):
            out.append(Removal(place + kept, removable, waited))
            place += kept + removable
        return out

    @property
    def terms(self) -> Terms:
        tiers = tuple(
            (above, Rates(1, f * self.read / 100, f * self.write / 100, None, 1, "test", "2026-11-30"))
            for above, f in self.tiers
        )
        return Terms(routes=(Prices("test", tiers),), requests=1 + len(self.growth), state="warm")


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    texts = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 25)), min_size=1, max_size=5))
    tail = draw(st.integers(0, 25))
    tokens = sum(map(sum, texts)) + tail
    turns = draw(st.integers(0, 40))
    cliff = draw(st.booleans())
    # The gate takes later requests to be as long as this one. Where prices have a cliff that is part of the bill.
    growth = [0] * turns if cliff else draw(st.lists(st.integers(0, 8), min_size=turns, max_size=turns))
    read = draw(st.integers(1, 50))
    return Talk(
        texts=tuple(texts),
        tail=tail,
        unseen=draw(st.integers(0, tail)),
        waited=tuple(draw(st.lists(st.integers(0, 80), min_size=len(texts), max_size=len(texts)))),
        growth=tuple(growth),
        read=read,
        write=read * draw(st.integers(1, 30)),
        tiers=((0, 1), (draw(st.integers(1, tokens)), draw(st.integers(2, 5)))) if cliff else ((0, 1),),
        step=draw(st.sampled_from([1, 1, 4])),
    )


@given(talks(), st.none() | st.floats(0, 1))
@settings(max_examples=300)
@example(Talk(((0, 1), (0, 22), (0, 25)), 21, 15, (0, 0, 0), (0,), 1, 17, ((0, 1),), 1), None)  # only breaks even
@example(Talk(((2, 20),), 20, 0, (0,), (5,) * 30, 2, 20, ((0, 1),), 1), None)
@example(Talk(((2, 20), (3, 9)), 20, 4, (9, 9), (0,) * 12, 2, 20, ((0, 1), (60, 3)), 4), 0.5)
def test_no_warm_batch_goes_whose_realised_net_is_negative(talk: Talk, rent_share: float | None) -> None:
    ruling = settle(talk.prompt, talk.removals, replace(talk.terms, rent_share=rent_share))
    assume(ruling.start is not None)
    assert ruling.cut.reason == "pays"
    realised = talk.bill(None) - talk.bill(ruling.start)
    assert realised > 0
    assert ruling.cut.net_usd is not None
    assert realised >= round(ruling.cut.net_usd * 100 * 1_000_000)


@given(talks())
@settings(max_examples=300)
def test_without_the_rule_of_rent_a_batch_that_would_have_saved_is_never_declined(talk: Talk) -> None:
    flat = replace(talk, growth=(0,) * len(talk.growth))
    ruling = settle(flat.prompt, flat.removals, replace(flat.terms, rent_share=None))
    realised = {start: flat.bill(None) - flat.bill(start) for start in range(len(flat.texts))}
    best = max(realised.values())
    assert (ruling.start is not None) == (best > 0)
    if ruling.start is not None:
        assert realised[ruling.start] == best
