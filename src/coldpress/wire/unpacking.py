"""Undo the content encoding of a reply as its bytes come, in steps of bounded size."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Protocol

import brotli
import zstandard

from coldpress.wire.encoding import UnknownEncoding

_STEP_BYTES = 1 << 18
_ZSTD_INPUT_BYTES = 64
"""One block of zstd takes four bytes and may give 128 KiB, and its library gives all that a piece of input holds."""


class _Decoder(Protocol):
    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Give what `chunk` expands to, piece by piece."""

    @property
    def complete(self) -> bool:
        """Whether the compressed stream has come to its end."""


class Unpacker:
    """Undoes one content encoding of a stream.

    Args:
        encoding: the `content-encoding` header; one of gzip, deflate, br and zstd.

    Raises:
        UnknownEncoding: it is another, or more than one.
    """

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        make = _DECODERS.get(name)
        if make is None:
            raise UnknownEncoding(f"content-encoding {name!r} is not one of {', '.join(sorted(_DECODERS))}")
        self._decoder = make()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Give what the next piece expands to, in pieces of a few hundred kilobytes at most.

        Raises:
            UnknownEncoding: the bytes are not what the header says.
        """
        try:
            yield from self._decoder.feed(chunk)
        except (zlib.error, brotli.error, zstandard.ZstdError) as error:
            raise UnknownEncoding(f"the compressed reply is damaged: {error}") from error

    def end(self) -> None:
        """Say that nothing more comes.

        Raises:
            UnknownEncoding: the compressed stream is cut short.
        """
        if not self._decoder.complete:
            raise UnknownEncoding("the compressed reply is cut short")


class _Zlib:
    def __init__(self, window_bits: int) -> None:
        self._window_bits = window_bits
        self._stream = zlib.decompressobj(window_bits)
        self._fed = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        rest = chunk
        while rest:
            if self._stream.eof:  # gzip allows several members one after the other
                self._stream = zlib.decompressobj(self._window_bits)
            self._fed = True
            piece = self._stream.decompress(rest, _STEP_BYTES)
            rest = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            if piece:
                yield piece
        while not self._stream.eof and (piece := self._stream.decompress(b"", _STEP_BYTES)):
            yield piece  # what did not fit into the last step

    @property
    def complete(self) -> bool:
        return self._stream.eof or not self._fed


class _Deflate:
    """The standard says zlib-wrapped, some servers send the bare stream; the first two bytes tell."""

    def __init__(self) -> None:
        self._head = b""
        self._inner: _Zlib | None = None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        if self._inner is None:
            self._head += chunk
            if len(self._head) < 2:
                return
            chunk, head = self._head, self._head
            wrapped = head[0] & 0x0F == 8 and (head[0] * 256 + head[1]) % 31 == 0
            self._inner = _Zlib(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        yield from self._inner.feed(chunk)

    @property
    def complete(self) -> bool:
        return self._inner.complete if self._inner is not None else not self._head


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self._fed = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        self._fed = self._fed or bool(chunk)
        piece = self._stream.process(chunk, output_buffer_limit=_STEP_BYTES)
        while piece:
            yield piece
            piece = b"" if self._stream.is_finished() else self._stream.process(b"", output_buffer_limit=_STEP_BYTES)

    @property
    def complete(self) -> bool:
        return bool(self._stream.is_finished()) or not self._fed


class _Zstd:
    def __init__(self) -> None:
        self._engine = zstandard.ZstdDecompressor(max_window_size=1 << 27)
        self._stream = self._engine.decompressobj()
        self._fed = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        for at in range(0, len(chunk), _ZSTD_INPUT_BYTES):
            rest = chunk[at : at + _ZSTD_INPUT_BYTES]
            while rest:
                if self._stream.eof:
                    self._stream = self._engine.decompressobj()
                self._fed = True
                piece = self._stream.decompress(rest)
                rest = self._stream.unused_data if self._stream.eof else b""
                if piece:
                    yield piece

    @property
    def complete(self) -> bool:
        return self._stream.eof or not self._fed


def _gzip() -> _Decoder:
    return _Zlib(zlib.MAX_WBITS | 16)


_DECODERS = {"gzip": _gzip, "x-gzip": _gzip, "deflate": _Deflate, "br": _Brotli, "zstd": _Zstd}
