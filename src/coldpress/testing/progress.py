"""Tell how far a task is from what the model said, where messages of the conversation may be gone."""

from __future__ import annotations

import re
from collections.abc import Mapping

from coldpress.testing.jsonview import as_text, objects
from coldpress.testing.script import Asked

_TEXTS = ("text", "output_text")
_STEP = re.compile(r"\bStep (\d+) of \d+\.")


def said_steps(asked: Asked) -> int:
    """Give the number of the last step that the model named, 0 where it named none; a `Script.progress`.

    The turns of `task` name theirs ("Step 3 of 12."). Counting tool-calling turns, as scripts do without it, would go
    back to the start where older messages were replaced by a summary. What a summary or a user says does not count.
    """
    for message in reversed(objects(asked.body.get("messages")) or objects(asked.body.get("input"))):
        if message.get("role") == "assistant" and (named := _STEP.findall(_text(message))):
            return int(named[-1])
    return 0


def _text(message: Mapping[str, object]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(as_text(block.get("text")) for block in objects(content) if block.get("type") in _TEXTS)
