"""Write JSON the way the clients' runtimes do, so that rebuilt bodies look like the recorded ones."""

from __future__ import annotations

import json


def compact_json(value: object) -> str:
    """Write JSON as Claude Code's runtime does: no spaces, no escapes but for what has no UTF-8 form."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, from output that was cut inside a character
        return "".join(c if not "\ud800" <= c <= "\udfff" else f"\\u{ord(c):04x}" for c in text)
    return text
