"""Say what a tool call asks for, whatever way it is written, so that a call that is made again can be recognised."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from coldpress.engine import catalogue_data
from coldpress.engine import watch_data as data
from coldpress.engine.catalogue import Classified, classify
from coldpress.engine.command_lines import CommandLine, line_of
from coldpress.engine.watch_lines import RANGE_KEYS, Lines, lines_of_arguments, lines_of_command

Renewal = Literal["by_any_change", "by_its_files", "never"]
"""What makes the result of the same call another one: any change since, a change of the files it names, or nothing."""

_CANONICAL: Final = msgspec.json.Encoder(order="deterministic")
_DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks for.

    Attributes:
        subject: names what is asked for (16 bytes): a file whatever lines of it, a command, a pattern and where it is
            looked for. Two calls of one subject mean the same.
        exact: names the very call (16 bytes); spacing and the order of keys play no part.
        folder: where a command line runs, as its `cd` says; empty where it does not say. Calls that say two folders
            mean two things.
        lines: which lines of a file are asked for; `None` where that is not clear, or where no file is read.
        renewed: what makes its result another one.
        names: last parts of the paths it names.
    """

    subject: bytes
    exact: bytes
    folder: str = ""
    lines: Lines | None = None
    renewed: Renewal = "never"
    names: frozenset[str] = frozenset()


def asked(found: Classified, arguments: str) -> Asked | None:
    """Say what a call asks for; `None` for calls whose repetition means nothing: changes, plans, memories, polls.

    Args:
        found: where the call belongs.
        arguments: JSON text.

    >>> first, again = '{"command": "cd src && make test 2>&1 | tail -20"}', '{"command": "make   test"}'
    >>> len({asked(classify("Bash", line), line).subject for line in (first, again)})
    1
    """
    if found.kind in data.UNWATCHED_KINDS or found.tool in data.UNWATCHED_TOOLS:
        return None
    given, exact = _object(arguments), exact_name(found, arguments)
    if found.command is not None:
        return _command(found, found.command, exact, _folder(given))
    if found.kind == "shell":
        return None  # the log of something that was started elsewhere: a poll
    if found.kind == "source" and found.target is not None and _only_ranges(given):
        return _file(exact, found.target, lines_of_arguments(given))
    if found.kind == "search" and isinstance(pattern := given.get("pattern", given.get("query")), str):
        paths = [value for key in catalogue_data.PATH_KEYS if isinstance(value := given.get(key), str)]
        return _search(exact, pattern, paths, *(str(given.get(key)) for key in data.SEARCH_FILTERS if given.get(key)))
    if found.kind == "web" and isinstance(url := given.get("url"), str):
        return Asked(_digest("web", url.rstrip("/")), exact)
    changes_with_all = found.kind in ("listing", "mcp", "unknown", "source")
    return Asked(exact, exact, renewed="by_any_change" if changes_with_all else "never")


def exact_name(found: Classified, arguments: str) -> bytes:
    """Name the very call, as `Asked.exact` does, whatever it is: spacing, the order of keys and remarks play no part.

    Args:
        found: where the call belongs.
        arguments: JSON text.
    """
    given = _object(arguments)
    if found.command is not None:
        return _digest("command line", _folder(given), " ".join(found.command.split()))
    return _digest("call", found.tool, _canonical(given, arguments))


def _folder(given: dict[str, object]) -> str:
    """Give the folder that a shell tool is told to run in."""
    return next((value for key in data.FOLDER_KEYS if isinstance(value := given.get(key), str)), "")


def file_subject(path: str) -> bytes:
    """Name the reading of a file, as `Asked.subject` does."""
    return _digest("file", posixpath.normpath(path))


def command_subjects(command: str) -> tuple[bytes, ...]:
    """Name what a command line asks for, as `Asked.subject` does, whatever it is; a lone word may be a path as well."""
    plain = _digest("command", line_of(command).text)
    if len(command.split()) < 2:
        return (plain,)
    arguments = _CANONICAL.encode({"command": command}).decode()
    found = asked(classify("bash", arguments), arguments)
    return (plain,) if found is None else (plain, found.subject)


def _command(found: Classified, command: str, exact: bytes, folder: str) -> Asked | None:
    line = line_of(command)
    words = {stage[0] for stage in line.stages if stage}
    if words & data.POLLS or any(place in command for place in data.OWN_MACHINE):
        return None
    if found.kind == "source" and found.target is not None and _only_shows(line):
        lines = None if line.shortened else lines_of_command(line.stages)
        return _file(exact, found.target, lines)
    if found.kind == "search" and len(line.stages) == 1 and (parts := _pattern_and_paths(line.stages[0])):
        return _search(exact, parts[0], [posixpath.join(line.folder, path) for path in parts[1:] or ("",)])
    place = posixpath.join(folder, line.folder) if line.folder else folder
    return Asked(_digest("command", line.text), exact, place, renewed="by_any_change")


def _file(exact: bytes, path: str, lines: Lines | None) -> Asked:
    names = frozenset({posixpath.basename(posixpath.normpath(path))})
    return Asked(file_subject(path), exact, "", lines, "by_its_files", names)


def _search(exact: bytes, pattern: str, paths: Iterable[str], *filters: str) -> Asked:
    places = sorted(posixpath.normpath(path or ".") for path in paths) or ["."]
    names = frozenset(posixpath.basename(place) for place in places)
    return Asked(_digest("search", pattern, *places, *filters), exact, renewed="by_its_files", names=names)


def _only_shows(line: CommandLine) -> bool:
    """Whether a command line shows lines of a file by their numbers alone, so that it differs in the range only."""
    if not line.stages or any(not stage or stage[0] not in data.RANGE_READERS for stage in line.stages):
        return False
    return all(stage[0] != "sed" or "-n" in stage for stage in line.stages)


def _pattern_and_paths(words: Sequence[str]) -> tuple[str, ...]:
    """Give what a `grep` looks for and where, without its options; empty for other programs."""
    if words[:2] == ("git", "grep"):
        words = words[1:]
    if not words or words[0] not in data.GREPS:
        return ()
    operands, patterns, inverted, at = list[str](), list[str](), "", 1
    while at < len(words):
        word = words[at]
        if word in ("-e", "--regexp") and at + 1 < len(words):
            patterns.append(words[at + 1])
            at += 1
        elif word in data.GREP_VALUES:
            at += 1
        elif not word.startswith("-") or word == "-":
            operands.append(word)
        elif word == "--invert-match" or re.fullmatch(r"-[a-uw-z]*v\w*", word):
            inverted = "not "
        at += 1
    pattern = "\0".join(patterns) if patterns else "".join(operands[:1])
    paths = operands if patterns else operands[1:]
    return (inverted + pattern, *paths) if pattern else ()


def _only_ranges(given: dict[str, object]) -> bool:
    """Whether a read's arguments are a path and which lines of it, and nothing else."""
    known = {*catalogue_data.PATH_KEYS, *catalogue_data.PATH_LIST_KEYS, *RANGE_KEYS, *data.REMARKS}
    return all(key in known or (key == "command" and value == "view") for key, value in given.items())


def _object(arguments: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(arguments, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return {}


def _canonical(given: dict[str, object], arguments: str) -> str:
    """Write arguments so that the order of keys, absent values and remarks play no part."""
    if not given:
        return arguments.strip()
    told = {key: value for key, value in given.items() if value is not None and key not in data.REMARKS}
    return _CANONICAL.encode(told).decode()


def _digest(*parts: str) -> bytes:
    joined = "\0".join(parts).encode(errors="surrogatepass")
    return hashlib.blake2b(joined, digest_size=_DIGEST_BYTES).digest()
