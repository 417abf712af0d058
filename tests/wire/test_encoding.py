"""Encoded request bodies are read with a bound, and what cannot be read says so."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from coldpress.model.errors import BodyTooLarge
from coldpress.wire.encoding import UnknownEncoding, decode_body

Encoder = Callable[[bytes], bytes]


def bare_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


ENCODERS: list[tuple[str, Encoder]] = [
    ("gzip", gzip.compress),
    ("x-gzip", gzip.compress),
    ("GZip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", bare_deflate),
    ("br", brotli.compress),
    ("zstd", zstandard.ZstdCompressor().compress),
]


@pytest.mark.parametrize(("name", "encode"), ENCODERS)
@given(data=st.binary(max_size=2000))
def test_every_encoding_gives_the_body_back(name: str, encode: Encoder, data: bytes) -> None:
    assert decode_body(encode(data), name, limit_bytes=2000) == data


@pytest.mark.parametrize(("name", "encode"), ENCODERS)
def test_a_small_body_that_expands_too_far_is_refused(name: str, encode: Encoder) -> None:
    bomb = encode(b"\0" * 50_000_000)
    assert decode_body(bomb, name, limit_bytes=50_000_000) == b"\0" * 50_000_000
    with pytest.raises(BodyTooLarge):
        decode_body(bomb, name, limit_bytes=1_000_000)


@pytest.mark.parametrize(("name", "encode"), ENCODERS)
def test_a_body_cut_short_or_damaged_is_refused(name: str, encode: Encoder) -> None:
    whole = encode(b"some text that is long enough to be cut " * 9)
    with pytest.raises(UnknownEncoding):
        decode_body(whole[: len(whole) // 2], name, limit_bytes=10_000)
    with pytest.raises(UnknownEncoding):
        decode_body(b"\xff\xfenot encoded at all", name, limit_bytes=10_000)


def test_encodings_are_undone_in_reverse_order() -> None:
    assert decode_body(gzip.compress(brotli.compress(b"x")), "br, gzip", limit_bytes=10) == b"x"


@pytest.mark.parametrize("name", [None, "", "identity", " identity "])
def test_no_encoding_gives_the_same_object(name: str | None) -> None:
    body = b"{}"
    assert decode_body(body, name, limit_bytes=1) is body


def test_an_encoding_we_do_not_know_is_named() -> None:
    with pytest.raises(UnknownEncoding, match="'snappy' is not one of"):
        decode_body(b"x", "snappy", limit_bytes=10)


def test_gzip_of_several_members_is_read_whole() -> None:
    assert decode_body(gzip.compress(b"a") + gzip.compress(b"b"), "gzip", limit_bytes=10) == b"ab"


@pytest.mark.parametrize(("name", "encode"), [("gzip", gzip.compress), ("zstd", zstandard.ZstdCompressor().compress)])
def test_a_body_in_very_many_members_is_not_read(name: str, encode: Encoder) -> None:
    with pytest.raises(UnknownEncoding, match="more than 1000 parts"):
        decode_body(encode(b"") * 1_001, name, limit_bytes=10)
    assert decode_body(encode(b"a") * 1_000, name, limit_bytes=1_000) == b"a" * 1_000
