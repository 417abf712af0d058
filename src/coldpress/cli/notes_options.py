"""The options that say whose notes a command works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from coldpress.cli.names import full_lineage
from coldpress.cli.options import config_option, load_for_reading, store_option
from coldpress.config.settings import Settings
from coldpress.engine.notes import lineage_scope, project_scope
from coldpress.model.errors import ConfigError
from coldpress.model.notes import NoteScope
from coldpress.stores.base import Store


@dataclass(frozen=True, slots=True)
class Place:
    """The settings in force, and the project or lineage that the command line names."""

    settings: Settings
    project: str | None
    lineage: str | None

    def check(self) -> None:
        """Raise a usage error where it is not said whose notes are meant, or by no possible name."""
        if self._named() is None and self.settings.notes.project is None:
            raise click.UsageError("whose notes? Give --project NAME or --lineage ID, or set notes.project")

    def asked_for(self, store: Store) -> NoteScope | None:
        """Whose notes the command line names, `None` where it names nobody's.

        Raises:
            UnknownOriginal, AmbiguousOriginal: as for `coldpress.cli.names.full_lineage`.
        """
        scope = self._named()
        return scope if self.lineage is None else lineage_scope(full_lineage(store, self.lineage))

    def required(self, store: Store) -> NoteScope:
        """Whose notes are meant, by the command line or else by the settings; for after `check`."""
        scope = self.asked_for(store) or self.settings.notes.project_scope
        assert scope is not None
        return scope

    def _named(self) -> NoteScope | None:
        """Read the command line alone."""
        try:
            if self.lineage is not None:
                return lineage_scope(self.lineage)
            return None if self.project is None else project_scope(self.project)
        except ConfigError as error:  # what the command line says is no setting
            raise click.UsageError(str(error)) from error


def place_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--config`, `--store`, `--project` and `--lineage`, and hand them to a command as one `place`."""

    @wraps(command)
    def placed(
        *, config_path: Path | None, store_path: Path | None, project: str | None, lineage: str | None, **others: Any
    ) -> None:
        if project is not None and lineage is not None:
            raise click.UsageError("give --project or --lineage, not both")
        command(place=Place(load_for_reading(config_path, store_path), project, lineage), **others)

    with_lineage = click.option(
        "--lineage",
        metavar="ID",
        help="Notes of one conversation, as coldpress ledger conversations names it, or its first 6 digits.",
    )(placed)
    with_project = click.option("--project", metavar="NAME", help="Notes of a project. Else notes.project.")(
        with_lineage
    )
    return config_option(store_option(with_project))
