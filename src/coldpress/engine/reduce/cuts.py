"""Cut pieces out of a text so that few bytes tell how to put them back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from coldpress.engine.reduce.steps import Stepped


@dataclass(frozen=True, slots=True)
class _Recipe:
    """`pieces` are the distinct pieces in order of first use, each as (characters shared with the start
    of the piece before, shared with its end, what stands between); progress bars share nearly all.
    A place is one cut: characters kept since the last one, times the number of pieces, plus the piece's index.
    """

    pieces: list[tuple[int, int, str]]
    places: list[int]


def cut(text: str, spans: Iterable[tuple[int, int]]) -> Stepped | None:
    """Remove half-open character ranges, given in order and without overlap; `None` where there are none."""
    kept: list[str] = []
    found: list[tuple[int, int]] = []
    index_of: dict[str, int] = {}
    done = 0
    for start, end in spans:
        kept.append(text[done:start])
        found.append((start - done, index_of.setdefault(text[start:end], len(index_of))))
        done = end
    if not found:
        return None
    kept.append(text[done:])
    pieces: list[tuple[int, int, str]] = []
    before = ""
    for piece in index_of:
        pieces.append(_against(before, piece))
        before = piece
    places = [gap * len(pieces) + index for gap, index in found]
    return Stepped("".join(kept), msgspec.json.encode(_Recipe(pieces, places)))


def put_back(text: str, params: bytes) -> str:
    """Undo `cut`.

    Raises:
        ValueError: the text is not what `cut` gave.
    """
    recipe = msgspec.json.decode(params, type=_Recipe)
    pieces: list[str] = []
    before = ""
    for head, tail, middle in recipe.pieces:
        before = before[:head] + middle + before[len(before) - tail :]
        pieces.append(before)
    out: list[str] = []
    done = 0
    for place in recipe.places:
        kept, index = divmod(place, len(pieces))
        if done + kept > len(text):
            raise ValueError(f"a cut lies at character {done + kept} of a text of {len(text)}")
        out += (text[done : done + kept], pieces[index])
        done += kept
    out.append(text[done:])
    return "".join(out)


def _against(before: str, piece: str) -> tuple[int, int, str]:
    limit = min(len(before), len(piece))
    head = 0
    while head < limit and before[head] == piece[head]:
        head += 1
    tail = 0
    while tail < limit - head and before[-1 - tail] == piece[-1 - tail]:
        tail += 1
    return head, tail, piece[head : len(piece) - tail]
