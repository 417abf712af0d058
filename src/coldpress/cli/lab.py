"""`coldpress lab`: compare policies over recorded sessions."""

from __future__ import annotations

import click

from coldpress.cli.lab_arms import arms
from coldpress.cli.lab_import import import_
from coldpress.cli.lab_report import report
from coldpress.cli.lab_sweep import sweep
from coldpress.cli.lab_tune import tune


@click.group("lab")
def command() -> None:
    """Compare policies over recorded sessions: what each costs, and what it loses.

    `coldpress replay` is the short way. These are its parts: which arms there are, what is in a recording, a sweep of
    many recordings, arms and prices into a folder, a report of that folder, and a settings file tuned on one's own
    history. Nothing is sent, and nothing leaves the machine, but for --on ray or dask with --address.
    """


for _part in (arms, import_, sweep, report, tune):
    command.add_command(_part)
