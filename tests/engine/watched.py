"""Conversations of single calls in both formats, with results masked or messages taken away at a turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cases.talk import Json, assistant, chat, chat_calls, chat_result, messages, result, use, user

from coldpress.engine.session import AgedEdits, PlacedRebuild, Session
from coldpress.model.conversation import Conversation, Span
from coldpress.model.edits import Edit, Mode, Rebuild, Standing
from coldpress.model.identity import EditKey
from coldpress.model.summary import Summary
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName

FORMATS: tuple[FormatName, ...] = ("anthropic", "openai_chat")


@dataclass(frozen=True)
class Call:
    """One turn: a call and what it gives back; `said` is what the user says behind it."""

    tool: str
    arguments: Json
    gives: str = "some text"
    failed: bool = False
    said: str = ""


def bash(command: str, gives: str = "ok", **more: object) -> Call:
    return Call("Bash", {"command": command, **more}, gives)


def read(path: str, gives: str = "1\tx = 1", **more: object) -> Call:
    return Call("Read", {"file_path": path, **more}, gives)


def edit(path: str, *, failed: bool = False) -> Call:
    gives = "<tool_use_error>String to replace not found in file.</tool_use_error>" if failed else "updated"
    return Call("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, gives, failed)


@dataclass(frozen=True)
class Talk:
    """A conversation, with the message index of each turn's call and result."""

    conversation: Conversation
    calls: tuple[int, ...]
    results: tuple[int, ...]

    def masks(self, turns: Iterable[int], *, at: int, mode: Mode = "mask") -> AgedEdits:
        """The results of these turns as one batch, decided on the request that ends with the result of turn `at`."""
        edits = []
        for turn in turns:
            index = self.results[turn]
            message = self.conversation.messages[index]
            block, found = message.results[0]
            standing = Standing(EditKey(message.chain, block, found.texts[0].part), "[one line]", mode, "0" * 64)
            edits.append(Edit(found.texts[0].span, b'"[one line]"', index, standing, saved_bytes=9))
        return AgedEdits(self.results[at], tuple(edits))

    def without(
        self, turns: range, *, at: int, summary: Summary | None = None, carried: Sequence[int] = ()
    ) -> AgedEdits:
        """A batch that leaves out whole turns; `carried` are turns that are copied behind the summary."""
        first, stop = self.calls[turns.start], self.results[turns.stop - 1] + 1
        found = self.conversation.messages
        copied = [i for turn in carried for i in (self.calls[turn], self.results[turn])]
        literal = ",".join(
            [
                '{"role":"user","content":[{"type":"text","text":"[summary]"}]}',
                *(self.conversation.body[found[i].span.start : found[i].span.end].decode() for i in copied),
            ]
        )
        rebuild = Rebuild(found[first - 1].chain, found[stop - 1].chain, literal, summary, 1)
        span = Span(found[first - 1].span.end, found[stop - 1].span.end)
        placed = PlacedRebuild(first, stop, span, rebuild, b"," + literal.encode())
        return AgedEdits(self.results[at], (), placed)

    def session(self, *batches: AgedEdits) -> Session:
        return Session.of((), batches, (), self.calls, b"")


def talk(turns: Sequence[Call], name: FormatName = "anthropic", *, task: str = "do it") -> Talk:
    """Read a conversation of some turns."""
    listed: list[Json] = [user(task)] if name == "anthropic" else [{"role": "user", "content": task}]
    calls, results = list[int](), list[int]()
    for number, turn in enumerate(turns):
        calls.append(len(listed))
        if name == "anthropic":
            listed.append(assistant(use(f"t{number}", turn.tool, **turn.arguments)))
            given = result(f"t{number}", turn.gives, **({"is_error": True} if turn.failed else {}))
            results.append(len(listed))
            listed.append(user(given, *([turn.said] if turn.said else [])))
        else:
            listed.append(chat_calls((f"t{number}", turn.tool, turn.arguments)))
            results.append(len(listed))
            listed.append(chat_result(f"t{number}", turn.gives))
            if turn.said:
                listed.append({"role": "user", "content": turn.said})
    body = messages(*listed) if name == "anthropic" else chat(*listed)
    reader: Reader[None] = Reader(seed=1)
    return Talk(reader.read(body, name, None).conversation, tuple(calls), tuple(results))
