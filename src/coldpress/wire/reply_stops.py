"""Read why a reply ended, in its provider's own word.

Words: anthropic 2.14.0 (`StopReason`), openai 3.57.0 (`finish_reason`, `ResponseStatus`, `IncompleteDetails`),
google-genai 3.6.1 (`FinishReason`, `BlockedReason`). They are not checked against these: new ones come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

MOST_WORD_CHARS: Final = 64
"""A word of a closed list fits; a text of somebody's does not get into the ledger whole."""

STOP_PATTERNS: Final = {
    "anthropic": rb'"stop_reason"\s*:\s*"',
    "openai_chat": rb'"finish_reason"\s*:\s*"',
    "openai_responses": rb'"response\.(?:completed|incomplete|failed|cancelled)"',
    "gemini": rb'"(?:finish|block)Reason"\s*:\s*"',
}
"""What stands in an event that says why its reply ended, by wire; in the text of one the quotes would be escaped."""

_NOT_OVER: Final = ("queued", "in_progress")


class _Delta(msgspec.Struct):
    stop_reason: msgspec.Raw = msgspec.Raw()


class _Choice(msgspec.Struct):
    index: msgspec.Raw = msgspec.Raw()
    finish_reason: msgspec.Raw = msgspec.Raw()


class _Candidate(msgspec.Struct):
    index: msgspec.Raw = msgspec.Raw()
    finish_reason: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="finishReason")


class _Feedback(msgspec.Struct):
    block_reason: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="blockReason")


class _Details(msgspec.Struct):
    reason: msgspec.Raw = msgspec.Raw()
    code: msgspec.Raw = msgspec.Raw()


_DELTA: Final = msgspec.json.Decoder(_Delta)
_CHOICES: Final = msgspec.json.Decoder(list[_Choice])
_CANDIDATES: Final = msgspec.json.Decoder(list[_Candidate])
_FEEDBACK: Final = msgspec.json.Decoder(_Feedback)
_DETAILS: Final = msgspec.json.Decoder(_Details)
_WORD: Final = msgspec.json.Decoder(str)
_INDEX: Final = msgspec.json.Decoder(int)


class StopWord:
    """The word of one reply. A later one stands; of several answers that of the first, wherever it comes.

    Attributes:
        word: at most 64 characters of each word; `None` as long as the reply does not say.
    """

    __slots__ = ("_index", "word")

    def __init__(self) -> None:
        self.word: str | None = None
        self._index = 0

    def message(self, stop_reason: msgspec.Raw, delta: msgspec.Raw) -> None:
        """Take the word of a Messages reply, or of the `delta` in an event of one; raises `msgspec.MsgspecError`."""
        self._note(_word(stop_reason))
        if delta:
            self._note(_word(_DELTA.decode(delta).stop_reason))

    def choices(self, choices: bytes | msgspec.Raw) -> None:
        """Take the words of `choices`; raises `msgspec.MsgspecError`."""
        for choice in _CHOICES.decode(choices) if choices else ():
            self._note(_word(choice.finish_reason), _number(choice.index))

    def response(self, status: msgspec.Raw, details: msgspec.Raw, error: msgspec.Raw) -> str | None:
        """Take the status of a Responses reply, with the word that says more of it: `incomplete:max_output_tokens`.

        A reply that is not over says nothing. Gives the status alone. Raises `msgspec.MsgspecError`.
        """
        word = _word(status)
        if word is None or word in _NOT_OVER:
            return None
        more = next(_reasons(details, error), None)
        self._note(word if more is None else f"{word}:{more}")
        return word

    def candidates(self, candidates: bytes | msgspec.Raw) -> None:
        """Take the words of Gemini's `candidates`; raises `msgspec.MsgspecError`."""
        for candidate in _CANDIDATES.decode(candidates) if candidates else ():
            self._note(_word(candidate.finish_reason), _number(candidate.index))

    def feedback(self, feedback: bytes | msgspec.Raw) -> None:
        """Take from Gemini's `promptFeedback` why a prompt was not answered: `blockReason:SAFETY`.

        An answer's own `finishReason` may be the same word. Raises `msgspec.MsgspecError`.
        """
        word = _word(_FEEDBACK.decode(feedback).block_reason) if feedback else None
        if word is not None:
            self._note(f"blockReason:{word}")

    def _note(self, word: str | None, index: int = 0) -> None:
        if word is not None and (self.word is None or index <= self._index):
            self.word, self._index = word, index


def _reasons(*given: msgspec.Raw) -> Iterator[str]:
    for one in given:
        found = _DETAILS.decode(one) if one and bytes(one) != b"null" else _Details()
        yield from (word for raw in (found.reason, found.code) if (word := _word(raw)) is not None)


def _word(raw: msgspec.Raw) -> str | None:
    """Give a word; `None` for what is no string, or an empty one."""
    if not bytes(raw).startswith(b'"'):
        return None
    return _WORD.decode(raw)[:MOST_WORD_CHARS] or None


def _number(raw: msgspec.Raw) -> int:
    """Give the number of an answer; 0 where a server leaves it out."""
    return _INDEX.decode(raw) if bytes(raw).isdigit() else 0
