"""Go through the texts of one request: apply what was decided on them, and decide what may leave of the others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from coldpress.config.pii_keys import PiiToolAction
from coldpress.engine.catalogue import Classified, classify
from coldpress.engine.pii import Hit, SensitiveKind, redacted
from coldpress.engine.plan import Place, places
from coldpress.model.conversation import Conversation, Span, TextLiteral
from coldpress.model.edits import Standing
from coldpress.model.identity import EditKey, screening_key
from coldpress.model.records import Finding, Line

SMALLEST_BYTES: Final = 8
"""A text of fewer bytes, quotes included, holds nothing that is looked for: the shortest e-mail address has six."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """A text as it leaves, for `coldpress.wire.span.splice`."""

    span: Span
    literal: bytes = field(repr=False)
    message: int


@dataclass(frozen=True, slots=True)
class Found:
    """What is sensitive in one text.

    `message` counts from 1.
    """

    tool: str
    message: int
    counts: tuple[tuple[SensitiveKind, int], ...]

    def findings(self, kind: str) -> Iterator[Finding]:
        """Write it down for the ledger."""
        for what, count in self.counts:
            where = f"{self.tool or 'a tool'}: {what} {count}"
            yield Finding("withheld" if kind == "withheld" else "sensitive", where, (self.message,))


@dataclass(frozen=True, slots=True)
class Judged:
    """What is done about a text, what is in it, and whether libraries were missing to say so."""

    action: PiiToolAction
    hits: tuple[Hit, ...]
    failed: bool


Judge = Callable[[str, Classified | None, str, float], Judged]
"""Says what is to be done about a text of the tool with this name and kind, and until when (monotonic seconds)."""


class ScreeningPass:
    """One pass over a request.

    Args:
        conversation: as the client sent it.
        decided: what was decided earlier, by `screening_key`.
        judge: decides on the others.
        until: when time is up, on the monotonic clock.

    Attributes:
        edits: every text of which not all may leave, as it leaves, in order.
        fresh: decisions made now.
        lines: for the ledger, of texts that something was taken out of now.
        reported: what was found now and let through.
        blocked: what must not leave at all.
        failed: some text could not be looked through by the libraries.
    """

    def __init__(
        self,
        conversation: Conversation,
        decided: Mapping[EditKey, Standing],
        judge: Judge,
        until: float,
    ) -> None:
        self._conversation = conversation
        self._decided = decided
        self._judge = judge
        self._until = until
        self.edits: list[Redaction] = []
        self.fresh: list[Standing] = []
        self.lines: list[Line] = []
        self.reported: list[Finding] = []
        self.blocked: list[Found] = []
        self.failed = False

    def run(self) -> None:
        """Go through the texts that are not known yet."""
        for place in places(self._conversation, smallest=SMALLEST_BYTES):
            standing = self._decided.get(screening_key(place.key))
            if standing is None:
                self._look(place)
            elif standing.recipe:
                text = self._text(place.literal)
                self._redact(place, text, _hits(standing.recipe, text))

    def _look(self, place: Place) -> None:
        text, call = self._text(place.literal), place.result.call
        tool = call.name if call is not None else ""
        classified = classify(tool, self._conversation.arguments(call)) if call is not None else None
        judged = self._judge(tool, classified, text, self._until)
        self.failed = self.failed or judged.failed
        key = screening_key(place.key)
        if not judged.hits:
            self.fresh.append(Standing(key, None))
            return
        what = Found(tool, place.message + 1, tuple(sorted(Counter(hit.kind for hit in judged.hits).items())))
        if judged.action == "block":
            self.blocked.append(what)
        elif judged.action == "report":
            self.reported += what.findings("sensitive")
            self.fresh.append(Standing(key, None))
        else:
            after = self._redact(place, text, judged.hits)
            self.fresh.append(Standing(key, None, "redact", recipe=_recipe(judged.hits)))
            self.lines.append(_line(what, classified, text, after))

    def _redact(self, place: Place, text: str, hits: Sequence[Hit]) -> str:
        after = redacted(text, hits)
        if not place.literal.readable:
            after = after.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        self.edits.append(Redaction(place.literal.span, msgspec.json.encode(after), place.message))
        return after

    def _text(self, literal: TextLiteral) -> str:
        """Decode a text, lone surrogates and all: what is beside them may be sensitive."""
        if literal.readable:
            return self._conversation.text(literal)
        decoded = json.loads(self._conversation.body[literal.span.start : literal.span.end])
        return decoded if isinstance(decoded, str) else ""


def _recipe(hits: Sequence[Hit]) -> str:
    return msgspec.json.encode([(hit.start, hit.end, hit.kind) for hit in hits]).decode()


def _hits(recipe: str, text: str) -> tuple[Hit, ...]:
    decoded = msgspec.json.decode(recipe, type=list[tuple[int, int, SensitiveKind]])
    return tuple(Hit(start, end, kind) for start, end, kind in decoded if end <= len(text))


def _line(what: Found, classified: Classified | None, text: str, after: str) -> Line:
    return Line(
        tool=what.tool,
        kind=classified.kind if classified is not None else "unknown",
        mode="redact",
        reason="redacted",
        rule="pii: " + ", ".join(f"{kind} {count}" for kind, count in what.counts),
        original="",
        bytes_before=len(text.encode(errors="surrogatepass")),
        bytes_after=len(after.encode()),
    )
