"""Count the tokens of a request and bill them against a real prefix cache, keyed on what the model is shown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from coldpress.measure.cache import Part, Piece, PrefixCache, messages_scope
from coldpress.measure.cache_rules import ANTHROPIC, Life, rules_for
from coldpress.measure.tokens import estimate
from coldpress.model.usage import Usage
from coldpress.testing.anthropic_marks import Ttl, marks
from coldpress.testing.anthropic_view import Placed, render_order, rendered
from coldpress.testing.jsonview import as_object, as_text, objects

_BLOCK_OVERHEAD_TOKENS = 3
_IMAGE_TOKENS = 1500
_RUN_CHARS = 400
"""Chat prompts are matched in runs of this length, about 100 tokens: finer than the cache's own steps."""

_LIVES: Mapping[Ttl, Life] = {"5m": "short", "1h": "long"}
_MEDIA = ("image", "image_url", "document", "input_audio", "file")


class Meter:
    """The caches of one upstream, with the clock that ages them.

    Args:
        clock: seconds, not running backwards.
        automatic: the cache behind the chat wire.
        marked_seconds: how long the caches behind the Messages wire keep an entry with a short-lived mark; `None` for
            the published time, 0 for a provider that keeps nothing.
    """

    def __init__(
        self, clock: Callable[[], float], *, automatic: PrefixCache, marked_seconds: float | None = None
    ) -> None:
        self._clock = clock
        self._marked: dict[int, PrefixCache] = {}
        self._marked_seconds = marked_seconds
        self._automatic = automatic
        self._known_tokens: dict[bytes, int] = {}

    def messages(
        self, body: Mapping[str, object], *, dropped: tuple[str, ...] = (), shown: Sequence[Placed] | None = None
    ) -> Usage:
        """Bill a Messages request.

        Args:
            body: the request.
            dropped: paths of blocks that the model is not shown.
            shown: the blocks it is shown, where the provider edited the prompt; `None` for all of them as sent.
        """
        model = as_text(body.get("model"))
        rules = rules_for(model, "anthropic") or ANTHROPIC
        # Models with different minimum lengths share nothing anyway.
        cache = self._marked.setdefault(rules.minimum_tokens, PrefixCache(rules, short_seconds=self._marked_seconds))
        prompt = list(render_order(body)) if shown is None else shown
        return cache.send(
            self._message_pieces(body, prompt, dropped),
            scope=f"{model} {as_text(body.get('speed'))}".strip().encode(),
            messages_scope=messages_settings(body, prompt),
            now=self._clock(),
        )

    def chat(self, body: Mapping[str, object]) -> Usage:
        """Bill a Chat Completions request."""
        scope = as_text(body.get("model")).encode()
        return self._automatic.send(list(self._chat_pieces(body)), scope=scope, now=self._clock())

    def count_messages(self, body: Mapping[str, object], *, dropped: tuple[str, ...] = ()) -> int:
        """Tokens of a Messages request, without billing it."""
        return sum(piece.tokens for piece in self._message_pieces(body, list(render_order(body)), dropped))

    def tokens(self, placed: Placed) -> int:
        """Tokens of one block of a Messages request."""
        return self._tokens(_digest(rendered(placed)), placed)

    def count_chat(self, body: Mapping[str, object]) -> int:
        """Tokens of a Chat Completions request, without billing it."""
        return sum(piece.tokens for piece in self._chat_pieces(body))

    def _message_pieces(
        self, body: Mapping[str, object], prompt: Sequence[Placed], dropped: tuple[str, ...]
    ) -> list[Piece]:
        in_force = marks(body)
        pieces = []
        for placed in prompt:
            if placed.path in dropped:
                continue
            digest = _digest(rendered(placed))
            ttl = in_force.get(placed.path)
            mark = None if ttl is None else _LIVES[ttl]
            pieces.append(Piece(digest, self._tokens(digest, placed), mark, _part(placed)))
        return pieces

    def _tokens(self, digest: bytes, placed: Placed) -> int:
        if digest not in self._known_tokens:
            self._known_tokens[digest] = _shown_tokens(placed) + _BLOCK_OVERHEAD_TOKENS
        return self._known_tokens[digest]

    def _chat_pieces(self, body: Mapping[str, object]) -> Iterator[Piece]:
        for part in (*objects(body.get("tools")), *objects(body.get("messages"))):
            text, media = _chat_text(part)
            overhead = _BLOCK_OVERHEAD_TOKENS + media * _IMAGE_TOKENS
            for start in range(0, len(text), _RUN_CHARS):
                run = text[start : start + _RUN_CHARS]
                digest = _digest(run)
                if digest not in self._known_tokens:
                    self._known_tokens[digest] = estimate(run)
                yield Piece(digest, self._known_tokens[digest] + overhead)
                overhead = 0


def _part(placed: Placed) -> Part:
    if placed.message >= 0:
        return "messages"
    return "tools" if placed.role == "tools" else "system"


def messages_settings(body: Mapping[str, object], prompt: Iterable[Placed] | None = None) -> bytes:
    """Name what stands outside the prompt and costs the messages their cache when it changes.

    `prompt` is what the model is shown, `None` for all blocks as sent.
    """
    return messages_scope(
        tool_choice=_compact(as_object(body.get("tool_choice"))),
        thinking=_compact(as_object(body.get("thinking"))),
        pictures=any(_has_picture(placed.block) for placed in (render_order(body) if prompt is None else prompt)),
    )


def _has_picture(block: Mapping[str, object]) -> bool:
    parts = objects(block.get("content")) if block.get("type") == "tool_result" else ()
    return any(part.get("type") == "image" for part in (block, *parts))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _shown_tokens(placed: Placed) -> int:
    """Tokens of one block: of its texts as the model reads them, not of the JSON around them."""
    block = placed.block
    match placed.kind:
        case "text":
            return estimate(as_text(block.get("text")))
        case "thinking":
            return estimate(as_text(block.get("thinking")))
        case "compaction":
            return estimate(as_text(block.get("content")))
        case "tool_use":
            return estimate(as_text(block.get("name")) + json.dumps(block.get("input"), ensure_ascii=False))
        case "tool_result" if isinstance(block.get("content"), str):
            return estimate(as_text(block.get("content")))
        case "tool_result":
            parts = objects(block.get("content"))
            texts = sum(estimate(as_text(part.get("text"))) for part in parts)
            return texts + _IMAGE_TOKENS * sum(part.get("type") in _MEDIA for part in parts)
        case kind if kind in _MEDIA:
            return _IMAGE_TOKENS
        case _:
            return estimate(rendered(placed))


def _chat_text(part: Mapping[str, object]) -> tuple[str, int]:
    """Write a message or tool as one text, and count the pictures in it.

    An array with one text is the same as a string; cache marks play no part.
    """
    content = part.get("content")
    if not isinstance(content, list):
        return _compact(part), 0
    texts = [as_text(inner.get("text")) for inner in objects(content) if inner.get("type") == "text"]
    media = [inner for inner in objects(content) if inner.get("type") != "text"]
    # A picture is known by its digest: its base64 is not text that the model reads.
    pictures = [_digest(_compact(inner)).hex() for inner in media]
    joined: object = texts[0] if len(texts) == 1 and not media else [*texts, *pictures]
    return _compact({**part, "content": joined}), len(media)


def _compact(value: Mapping[str, object]) -> str:
    return json.dumps({k: value[k] for k in sorted(value)}, ensure_ascii=False, separators=(",", ":"))
