"""What may be stored as an original, and what is known of it."""

from __future__ import annotations

import hashlib

from coldpress.model.errors import StoreError
from coldpress.model.records import Receipt
from coldpress.stores.packing import REPAIR, unpack


def encoded(sha: str, text: str) -> tuple[bytes, bytes]:
    """Turn an original into its SHA-256 and its UTF-8 bytes.

    Raises:
        StoreError: the name is not the SHA-256 of the text, or the text is not Unicode.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise StoreError(f"original {sha[:16]} holds a lone surrogate and cannot be stored: leave it exact") from error
    if (digest := hashlib.sha256(data)).hexdigest() != sha:
        raise StoreError(f"original {sha[:16]} is not the SHA-256 of its text: name it by `original_sha`")
    return digest.digest(), data


def missing_original(sha: str) -> StoreError:
    """Say that a decision may not be stored, since nobody could recall what it replaces."""
    return StoreError(f"the original {sha[:16]} of an edit is not stored: put it along with the edit")


def not_logged(request_id: str) -> StoreError:
    """Say that nothing may be stored of what was decided on a request, since the raw log does not hold it."""
    return StoreError(
        f"the raw log does not hold request {request_id}, and it is required: switch raw_log on, and see why it was "
        "not written (a full disk, or raw_bytes too small); nothing was kept of what was decided on it"
    )


def tool_of(receipt: Receipt | None, sha: str) -> str:
    """Name the tool that made an original, as far as the receipt tells; else an empty name."""
    lines = () if receipt is None else receipt.lines
    return next((line.tool for line in lines if line.original == sha), "")


def decoded(sha: str, packed: bytes) -> str:
    """Turn what is stored back into the text.

    Raises:
        StoreError: it is damaged, or not the text of this name.
    """
    what = f"original {sha[:16]}"
    data = unpack(packed, what=what)
    if hashlib.sha256(data).hexdigest() != sha:
        raise StoreError(f"{what} is damaged: what is stored has another SHA-256. {REPAIR}")
    return data.decode()
