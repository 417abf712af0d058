"""Options that the commands of the lab share: recordings, arms and tariffs, and what is said where one is wrong."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from coldpress.lab.tariffs import TARIFFS

if TYPE_CHECKING:
    from coldpress.lab.arm_files import Arm

Command = TypeVar("Command", bound=Callable[..., object])

RECORDED: Final = "recorded"
"""The tariff of each recording's own main model."""

CLAUDE_CODE: Final = Path(".claude/projects")
"""Where Claude Code keeps its sessions, in the home folder."""

EXTRAS: Final = {
    "pyarrow": "lab",
    "jinja2": "lab",
    "matplotlib": "lab",
    "dask": "dask",
    "distributed": "dask",
    "ray": "ray",
}
"""Libraries that the lab needs, and the extra of coldpress that brings each."""


def paths_argument(command: Command) -> Command:
    """Add `PATH...`: files and folders of recordings, which need not be given where Claude Code's folder is there."""
    return click.argument("paths", nargs=-1, metavar="PATH", type=click.Path(path_type=Path))(command)


def arm_option(about: str) -> Callable[[Command], Command]:
    """Add `--arm ARM`, which may be given several times."""
    return click.option("--arm", "arm_names", multiple=True, metavar="ARM", help=about)


def prices_option(command: Command) -> Command:
    """Add `--prices TARIFF`, which may be given several times."""
    return click.option(
        "--prices",
        "tariff_names",
        multiple=True,
        metavar="TARIFF",
        help=f"Prices and cache lifetimes: {', '.join(TARIFFS)}, or `{RECORDED}`, those of each recording's own main "
        f"model; several times for several. Else `{RECORDED}`.",
    )(command)


def jobs_option(command: Command) -> Command:
    """Add `--jobs N`."""
    return click.option(
        "--jobs", type=click.IntRange(min=1), help="Recordings that are worked on at the same time. Else one a core."
    )(command)


def paths_or_default(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Give the paths that were named, or Claude Code's folder where none was.

    Raises:
        click.UsageError: a path is not there, or none was given and that folder is not there; says what to give.
    """
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise click.UsageError(
            f"there is no file or folder {missing[0]}; give files or folders that hold recordings of an agent's runs"
        )
    if paths:
        return tuple(paths)
    own = Path.home() / CLAUDE_CODE
    if own.is_dir():
        return (own,)
    raise click.UsageError(
        f"no recordings: no PATH was given, and there is no folder ~/{CLAUDE_CODE}; give a file or a folder of "
        "recordings. coldpress lab import --help says which kinds are read."
    )


def arms_of(names: Iterable[str], *, option: str = "--arm") -> tuple[Arm, ...]:
    """Find arms by name or in settings files, each once, in the given order.

    Args:
        names: of named arms, or paths of settings files.
        option: that they were given with, for what is said where one is wrong.

    Raises:
        click.BadParameter: there is none of a name, and says which was likely meant; or two have one name.
        ConfigError: a settings file is wrong.
    """
    found = tuple(_arm(name, option) for name in dict.fromkeys(names))
    for arm in found:
        if sum(arm.name == other.name for other in found) > 1:
            raise click.BadParameter(f"two arms are named {arm.name}; rename a file", param_hint=option)
    return found


def _arm(name: str, option: str) -> Arm:
    from coldpress.lab.arm_files import load_arm, named_arms

    named = named_arms()
    if name in named:
        return named[name]
    path = Path(name)
    if path.is_file():
        arm = load_arm(path)
        return replace(arm, name=path.name) if arm.name in named else arm  # a coldpress.toml is not the arm coldpress
    if path.suffix in (".toml", ".json"):
        raise click.BadParameter(f"there is no file {name}; give a settings file, or a name", param_hint=option)
    raise click.BadParameter(
        f"no arm {name!r}{_meant(name, named)}; coldpress lab arms lists them, and a settings file is one too",
        param_hint=option,
    )


def tariffs_of(names: Iterable[str]) -> tuple[str, ...]:
    """Check names of tariffs, and give each once, in the given order; `recorded` where there are none.

    Raises:
        click.BadParameter: there is none of a name; says which there are.
    """
    known = (RECORDED, *TARIFFS)
    given = tuple(dict.fromkeys(names)) or (RECORDED,)
    for name in given:
        if name not in known:
            raise click.BadParameter(
                f"no tariff {name!r}{_meant(name, known)}; there are {', '.join(known)}", param_hint="--prices"
            )
    return given


def _meant(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f", did you mean {near[0]}?" if near else ""


@contextmanager
def extra_needed(what: str) -> Iterator[None]:
    """Say that a library of an extra is missing, and how to get it, where something inside needs one.

    Args:
        what: needs it, a command or an option.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in EXTRAS:
            raise
        raise click.UsageError(
            f"{what} needs {name}, which is not installed; install it with: pip install 'coldpress[{EXTRAS[name]}]'"
        ) from error


def check_writable(folder: Path, option: str) -> None:
    """Refuse a folder for results that cannot be made or written, before any work is done.

    Raises:
        click.BadParameter: says why.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.BadParameter(
            f"the folder {folder} cannot be made: {error.strerror}; name another", param_hint=option
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise click.BadParameter(f"the folder {folder} cannot be written; name another", param_hint=option)


def check_file(target: Path, option: str, *, force: bool, folder_may_be_made: bool = False) -> None:
    """Refuse a file that would be overwritten, or that cannot be written, before any work is done.

    Raises:
        click.BadParameter: says why.
    """
    if target.is_dir():
        raise click.BadParameter(f"{target} is a folder; name a file", param_hint=option)
    if target.exists() and not force:
        raise click.BadParameter(f"{target} is there already; --force overwrites it", param_hint=option)
    if folder_may_be_made:
        check_writable(target.parent, option)
    elif not target.parent.is_dir():
        raise click.BadParameter(
            f"{target} cannot be written: there is no folder {target.parent}; make it first", param_hint=option
        )


def check_report(target: Path, option: str, *, force: bool) -> None:
    """Refuse a report that would overwrite a file, or one in the folder of its pictures, before any work is done.

    Raises:
        click.BadParameter: says why.
    """
    check_file(target, option, force=force)
    folder = target.with_name(f"{target.stem}-files")  # as `coldpress.lab.report.write_report` names it
    if folder.exists() and not folder.is_dir():
        raise click.BadParameter(f"{folder}, for pictures and figures, is a file; name another", param_hint=option)
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise click.BadParameter(
            f"{folder}, for pictures and figures, holds files already; --force overwrites them", param_hint=option
        )


def percent(share: float | None) -> float | None:
    """Give a share in percent, to a ten-thousandth, as JSON shows it."""
    return None if share is None else round(100 * share, 4)
