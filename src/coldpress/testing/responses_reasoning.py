"""Seal reasoning items and check them again, bound to the model and, where asked, to everything said before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from coldpress.testing.jsonview import as_object, as_text, objects
from coldpress.testing.refusal import Refusal
from coldpress.testing.responses_seal import Sealer
from coldpress.testing.responses_view import Item, begin_prefix, follow_prefix, kind_of

Why = Literal["model_mismatch", "prefix_mismatch", "turn_boundary"]

_ALL_TURNS: Final = re.compile(r"gpt-(5\.[6-9]|[6-9]|\d\d)")
"""Models that are shown the reasoning of past turns by default; older ones are shown the current turn's."""


@dataclass(frozen=True, slots=True)
class ReasoningVerdict:
    """What the check of a whole request found.

    Attributes:
        refusal: why the request is not served, if so.
        shown: the items the model is shown.
        withheld: id of each reasoning item that it is not shown, and why.
        prefix: names all that is shown; reasoning in the answer is bound to it.
    """

    refusal: Refusal | None
    shown: tuple[Item, ...] = ()
    withheld: tuple[tuple[str, Why], ...] = ()
    prefix: bytes = b""

    @property
    def transformations(self) -> list[dict[str, object]]:
        """The answer's `input_transformations`."""
        return [{"id": named, "type": "reasoning", "action": "removed", "reason": why} for named, why in self.withheld]


class ReasoningLedger:
    """The sealing key of one upstream, and which reasoning led to each item it gave.

    Args:
        key: secret of the seals.
        bind: withhold reasoning whose prefix or model was changed, as the newest models do.
        check: look into seals at all; without it, recorded requests with foreign ones are accepted.
    """

    def __init__(self, key: bytes, *, bind: bool, check: bool) -> None:
        self.sealer = Sealer(key)
        self._bind = bind
        self._check = check
        self._led_by: dict[str, str] = {}

    def seal(self, identifier: str, text: str, *, model: str, prefix: bytes) -> str:
        """Encrypt a reasoning text said behind a prefix."""
        return self.sealer.seal({"id": identifier, "text": text, "model": model, "prefix": prefix.hex()})

    def remember(self, output: Sequence[Item]) -> None:
        """Keep which reasoning each item of an answer followed from."""
        for before, item in pairwise(output):
            if kind_of(before) == "reasoning" and kind_of(item) != "reasoning":
                self._led_by[as_text(item.get("id"))] = as_text(before.get("id"))

    def opened(self, item: Item) -> str:
        """Give the text behind a sealed item; of a foreign one, what it says openly."""
        content = self.sealer.open(as_text(item.get("encrypted_content")))
        if content is not None:
            return as_text(content.get("text"))
        return "\n".join(as_text(part.get("text")) for part in objects(item.get("summary")))

    def verify(self, body: Mapping[str, object], items: Sequence[Item]) -> ReasoningVerdict:
        """Check every sealed item, and find what the model is shown and the prefix its answer is bound to."""
        if self._check and (refusal := self._check_seals(items) or self._check_led(items)) is not None:
            return ReasoningVerdict(refusal)
        model, prefix = as_text(body.get("model")), begin_prefix(body)
        boundary = _turn_boundary(body, items)
        shown: list[Item] = []
        withheld: list[tuple[str, Why]] = []
        for index, item in enumerate(items):
            if kind_of(item) == "reasoning" and (why := self._why_not(item, model, prefix, past=index < boundary)):
                withheld.append((as_text(item.get("id")), why))
                continue  # what is not shown is no part of what later reasoning was said behind
            shown.append(item)
            prefix = follow_prefix(prefix, item, self.opened)
        return ReasoningVerdict(None, tuple(shown), tuple(withheld), prefix)

    def _why_not(self, item: Item, model: str, prefix: bytes, *, past: bool) -> Why | None:
        if past:
            return "turn_boundary"
        if not self._bind or not self._check:
            return None
        content = self.sealer.open(as_text(item.get("encrypted_content"))) or {}
        if content.get("model") != model:
            return "model_mismatch"
        return None if content.get("prefix") == prefix.hex() else "prefix_mismatch"

    def _check_seals(self, items: Sequence[Item]) -> Refusal | None:
        for item in items:
            if kind_of(item) not in ("reasoning", "compaction"):
                continue
            sealed, named = as_text(item.get("encrypted_content")), as_text(item.get("id"))
            if not sealed:
                return not_kept(named)
            content = self.sealer.open(sealed)
            if content is None:
                return _unverified(sealed, "Encrypted content could not be decrypted or parsed.")
            if named and named != content.get("id"):
                return _unverified(sealed, "Encrypted content item_id did not match the target item id.")
        return None

    def _check_led(self, items: Sequence[Item]) -> Refusal | None:
        """An item that keeps the id it was given comes with the reasoning that led to it."""
        present = {as_text(item.get("id")) for item in items if kind_of(item) == "reasoning"}
        for item in items:
            named = as_text(item.get("id"))
            reasoning = self._led_by.get(named)
            if reasoning is not None and reasoning not in present:
                kind = kind_of(item)
                return Refusal(
                    f"Item '{named}' of type '{kind}' was provided without its required 'reasoning' item: "
                    f"'{reasoning}'.",
                    param="input",
                )
        return None


def not_kept(identifier: str) -> Refusal:
    """Refuse an item that is only named, where the provider does not keep it."""
    return Refusal(
        f"Item with id '{identifier}' not found. Items are not persisted when `store` is set to false. Try again with "
        "`store` set to true, or remove this item from your input.",
        status=404,
        param="input",
    )


def _unverified(sealed: str, why: str) -> Refusal:
    return Refusal(
        f"The encrypted content {sealed[:4]}...{sealed[-4:]} could not be verified. Reason: {why}",
        code="invalid_encrypted_content",
    )


def _turn_boundary(body: Mapping[str, object], items: Sequence[Item]) -> int:
    """Index of the newest user message, where reasoning before it is not shown; otherwise 0."""
    asked = as_text(as_object(body.get("reasoning")).get("context"))
    if asked not in ("all_turns", "current_turn"):
        asked = "all_turns" if _ALL_TURNS.search(as_text(body.get("model"))) else "current_turn"
    if asked == "all_turns":
        return 0
    users = [i for i, item in enumerate(items) if kind_of(item) == "message" and item.get("role") == "user"]
    return users[-1] if users else 0
