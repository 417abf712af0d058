"""The command `coldpress`: lists the commands and loads only the one that is called."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass
from typing import Any, Final

import click

from coldpress import __version__
from coldpress.cli.exits import EXITS, end_unwritten, exit_for, is_unwritten
from coldpress.model.errors import ColdpressError


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command stands and what the list of commands says of it, so that the list loads none of them."""

    module: str
    line: str


COMMANDS: Final[dict[str, Entry]] = {
    "serve": Entry("coldpress.cli.serve", "Run the gateway."),
    "demo": Entry(
        "coldpress.cli.demo", "Play a recorded agent session through the gateway, once off and once pressing."
    ),
    "replay": Entry(
        "coldpress.cli.replay",
        "Replay recorded sessions: what was paid, what each policy would have paid, and the setting to try.",
    ),
    "init": Entry("coldpress.cli.init", "Write a settings file with every key, commented."),
    "check": Entry("coldpress.cli.check", "Say what would happen to tools' results and to long prompts, and why."),
    "doctor": Entry("coldpress.cli.doctor", "Say what goes wrong with conversations of late, and what to do."),
    "ledger": Entry("coldpress.cli.ledger", "Show what was decided, sent and paid."),
    "prices": Entry("coldpress.cli.prices", "Show which prices are known, from where, and since when."),
    "breakeven": Entry("coldpress.cli.breakeven", "Say after how many turns a cut into a warm cache has paid."),
    "recall": Entry("coldpress.cli.recall", "Print an original, byte for byte."),
    "notes": Entry("coldpress.cli.notes", "Show and change durable facts that survive every compaction."),
    "plugins": Entry("coldpress.cli.plugins", "Show and approve plugins."),
    "lab": Entry("coldpress.cli.lab", "Compare policies over recorded sessions: what each costs, and what it loses."),
    "version": Entry("coldpress.cli.version", "Print the versions of coldpress and what it stands on."),
}
"""Each module holds a click command named `command`."""


class LazyGroup(click.Group):
    """A group whose commands are loaded when they are called."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line; one line tells that stdout or stderr cannot be written, as on a full disk."""
        try:
            return super().main(*args, **extra)
        except OSError as error:
            if not is_unwritten(error):
                raise
            end_unwritten(error)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called, or say which one was likely meant."""
        near = difflib.get_close_matches(args[0], COMMANDS, n=1)
        if near and args[0] not in COMMANDS:
            ctx.fail(f"No such command '{args[0]}'. Did you mean {near[0]}?")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = importlib.import_module(entry.module).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.module}.command is no click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.line) for name, entry in COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the exit codes."""
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(exit_.code), exit_.meaning) for exit_ in EXITS])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command and tell an error of ours as one."""
        try:
            return super().invoke(ctx)
        except ColdpressError as error:
            click.echo(f"Error: {error}", err=True)
            ctx.exit(exit_for(error).code)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="coldpress %(version)s")
def main() -> None:
    """Make an AI agent's context smaller where that costs nothing or pays.

    Results go to stdout and are stable under --json; talk goes to stderr.
    """
