"""Decide which plugins may act: installed once, well formed, approved in this version, with settings that hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from coldpress.config.plugin_keys import BUILTIN_PLUGINS
from coldpress.config.plugin_settings import Approval, PluginSettings
from coldpress.config.read import nearest, read_table
from coldpress.plugins.builtin import BUILTIN
from coldpress.plugins.declaration import PluginDeclaration
from coldpress.plugins.discovery import Found, Loaded, Unloadable, load, named

ApprovalState = Literal["not needed", "approved", "not approved", "other version", "declares more", "unknown"]
Source = Literal["built-in", "installed", "missing"]


@dataclass(frozen=True, slots=True)
class Admission:
    """What is known of one plugin, and whether it may act.

    Attributes:
        source: where it comes from.
        place: in `plugins.order`, from 1; `None` where it is not on.
        approval: how it stands with the user's approval; `unknown` where it could not be loaded to compare.
        why: why it may not act, the end of a sentence that begins with its name; empty where it may.
        declaration: what it says of itself, `None` where it was not loaded.
        package: that it was installed with, for people.
        loaded: its hooks, of another package's plugin only.
        settings: a value of its settings type; `None` where it has none or they do not hold.
    """

    name: str
    source: Source
    place: int | None
    approval: ApprovalState
    why: str = ""
    declaration: PluginDeclaration | None = None
    package: str = ""
    loaded: Loaded | None = None
    settings: object = None

    @property
    def acts(self) -> bool:
        """Whether it is on and may act."""
        return self.place is not None and not self.why

    @property
    def warning(self) -> str:
        """For start and `coldpress check`: what is on and does nothing, and why; empty where all is well."""
        if self.place is None or not self.why:
            return ""
        return f"plugins.order: {self.name} does nothing, since it {self.why}"


def admissions(
    names: Sequence[str], settings: PluginSettings, found: Sequence[Found], *, loading: Literal["approved", "all"]
) -> tuple[Admission, ...]:
    """Judge plugins by name, in the order of the names.

    Args:
        names: of built-in plugins, installed ones, or neither.
        settings: what is on and approved.
        found: what is installed.
        loading: `approved` imports no code of a plugin that nobody approved; `all` does, to tell what it declares.
    """
    return tuple(_admission(name, settings, found, loading) for name in names)


def _admission(
    name: str, settings: PluginSettings, found: Sequence[Found], loading: Literal["approved", "all"]
) -> Admission:
    place = settings.order.index(name) + 1 if name in settings.order else None
    builtin = next((declaration for known, declaration in BUILTIN.items() if known == name), None)
    if builtin is not None:
        return Admission(name, "built-in", place, "not needed", declaration=builtin, package="coldpress")
    own = named(name, found)
    if not own:
        near = nearest(name, (*BUILTIN_PLUGINS, *(one.name for one in found)))
        meant = f"; did you mean {near}?" if near else ""
        return Admission(name, "missing", place, "unknown", f"is not built in and no installed package has it{meant}")
    package = ", ".join(one.package for one in own)
    if len(own) > 1:
        why = f"is in more than one installed package ({package}); uninstall all but one"
        return Admission(name, "installed", place, "unknown", why, package=package)
    approval = settings.approval(name)
    if approval is None and loading == "approved":
        return Admission(name, "installed", place, "not approved", _NOT_APPROVED.format(name), package=package)
    loaded = load(own[0])
    match loaded:
        case Unloadable(why):
            state: ApprovalState = "not approved" if approval is None else "unknown"
            return Admission(name, "installed", place, state, why, package=package)
        case Loaded():
            return _of_loaded(loaded, place, approval, settings, package)
        case _:
            assert_never(loaded)


_NOT_APPROVED = "is not approved; coldpress plugins approve {} shows what it wants to do"


def _of_loaded(
    loaded: Loaded, place: int | None, approval: Approval | None, settings: PluginSettings, package: str
) -> Admission:
    declared = loaded.declaration
    state, why = _approved(declared, approval)
    value, problem = _settings_of(declared, settings)
    return Admission(
        declared.name, "installed", place, state, why or problem, declared, package, loaded, None if problem else value
    )


def _approved(declared: PluginDeclaration, approval: Approval | None) -> tuple[ApprovalState, str]:
    again = f"coldpress plugins approve {declared.name}"
    if approval is None:
        return "not approved", _NOT_APPROVED.format(declared.name)
    if approval.version != declared.version:
        why = f"is installed in version {declared.version} and approved in version {approval.version}; {again}"
        return "other version", why
    more = [word for word in declared.capabilities if word not in approval.capabilities]
    if more:
        return "declares more", f"declares {', '.join(more)}, which was not approved; {again}"
    return "approved", ""


def _settings_of(declared: PluginDeclaration, settings: PluginSettings) -> tuple[object, str]:
    at = f"plugins.config.{declared.name}"
    table = settings.tables.get(declared.name, {})
    if declared.settings is None:
        return None, f"has no settings, and {at} gives it some" if table else ""
    problems: list[str] = []
    try:
        value = read_table(declared.settings, table, problems, at=at)
    except (TypeError, ValueError) as error:  # its own check of the values together
        return None, f"does not take its settings: {at}: {error}"
    return value, f"has settings that do not hold: {'; '.join(problems)}" if problems else ""
