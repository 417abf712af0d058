"""Find a settings file and parse it, TOML or JSON, into plain values."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from coldpress.config.masked import looks_like_key
from coldpress.model.errors import ConfigError

FILE_NAME = "coldpress.toml"

_PLACE = re.compile(r"(.*) \(at (.*)\)", re.DOTALL)
_TUPLE = re.compile(r"\('([^()]*?)',?\)")
_NAME_GAP = re.compile(r"', '")


def find_file(environ: Mapping[str, str], directory: Path) -> Path | None:
    """Look for a settings file where nobody named one.

    The first of `coldpress.toml` in `directory` and `coldpress/coldpress.toml` under `$XDG_CONFIG_HOME`
    (`~/.config` where that is unset); `None` where there is neither.
    """
    candidates = (directory / FILE_NAME, xdg(environ, "XDG_CONFIG_HOME", ".config") / "coldpress" / FILE_NAME)
    return next((path for path in candidates if path.is_file()), None)


def xdg(environ: Mapping[str, str], variable: str, under_home: str) -> Path:
    """Give one of the XDG base directories; as its specification asks, a relative value counts as unset."""
    value = environ.get(variable, "")
    if value and Path(value).is_absolute():
        return Path(value)
    home = environ.get("HOME")
    return (Path(home) if home else Path.home()) / under_home


def parse_file(path: Path) -> object:
    """Read and parse a file: JSON where its name ends in `.json`, TOML else.

    Raises:
        ConfigError: it cannot be read or is not valid.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 at byte {error.start}") from error
    return parse_text(path, text)


def parse_text(path: Path, text: str) -> object:
    """Parse the text of a file.

    Raises:
        ConfigError: it is not valid.
    """
    if path.suffix.lower() == ".json":
        return _json(path, text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {_toml_problem(str(error))}") from error


def _toml_problem(said: str) -> str:
    """Put the parser's words in order: the place first, and names as they stand in the file.

    >>> _toml_problem("Cannot declare ('store', 'bounds') twice (at line 3, column 15)")
    'not valid TOML at line 3, column 15: Cannot declare store.bounds twice'
    """
    told = _PLACE.fullmatch(said)
    words, place = (told[1], f" at {told[2]}") if told else (said, "")
    words = _TUPLE.sub(lambda found: _NAME_GAP.sub(".", found[1]), words)
    return f"not valid TOML{place}: {words}" if not looks_like_key(words) else f"not valid TOML{place}"


def _json(path: Path, text: str) -> object:
    def without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            repeated = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"{path}: the key {repeated!r} stands twice in one object; keep one of them")
        return found

    try:
        parsed: object = json.loads(text, object_pairs_hook=without_repeats)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: is not valid JSON: {error}") from error
    return parsed
