"""A layout is kept from request to request; what it keeps must be what counting everything anew gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.layout import Layout
from coldpress.model.conversation import Message, Span
from coldpress.model.edits import Edit, Standing
from coldpress.model.identity import EditKey, chain_next, chain_seed

TOKENS = (700, 20, 90, 4000, 15, 15, 380)
SCALE = 1.25


def messages(names: list[int]) -> list[Message]:
    """Messages named by numbers: equal beginnings have equal chains."""
    found: list[Message] = []
    chain = chain_seed("anthropic")
    for place, name in enumerate(names):
        digest = bytes([name]) * 32
        chain = chain_next(chain, digest)
        found.append(Message("user", (), digest, chain, Span(place * 10, place * 10 + 9)))
    return found


def edits(saved: dict[int, int | None]) -> tuple[Edit, ...]:
    """One edit a message, by what it saves."""
    return tuple(
        Edit(Span(m * 10, m * 10 + 5), b'"x"', m, Standing(EditKey(bytes([m]) * 32, 0, 0), "x", saved_tokens=tokens), 0)
        for m, tokens in sorted(saved.items())
    )


def counted(names: list[int], saved: dict[int, int | None]) -> list[float]:
    """Tokens up to the end of each message, by hand."""
    sums = [0.0]
    for place, name in enumerate(names):
        sums.append(sums[-1] + max(0.0, TOKENS[name] - (saved.get(place) or 0) * SCALE))
    return sums


@st.composite
def requests(draw: st.DrawFn) -> list[tuple[list[int], dict[int, int | None], int]]:
    """Requests of one conversation: it grows, is cut back and forks, and edits come and go. The number says how much
    of each is kept."""
    found = []
    names: list[int] = []
    for _ in range(draw(st.integers(1, 5))):
        names = names[: draw(st.integers(0, len(names)))] + draw(st.lists(st.integers(0, len(TOKENS) - 1), max_size=5))
        saving = st.none() | st.integers(0, 3000)
        saved = draw(st.dictionaries(st.integers(0, len(names) - 1), saving)) if names else {}
        found.append((names, saved, draw(st.integers(0, len(names)))))
    return found


@given(requests())
def test_what_is_kept_is_as_if_counted_anew(found: list[tuple[list[int], dict[int, int | None], int]]) -> None:
    layout = Layout()
    for names, saved, kept in found:
        talk = messages(names)
        whole = layout.extended(talk, edits(saved), lambda place, names=names: TOKENS[names[place]], scale=SCALE)
        assert list(whole.sums) == counted(names, saved)
        layout = whole.upto(talk, kept)
        assert list(layout.sums) == counted(names, saved)[: kept + 1]


def test_only_what_is_new_is_counted() -> None:
    asked: list[int] = []

    def tokens_of(place: int) -> int:
        asked.append(place)
        return 100

    talk = messages([0, 1, 2, 3, 4])
    before = Layout().extended(talk[:3], edits({1: 10}), tokens_of, scale=1.0)
    before.extended(talk, edits({1: 10}), tokens_of, scale=1.0)
    assert asked == [0, 1, 2, 3, 4]

    before.extended(talk, edits({1: 10, 2: 5}), tokens_of, scale=1.0)
    assert asked[5:] == [2, 3, 4], "from the first message that is sent in another way"


def test_ends_are_on_the_providers_scale_with_the_head_before_them() -> None:
    layout = Layout().extended(messages([0, 1]), edits({0: 200}), lambda place: TOKENS[place], scale=1.0)
    ends = layout.ends(head_tokens=50, scale=1.1)
    assert list(ends) == [50, 600, 622]
    assert (ends[-1], ends[1:], len(ends)) == (622, (600, 622), 3)
