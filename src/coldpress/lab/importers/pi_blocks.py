"""Write what pi records as content blocks of Anthropic's form.

What pi puts into words itself (a command the user ran, the summary of a compaction) is said here in words of our own:
it stands in the right place at about the right length, not byte for byte as it was sent.
"""

from __future__ import annotations

from collections.abc import Callable

from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import Block, CallIds, call_block, result_block, text_block
from coldpress.lab.importers.jsonvalues import JsonObject, object_in, objects_in, text_in
from coldpress.lab.jsontext import compact_json

OUTSIDE = "(an image that is kept outside of the recording)"


def reply_blocks(message: JsonObject, ids: CallIds, tally: Tally) -> tuple[Block, ...]:
    """Write a model's reply. A call keeps its recorded id in `call_id` only where that fits; see `CallIds`."""
    found: list[Block] = []
    for block in _content(message):
        kind = text_in(block, "type")
        if kind == "text":
            found += _texts(text_in(block, "text") or "", tally)
        elif kind in ("thinking", "redactedThinking"):
            found += _thinking(block, tally)
        elif kind == "toolCall":
            found.append(
                call_block(
                    ids.take(text_in(block, "id") or ""),
                    text_in(block, "name") or "",
                    object_in(block, "arguments"),
                )
            )
        else:
            tally.skipped[f"reply blocks of an unknown kind: {kind}"] += 1
    return tuple(found)


def _thinking(block: JsonObject, tally: Tally) -> list[Block]:
    """Carry thinking; without a signature it goes as text, as pi sends it (a stopped reply has none)."""
    signature = text_in(block, "thinkingSignature") or ""
    if block.get("redacted") is True or block.get("type") == "redactedThinking":
        data = text_in(block, "data") or signature
        return [Block("redacted_thinking", compact_json({"type": "redacted_thinking", "data": data}))]
    thinking = text_in(block, "thinking") or ""
    if not thinking.strip():
        tally.skipped["thinking blocks without thinking"] += 1
        return []
    if not signature.strip():
        tally.skipped["thinking blocks without a signature (sent as text)"] += 1
        return [text_block(thinking)]
    return [Block("thinking", compact_json({"type": "thinking", "thinking": thinking, "signature": signature}))]


def client_blocks(message: JsonObject, tally: Tally) -> tuple[Block, ...]:
    """Write what pi itself adds to the conversation; nothing, and counted, where the role is unknown."""
    role = text_in(message, "role") or "(none)"
    if message.get("excludeFromContext") is True:
        tally.skipped["commands that the user kept out of the conversation"] += 1
        return ()
    if role == "toolResult":
        return (_result(message),)
    if role in _WORDS:
        return tuple(_texts(_WORDS[role](message), tally))
    if role not in ("user", "developer", "custom", "hookMessage"):
        tally.skipped[f"messages of an unknown role: {role}"] += 1
        return ()
    return tuple(block for item in _content(message) for block in _item(item, tally))


def _content(message: JsonObject) -> list[JsonObject]:
    text = text_in(message, "content")
    return objects_in(message, "content") if text is None else [{"type": "text", "text": text}]


def _item(item: JsonObject, tally: Tally) -> list[Block]:
    kind = text_in(item, "type")
    if kind == "text":
        return _texts(text_in(item, "text") or "", tally)
    if kind == "image":
        shown = _image(item)
        return [Block(str(shown["type"]), compact_json(shown))]
    tally.skipped[f"content of an unknown kind: {kind}"] += 1
    return []


def _texts(text: str, tally: Tally) -> list[Block]:
    """Write a text; one without any letter is left out, as no provider takes it."""
    if text.strip():
        return [text_block(text)]
    tally.skipped["text blocks without text"] += 1
    return []


def _image(item: JsonObject) -> JsonObject:
    data = text_in(item, "data") or ""
    if not data or data.startswith("blob:"):  # OMP keeps images in files of their own
        return {"type": "text", "text": OUTSIDE}
    source = {"type": "base64", "media_type": text_in(item, "mimeType") or "image/png", "data": data}
    return {"type": "image", "source": source}


def _result(message: JsonObject) -> Block:
    """Write a tool result as pi sends it: its texts as one string, or a list where there is an image."""
    items = _content(message)
    texts = [text_in(item, "text") or "" for item in items if item.get("type") == "text"]
    content: object = "\n".join(texts)
    if any(item.get("type") == "image" for item in items):
        shown: list[JsonObject] = [{"type": "text", "text": text} for text in texts if text.strip()]
        content = shown + [_image(item) for item in items if item.get("type") == "image"]
    return result_block(text_in(message, "toolCallId") or "", content, failed=message.get("isError") is True)


def _ran(message: JsonObject) -> str:
    """Say what a command, or code, that the user ran himself put out."""
    what = text_in(message, "command") or text_in(message, "code") or ""
    said = f"The user ran this:\n{what}\n\nOutput:\n{text_in(message, 'output') or '(none)'}"
    if message.get("cancelled") is True:
        return f"{said}\n\n(cancelled)"
    code = message.get("exitCode")
    return f"{said}\n\n(exit code {code})" if code else said


def _files(message: JsonObject) -> str:
    files = [
        f"{text_in(file, 'path') or ''}\n{text_in(file, 'content') or ''}" for file in objects_in(message, "files")
    ]
    return "\n\n".join(files)


_WORDS: dict[str, Callable[[JsonObject], str]] = {
    "bashExecution": _ran,
    "pythonExecution": _ran,
    "fileMention": _files,
    "branchSummary": lambda message: f"Summary of a branch that was left:\n\n{text_in(message, 'summary') or ''}",
    "compactionSummary": lambda message: f"Summary of what was said before:\n\n{text_in(message, 'summary') or ''}",
}
"""Roles that pi turns into a text of the user."""
