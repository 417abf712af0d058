"""Turn what a session is given (a settings file, a store's path, a window) into settings and a store."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from coldpress.config import Overrides, Settings, load
from coldpress.config.notes_keys import NotesKeys, notes_problems
from coldpress.engine.budget import Budgets
from coldpress.model.errors import ConfigError
from coldpress.model.records import Operation
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore

StrPath = str | os.PathLike[str]


def settings_for(
    *,
    file: StrPath | None,
    settings: Settings | None,
    operation: Operation | None,
    window_tokens: int | None,
    project: str | None,
) -> Settings:
    """Give the settings of a session: those of a file, or ready ones, or the defaults, with keyword arguments on top.

    Without a file none is looked for, unlike the gateway does: a library should not change with the working directory.

    Raises:
        ConfigError: the file is wrong, both a file and settings are given, or an argument is out of its range.
    """
    if file is not None and settings is not None:
        raise ConfigError("a session takes settings_file or settings, not both")
    if settings is None:
        wished = Overrides(operation=operation)
        # What the session itself never sends needs no key.
        if file is not None:
            settings = load(Path(file), overrides=wished, secrets="optional")
        else:
            settings = load(None, environ={}, directory=Path(__file__).parent, overrides=wished, secrets="optional")
    elif operation is not None:
        providers = tuple(replace(provider, operation=operation) for provider in settings.providers)
        settings = replace(settings, operation=operation, providers=providers)
    if window_tokens is not None:
        if not isinstance(window_tokens, int) or isinstance(window_tokens, bool) or window_tokens < 1:
            raise ConfigError(f"window_tokens is {window_tokens!r}; use a whole number of tokens, such as 120_000")
        settings = replace(settings, budgets=_with_window(settings, window_tokens))
    if project is not None:
        settings = replace(settings, notes=_with_project(settings, project))
    return settings


def open_store(path: StrPath | None, settings: Settings, *, clock: Callable[[], float]) -> Store:
    """Open the file at `path`, which may be a gateway's, or keep everything in memory where there is none.

    Raises:
        StoreError: the file cannot be used.
    """
    if path is None:
        return MemoryStore(bounds=settings.store.bounds, raw_log=settings.store.raw_log, clock=clock)
    return SqliteStore(Path(path), bounds=settings.store.bounds, raw_log=settings.store.raw_log, clock=clock)


def _with_window(settings: Settings, window_tokens: int) -> Budgets:
    """Put a window before what the defaults and every rule say."""
    budgets = settings.budgets
    rules = tuple(replace(rule, window_tokens=window_tokens) for rule in budgets.rules)
    return Budgets(replace(budgets.default, window_tokens=window_tokens), rules)


def _with_project(settings: Settings, project: str) -> NotesKeys:
    notes = replace(settings.notes, project=project)
    wrong = notes_problems(notes)
    if wrong:
        raise ConfigError("\n".join(wrong))
    return notes
