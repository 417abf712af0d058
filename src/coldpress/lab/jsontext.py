"""Write JSON the way the clients' runtimes do, so that rebuilt bodies look like the recorded ones."""

from __future__ import annotations

import json


def compact_json(value: object) -> str:
    """Write JSON as Claude Code's runtime does: no spaces, no escapes.

    Half a character, from output that was cut inside one, has no UTF-8 form and is U+FFFD; two halves that follow each
    other are the character.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
