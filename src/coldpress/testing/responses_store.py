"""Remember the answers of a Responses server: the history behind `previous_response_id`, and items by their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coldpress.testing.jsonview import as_text
from coldpress.testing.refusal import Refusal
from coldpress.testing.responses_reasoning import not_kept
from coldpress.testing.responses_view import Item, input_items, kind_of


class ResponseStore:
    """The answers of one upstream that were asked to be stored, which is the default."""

    def __init__(self) -> None:
        self._histories: dict[str, tuple[Item, ...]] = {}
        self._items: dict[str, Item] = {}

    def conversation(self, body: Mapping[str, object]) -> list[Item] | Refusal:
        """Give all items of a request: those the server kept, then its own, with references resolved.

        The instructions of an earlier request are not inherited.
        """
        previous = as_text(body.get("previous_response_id"))
        if previous and previous not in self._histories:
            return Refusal(
                f"Previous response with id '{previous}' not found.",
                param="previous_response_id",
                code="previous_response_not_found",
            )
        if body.get("conversation"):
            return Refusal(f"Conversation with id '{_conversation(body)}' not found.", status=404, param="conversation")
        items = list(self._histories.get(previous, ()))
        for item in input_items(body):
            named = as_text(item.get("id"))
            bare = kind_of(item) == "reasoning" and not item.get("encrypted_content")
            if kind_of(item) == "item_reference" and named not in self._items:
                return not_kept(named)
            items.append(self._items.get(named, item) if bare or kind_of(item) == "item_reference" else item)
        return items

    def keep(self, identifier: str, items: Sequence[Item], output: Sequence[Item]) -> None:
        """Remember an answer with all that led to it."""
        self._histories[identifier] = (*items, *output)
        self._items |= {as_text(item.get("id")): item for item in (*items, *output) if item.get("id")}


def _conversation(body: Mapping[str, object]) -> str:
    given = body.get("conversation")
    return as_text(given.get("id")) if isinstance(given, dict) else as_text(given)
