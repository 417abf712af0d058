"""Undo the content encodings a client may put on a request body, with a bound on what it expands to."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import brotli
import zstandard

from coldpress.model.errors import BodyTooLarge, ColdpressError

_STEP = 1 << 18
_MOST_MEMBERS = 1_000
"""Compressed streams one after the other in a body. Each costs a copy of the rest, so more take minutes to undo."""


class UnknownEncoding(ColdpressError):
    """The body has an encoding we do not read, or is not what its header says."""


def decode_body(raw: bytes, encoding: str | None, *, limit_bytes: int) -> bytes:
    """Give the body with every listed encoding undone; `raw` itself where there is none.

    Args:
        raw: the body as it came.
        encoding: the `content-encoding` header, a comma list in the order the encodings were applied.
        limit_bytes: the largest expanded size that is accepted.

    Raises:
        BodyTooLarge: it expands to more than `limit_bytes`. No more than that is ever held.
        UnknownEncoding: an encoding is not known, or the bytes are damaged or cut short.
    """
    body = raw
    for name in reversed([part.strip().lower() for part in (encoding or "").split(",")]):
        if name in ("", "identity"):
            continue
        decoder = _DECODERS.get(name)
        if decoder is None:
            raise UnknownEncoding(f"content-encoding {name!r} is not one of {', '.join(sorted(_DECODERS))}")
        body = decoder(body, limit_bytes)
    return body


def _inflate(body: bytes, limit: int, window_bits: int) -> bytes:
    out = bytearray()
    rest = body
    members = 0
    while rest:
        members += 1
        _check_members(members)
        stream = zlib.decompressobj(window_bits)
        try:
            out += stream.decompress(rest, limit + 1 - len(out))
        except zlib.error as error:
            raise UnknownEncoding(f"the compressed body is damaged: {error}") from error
        if len(out) > limit:
            raise BodyTooLarge(f"the body expands to more than {limit} bytes")
        if not stream.eof:
            raise UnknownEncoding("the compressed body is cut short")
        rest = stream.unused_data  # gzip allows several members one after the other
        if window_bits < 0 or window_bits == zlib.MAX_WBITS:
            break
    return bytes(out)


def _check_members(members: int) -> None:
    if members > _MOST_MEMBERS:
        raise UnknownEncoding(f"the compressed body has more than {_MOST_MEMBERS} parts")


def _gzip(body: bytes, limit: int) -> bytes:
    return _inflate(body, limit, zlib.MAX_WBITS | 16)


def _deflate(body: bytes, limit: int) -> bytes:
    # The standard says zlib-wrapped; some clients send the bare stream. The wrapper's first byte tells.
    wrapped = bool(body) and body[0] & 0x0F == 8 and len(body) > 1 and (body[0] * 256 + body[1]) % 31 == 0
    return _inflate(body, limit, zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)


def _brotli(body: bytes, limit: int) -> bytes:
    stream = brotli.Decompressor()
    out = bytearray()
    rest = body
    try:
        while True:
            piece = stream.process(rest, output_buffer_limit=_STEP)
            out += piece
            if len(out) > limit:
                raise BodyTooLarge(f"the body expands to more than {limit} bytes")
            if stream.is_finished():
                return bytes(out)
            if not piece and not rest:
                raise UnknownEncoding("the compressed body is cut short")
            rest = b""
    except brotli.error as error:
        raise UnknownEncoding(f"the compressed body is damaged: {error}") from error


def _zstd(body: bytes, limit: int) -> bytes:
    engine = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    out = bytearray()
    try:
        with engine.stream_reader(body, read_across_frames=True) as reader:
            while piece := reader.read(_STEP):
                out += piece
                if len(out) > limit:
                    raise BodyTooLarge(f"the body expands to more than {limit} bytes")
        # The reader does not tell a whole body from one cut short. This does, and its size is known by now.
        rest, members = body, 0
        while rest:
            members += 1
            _check_members(members)
            frame = engine.decompressobj()
            frame.decompress(rest)
            if not frame.eof:
                raise UnknownEncoding("the compressed body is cut short")
            rest = frame.unused_data
    except zstandard.ZstdError as error:
        raise UnknownEncoding(f"the compressed body is damaged: {error}") from error
    return bytes(out)


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
