"""Name conversations by what was said: a chain of digests over the client's original messages.

`chain(i) = sha256(chain(i-1) || digest(message i))`, starting from a constant per wire format. Two requests
that agree up to message i have the same `chain(i)` and share every standing edit up to there, and nothing
behind it. So a fork, a rewind, a restart and a sub-agent need no rule of their own. Cache marks, which
clients move every turn, and the head, which some clients rewrite every turn, are not part of the chain;
`lineage` adds the head where one conversation has to be told from another.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_LINEAGES_KEPT: Final = 4096


@dataclass(frozen=True, slots=True)
class EditKey:
    """The name of one text literal of one tool result in one conversation; or of a request, see `request_key`.

    Attributes:
        chain: `Message.chain` of the message that holds it, 32 bytes.
        block: index of the block in the message; -1 for a request.
        part: index of the text in the result's content array.
    """

    chain: bytes
    block: int
    part: int


def request_key(chain: bytes) -> EditKey:
    """Name the request that ends with the message of this chain, as if it were a text: no text has this name."""
    return EditKey(chain, -1, 0)


def taken_back_key(after: bytes) -> EditKey:
    """Name the decision that a batch, kept by the message of this chain, holds no more; no text has this name."""
    return EditKey(after, -2, 0)


def accepted_key(after: bytes, model: str | None) -> EditKey:
    """Name the decision that a batch stays where it is sent to this model, which has answered to it; no text has it."""
    digest = hashlib.sha256(b"coldpress accepted 1\0" + (model or "").encode("utf-8", "surrogatepass")).digest()
    return EditKey(after, -3, int.from_bytes(digest[:6]))


def screening_key(key: EditKey) -> EditKey:
    """Name the decision about what of a text may leave at all, which is made before any other on it."""
    return EditKey(hashlib.sha256(b"coldpress screening 1\0" + key.chain).digest(), key.block, key.part)


def chain_seed(format_name: str) -> bytes:
    """Start a chain (32 bytes) for one wire format."""
    return hashlib.sha256(b"coldpress chain 1\0" + format_name.encode()).digest()


def chain_next(chain: bytes, digest: bytes) -> bytes:
    """Extend a chain by one message's digest."""
    return hashlib.sha256(chain + digest).digest()


@lru_cache(_LINEAGES_KEPT)
def lineage_id(head_identity: bytes, chain: bytes) -> str:
    """Name a conversation up to a message: 24 hexadecimal digits.

    >>> lineage_id(b"h" * 32, b"c" * 32)
    '9c4f3b4c5ab5cc8bb9c4c4c0'
    """
    return hashlib.sha256(b"lineage\0" + head_identity + chain).hexdigest()[:24]


def original_sha(text: str) -> str:
    """Name a text by the SHA-256 of its UTF-8 bytes: 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()
