"""Write a batch of decisions as one piece of bytes, and read it back."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from coldpress.model.edits import Batch, Rebuild, Standing
from coldpress.model.errors import StoreError
from coldpress.stores.packing import REPAIR, pack, unpack


@dataclass(frozen=True, slots=True)
class _Whole:
    """A batch with a rebuild, as an object. One without is the list of its decisions, as the second schema has it."""

    standings: tuple[Standing, ...]
    rebuild: Rebuild


_stored = msgspec.json.Decoder(tuple[Standing, ...] | _Whole)


def packed_batch(batch: Batch) -> bytes:
    """Compress the decisions of a batch.

    Raises:
        StoreError: a text in it is not Unicode.
    """
    whole = batch.standings if batch.rebuild is None else _Whole(batch.standings, batch.rebuild)
    try:
        return pack(msgspec.json.encode(whole))
    except UnicodeEncodeError as error:
        raise StoreError("a batch holds a lone surrogate and cannot be stored: leave the text exact") from error


def unpacked_batch(after: bytes, packed: bytes) -> Batch:
    """Give the batch back that was decided at a message.

    Raises:
        StoreError: what is stored is damaged.
    """
    what = "a stored batch of edits"
    try:
        found = _stored.decode(unpack(packed, what=what))
    except msgspec.MsgspecError as error:
        raise StoreError(f"{what} is damaged ({error}). {REPAIR}") from error
    return Batch(after, found.standings, found.rebuild) if isinstance(found, _Whole) else Batch(after, found)


def originals_of(batch: Batch) -> set[str]:
    """Name the originals that a batch replaces: those of messages that go, their list, and its summary's text, too."""
    named = {standing.original for standing in batch.standings if standing.original}
    if batch.rebuild is None:
        return named
    return named.union(batch.rebuild.covered, filter(None, (batch.rebuild.block, batch.rebuild.index)))


def decisions_of(batch: Batch) -> int:
    """Count the decisions of a batch; a rebuild is one."""
    return len(batch.standings) + (batch.rebuild is not None)


def text_length(batch: Batch) -> int:
    """Measure the texts of a batch, in characters: what it holds in memory beside its parts."""
    texts = sum(len(standing.replacement or "") + len(standing.recipe) for standing in batch.standings)
    return texts + (rebuild_length(batch.rebuild) if batch.rebuild else 0)


def rebuild_length(rebuild: Rebuild) -> int:
    """Measure the texts of a rebuild, in characters."""
    length = len(rebuild.literal) + sum(map(len, rebuild.covered))
    for _, items in rebuild.summary.sections() if rebuild.summary else ():
        length += sum(len(item.text) + sum(map(len, item.quotes)) for item in items)
    return length
