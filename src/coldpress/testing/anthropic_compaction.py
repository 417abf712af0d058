"""Compact a Messages conversation the way Anthropic does: a block with a summary stands for all before it.

There are two kinds. At a threshold the server summarises within a request; the block opens the answer, and what stands
before it is ignored from then on. On demand the whole answer is one signed block, sent back first, in the place of the
messages it summarises.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from coldpress.measure.tokens import estimate
from coldpress.testing.anthropic_editing import edits
from coldpress.testing.anthropic_view import Placed
from coldpress.testing.jsonview import as_array, as_object, as_text, objects
from coldpress.testing.refusal import Refusal
from coldpress.testing.responses_seal import Sealer

THRESHOLD_BETA: Final = "compact-2026-01-12"
ON_DEMAND_BETA: Final = "compact-2026-09-04"
COMPACT: Final = "compact_20260112"
TOOL_CHANGES: Final = ("tool_addition", "tool_removal")

_TRIGGER_TOKENS: Final = 150_000
_PROMPT_TOKENS: Final = 120
"""Of the server's own request for a summary, which the step that writes it reads behind the conversation."""

_LINE_CHARS: Final = 160
_SUMMARY_CHARS: Final = 4000

_PRESERVING: Final = re.compile(r"(fable|mythos)-5[-.]\d\b|(opus|sonnet|haiku)-5[-.]5\b")
"""Models that keep thinking valid behind a summary they wrote themselves."""


def threshold(body: Mapping[str, object]) -> int | None:
    """Tokens from which a request lets the server compact; `None` where it does not."""
    edit = _edit(body)
    if edit is None:
        return None
    value = as_object(edit.get("trigger")).get("value", _TRIGGER_TOKENS)
    return value if isinstance(value, int) else _TRIGGER_TOKENS


def pauses(body: Mapping[str, object]) -> bool:
    """Whether the answer is to end with the summary."""
    return (_edit(body) or {}).get("pause_after_compaction") is True


def on_demand(body: Mapping[str, object]) -> bool:
    """Whether a request asks for a summary and nothing else."""
    return isinstance(body.get("compaction"), dict)


def instruction_tokens(body: Mapping[str, object]) -> int:
    """Tokens of the request for a summary: the client's instructions replace the server's."""
    text = _instructions(body)
    return estimate(text) if text else _PROMPT_TOKENS


def since_compaction(prompt: Sequence[Placed]) -> list[Placed]:
    """Leave out what stands between the head and the last summary, and blocks of compactions that failed."""
    last = max((i for i, placed in enumerate(prompt) if holds_summary(placed)), default=0)
    return [
        placed
        for index, placed in enumerate(prompt)
        if placed.message < 0 or (index >= last and (placed.kind != "compaction" or index == last))
    ]


def holds_summary(placed: Placed) -> bool:
    """Whether a block stands for what is before it; without content it stands for a compaction that failed."""
    return placed.kind == "compaction" and placed.block.get("content") is not None


class Compactor:
    """Writes summaries, seals what must come back unchanged, and knows its own blocks again.

    Args:
        key: secret of the seals.
        check: verify seals at all.
    """

    def __init__(self, key: bytes, *, check: bool) -> None:
        self._sealer = Sealer(key)
        self._check = check

    def at_threshold(self, body: Mapping[str, object], shown: Sequence[Placed]) -> dict[str, object]:
        """Make the block that opens an answer."""
        sealed = self._sealer.seal({"turns": self.turns(shown)})
        return {"type": "compaction", "content": _summary(body, shown), "encrypted_content": sealed}

    def on_demand(
        self, body: Mapping[str, object], shown: Sequence[Placed], *, head: bytes, prefix: bytes
    ) -> dict[str, object]:
        """Make the block that is the whole answer.

        Args:
            body: the request.
            shown: its prompt.
            head: digest of its tools and system prompt.
            prefix: digest of the whole prompt, which thinking in the turns behind it is bound to.
        """
        content, changes = _summary(body, shown), list(_tool_changes(shown))
        facts = {
            "content": _digest(content),
            "changes": _digest(json.dumps(changes, sort_keys=True)),
            "turns": self.turns(shown),
            "head": head.hex(),
            "prefix": prefix.hex() if _PRESERVING.search(as_text(body.get("model"))) else "",
        }
        return {
            "type": "compaction",
            "content": content,
            "encrypted_content": None,
            "signature": self._sealer.seal(facts),
            "tool_changes": changes,
        }

    def check(self, prompt: Sequence[Placed]) -> Refusal | None:
        """Refuse a signed block that is not as it was given."""
        for placed in prompt if self._check else ():
            if not holds_summary(placed) or not placed.block.get("signature"):
                continue
            facts = self._sealer.open(as_text(placed.block.get("signature")))
            if facts is None or "content" not in facts:
                return _changed(placed, "`signature` does not verify", "signature_invalid")
            if facts["content"] != _digest(as_text(placed.block.get("content"))):
                return _changed(placed, "`content` differs from the text its `signature` recorded", "content_mismatch")
            changes = [
                {key: change[key] for key in change if key != "cache_control"}
                for change in objects(placed.block.get("tool_changes"))
            ]
            if facts["changes"] != _digest(json.dumps(changes, sort_keys=True)):
                return _changed(
                    placed, "`tool_changes` differs from what was returned with the block", "tool_changes_mismatch"
                )
        return None

    def resumed(self, prompt: Sequence[Placed], *, head: bytes) -> dict[str, bytes]:
        """Give the digest to go on from at each block that stands for a prefix, by the block's path.

        There is one only where a model that preserves thinking wrote the summary, behind the same tools and system.
        """
        found = {}
        for placed in prompt:
            facts = self._facts(placed)
            if facts.get("head") == head.hex() and as_text(facts.get("prefix")):
                found[placed.path] = bytes.fromhex(as_text(facts.get("prefix")))
        return found

    def turns(self, shown: Sequence[Placed]) -> int:
        """Count the turns with tool calls, those behind the summary included."""
        before = max((_count(self._facts(placed).get("turns")) for placed in shown), default=0)
        return before + len({placed.message for placed in shown if placed.kind == "tool_use"})

    def _facts(self, placed: Placed) -> Mapping[str, object]:
        if not holds_summary(placed):
            return {}
        sealed = as_text(placed.block.get("signature")) or as_text(placed.block.get("encrypted_content"))
        return self._sealer.open(sealed) or {}


def _edit(body: Mapping[str, object]) -> Mapping[str, object] | None:
    return next((edit for edit in edits(body) if edit.get("type") == COMPACT), None)


def _instructions(body: Mapping[str, object]) -> str:
    asked = as_object(body.get("compaction")) or _edit(body) or {}
    return as_text(asked.get("instructions")).strip()


def _summary(body: Mapping[str, object], shown: Sequence[Placed]) -> str:
    """Write a summary as no model would, so that tests find in it what was there: the start of each text, a digest."""
    told = f"Summary, as asked for ({_instructions(body)[:_LINE_CHARS]}):" if _instructions(body) else "Summary:"
    lines = [line for placed in shown if placed.message >= 0 for line in _lines(placed)]
    return "\n".join([told, "\n".join(lines)[-_SUMMARY_CHARS:]]).strip()


def _lines(placed: Placed) -> Iterator[str]:
    block = placed.block
    match placed.kind:
        case "compaction":
            yield as_text(block.get("content")).partition("\n")[2]
        case "text":
            yield _line(placed.role, as_text(block.get("text")))
        case "tool_use":
            yield _line("call", f"{as_text(block.get('name'))} {json.dumps(block.get('input'), ensure_ascii=False)}")
        case "tool_result":
            content = block.get("content")
            parts = [content] if isinstance(content, str) else [part.get("text") for part in objects(content)]
            yield _line("result", "".join(as_text(part) for part in parts))


def _line(role: str, text: str) -> str:
    return f"{role}: {text[:_LINE_CHARS]} #{_digest(text)[:8]}"


def _tool_changes(shown: Sequence[Placed]) -> Iterator[dict[str, object]]:
    for placed in shown:
        listed = as_array(placed.block.get("tool_changes")) if placed.kind == "compaction" else [placed.block]
        for change in listed:
            if as_object(change).get("type") in TOOL_CHANGES:
                yield {key: value for key, value in as_object(change).items() if key != "cache_control"}


def _changed(placed: Placed, what: str, code: str) -> Refusal:
    return Refusal(f"{placed.path}: the `compaction` block's {what}", code=f"compaction_{code}")


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
