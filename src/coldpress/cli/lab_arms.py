"""`coldpress lab arms`: list the named arms, and print the settings file of one."""

from __future__ import annotations

import textwrap

import click

from coldpress.cli.lab_options import arms_of
from coldpress.cli.options import json_option
from coldpress.cli.output import print_json

_INDENT = "    "
_WIDTH = 96


@click.command("arms")
@click.option("--show", "shown", metavar="NAME", help="Print the settings file of this arm.")
@json_option
def arms(*, shown: str | None, as_json: bool) -> None:
    """List the named arms, each with a sentence that says what it does.

    An arm is a settings file of coldpress with a [lab] table that says who chooses the moment. Change a copy to make
    your own: `coldpress lab arms --show coldpress-source-20 > mine.toml`, then `coldpress replay --arm mine.toml`.
    """
    from coldpress.lab.arm_files import named_arms

    if shown is not None:
        click.echo(arms_of((shown,), option="--show")[0].text.rstrip("\n"))
        return
    found = named_arms().values()
    if as_json:
        rows = [{"name": arm.name, "about": arm.about, "schedule": arm.schedule, "digest": arm.digest} for arm in found]
        print_json({"arms": rows})
        return
    for arm in found:
        click.echo(arm.name)
        click.echo(textwrap.fill(arm.about, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT))
