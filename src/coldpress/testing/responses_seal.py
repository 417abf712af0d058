"""Encrypt what only the provider may read, such as reasoning, so that any changed byte is noticed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Final

from coldpress.testing.jsonview import as_object

_VERSION: Final = b"\x80\0\0\0\0"
"""So that the text begins as real ones do."""

_TAG_BYTES: Final = 16


class Sealer:
    """One upstream's key. The same content gives the same sealed text: the tag of the plain text is its nonce."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, content: Mapping[str, object]) -> str:
        """Encrypt a JSON object into base64 text."""
        plain = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
        tag = self._tag(plain)
        return base64.urlsafe_b64encode(_VERSION + tag + self._mixed(plain, tag)).decode()

    def open(self, sealed: str) -> Mapping[str, object] | None:
        """Decrypt; `None` where the text is not ours, or is not whole."""
        try:
            raw = base64.b64decode(sealed, altchars=b"-_", validate=True)
        except ValueError:
            return None
        start = len(_VERSION) + _TAG_BYTES
        tag = raw[len(_VERSION) : start]
        plain = self._mixed(raw[start:], tag)
        if not raw.startswith(_VERSION) or not hmac.compare_digest(tag, self._tag(plain)):
            return None
        return as_object(json.loads(plain))

    def _tag(self, plain: bytes) -> bytes:
        return hmac.digest(self._key, plain, "sha256")[:_TAG_BYTES]

    def _mixed(self, text: bytes, tag: bytes) -> bytes:
        stream = hashlib.shake_256(self._key + tag).digest(len(text))
        return bytes(one ^ two for one, two in zip(text, stream, strict=True))
