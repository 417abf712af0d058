"""Made-up conversations with results to mask, and a naive bill to hold the simulation against."""

from __future__ import annotations

from collections.abc import Sequence

from coldpress.lab.layout import Layout, Quote, Removable
from coldpress.lab.schedules import Aging, Offered, Situation
from coldpress.lab.tariffs import Tariff
from coldpress.measure.rates import Prices, Rates


def tariff(
    *,
    read: float = 1.0,
    write: float = 10.0,
    write_long: float | None = None,
    lifetime: float = 100.0,
    reads_anywhere: bool = False,
) -> Tariff:
    rates = Rates(write, read, write, write_long, 1.0, "made up", "2026-01-01")
    long = None if write_long is None else 1_000.0
    return Tariff("made up", Prices("made up", ((0, rates),)), lifetime, long, reads_anywhere)


def cliff_tariff(above_tokens: int) -> Tariff:
    low, high = (Rates(w, r, w, None, 1.0, "made up", "2026-01-01") for w, r in ((10.0, 1.0), (20.0, 2.0)))
    return Tariff("cliff", Prices("cliff", ((0, low), (above_tokens, high))), 100.0)


def layout(
    prompts: Sequence[int],
    removables: Sequence[tuple[int, int]] = (),
    *,
    at: Sequence[float] | None = None,
    changed: Sequence[int] = (),
    own: int = 0,
    first_read: int = 0,
    long: bool = False,
    head: int = 0,
    kinds: Sequence[str] = (),
    quotes: Sequence[tuple[int, tuple[int, ...]]] = (),
    name: str = "made up",
) -> Layout:
    """`removables` holds (first request, saved tokens); each stands at the start of what its request added."""
    found, place = [], dict[int, int]()
    for number, (first, saved) in enumerate(removables):
        begin = prompts[first - 1] if first else head
        before = place.get(first, begin)
        place[first] = before + saved
        assert place[first] <= prompts[first], "more is saved than the request added"
        found.append(Removable(first, before, saved, kinds[number] if kinds else "source"))  # type: ignore[arg-type]
    return Layout(
        name=name,
        recording=name,
        prompt_tokens=tuple(prompts),
        sent_at=tuple(at) if at is not None else tuple(10.0 * i for i in range(len(prompts))),
        head_tokens=head,
        changed=tuple(i in changed for i in range(len(prompts))),
        own=own,
        first_read_tokens=first_read,
        long=long,
        removables=tuple(found),
        quotes=tuple(Quote(request, sources) for request, sources in quotes),
        edits=len(quotes),
        edits_of_results=len(quotes),
    )


def situation(of: Layout, age: int | None = 1, priced: Tariff | None = None, *, other: int = 6) -> Situation:
    return Situation(of, Aging(age, other), priced or tariff())


def offering(of: Situation, on: Sequence[Sequence[int]], reads: Sequence[int] | None = None) -> Situation:
    """Let the candidates of a situation be on offer on the given requests only; `reads` are those without a mask."""
    bits = [sum(1 << k for k, requests in enumerate(on) if request in requests) for request in range(len(of.offered))]
    read_tokens = tuple(of.read_tokens if reads is None else reads)
    offered = Offered(of.candidates, tuple(bits), read_tokens, of.tariff.reads_anywhere)
    return Situation(of.layout, offered, of.tariff)


def naive_bill_usd(of: Situation, schedule: Sequence[int]) -> float:
    """Bill a schedule (bits masked on each own request) by comparing whole prompts, token by token.

    A prompt is written out as one name a token. With marks, a read ends with the head or where an earlier prompt ended
    that this one begins with; elsewhere, at a request's end in what this prompt shares with the last one.
    """
    held: list[tuple[int, list[str]]] = []
    total = 0.0
    plain = of.layout
    for request in range(len(plain.prompt_tokens)):
        own = request - plain.own
        masked = schedule[own] if own >= 0 else 0
        tokens = _written_out(of, request, masked)
        if of.cold[request]:
            held = []
        read = _read(of, request, masked, tokens, held)
        if own == 0 and isinstance(of.aging, Aging):
            # What was reported as read is read, but for what an edit changes.
            read = min(plain.first_read_tokens, read if masked else len(tokens))
        held.append((request, tokens))
        if own >= 0:
            read_rate, write_rate = of.tariff.read_and_write(len(tokens), asked_long=plain.long)
            total += (read * read_rate + (len(tokens) - read) * write_rate) / 1e6
    return total


def _read(of: Situation, request: int, masked: int, tokens: list[str], held: list[tuple[int, list[str]]]) -> int:
    if of.cold[request] and isinstance(of.aging, Offered):
        return of.read_tokens[request]
    if not held:
        return 0
    if of.tariff.reads_anywhere:
        shared = len(_shared(held[-1][1], tokens))
        ends = [len(_written_out(of, earlier, masked)) for earlier in range(request)]
        return max((end for end in ends if end <= shared), default=of.layout.head_tokens)
    known = [(earlier, old) for earlier, old in held if earlier < of.reach[request]]
    whole = [(len(old), earlier) for earlier, old in known if _shared(old, tokens) == old]
    read, last = max([*whole, (of.layout.head_tokens, -1)])
    if isinstance(of.aging, Offered) and last == of.reach[request] - 1 >= 0:
        read += of.read_tokens[request] - of.layout.prompt_tokens[last]  # the reply behind it is held as well
    return read


def _written_out(of: Situation, request: int, masked: int) -> list[str]:
    gone = {
        place
        for k, one in enumerate(of.candidates)
        if masked >> k & 1
        for place in range(one.before_tokens, one.before_tokens + one.saved_tokens)
    }
    marks = {one.before_tokens + one.saved_tokens: k for k, one in enumerate(of.candidates) if masked >> k & 1}
    names = []
    for place in range(of.layout.prompt_tokens[request]):
        if place not in gone:
            # The mask itself stands where the result's last tokens were.
            names.append(f"{place}{f' behind mask {marks[place]}' if place in marks else ''}")
    return names


def _shared(one: list[str], other: list[str]) -> list[str]:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return one[:length]
