"""Find recordings that hold the same requests: sessions that were resumed, forked or copied into another file.

Some programs write a session that goes on into a new file, and repeat in it all that was said before. Replayed as if
they were two, such files bill the same requests twice. What tells them are the ids that providers draw for replies,
or a reply with the millisecond in which it came; prompts and texts alone may be alike by chance. Files that share one
of their first replies are read to their ends and compared; no file is imported.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from coldpress.lab.importers.codex_items import CALLS
from coldpress.lab.importers.codex_lines import unwrapped
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.jsonvalues import JsonObject, number_in, object_in, text_in
from coldpress.lab.importers.linefiles import decoded, line_objects
from coldpress.lab.jsontext import compact_json

_FIRST_REPLIES: Final = 8
"""More than one, as the line of the first may be torn in one of the files."""

_FIRST_BYTES: Final = 1 << 20
"""Of a file, in search of its first replies. In sessions that were seen, the first stands in the first 80 kB."""

_DRAWN_LENGTH: Final = 20
_DRAWN_LETTERS: Final = 8
"""Ids that are shorter, or of fewer different characters, may be counted, as `msg_00000001` of a local server is."""


@dataclass(frozen=True, slots=True)
class Continued:
    """A file that may be left out: each of its replies stands, in the same order, in `by`, with `more` others."""

    path: Path
    by: Path
    more: int


@dataclass(frozen=True, slots=True)
class Families:
    """What is the same in several files.

    Attributes:
        continued: files that another one holds whole, in the order in which they were given.
        apart: files that share a beginning and then go on each in its own way; a tuple for each beginning, all in the
            order in which they were given. None of them is in `continued`.
    """

    continued: tuple[Continued, ...] = ()
    apart: tuple[tuple[Path, ...], ...] = ()

    @property
    def together(self) -> tuple[tuple[Path, ...], ...]:
        """All files that share requests, by family, those that another one continues beside it."""
        families = {path: [*family] for family in self.apart for path in family[:1]}
        first_of = {path: family[0] for family in self.apart for path in family}
        for one in self.continued:
            families.setdefault(first_of.get(one.by, one.by), [one.by]).append(one.path)
        return tuple(tuple(dict.fromkeys(family)) for family in families.values())


@dataclass(frozen=True, slots=True)
class _Reply:
    """The name of a reply, the same in every copy; `certain` where no other reply can have it."""

    name: str
    certain: bool


def find_families(paths: Sequence[Path]) -> Families:
    """Find the files that hold the same requests of Claude Code, pi or Codex.

    The first MiB of each is read; files that share a reply there are read whole. One that cannot be read has no family.

    Args:
        paths: of files, each once.
    """
    place = {path: number for number, path in enumerate(paths)}
    continued, apart = list[Continued](), list[tuple[Path, ...]]()
    for alike in _alike(paths):
        held = {path: _replies(path) for path in alike}
        kept = list[Path]()
        for path in sorted(alike, key=lambda path: (-len(held[path]), -_size(path), place[path])):
            by = next((one for one in kept if _holds(held[one], held[path])), None)
            if by is None:
                kept.append(path)
            else:
                continued.append(Continued(path, by, len(held[by]) - len(held[path])))
        if len(kept) > 1:
            apart.append(tuple(sorted(kept, key=place.__getitem__)))
    continued.sort(key=lambda one: place[one.path])
    return Families(tuple(continued), tuple(sorted(apart, key=lambda family: place[family[0]])))


def _alike(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Put files together that share one of their first replies, be it by way of a third; those that share none go."""
    group_of, first_with = {path: [path] for path in paths}, dict[str, Path]()
    for path in paths:
        for name in _first_names(path):
            mine, theirs = group_of[path], group_of[first_with.setdefault(name, path)]
            if mine is not theirs:
                theirs += mine
                group_of.update(dict.fromkeys(mine, theirs))
    for path in paths:
        if len(group_of[path]) > 1 and group_of[path][0] == path:
            yield group_of[path]


def _first_names(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            said = (reply.name for reply in _said(_begin(file)) if reply.certain)
            return list(itertools.islice(said, _FIRST_REPLIES))
    except OSError:
        return []


def _begin(file: BinaryIO) -> Iterator[bytes]:
    """Give the lines of the first bytes; the last one may be cut, and is no JSON then."""
    left = _FIRST_BYTES
    while left > 0 and (line := file.readline(left)):
        left -= len(line)
        yield line


def _replies(path: Path) -> tuple[str, ...]:
    """Name all replies of a file in their order; nothing where it cannot be read any more."""
    try:
        with path.open("rb") as file:
            return tuple(reply.name for reply in _said(file))
    except OSError:
        return ()


def _holds(larger: Sequence[str], smaller: Sequence[str]) -> bool:
    """Whether all of the smaller stands in the larger in the same order; nothing is held by nobody."""
    left = iter(larger)
    return bool(smaller) and all(name in left for name in smaller)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _said(lines: Iterable[bytes]) -> Iterator[_Reply]:
    """Name the replies that lines hold; one that stands on several lines is named once."""
    tally, seen = Tally(), set[str]()
    for found in line_objects(decoded(lines, tally), tally):
        reply = _reply(found)
        if reply is not None and reply.name not in seen:
            if reply.certain:
                seen.add(reply.name)
            yield reply


def _reply(found: JsonObject) -> _Reply | None:
    if "sessionId" in found:
        return _of_claude_code(found)
    if found.get("type") == "message" and isinstance(found.get("message"), dict):
        return _of_pi(found)
    return _of_codex(*unwrapped(found))


def _of_claude_code(found: JsonObject) -> _Reply | None:
    """Name the reply of a line, which may be a sub-agent's within a line of progress."""
    data = object_in(found, "data")
    said = object_in(data, "message") if data.get("type") == "agent_progress" else found
    message = object_in(said, "message")
    if text_in(said, "type") != "assistant" or said.get("isApiErrorMessage") is True:
        return None
    if text_in(message, "model") == "<synthetic>":  # written by the client, in no need of a request
        return None
    return _named("claude-code", text_in(message, "id"), message.get("content"))


def _of_pi(found: JsonObject) -> _Reply | None:
    message = object_in(found, "message")
    if message.get("role") != "assistant":
        return None
    # Entries of old versions have no id. When the reply came, in milliseconds, and what it was name it as well.
    at, digest = number_in(message, "timestamp"), _digest(message.get("content"))
    return _Reply(f"pi {at} {digest}", certain=at is not None)


def _of_codex(kind: str, item: JsonObject) -> _Reply | None:
    """Name an item of a reply: a call, or what was said. Copied lines bear the time at which they were copied."""
    if kind != "response_item":
        return None
    if item.get("type") in CALLS:
        return _named("codex", text_in(item, "call_id") or text_in(item, "id"), item)
    if item.get("type") == "message" and item.get("role") == "assistant":
        return _named("codex", text_in(item, "id"), item.get("content"))
    return None


def _named(program: str, name: str | None, content: object) -> _Reply:
    """Name a reply by its id if that was drawn, else by its content, which another one may have too."""
    if name is not None and len(name) >= _DRAWN_LENGTH and len(set(name)) >= _DRAWN_LETTERS:
        return _Reply(f"{program} {name}", certain=True)
    return _Reply(f"{program} {name or ''} {_digest(content)}", certain=False)


def _digest(content: object) -> str:
    return hashlib.sha256(compact_json(content).encode("utf-8", "surrogatepass")).hexdigest()
