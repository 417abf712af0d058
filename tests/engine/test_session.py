"""A session is kept from request to request; what it keeps must be what working it out anew gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.catalogue import Classified
from coldpress.engine.session import AgedEdits, Seen, Session
from coldpress.model.conversation import Span, TextLiteral
from coldpress.model.edits import Edit, Standing
from coldpress.model.identity import EditKey

LENGTH = 12


def key(message: int) -> EditKey:
    return EditKey(bytes([message]) * 32, 0, 0)


def edit(message: int, text: str) -> Edit:
    standing = Standing(key(message), text, "mask", "0" * 64)
    return Edit(Span(message * 100, message * 100 + 50), f'"{text}"'.encode(), message, standing, saved_bytes=9)


def seen(message: int, standing: Standing | None) -> Seen:
    literal = TextLiteral(0, Span(message * 100, message * 100 + 50))
    return Seen(key(message), message, literal, Classified("shell", "ls"), "{}", "Bash", "Bash ls", standing)


@st.composite
def grown(draw: st.DrawFn) -> tuple[list[Session], int]:
    """A conversation request by request, made by the methods of a session, and how much of it the last one knew.

    Some messages hold a result, some results were pressed at first sight, and some requests decide a batch over what
    came before.
    """
    held = draw(st.sets(st.integers(0, LENGTH - 1)))
    pressed = draw(st.sets(st.sampled_from(sorted(held)))) if held else set()
    ends = sorted({*draw(st.sets(st.integers(1, LENGTH - 1))), LENGTH})
    sessions = [Session()]
    for known, end in pairwise((0, *ends)):
        new = [message for message in range(known, end) if message in held]
        first = tuple(edit(message, f"first {message}") for message in new if message in pressed)
        results = tuple(
            seen(message, edit(message, f"first {message}").standing if message in pressed else None) for message in new
        )
        replies = tuple(range(known, end, 2))
        session = sessions[-1].continued(first, results, replies, bytes([end]))
        old = [message for message in range(end) if message in held]
        batch = tuple(edit(m, f"aged at {end}: {m}") for m in old if draw(st.booleans())) if draw(st.booleans()) else ()
        sessions.append(session.with_aged((AgedEdits(end - 1, batch),)) if batch else session)
    return sessions, draw(st.integers(0, LENGTH))


def anew(session: Session) -> Session:
    return Session.of(session.first, session.aged, session.seen, session.replies, session.head_identity)


def same(one: Session, other: Session) -> bool:
    return (one, one.edits, one.shown) == (other, other.edits, other.shown)


@given(grown())
def test_what_follows_is_as_if_worked_out_anew(found: tuple[list[Session], int]) -> None:
    sessions, cut = found
    for session in sessions:
        assert same(session, anew(session))
        assert same(session.upto(cut), anew(session.upto(cut)))


@given(grown())
def test_a_prefix_holds_what_held_when_it_was_all(found: tuple[list[Session], int]) -> None:
    sessions, _ = found
    for session in sessions[1:]:
        length = session.head_identity[0]
        back = sessions[-1].upto(length)
        assert same(replace(back, head_identity=session.head_identity), session)


def test_a_batch_found_with_the_messages_it_is_about_goes_before_the_edit_at_first_sight() -> None:
    batch = AgedEdits(5, (edit(1, "aged"),))
    first = (edit(1, "first"), edit(3, "first"))
    results = tuple(seen(one.message, one.standing) for one in first)

    session = Session().with_aged((batch,)).continued(first, results, (2, 4), b"")

    assert session.edits == (batch.edits[0], first[1])
    assert [one.standing for one in session.shown] == [batch.edits[0].standing, first[1].standing]


def test_a_batch_that_reaches_behind_its_reply_is_no_part_of_a_shorter_prefix() -> None:
    """It is kept by a reply, and gives back a text behind that: a prefix that ends between them lacks the text."""
    state = Session().with_aged([AgedEdits(4, (edit(2, "a"), edit(5, "x")))])

    assert state.aged[0].reach == 5
    assert state.upto(5).aged == ()
    assert state.upto(6).aged == state.aged
