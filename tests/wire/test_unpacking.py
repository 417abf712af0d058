"""A compressed reply is unpacked as it comes, in bounded steps, and a damaged or cut one is noticed."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from wire.calls import cut

from coldpress.wire.encoding import UnknownEncoding
from coldpress.wire.unpacking import Unpacker

BODY = b"data: {}\n\n" * 20_000 + os.urandom(2_000)


def bare(body: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(body) + stream.flush()


PACKED = [
    pytest.param("gzip", gzip.compress, id="gzip"),
    pytest.param("X-Gzip", lambda body: gzip.compress(body[:99]) + gzip.compress(body[99:]), id="gzip in two members"),
    pytest.param("deflate", zlib.compress, id="deflate"),
    pytest.param("deflate", bare, id="deflate without its wrapper"),
    pytest.param("br", brotli.compress, id="brotli"),
    pytest.param("zstd", zstandard.ZstdCompressor().compress, id="zstd"),
]


@pytest.mark.parametrize(("encoding", "pack"), PACKED)
@pytest.mark.parametrize("step", [1, 100, 1 << 20])
def test_it_comes_out_as_it_went_in(encoding: str, pack: Callable[[bytes], bytes], step: int) -> None:
    packed = pack(BODY)
    unpacker = Unpacker(encoding)
    pieces = [piece for chunk in cut(packed, range(0, len(packed), step)) for piece in unpacker.feed(chunk)]
    unpacker.end()
    assert b"".join(pieces) == BODY
    assert all(pieces)


@pytest.mark.parametrize(("encoding", "pack"), PACKED)
def test_a_cut_is_noticed(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    unpacker = Unpacker(encoding)
    out = b"".join(unpacker.feed(pack(BODY)[:-10]))
    assert BODY.startswith(out)
    with pytest.raises(UnknownEncoding, match="cut short"):
        unpacker.end()


@pytest.mark.parametrize(("encoding", "pack"), PACKED)
def test_what_little_can_become_much_comes_in_steps(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    unpacker = Unpacker(encoding)
    sizes = [len(piece) for piece in unpacker.feed(pack(bytes(1 << 24)))]
    assert sum(sizes) == 1 << 24
    assert max(sizes) <= 1 << 22


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_damage_is_noticed(encoding: str) -> None:
    with pytest.raises(UnknownEncoding, match="damaged"):
        list(Unpacker(encoding).feed(b"\xff\xfe not compressed at all"))


@pytest.mark.parametrize("encoding", ["compress", "gzip, br"])
def test_other_encodings_are_refused(encoding: str) -> None:
    with pytest.raises(UnknownEncoding, match="is not one of"):
        Unpacker(encoding)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_nothing_at_all_is_whole(encoding: str) -> None:
    Unpacker(encoding).end()
