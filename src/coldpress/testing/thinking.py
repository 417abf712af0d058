"""Sign thinking blocks and check them again, bound to their text and, where asked, to everything said before."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from coldpress.testing.anthropic_view import THINKING, Placed, joined_turns, render_order, rendered
from coldpress.testing.jsonview import as_object, as_text
from coldpress.testing.refusal import Refusal

BINDING_BETA = "thinking-binding-controls-2026-08-01"
_MAC_BYTES = 16
_START = hashlib.sha256(b"prefix").digest()


@dataclass(frozen=True, slots=True)
class ThinkingVerdict:
    """What the check of a whole request found.

    Attributes:
        refusal: why the request is not served, if so.
        dropped: paths of the thinking blocks the model is not shown, since they are bound to another conversation.
        tolerated: paths of blocks that a binding model would have refused, and this one does not.
        prefix: digest that thinking in the answer is bound to.
    """

    refusal: Refusal | None
    dropped: tuple[str, ...] = ()
    tolerated: tuple[str, ...] = ()
    prefix: bytes = b""

    @property
    def transformations(self) -> list[dict[str, str]]:
        """The answer's `input_transformations`."""
        kinds = (("thinking_dropped", self.dropped), ("thinking_mismatch_allowed", self.tolerated))
        return [
            {"type": kind, "path": path, "reason": "prefix_binding_mismatch"} for kind, paths in kinds for path in paths
        ]


class ThinkingLedger:
    """The signing key of one upstream, and the thinking of every answer it gave.

    Args:
        key: secret of the signatures.
        bind: refuse thinking whose prefix was changed, as the newest models do; otherwise only the text is bound.
        check: verify signatures at all; without it, recorded requests with foreign signatures are accepted.
    """

    def __init__(self, key: bytes, *, bind: bool, check: bool) -> None:
        self._key = key
        self._bind = bind
        self._check = check
        self._issued: dict[str, tuple[tuple[str, str], ...]] = {}

    def sign(self, text: str, prefix: bytes) -> str:
        """Sign a thinking text said behind a prefix."""
        parts = self._mac(b"text", text.encode("utf-8", "surrogatepass")) + self._mac(b"prefix", prefix)
        return base64.b64encode(parts + self._mac(b"both", parts)).decode()

    def remember(self, content: Sequence[Mapping[str, object]]) -> None:
        """Keep which thinking belongs to an answer, by the ids of its tool calls."""
        thinking = _thinking_of(content)
        for block in content:
            if block.get("type") == "tool_use":
                self._issued[as_text(block.get("id"))] = thinking

    def verify(
        self,
        body: Mapping[str, object],
        prompt: Sequence[Placed] | None = None,
        *,
        resumed: Mapping[str, bytes] | None = None,
    ) -> ThinkingVerdict:
        """Check every thinking block of a request, and find the digest its answer will be bound to.

        Args:
            body: the request.
            prompt: its blocks without those that a summary stands for; `None` for all.
            resumed: by the path of a summary, the digest of the prefix it stands for.
        """
        if self._check and (refusal := self._check_latest(body)) is not None:
            return ThinkingVerdict(refusal)
        digest = _START
        dropped: list[str] = []
        tolerated: list[str] = []
        for placed in render_order(body) if prompt is None else prompt:
            if resumed is not None and placed.path in resumed:
                digest = resumed[placed.path]
                continue
            if self._check and placed.kind == "thinking":
                signature = _decode(as_text(placed.block.get("signature")))
                if not self._is_ours(signature, as_text(placed.block.get("thinking"))):
                    return ThinkingVerdict(_invalid(placed))
                if not hmac.compare_digest(signature[_MAC_BYTES : 2 * _MAC_BYTES], self._mac(b"prefix", digest)):
                    if self._bind and not _drops(body):
                        return ThinkingVerdict(_foreign(placed))
                    (dropped if self._bind else tolerated).append(placed.path)
                    if self._bind:
                        continue  # what is not shown is no part of what later thinking was said behind
            digest = _next(digest, placed)
        return ThinkingVerdict(None, tuple(dropped), tuple(tolerated), digest)

    def _check_latest(self, body: Mapping[str, object]) -> Refusal | None:
        """The thinking of the newest assistant turn stays as it was given, or, without thinking, goes as a whole."""
        turns = [turn for turn in joined_turns(body) if turn.role == "assistant"]
        if not turns or joined_turns(body)[-1].role == "assistant":
            return None
        latest = turns[-1]
        call = next((placed for placed in latest.blocks if placed.kind == "tool_use"), None)
        issued = self._issued.get(as_text(call.block.get("id"))) if call is not None else None
        if call is None or not issued:
            return None
        kept = _thinking_of([placed.block for placed in latest.blocks])
        if not kept and as_object(body.get("thinking")).get("type") == "enabled":
            return Refusal(
                f"{latest.blocks[0].path}.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{latest.blocks[0].kind}`. When `thinking` is enabled, a final `assistant` message must start with a "
                "thinking block."
            )
        if kept and kept != issued:
            return Refusal(
                f"{latest.blocks[0].path}: `thinking` or `redacted_thinking` blocks in the latest assistant message "
                "cannot be modified. These blocks must remain as they were in the original response."
            )
        return None

    def _is_ours(self, signature: bytes, text: str) -> bool:
        """Whether we made the signature, for this text; an omitted text (`""`) is not compared."""
        if not hmac.compare_digest(signature[2 * _MAC_BYTES :], self._mac(b"both", signature[: 2 * _MAC_BYTES])):
            return False
        mac = self._mac(b"text", text.encode("utf-8", "surrogatepass"))
        return not text or hmac.compare_digest(signature[:_MAC_BYTES], mac)

    def _mac(self, purpose: bytes, data: bytes) -> bytes:
        return hmac.digest(self._key, purpose + b"\0" + data, "sha256")[:_MAC_BYTES]


def prefix_digest(prompt: Iterable[Placed]) -> bytes:
    """Give the digest that thinking said behind these blocks is bound to."""
    digest = _START
    for placed in prompt:
        digest = _next(digest, placed)
    return digest


def _next(digest: bytes, placed: Placed) -> bytes:
    return hashlib.sha256(digest + rendered(placed).encode("utf-8", "surrogatepass")).digest()


def _drops(body: Mapping[str, object]) -> bool:
    binding = as_object(as_object(body.get("thinking")).get("block_binding"))
    return binding.get("prefix_mismatch_behavior") == "drop_block"


def _thinking_of(content: Sequence[Mapping[str, object]]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (as_text(block.get("thinking")), as_text(block.get("signature")) or as_text(block.get("data")))
        for block in content
        if block.get("type") in THINKING
    )


def _decode(signature: str) -> bytes:
    try:
        return base64.b64decode(signature, validate=True)
    except ValueError:
        return b""


def _invalid(placed: Placed) -> Refusal:
    return Refusal(f"{placed.path}: Invalid `signature` in `thinking` block")


def _foreign(placed: Placed) -> Refusal:
    return Refusal(
        f"{placed.path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
        'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    )
