"""Read what a model answered to the request for a summary: a summary, or the reason why it is none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from coldpress.model.summary import Item, Summary

Reason = Literal["refused", "empty", "too_long", "error_like", "not_json"]

MAX_CHARS: Final = 64_000
"""A longer answer is no summary: some 16,000 tokens."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why an answer is not a summary.

    Attributes:
        reason: `refused`: the model or a filter declined. `empty`: no text, or no items. `too_long`: above the bound.
            `error_like`: an error of a server or a program. `not_json`: anything else that has not the asked form.
    """

    reason: Reason


class _Item(msgspec.Struct):
    text: str
    message: int | str
    quotes: list[str] = []


class _Reply(msgspec.Struct):
    goal: list[_Item] = []
    decisions: list[_Item] = []
    constraints: list[_Item] = []
    plan: list[_Item] = []
    artifacts: list[_Item] = []
    ruled_out: list[_Item] = []
    failures: list[_Item] = []
    questions: list[_Item] = []


_FENCED: Final = re.compile(r"^[ \t]*```[ \t]*(?:json|JSON)?[ \t]*\n(.*?)\n[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
DECLINES: Final = re.compile(
    r"\W*(?:(?:I['’]m|I am|we['’]re) (?:very |really )?(?:sorry|unable|not able)|(?:sorry|apologies)\b|"
    r"(?:Unfortunately,? )?I (?:can['’]t|cannot|can not|won['’]t|will not|must decline|decline)\b|As an AI\b|"
    r"This (?:request|content) (?:was|has been|is) (?:blocked|declined|filtered|rejected)|"
    r"(?:Your|The) (?:request|prompt|response|content)\b[^.\n]{0,60}\b(?:blocked|filtered|violat\w+|policy|flagged)\b|"
    r"(?:content[_ -]?filter|\[?(?:blocked|refusal|redacted)\]?\W*$))",
    re.IGNORECASE,
)
ERRORS: Final = re.compile(
    r"\W*(?:<!doctype|<html|<\?xml|Traceback \(most recent call last\)|"
    r"(?:Error|Exception|[\w.]+(?:Error|Exception))\b\s*[:(]|"
    r"(?:HTTP/?[\d.]* )?[45]\d\d\b|Internal Server Error|Bad Gateway|Gateway Time-?out|Service Unavailable|"
    r"upstream (?:connect|request)|(?:rate limit|quota|timeout|timed out|overloaded)\b|panic: |fatal: )",
    re.IGNORECASE,
)
STACK: Final = re.compile(
    r"^Traceback \(most recent call last\)|^\s+at \S+.*:\d+:\d+\)?$|^\s+File \"[^\"\n]+\", line \d+", re.MULTILINE
)
"""How a refusal, an error of a server or a program, and a stack of calls begin."""

_NUMBER: Final = re.compile(r"\[?m?(\d{1,9})\]?")
_ERROR_KEYS: Final = frozenset({"error", "errors", "detail", "exception", "traceback"})
_REFUSAL_KEYS: Final = frozenset({"refusal", "content_filter", "content_filter_results"})


def read(text: str, *, max_chars: int = MAX_CHARS) -> Summary | Refused:
    """Read an answer: JSON, or one block of it between fences with or without prose around.

    A message may be cited as 12, "12" or "m12". Items without quotes have none. Sections that the schema does not
    know are passed over, since nothing in them has a place; an item of another shape makes the whole answer
    `not_json`, since what it was meant to say cannot be known. Whether what it says is true is for
    `coldpress.engine.summary.check` to find out.

    Args:
        text: the model's answer.
        max_chars: a longer answer is refused.
    """
    stripped = text.strip()
    if not stripped:
        return Refused("empty")
    if len(stripped) > max_chars:
        return Refused("too_long")
    fields = _object(stripped)
    if fields is None:
        return Refused(_reason(stripped))
    if _REFUSAL_KEYS & fields.keys():
        return Refused("refused")
    if _ERROR_KEYS & fields.keys() or fields.get("type") == "error":
        return Refused("error_like")
    try:
        summary = _summary(msgspec.convert(fields, type=_Reply))
    except (msgspec.ValidationError, ValueError):
        return Refused("not_json")
    return _judged(summary, fields)


def _object(text: str) -> dict[str, object] | None:
    """Decode the JSON object that is the whole text, or the only fenced block in it."""
    blocks = _FENCED.findall(text)
    candidate = blocks[0] if len(blocks) == 1 and not text.startswith("{") else text
    try:
        return msgspec.json.decode(candidate, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def _reason(text: str) -> Reason:
    if DECLINES.match(text):
        return "refused"
    return "error_like" if ERRORS.match(text) or STACK.search(text) else "not_json"


def _summary(reply: _Reply) -> Summary:
    """Turn an answer into a summary, each section in the order of messages.

    Raises:
        ValueError: a message is cited in a way that names none.
    """
    sections = {field: tuple(map(_item, getattr(reply, field))) for field in reply.__struct_fields__}
    return Summary(**{name: tuple(sorted(items, key=lambda item: item.message)) for name, items in sections.items()})


def _item(given: _Item) -> Item:
    match = _NUMBER.fullmatch(str(given.message).strip())
    if match is None:
        raise ValueError(f"message {given.message!r} names no message; use a number such as 12 or m12")
    return Item(given.text.strip(), int(match[1]), tuple(quote for quote in given.quotes if quote))


def _judged(summary: Summary, fields: dict[str, object]) -> Summary | Refused:
    items = [item for _, items in summary.sections() for item in items]
    known = {section for section, _ in summary.sections()}
    if not items:
        return Refused("empty" if not fields or known & fields.keys() else "not_json")
    if all(not item.quotes and DECLINES.match(item.text) for item in items):
        # A refusal that was put into the form it was asked for.
        return Refused("refused")
    return summary
