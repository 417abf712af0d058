"""Tell what a shell command line gives back, by the command words in it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.engine import shellkinds_data as data
from coldpress.engine.catalogue_data import Kind
from coldpress.engine.shellwords import Pipeline, Redirect, split

MAX_NESTED_SHELLS: Final = 4


@dataclass(frozen=True, slots=True)
class ShellReading:
    """What a command line gives back.

    `files` are, for a `source`, where its text comes from: files, joined with a literal `cd` before them where there
    is one, and `None` for what has no single name (`*.py`, `$f`, another command beside it). `runs_program` is true
    where something other than a reader, search or listing runs, so that the text may tell of a failed build or test.
    """

    kind: Kind
    files: tuple[str | None, ...] = ()
    runs_program: bool = False


_UNREADABLE: Final = ShellReading("unknown", runs_program=True)
_PROGRAM: Final = ShellReading("shell", runs_program=True)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*(\[[^\]]*\])?\+?=")
_EXPANDED: Final = re.compile(r"[$*?\[\]{}~]")
_IN_PLACE: Final = re.compile(r"-[a-zA-Z]*i|--in-place")
_PERL_IN_PLACE: Final = re.compile(r"-[acelnpsw0]*i")
_REVISION_PATH: Final = re.compile(r"[^:\s-][^:\s]*:[^/:\s][^:\s]*$")


def read_command(command: str, *, nested: int = 0) -> ShellReading:
    """Classify a command line.

    A change to a file or a diff anywhere makes the whole a `mutation` or `diff`; text of a file anywhere else makes
    it a `source`. A mixture of the rest is a `shell` log, since neither the form of a search nor of a listing fits
    it. `unknown` where the line cannot be read (an open quote, say).

    >>> read_command("cd src && sed -n '1,80p' a.py | head -40")
    ShellReading(kind='source', files=('src/a.py',), runs_program=False)
    """
    pipelines = split(command)
    if pipelines is None or nested > MAX_NESTED_SHELLS:
        return _UNREADABLE
    readings: list[ShellReading] = []
    folder = ""
    for pipeline in pipelines:
        folder = _changed_folder(pipeline, folder)
        reading = _pipeline(pipeline, nested)
        if reading is not None:
            files = tuple(posixpath.join(folder, f) if f and folder else f for f in reading.files)
            readings.append(ShellReading(reading.kind, files, reading.runs_program))
    return _combine(readings)


def numbers_lines(command: str, *, nested: int = 0) -> bool:
    """Whether a reader in a command line writes a number before each line.

    >>> numbers_lines("cat -n a.py | head"), numbers_lines("cat a.py")
    (True, False)
    """
    if nested > MAX_NESTED_SHELLS:
        return False
    for pipeline in split(command) or ():
        for stage in pipeline:
            words = _command(stage.words)
            if words[:1] == ("nl",) or (words and _numbering_option(words)):
                return True
            if words and words[0] in data.SHELLS and any(numbers_lines(w, nested=nested + 1) for w in words[1:]):
                return True
    return False


def _numbering_option(words: tuple[str, ...]) -> bool:
    option = data.NUMBERING.get(words[0])
    return option is not None and any(option.fullmatch(word) for word in words[1:])


def _combine(readings: Sequence[ShellReading]) -> ShellReading:
    kinds = {reading.kind for reading in readings}
    files = tuple(f for reading in readings for f in reading.files or (None,))
    runs = any(reading.runs_program for reading in readings)
    most_careful: tuple[Kind, ...] = ("mutation", "diff", "unknown", "source")
    for kind in most_careful:
        if kind in kinds:
            return ShellReading(kind, files if kind == "source" else (), runs)
    if len(kinds) == 1:
        return ShellReading(kinds.pop(), runs_program=runs)
    return ShellReading("shell", runs_program=runs or not kinds)


def _changed_folder(pipeline: Pipeline, folder: str) -> str:
    words = pipeline[0].words
    if len(pipeline) == 1 and len(words) == 2 and words[0] in ("cd", "pushd") and not _EXPANDED.search(words[1]):
        return posixpath.join(folder, words[1])
    return folder


def _pipeline(pipeline: Pipeline, nested: int) -> ShellReading | None:
    """Classify by the first stage that says something; later ones count where they do more than filter."""
    reading: ShellReading | None = None
    for position, stage in enumerate(pipeline):
        words = _command(stage.words)
        if _writes_file(stage.redirects):
            return ShellReading("mutation", runs_program=True)
        following = _stage(words, stage.redirects, nested)
        if following is not None and following.kind in ("mutation", "diff"):
            return following
        if position > 0 and words and words[0] in data.FILTERS:
            continue
        if position == 0 or reading is None or following is None:
            reading = following or reading
        elif words[0] == "xargs" or following.kind == "source":
            reading = following
        else:
            reading = _PROGRAM
    return reading


def _command(words: Sequence[str]) -> tuple[str, ...]:
    """Drop keywords, assignments and wrappers before the command word, and the folder it is in."""
    at = 0
    while at < len(words):
        word = posixpath.basename(words[at]) or words[at]
        if words[at] in data.KEYWORDS or _ASSIGNMENT.match(words[at]):
            at += 1
        elif word in data.WRAPPERS and at + 1 < len(words):
            values, operands = data.WRAPPERS[word]
            at = _after_options(words, at + 1, values) + operands
        else:
            return (word.lower() if "-" in word else word, *words[at + 1 :])
    return ()


def _after_options(words: Sequence[str], at: int, values: frozenset[str]) -> int:
    """Skip options from `at` on, with the value of those that take one; gives the index of what follows."""
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in values else 1
    return at


def _writes_file(redirects: tuple[Redirect, ...]) -> bool:
    for redirect in redirects:
        if redirect.operator not in (">", ">>", ">|", ">&", "&>", "&>>", "<>"):
            continue
        if redirect.operator == ">&" and (redirect.target.isdigit() or redirect.target == "-"):
            continue
        if redirect.target.lower() not in data.HARMLESS_TARGETS:
            return True
    return False


def _stage(words: tuple[str, ...], redirects: tuple[Redirect, ...], nested: int) -> ShellReading | None:
    """Classify one command; `None` where it says nothing that matters."""
    if not words or words[0] in data.NOT_COMMANDS or words[0] in data.NEUTRAL:
        return None
    word, rest = words[0], words[1:]
    if word in data.SHELLS:
        return _nested_shell(rest, nested)
    if word == "xargs":
        inner = _command(rest[_after_options(rest, 0, data.XARGS_VALUES) :])
        return _xargs(inner, nested)
    if word == "find":
        return _find(rest, nested)
    if word in ("git", "gh", "hg", "svn", "jj"):
        return _version_control(word, rest)
    if word == "tee":
        writes = [w for w in rest if not w.startswith("-") and w.lower() not in data.HARMLESS_TARGETS]
        return ShellReading("mutation") if writes else None
    if word in ("perl", "ruby") and any(_PERL_IN_PLACE.match(w) for w in rest[:3]):
        return ShellReading("mutation", runs_program=True)
    if word == "rg" and "--files" in rest:
        return ShellReading("listing")
    if word in data.KIND_OF_COMMAND:
        return ShellReading(data.KIND_OF_COMMAND[word], runs_program=word in data.MUTATIONS)
    if word in data.READERS:
        return _reader(word, rest, redirects)
    return _PROGRAM


def _nested_shell(rest: tuple[str, ...], nested: int) -> ShellReading:
    """Look inside `bash -c 'command line'`; any other use of a shell runs a script."""
    for at, word in enumerate(rest[:-1]):
        if re.fullmatch(r"-[a-zA-Z]*c", word):
            return read_command(rest[at + 1], nested=nested + 1)
    return _PROGRAM


def _xargs(inner: tuple[str, ...], nested: int) -> ShellReading | None:
    reading = _stage(inner, (), nested)
    if inner and inner[0] in data.READERS and (reading is None or reading.kind != "mutation"):
        return ShellReading("source", (None,))
    return reading


def _find(rest: tuple[str, ...], nested: int) -> ShellReading:
    for at, word in enumerate(rest):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            inner = _xargs(_command(rest[at + 1 :]), nested)
            if inner is not None and inner.kind != "search":
                return inner
    return ShellReading("search")


def _version_control(word: str, rest: tuple[str, ...]) -> ShellReading:
    if word != "git":
        is_diff = rest[:1] == ("diff",) or rest[:2] == ("pr", "diff")
        return ShellReading("diff", runs_program=True) if is_diff else _PROGRAM
    at = _after_options(rest, 0, data.GIT_VALUES)
    subcommand, arguments = "".join(rest[at : at + 1]), rest[at + 1 :]
    patch = any(a in data.GIT_PATCH_OPTIONS or a.startswith("-L") for a in arguments)
    if subcommand == "show" and any(_REVISION_PATH.match(a) for a in arguments):
        return ShellReading("source", (None,))
    if subcommand in ("log", "reflog", "whatchanged") and patch:
        return ShellReading("diff")
    if subcommand == "stash" and (arguments[:1] == ("show",) or patch):
        return ShellReading("diff")
    if subcommand == "format-patch" and "--stdout" in arguments:
        return ShellReading("diff")
    kind = data.GIT_KINDS.get(subcommand)
    if kind is None:
        return _PROGRAM
    return ShellReading(kind, (None,) if kind == "source" else (), kind in ("mutation", "diff"))


def _reader(word: str, rest: tuple[str, ...], redirects: tuple[Redirect, ...]) -> ShellReading:
    """Classify `cat` and its kin: a source where they name a file or are fed one, else a log."""
    if word == "sed" and any(_IN_PLACE.match(w) for w in rest if w.startswith("-")):
        return ShellReading("mutation")
    if word in ("awk", "gawk") and "inplace" in rest:
        return ShellReading("mutation")
    if word == "yq" and any(w in ("-i", "--inplace") for w in rest):
        return ShellReading("mutation")
    if word == "sort" and any(w == "-o" or w.startswith("--output") for w in rest):
        return ShellReading("mutation")
    fed = [r.target for r in redirects if r.operator == "<"]
    files = tuple(None if _EXPANDED.search(f) else f for f in (*_operands(word, rest), *fed) if f not in ("", "-"))
    return ShellReading("source", files) if files else _PROGRAM


def _operands(word: str, rest: tuple[str, ...]) -> list[str]:
    if word in data.TEXT_ONLY:
        return []
    values = data.READER_VALUES.get(word, frozenset())
    operands: list[str] = []
    program_given = word not in data.PROGRAM_FIRST
    at, options_over = 0, False
    while at < len(rest):
        current = rest[at]
        if options_over or not current.startswith("-") or current == "-":
            if program_given:
                operands.append(current)
            program_given = True
        elif current == "--":
            options_over = True
        else:
            program_given = program_given or current in data.PROGRAM_OPTIONS or current.startswith("--expression=")
            at += current in values
        at += 1
    # `tail +5 f` and `head 20`: an operand that is only a number is none.
    return [o for o in operands if not re.fullmatch(r"\+\d+", o)]
