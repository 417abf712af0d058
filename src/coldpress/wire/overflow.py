"""Recognise a provider's refusal of a prompt that does not fit into the model's context window.

There is no common form. Some name a code, most only write a sentence, and gateways in between wrap what they were
told. The sentences below were collected from the providers' issue trackers and clients' bug reports up to November
2026; tests/wire/test_overflow.py holds one of each. What only looks alike (rate limits in tokens, limits of the answer,
bodies of too many bytes, text of the user's in a validation error) must not match: a wrong window costs history.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from coldpress.model.overflow import Overflow

STATUSES: Final = frozenset({400, 413, 422})
"""The statuses of replies that can be such a refusal."""

MOST_BODY_BYTES: Final = 64 * 1024
"""No more of an error body is read. Refusals have less than a kilobyte, some with an echo of the request behind it."""

LONGEST_SENTENCE: Final = 1_500
"""Characters; a longer message holds text of somebody's, which may say anything."""

SMALLEST_WINDOW_TOKENS: Final = 512
"""llama.cpp's default for long, and too little for any agent: a smaller number was read wrong."""

SMALLEST_ROOM: Final = 0.25
"""Where the answer's reserve leaves less of the window than this to the prompt, the reserve is at fault."""

_DEPTH: Final = 10
_WIDTH: Final = 8
_INSIDE: Final = ("error", "detail", "metadata", "raw")
"""Keys under which gateways put what they were told, whole or as JSON in a string."""

_CODES: Final = frozenset(
    {
        "context_length_exceeded",  # OpenAI, Azure, Groq, DeepInfra, Cerebras
        "exceed_context_size_error",  # llama.cpp
        "context_window_exceeded",
        "model_max_prompt_tokens_exceeded",  # GitHub Copilot
        "prompt_too_long",
    }
)

_TOKENS = r"(\d[\d,_]*)"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def _each(*patterns: str) -> tuple[re.Pattern[str], ...]:
    """Compile patterns whose `#` is a number of tokens; each has one."""
    return tuple(re.compile(pattern.replace("#", _TOKENS), re.IGNORECASE) for pattern in patterns)


_REFUSES: Final = _any(
    r"prompt (?:is )?too long\b",  # Anthropic, Ollama, Atlas
    r"exceeds? (?:the )?context (?:limit|window)\b",  # Anthropic with the answer's reserve, OpenAI, llama-cpp-python
    r"context window exceeds limit",  # MiniMax
    r"context (?:length|size|window) (?:has been )?exceeded",  # LM Studio, proxies
    r"maximum context length (?:is |of |\()\d",  # OpenAI, DeepSeek, vLLM, OpenRouter
    r"\d maximum context length",  # Mistral
    r"exceeds? the available context size",  # llama.cpp
    r"longer than the (?:model's context length|maximum model length)",  # SGLang, vLLM
    r"too long to fit into the model",  # vLLM
    r"input length exceeds the context length",  # Ollama
    r"input token count\b.{0,40}? exceeds? the maximum number of",  # Gemini, Vertex
    r"input tokens? exceeds? the configured limit",  # OpenAI, Azure
    r"maximum prompt length is \d",  # xAI
    r"prompt token count of \d+ exceeds? the limit",  # GitHub Copilot
    r"exceeded model token limit",  # Moonshot
    r"exceeds? the maximum allowed input length",  # Poolside
    r"range of input length should be",  # Alibaba
    r"input is too long for requested model",  # Bedrock
    r"n_keep \(\d+\) >= n_ctx|when context the overflows|is greater than the context length",  # LM Studio
    r"`?inputs. (?:tokens \+ .max_new_tokens. must be <=|must have less than)",  # Text Generation Inference, Together
)

_IS_ELSE: Final = _any(r"tokens? per (?:min|hour|day)", r"\brate.?limit", r"\bTP[MD]\b", r"\bquota\b")

MOST_BEFORE: Final = 200
"""Characters in front of the words that refuse: names of servers and errors, and the beginning of the sentence."""

_WRAPPED: Final = re.compile(r"[\w. :-]{1,120}? - \{.{0,200}?[\"']message[\"']: ?[\"']", re.DOTALL)
"""What SDKs and proxies put before the message that they were told, where that is no JSON any more."""

_OF_ELSE: Final = _any(
    r"^\W*(?:body|messages|input|tools|system)(?:\.\w|\[|\W+(?:value error|field)\b)",  # a field that is wrong
    r"\b(?:should be|must be|expected|got|received|invalid (?:value|input|type))\b",
    r"^\W*(?:tool|function|schema|metadata|image|file|title|name|description)s?\b(?! (?:call|result|use)s?\b)",
)
"""How a complaint about something else than the whole prompt begins."""

_QUOTES: Final = (re.compile(r"\""), re.compile(r"`"), re.compile(r"(?<!\w)'|'(?!\w)"))
"""Each kind of quotes; an apostrophe inside a word is none."""

_WINDOW: Final = _each(
    r"tokens > # maximum",
    r"context limit: \d+ \+ \d+ > #",
    r"maximum context length (?:is|of) #",
    r"maximum context length \(#",
    r"# maximum context length",
    r"available context size \(#",
    r"model's context length \(#",
    r"maximum model length of #",
    r"\(context length #",
    r"context window of #",
    r"maximum number of (?:input )?tokens allowed \(#",
    r"configured limit of #",
    r"maximum prompt length is #",
    r"exceeds? the limit of #",
    r"model token limit: #",
    r"allowed input length of #",
    r"input length should be \[\d+, ?#",
    r"n_ctx \(#",
    r"context length of only #",
    r"must be <= #",
    r"must have less than #",
    r"max_seq_len #",
)

_PROMPT: Final = _each(
    r"too long: # tokens",
    r"context limit: # \+",
    r"your prompt contains (?:at least )?# input tokens",
    r"your request has # input tokens",
    r"resulted in # tokens",
    r"request \(# tokens\)",
    r"input \(# tokens\)",
    r"prompt \((?:total )?length #",
    r"input length \(?#",
    r"requested tokens \(#",
    r"input token count \(#",
    r"the request contains # tokens",
    r"prompt token count of #",
    r"\(requested: #",
    r"prompt contains # tokens",
    r"n_keep \(#",
    r"keep the first # tokens",
    r"given: #",
)

_TOTAL: Final = _each(r"you requested (?:about |a total of )?# tokens")
"""The prompt with the answer's reserve."""

_ANSWER: Final = _each(
    r"context limit: \d+ \+ # >",
    r"# (?:in|for) the (?:completion|output)",
    r"requested # output tokens",
    r"input tokens \(# >",
    r"# tokens for the completion",
    r"inputs. tokens and # .max_new_tokens",
)


def failed_overflow(error: bytes) -> Overflow | None:
    """Read the error (JSON) that a stream of Responses failed with under a good status; `None` for any other fault."""
    return overflow_in(400, b'{"error":' + error[:MOST_BODY_BYTES] + b"}")


def overflow_in(status: int | None, body: bytes) -> Overflow | None:
    """Read an error reply; `None` where it is not the refusal of a prompt that is too long.

    Args:
        status: of the reply.
        body: of the reply, not compressed, its first 64 KiB at the most; JSON, or plain text.
    """
    if status not in STATUSES:
        return None
    text = body[:MOST_BODY_BYTES].decode("utf-8", "replace")
    told = next(filter(_refusal, _said(text, _DEPTH)), None)
    return None if told is None else _sound(told)


class _Said:
    """One error object, or one message: its words, its text, and numbers that have a name."""

    __slots__ = ("codes", "prompt_tokens", "text", "window_tokens")

    def __init__(self, text: str, fields: dict[str, Any]) -> None:
        self.text = text if len(text) <= LONGEST_SENTENCE else ""
        self.codes = {fields[name] for name in ("code", "type") if isinstance(fields.get(name), str)}
        self.prompt_tokens = _count(fields.get("n_prompt_tokens"))
        self.window_tokens = _count(fields.get("n_ctx"))


def _said(value: Any, depth: int) -> Iterator[_Said]:
    """Give what an error body says, the outermost first; strings that hold JSON are opened."""
    if depth == 0:
        return
    if isinstance(value, str):
        inner = _parsed(value)
        yield from (_Said(value, {}),) if inner is None else _said(inner, depth - 1)
    elif isinstance(value, list):
        for one in value[:_WIDTH]:
            yield from _said(one, depth - 1)
    elif isinstance(value, dict):
        message = value.get("message")
        plain = message if isinstance(message, str) and _parsed(message) is None else ""
        yield _Said(plain, value)
        for name in _INSIDE if plain else ("message", *_INSIDE):
            yield from _said(value.get(name), depth - 1)


def _parsed(text: str) -> Any:
    """Read JSON that is an object or an array; `None` where the text is none."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _refusal(said: _Said) -> bool:
    """Whether it says that the prompt is too long for the model's window."""
    if any(_IS_ELSE.search(words) for words in (said.text, *said.codes)):
        return False
    return not said.codes.isdisjoint(_CODES) or _says_so(said.text)


def _says_so(text: str) -> bool:
    """Whether the server itself says it: near the start, of the prompt, and not as somebody's words that it quotes."""
    wrapped = _WRAPPED.match(text)
    found = _REFUSES.search(text, wrapped.end() if wrapped is not None else 0)
    if found is None:
        return False
    before = text[wrapped.end() if wrapped is not None else 0 : found.start()]
    if len(before) > MOST_BEFORE or _OF_ELSE.search(before):
        return False
    return all(len(quotes.findall(before)) % 2 == 0 for quotes in _QUOTES)


def _sound(said: _Said) -> Overflow | None:
    """Read the numbers, take the answer's reserve off, and drop what cannot be right."""
    answer = _first(_ANSWER, said.text) or 0
    prompt, window = said.prompt_tokens or _first(_PROMPT, said.text), said.window_tokens or _first(_WINDOW, said.text)
    if prompt is None and (total := _first(_TOTAL, said.text)) is not None:
        prompt = total - answer
    if window is None:
        return Overflow(prompt)
    room = window - answer
    if room < SMALLEST_ROOM * window:
        return None
    if room < SMALLEST_WINDOW_TOKENS or (prompt is not None and prompt < room):
        return Overflow()
    return Overflow(prompt, room)


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    for pattern in patterns:
        found = pattern.search(text)
        if found is not None:
            return _count(found[1].replace(",", "").replace("_", ""))
    return None


def _count(value: object) -> int | None:
    """Give a number of tokens, `None` where it is none that anybody could mean."""
    if isinstance(value, str):
        value = int(value) if value.isdecimal() and len(value) <= 12 else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
