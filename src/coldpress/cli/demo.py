"""Show the gateway at work: a recorded session through it twice, what that comes to, and the same in a small window."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from coldpress.cli.output import print_json, talk


@click.command(name="demo")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option(
    "--recording",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Play this recording instead of the bundled one.",
)
def command(*, as_json: bool, recording: Path | None) -> None:
    """Play a recorded agent session through the gateway, once off and once pressing.

    Needs no key and no network: a scripted upstream on loopback answers, enforces what a provider enforces, and
    counts tokens against a prefix cache. Its counts are estimates, its cache a simulation. Then it plays the session in
    a window made too small for it, to show compaction.

    Exits with 1 where a byte outside the pressed texts differs or an original does not come back.
    """
    from coldpress.cli.demo_view import small_window_lines, summary_lines, turn_lines
    from coldpress.demo.run import run_demo

    folder = _folder()
    demo = run_demo(recording, folder, progress=_progress)
    if as_json:
        print_json(demo.json())
    else:
        parts = (turn_lines(demo), summary_lines(demo), small_window_lines(demo.small), _what_now(demo.json()))
        for line in (line for part in parts for line in ("", *part)):
            click.echo(line)
    if not (demo.identical and demo.recalled):
        raise SystemExit(1)


def _progress(operation: str, done: int, of: int) -> None:
    if done == of:
        talk(f"played {of} requests with the gateway {operation}")


def _folder() -> Path:
    """A private place for the demonstration's store, kept so that originals can be recalled afterwards."""
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    folder = Path(home) / "coldpress" / "demo"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="coldpress-demo-"))
    return folder


def _what_now(found: dict[str, object]) -> list[str]:
    originals = found["originals"]
    first = originals[0][:12] if isinstance(originals, list) and originals else "SHA"
    prices = found["prices"] or "no prices found"
    return [
        "This is one recorded session; yours will save more or less. Tokens are",
        f"estimates, the cache is simulated, prices are {prices}.",
        "",
        "An original comes back with:",
        f"  coldpress recall {first} --store {found['store']}",
        "What was decided, sent and paid, request by request:",
        f"  coldpress ledger list --store {found['store']}",
        "Run it on your own agent with:",
        "  coldpress serve",
    ]
