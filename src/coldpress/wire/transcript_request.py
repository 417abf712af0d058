"""Write the request that asks a model to summarise a transcript, so that a later, longer one reads its cache.

A provider reads a prompt from its cache up to the first difference; Anthropic, only up to where a block ends that an
earlier request marked, and no more than 20 blocks in front of a mark. So the transcript is cut into blocks by what
stands before each cut alone, and the marks stand behind the blocks that no later text can change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from coldpress.wire.registry import FormatName

PIECE_CHARACTERS: Final = 8_000
"""A block ends with the first line behind so many: some 2,000 tokens, which is the most that is written again."""

_MOST_MARKS: Final = 4
_LOOKBACK_BLOCKS: Final = 20
_BETWEEN: Final = "\n\n"

LimitKey = Literal["max_tokens", "max_completion_tokens"]


def transcript_request(
    format_name: FormatName,
    *,
    model: str,
    system: str,
    texts: tuple[str, ...],
    request: str,
    max_output_tokens: int,
    limit_key: LimitKey = "max_tokens",
    marked: bool = True,
    thinking_off: bool = False,
) -> bytes:
    """Write the body. Equal arguments give equal bytes, and further texts leave those before them where they were.

    Args:
        format_name: the wire format.
        model: who is asked.
        system: the instruction.
        texts: the transcript in order; what is appended later does not change what stands before.
        request: what is asked, behind the transcript.
        max_output_tokens: the longest answer.
        limit_key: what Chat Completions call that limit: OpenAI's own newer models know the longer word only, most
            other servers the shorter.
        marked: whether the transcript is to be cached where that needs marks, for a longer one to come.
        thinking_off: whether the request says that the model is not to think, for servers that know the word.
    """
    whole, rest = split(texts)
    if format_name == "anthropic":
        content = [_text_block(piece) for piece in whole]
        for place in _marked(len(whole)) if marked else ():
            content[place]["cache_control"] = {"type": "ephemeral"}
        content += [_text_block(piece) for piece in (rest, request) if piece.strip()]
        value: dict[str, object] = {
            "model": model,
            "max_tokens": max_output_tokens,
            "system": _encodable(system),
            "messages": [{"role": "user", "content": content}],
        }
    else:
        # One message: some chat templates refuse two of the same role in a row.
        asked = "".join((*whole, rest)) + _BETWEEN + request
        value = {
            "model": model,
            limit_key: max_output_tokens,
            "messages": [
                {"role": "system", "content": _encodable(system)},
                {"role": "user", "content": _encodable(asked)},
            ],
        }
    if thinking_off:
        value["thinking"] = {"type": "disabled"}
    return msgspec.json.encode(value)


def split(texts: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Cut texts into blocks that stay as they are when texts are appended, and the rest behind the last of them.

    >>> whole, rest = split(("a" * 9000, "b" * 3000, "c" * 6000, "d"))
    >>> [len(piece) for piece in whole], rest
    ([9000, 9002], 'd')
    """
    pieces = [piece for piece in _pieces(texts) if piece.strip()]
    if pieces and len(pieces[-1]) < PIECE_CHARACTERS:
        return tuple(pieces[:-1]), pieces[-1].rstrip("\n")
    return tuple(pieces), ""


def _pieces(texts: tuple[str, ...]) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for text in texts:
        at = 0
        while size + len(text) - at >= PIECE_CHARACTERS:
            line_end = text.find("\n", at + max(0, PIECE_CHARACTERS - size - 1))
            cut = len(text) if line_end < 0 else line_end + 1
            yield "".join((*held, text[at:cut]))
            held, size, at = [], 0, cut
        if at < len(text):
            held.append(text[at:] if text.endswith("\n") else text[at:] + _BETWEEN)
            size += len(held[-1])
    if held:
        yield "".join(held)


def _marked(blocks: int) -> list[int]:
    """Choose the blocks to mark: the last, and others before it so that every earlier end is within reach of one."""
    return list(range(blocks - 1, -1, -_LOOKBACK_BLOCKS))[:_MOST_MARKS]


def _text_block(text: str) -> dict[str, object]:
    return {"type": "text", "text": _encodable(text)}


def _encodable(text: str) -> str:
    """Put a question mark for what no JSON text can hold, a lone surrogate."""
    return text.encode("utf-8", "replace").decode()
