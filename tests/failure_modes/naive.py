"""The baseline arms: what a compactor does that was written in an afternoon, as several public tools still do it.

None of this is coldpress. History is replaced for good, by the last replies or by a summary in free form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from failure_modes.world import Json, texts_of

Compactor = Callable[[list[Json]], list[Json]]
KEPT = 4
"""Messages at the end that naive compactors keep."""

MOST_SENTENCES = 12
OPENING = "This session continues an earlier one that ran out of context. Summary of what was done so far:"


class Naive:
    """Keeps one history, and compacts it when the last reply's usage says that the window is nearly full.

    Args:
        compactor: what is done then.
        window_tokens: of the model.
        trigger: share of the window.
    """

    def __init__(self, compactor: Compactor, window_tokens: int, *, trigger: float = 0.65) -> None:
        self.history: list[Json] = []
        self.rounds = 0
        self._compactor = compactor
        self._trigger_tokens = trigger * window_tokens
        self._used_tokens = 0

    def add(self, message: Json) -> None:
        self.history.append(message)
        if message["role"] == "user" and self._used_tokens >= self._trigger_tokens:
            self.history = self._compactor(self.history)
            self._used_tokens = 0
            self.rounds += 1

    def shown(self) -> Json:
        return {"messages": self.history}

    def learn(self, reply: Json) -> None:
        usage = reply["usage"]
        keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
        self._used_tokens = sum(usage.get(key) or 0 for key in keys)


def drop_middle(history: list[Json]) -> list[Json]:
    """Keep the first message and the last ones."""
    return [history[0], *_tail(history)]


def one_shot(summarise: Callable[[str], str]) -> Compactor:
    """Keep the first message, a summary in free form of what a model is shown, the earlier summary too, and the last
    messages."""

    def compact(history: list[Json]) -> list[Json]:
        tail = _tail(history)
        gone = history[1 : len(history) - len(tail)]
        first: list[Any] = history[0]["content"]
        earlier = [block["text"].removeprefix(OPENING) for block in first if block["text"].startswith(OPENING)]
        told = summarise("\n".join((*earlier, *(text for message in gone for text in texts_of(message)))))
        task = [block for block in first if not block["text"].startswith(OPENING)]
        return [{"role": "user", "content": [*task, {"type": "text", "text": f"{OPENING}\n{told}"}]}, *tail]

    return compact


def _tail(history: list[Json]) -> list[Json]:
    """The last messages, from a reply on."""
    start = max(1, len(history) - KEPT)
    while history[start]["role"] != "assistant":
        start += 1
    return history[start:]


_ROUNDED = re.compile(r"\$(\d)(\d*)((?:,\d{3})*)(?:\.\d+)?")
_SMOOTHED: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b"), "the commit"),
    (re.compile(r"\b[A-Z]{2,}-\d+(?:-\w+)*"), "the ticket"),
    (re.compile(r"\b\w*(?:Error|Exception): [^\n]*"), "an error about unexpected values"),
    (re.compile(r"(?:[\w.-]+/)+([\w.-]+)"), r"\1"),
    (re.compile(r"::[\w\[\]-]+"), ""),
    (re.compile(r"\b[Nn]ever (\w+)"), r"be careful to \1"),
)


def paraphrase(transcript: str) -> str:
    """Summarise the way a hurried model does: a dozen sentences, later ones first, told in words of its own.

    Amounts are rounded, hashes and ids become "the commit" and "the ticket", error lines say what they are about, and
    a "never" becomes care. Tool output is not told at all: only sentences are.
    """
    return "\n".join(map(_smooth, list(_sentences(transcript))[-MOST_SENTENCES:]))


def _sentences(transcript: str) -> Iterator[str]:
    for line in transcript.split("\n"):
        for sentence in re.split(r"(?<=[.!?]) ", line.strip()):
            if re.match(r"[A-Z].*[.!?]$", sentence) and len(sentence) < 300:
                yield sentence


def _smooth(sentence: str) -> str:
    sentence = _ROUNDED.sub(lambda m: f"about ${m[1]}{'0' * len(m[2])}{',000' * (len(m[3]) // 4)}", sentence)
    for pattern, told in _SMOOTHED:
        sentence = pattern.sub(told, sentence)
    return sentence
