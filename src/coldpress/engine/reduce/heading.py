"""Say a search result's path once per file: `path:12:text`, `path-13-text` become `path`, `12:text`, `13-text`.

This is the form `rg --heading` prints. Every line keeps its own number and its own sign for hit (`:`) or context (`-`).
Claude Code writes hits with a relative path and context lines with an absolute one; both stand under the absolute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from coldpress.engine.reduce.steps import Stepped

MAX_PATH_CHARS = 1024
MAX_TRIES = 50_000
"""Ends of paths that are looked up to see what relative paths lack; if it takes more, they are taken as they stand."""

_HIT = re.compile(r"([^\0]{1,1024}?):(\d+):")
_CONTEXT = re.compile(r"-(\d+)-")
_PATH = re.compile(r"[^\0]*(?:/|\.[A-Za-z]\w*$)")
_NUMBERED = re.compile(r"\d+([:-])")


@dataclass(frozen=True, slots=True)
class SearchLine:
    """One line that a search tool wrote for one line of a file; `body` is number, sign and the line's text."""

    path: str
    sign: str
    body: str


@dataclass(frozen=True, slots=True)
class _Recipe:
    """`headers`: indexes of the lines that were added. `plain`: lines that look numbered and are not.
    `root`: what relative spellings lack; `relative`: the signs whose lines are spelled so; `odd`: the
    lines spelled the other way.
    """

    headers: list[int]
    plain: list[int]
    root: str
    relative: str
    odd: list[int]


@dataclass(frozen=True, slots=True)
class Search:
    """A search result, line by line (`None` where a line is neither hit nor context).

    `root` is what the context lines' paths have before the hits' paths, empty where both are spelled alike.
    """

    lines: tuple[SearchLine | None, ...]
    root: str

    def full_path(self, path: str) -> str:
        """Spell a hit's path as the context lines do."""
        return path if not self.root or path.startswith("/") else self.root + path


def parse(lines: Sequence[str]) -> Search:
    """Read lines as `path:number:text` or `path-number-text`.

    A context line counts only if its path, or its end after a slash, is the path of some hit, since
    both file names and text may hold `-1-`.
    """
    hits = tuple(_hit(line) for line in lines)
    known = {hit.path for hit in hits if hit is not None}
    root = _root(lines, hits, known)
    context = known | {root + path for path in known if not path.startswith("/")}
    return Search(
        tuple(hit or _context(line, context) for hit, line in zip(hits, lines, strict=True)),
        root,
    )


def press(text: str) -> Stepped | None:
    """Group a search result by file; `None` where that is not shorter."""
    lines = text.split("\n")
    parsed = parse(lines)
    out: list[str] = []
    recipe = _Recipe([], [], parsed.root, _usual_spelling(parsed), [])
    current: str | None = None
    for line, found in zip(lines, parsed.lines, strict=True):
        if found is None:
            if _NUMBERED.match(line):
                recipe.plain.append(len(out))
            out.append(line)
            continue
        path = parsed.full_path(found.path)
        if path != current:
            recipe.headers.append(len(out))
            out.append(path)
            current = path
        if (path != found.path) != _spelled_short(path, found.sign, recipe):
            recipe.odd.append(len(out))
        out.append(found.body)
    pressed = "\n".join(out)
    return Stepped(pressed, msgspec.json.encode(recipe)) if len(pressed) < len(text) else None


def restore(text: str, params: bytes) -> str:
    """Undo `press`."""
    recipe = msgspec.json.decode(params, type=_Recipe)
    headers, plain, odd = set(recipe.headers), set(recipe.plain), set(recipe.odd)
    out: list[str] = []
    path: str | None = None
    for index, line in enumerate(text.split("\n")):
        if index in headers:
            path = line
            continue
        sign = _NUMBERED.match(line)
        if path is None or sign is None or index in plain:
            out.append(line)
            continue
        short = _spelled_short(path, sign[1], recipe) != (index in odd)
        out.append((path[len(recipe.root) :] if short else path) + sign[1] + line)
    return "\n".join(out)


def placed_lines(text: str, params: bytes) -> dict[int, int]:
    """Say below which added line each hit and context line of a pressed search stands; all are counted from 0."""
    recipe = msgspec.json.decode(params, type=_Recipe)
    headers, plain = set(recipe.headers), set(recipe.plain)
    placed: dict[int, int] = {}
    header: int | None = None
    for index, line in enumerate(text.split("\n")):
        if index in headers:
            header = index
        elif header is not None and index not in plain and _NUMBERED.match(line):
            placed[index] = header
    return placed


def _spelled_short(path: str, sign: str, recipe: _Recipe) -> bool:
    return bool(recipe.root) and path.startswith(recipe.root) and sign in recipe.relative


def _usual_spelling(parsed: Search) -> str:
    signs = {line.sign for line in parsed.lines if line is not None and parsed.root and not line.path.startswith("/")}
    return "".join(sorted(signs))


def _hit(line: str) -> SearchLine | None:
    match = _HIT.match(line)
    if match is None or not _PATH.match(match[1]):
        return None
    return SearchLine(match[1], ":", line[match.end(1) + 1 :])


def _root(lines: Sequence[str], hits: Sequence[SearchLine | None], known: set[str]) -> str:
    relative = {path for path in known if not path.startswith("/")}
    names = {path.rpartition("/")[2] for path in relative}
    tries = 0
    for line, hit in zip(lines, hits, strict=True):
        if hit is not None or not line.startswith("/"):
            continue
        for match in _CONTEXT.finditer(line, 0, MAX_PATH_CHARS) if names else ():
            path = line[: match.start()]
            if path.rpartition("/")[2] not in names:
                continue
            tries += path.count("/")
            if tries > MAX_TRIES:
                return ""
            tails = [tail for tail in _tails(path) if tail in relative]
            if tails:
                return path[: -len(min(tails))]
    return ""


def _tails(path: str) -> Iterator[str]:
    """What stands behind each slash of a path."""
    at = path.find("/")
    while at >= 0:
        yield path[at + 1 :]
        at = path.find("/", at + 1)


def _context(line: str, known: set[str]) -> SearchLine | None:
    for match in _CONTEXT.finditer(line, 0, MAX_PATH_CHARS) if known else ():
        path = line[: match.start()]
        if path in known:
            return SearchLine(path, "-", line[match.start() + 1 :])
    return None
