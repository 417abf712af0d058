"""Sign parts of an answer and check them again: bound to what they hold and, where asked, to all that stands before.

No source says what Google's signatures cover. That a part comes back with the signature it was given, and with nothing
else, is what its documents ask for; that is enforced here, more strictly than any report tells of the real one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.testing.gemini_rules import last_turn
from coldpress.testing.gemini_view import CALL, SIGNATURE, Content, Part, head_shown
from coldpress.testing.jsonview import as_text
from coldpress.testing.refusal import Refusal
from coldpress.testing.responses_seal import Sealer

UNCHECKED: Final = "skip_thought_signature_validator"
"""What clients write for calls that another model made; the Gemini API takes it."""

_DEMANDING: Final = re.compile(r"gemini-([3-9]|\d\d)")
"""Models that want the signatures of the turn they are in."""


@dataclass(frozen=True, slots=True)
class SignatureVerdict:
    """Why a request is not served, if so; and a name for all that stands in it, which its answer is bound to."""

    refusal: Refusal | None
    prefix: bytes = b""


class Signatures:
    """One upstream's signing key.

    Args:
        key: secret of the signatures.
        bind: refuse a signature whose prefix was changed.
        check: look into signatures at all; without it, recorded requests with foreign ones are accepted.
    """

    def __init__(self, key: bytes, *, bind: bool, check: bool) -> None:
        self._sealer = Sealer(key)
        self._bind = bind
        self._check = check

    def sign(self, part: Part, prefix: bytes) -> str:
        """Sign a part said behind a prefix."""
        return self._sealer.seal({"part": _digest(part.shown.encode("utf-8", "surrogatepass")), "prefix": prefix.hex()})

    def verify(self, model: str, request: Mapping[str, object], contents: Sequence[Content]) -> SignatureVerdict:
        """Check every signature of a request, and that none is missing which the model wants."""
        if self._check and _DEMANDING.search(model) and (refusal := _missing(contents)) is not None:
            return SignatureVerdict(refusal)
        prefix = b""
        for text in head_shown(request):
            prefix = follow(prefix, text)
        for content in contents:
            for part in content.parts:
                if self._check and (refusal := self._check_part(part, prefix)) is not None:
                    return SignatureVerdict(refusal)
                prefix = follow(prefix, part.shown)
        return SignatureVerdict(None, prefix)

    def _check_part(self, part: Part, prefix: bytes) -> Refusal | None:
        signature = as_text(part.fields.get(SIGNATURE))
        if not signature or signature == UNCHECKED:
            return None
        signed = self._sealer.open(signature)
        if signed is None or signed.get("part") != _digest(part.shown.encode("utf-8", "surrogatepass")):
            return Refusal(f"Corrupted thought signature at {part.path}.")
        if self._bind and signed.get("prefix") != prefix.hex():
            return Refusal(f"Thought signature at {part.path} is bound to a different conversation.")
        return None


def follow(prefix: bytes, text: str) -> bytes:
    """Name a prefix that goes on with one more text."""
    return hashlib.sha256(prefix + hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()).digest()


def _missing(contents: Sequence[Content]) -> Refusal | None:
    """In the current turn, the first call of every step carries a signature."""
    for content in contents[last_turn(contents) :]:
        calls = content.holding(CALL) if content.role == "model" else []
        if calls and not as_text(calls[0].fields.get(SIGNATURE)):
            return Refusal(
                f"Function call is missing a thought_signature in functionCall parts: `default_api:{calls[0].called}` "
                f"at {calls[0].path}."
            )
    return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
