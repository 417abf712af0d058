"""Compress what is stored, and give it back exactly or say that it is damaged."""

from __future__ import annotations

import threading

import zstandard

from coldpress.model.errors import StoreError

LEVEL = 3
# A damaged frame may claim any size; nothing we store expands to more than this.
MOST_BYTES = 1 << 30


class _Local(threading.local):
    """Compression contexts, one pair a thread: they may not be shared and cost more to make than to use."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self.decompressor = zstandard.ZstdDecompressor()


_local = _Local()


def pack(data: bytes) -> bytes:
    """Compress (zstd, with a checksum)."""
    return _local.compressor.compress(data)


def unpack(packed: bytes, *, what: str) -> bytes:
    """Decompress.

    Raises:
        StoreError: the data is damaged; `what` names it in the message.
    """
    try:
        size = zstandard.frame_content_size(packed)
        if not 0 <= size <= MOST_BYTES:
            raise StoreError(f"{what} is damaged: its stored size cannot be right. {REPAIR}")
        return _local.decompressor.decompress(packed)
    except zstandard.ZstdError as error:
        raise StoreError(f"{what} is damaged ({error}). {REPAIR}") from error


def unpack_text(packed: bytes, *, what: str) -> str:
    """Decompress UTF-8 text.

    Raises:
        StoreError: the data is damaged.
    """
    try:
        return unpack(packed, what=what).decode()
    except UnicodeDecodeError as error:
        raise StoreError(f"{what} is damaged: not UTF-8. {REPAIR}") from error


def is_text(text: str) -> bool:
    """Whether a text is Unicode, so that it can be stored."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


REPAIR = "Run the call again for its output, and check the disk."
