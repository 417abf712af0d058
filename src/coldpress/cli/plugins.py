"""`coldpress plugins`: list, show and approve plugins."""

from __future__ import annotations

from pathlib import Path

import click

from coldpress.cli.options import config_option, json_option, load_for_reading
from coldpress.cli.output import print_json, talk, warn
from coldpress.cli.plugins_approval import approval_lines, write_approval
from coldpress.cli.plugins_view import (
    Shown,
    approval_of,
    plugin_details,
    plugin_object,
    print_capabilities,
    print_details,
    print_list,
)
from coldpress.cli.reach import running_plugins
from coldpress.config.files import FILE_NAME
from coldpress.config.plugin_keys import BUILTIN_PLUGINS
from coldpress.config.settings import Settings
from coldpress.model.errors import ColdpressError, UnknownPlugin
from coldpress.plugins.admission import Admission, admissions
from coldpress.plugins.discovery import Found, installed

_WHAT_IT_IS = (
    "It is Python code and runs inside the gateway. coldpress hands it nothing else, takes nothing else from it and "
    "writes down where it tries; that does not keep code which means harm from anything. Approve what you trust."
)


@click.group("plugins")
def command() -> None:
    """Show and approve plugins.

    There are built-in ones and those of installed packages. A plugin works where `plugins.order` in the settings names
    it. One from another package must be approved as well, by name and version, with what it may do. These commands
    import the installed plugins, which runs their code.
    """


@command.command("list")
@config_option
@json_option
def list_(*, config_path: Path | None, as_json: bool) -> None:
    """List plugins: those that are on first, in their order.

    State is on, off, idle (it is in the order and does nothing; stderr says why) or resting (after faults, in the
    running gateway). Faults are those that the running gateway tells of, - where none answers.
    """
    settings = load_for_reading(config_path)
    found = installed()
    order = settings.plugins.order
    rest = sorted({*BUILTIN_PLUGINS, *(one.name for one in found)} - {*order})
    plugins = _shown(settings, found, (*order, *rest))
    if as_json:
        print_json({"plugins": [plugin_object(shown) for shown in plugins]})
        return
    print_list(plugins)
    for shown in plugins:
        if shown.admission.warning:
            warn(shown.admission.warning)


@command.command("show")
@click.argument("name", metavar="NAME")
@config_option
@json_option
def show(*, name: str, config_path: Path | None, as_json: bool) -> None:
    """Show one plugin: what it does, may do and can be told, and what its approval would write.

    Exit code 3: there is no such plugin.
    """
    settings = load_for_reading(config_path)
    found = installed()
    (shown,) = _shown(settings, found, (name,))
    _require(shown.admission)
    if as_json:
        print_json(plugin_details(shown))
    else:
        print_details(shown)


@command.command("approve")
@click.argument("name", metavar="NAME")
@config_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def approve(*, name: str, config_path: Path | None, yes: bool) -> None:
    """Approve one plugin, in its installed version, for what it declares, and write that into the settings file.

    Comments in a TOML file stay. Without a settings file the lines to put into one are printed. Exit code 1: it cannot
    be loaded, or you did not agree; 3: there is no such plugin.
    """
    settings = load_for_reading(config_path)
    (one,) = admissions((name,), settings.plugins, installed(), loading="all")
    _require(one)
    if one.source == "built-in":
        talk(f"{name} is built in and needs no approval.{_how_on(one)}")
        return
    approval, declared = approval_of(one), one.declaration
    if approval is None or declared is None:
        raise ColdpressError(f"{name} {one.why}")
    if settings.plugins.approval(name) == approval:
        talk(f"{name} {approval.version} is approved already.{_how_on(one)}")
        return
    click.echo(f"{name} {declared.version}, from {one.package}. {declared.summary}".rstrip(), err=True)
    print_capabilities(declared, to_stderr=True)
    talk(_WHAT_IT_IS)
    if not yes and not click.confirm(f"Approve {name} {declared.version}?", default=False, err=True):
        raise ColdpressError(f"{name} was not approved; nothing was changed")
    if settings.file is None:
        talk(f"There is no settings file. Put these lines into {FILE_NAME}:")
        click.echo(approval_lines(approval))
        return
    write_approval(settings.file, approval)
    talk(f"Approved in {settings.file}.{_how_on(one)} It counts when coldpress serve is started again.")


def _shown(settings: Settings, found: tuple[Found, ...], names: tuple[str, ...]) -> tuple[Shown, ...]:
    totals = running_plugins(settings)
    judged = admissions(names, settings.plugins, found, loading="all")
    return tuple(Shown(one, totals.get(one.name)) for one in judged)


def _require(one: Admission) -> None:
    if one.source == "missing":
        raise UnknownPlugin(f"{one.name} {one.why}; coldpress plugins list shows what there is")


def _how_on(one: Admission) -> str:
    return "" if one.place else f' Add "{one.name}" to plugins.order to turn it on.'
