"""Write a batch of decisions as one piece of bytes, and read it back."""

from __future__ import annotations

import msgspec

from coldpress.model.edits import Batch, Standing
from coldpress.model.errors import StoreError
from coldpress.stores.packing import REPAIR, pack, unpack

_standings = msgspec.json.Decoder(tuple[Standing, ...])


def packed_batch(batch: Batch) -> bytes:
    """Compress the decisions of a batch.

    Raises:
        StoreError: a text in it is not Unicode.
    """
    try:
        return pack(msgspec.json.encode(batch.standings))
    except UnicodeEncodeError as error:
        raise StoreError("a batch holds a lone surrogate and cannot be stored: leave the text exact") from error


def unpacked_batch(after: bytes, packed: bytes) -> Batch:
    """Give the batch back that was decided at a message.

    Raises:
        StoreError: what is stored is damaged.
    """
    what = "a stored batch of edits"
    try:
        return Batch(after, _standings.decode(unpack(packed, what=what)))
    except msgspec.MsgspecError as error:
        raise StoreError(f"{what} is damaged ({error}). {REPAIR}") from error


def originals_of(batch: Batch) -> set[str]:
    """Name the originals that a batch replaces."""
    return {standing.original for standing in batch.standings if standing.original}
