"""Take secrets out of HTTP headers before they are stored."""

from __future__ import annotations

import re
from collections.abc import Sequence

REMOVED = "removed"
_SECRET_NAME = re.compile(r"auth|token|secret|key|cookie|password|credential|signature", re.IGNORECASE)
# A credential under a name we do not know: an authentication scheme, a provider's key prefix, or a signed token.
_SECRET_VALUE = re.compile(r"^\s*(bearer|basic)\s|\bsk-[\w-]{8}|\beyJ[\w-]{10,}\.", re.IGNORECASE)


def without_secrets(headers: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Keep every header and its place; put `removed` for each value that may be a credential.

    >>> without_secrets([("X-Api-Key", "abc"), ("Accept", "*/*"), ("x-custom", "Bearer abc")])
    (('X-Api-Key', 'removed'), ('Accept', '*/*'), ('x-custom', 'removed'))
    """
    return tuple(
        (name, REMOVED if _SECRET_NAME.search(name) or _SECRET_VALUE.search(value) else value)
        for name, value in headers
    )
