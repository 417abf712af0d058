"""Measure coldpress beside its peers, in one run: python benchmarks/run.py --preset quick

Rows go to a file in benchmarks/out; `report.py` turns them into tables. All traffic stays on loopback, every
request loop is bounded, and only programs started here are ended.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import about
import bodies
import matrix
import setup
import special
from bench import running, say
from rows import TURNS, Book, Setup
from targets import DEFAULT, TARGETS, Place

HERE = Path(__file__).parent


def names(text: str) -> list[str]:
    """Read a list of names with commas between them."""
    return text.split(",")


def read_options() -> argparse.Namespace:
    """Read the command line."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    beside = Path(sys.executable).parent / "coldpress"
    add = reader.add_argument
    add("--preset", choices=matrix.PRESETS, default="quick", help="which cases (default: %(default)s)")
    add("--special", type=names, default=list(special.SPECIAL), help=f"{', '.join(special.SPECIAL)}, or none")
    add("--no-table", action="store_true", help="only the special runs")
    add("--targets", type=names, default=list(DEFAULT), help=f"of {', '.join(TARGETS)}")
    add("--formats", type=names, help=f"of {', '.join(bodies.FORMATS)}; this and the next four replace the preset")
    add("--sizes", type=names, help=f"of {', '.join(bodies.SIZES)}")
    add("--modes", type=names, help=f"of {', '.join(matrix.BOTH_MODES)}")
    add("--turns", type=names, help=f"of {', '.join(TURNS)}")
    add("--connections", type=names, help="such as 1,8,32")
    add("--rounds", type=int, help="instead of the preset's")
    add("--seconds", type=float, default=1.0, help="a cell at most, unless slow (default: %(default)s)")
    add("--requests", type=int, default=5000, help="a cell at most (default: %(default)s)")
    add("--patience", type=float, default=60, help="skip cells that need more seconds (default: %(default)s)")
    add("--work", type=Path, default=setup.default_work(), help="folder of setup.py (default: %(default)s)")
    add("--port", type=int, default=19000, help="first of 16 ports on 127.0.0.1 (default: %(default)s)")
    add("--coldpress", default=str(beside if beside.exists() else "coldpress"), help="its command")
    add("--out", type=Path, default=HERE / "out" / f"{time.strftime('%Y%m%d-%H%M%S')}.jsonl", help="file of rows")
    add("--install", action="store_true", help="install missing peers first")
    options = reader.parse_args()
    allowed: dict[str, set[str]] = {
        "targets": set(TARGETS),
        "special": {*special.SPECIAL, "none"},
        "formats": {*bodies.FORMATS},
        "sizes": set(bodies.SIZES),
        "modes": {*matrix.BOTH_MODES},
        "turns": {*TURNS},
    }
    for name, known in allowed.items():
        if unknown := set(getattr(options, name) or ()) - known:
            reader.error(f"--{name}: no such name: {', '.join(sorted(unknown))}")
    return options


def blocks(options: argparse.Namespace) -> list[matrix.Block]:
    """Take the preset's blocks, or one made of what the command line names."""
    named = [options.formats, options.sizes, options.modes, options.turns, options.connections]
    if not any(named):
        preset = matrix.PRESETS[options.preset]
        return [replace(block, rounds=options.rounds or block.rounds) for block in preset]
    counts = [int(count) for count in options.connections or ("1",)]
    return [
        matrix.Block(
            formats=tuple(options.formats or ("chat",)),
            sizes=tuple(options.sizes or matrix.ALL_SIZES),
            modes=tuple(options.modes or ("json",)),
            turns=tuple(options.turns or ("warm",)),
            connections=tuple(counts),
            rounds=options.rounds or 2,
        )
    ]


def described(options: argparse.Namespace) -> str:
    """The command line again, without folders and files."""
    kept = {key: value for key, value in vars(options).items() if value and not isinstance(value, Path)}
    kept.pop("coldpress"), kept.pop("port")
    return ", ".join(f"{key} {','.join(value) if isinstance(value, list) else value}" for key, value in kept.items())


def main() -> None:
    options = read_options()
    if options.install:
        for peer in setup.PEERS:
            if not (options.work / "venvs" / peer).exists():
                setup.install(peer, options.work)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `finally` ends what was started
    shutil.rmtree(options.work / "bodies", ignore_errors=True)
    written = bodies.write_all(options.work / "bodies")
    book, place = Book(options.out), Place(options.work, options.port, options.coldpress)
    book.write(
        Setup(time.strftime("%Y-%m-%d"), about.machine(), about.software(options.work), described(options), written)
    )
    wanted = [name for name in options.special if name != "none"]
    with running(
        place,
        book,
        options.targets,
        seconds=options.seconds,
        requests=options.requests,
        patience_seconds=options.patience,
    ) as bench:
        say(f"targets: {', '.join(bench.targets)}; rows go to {options.out}")
        special.run(bench, [name for name in wanted if name == "starts"])
        if not options.no_table:
            matrix.measure(bench, blocks(options))
        special.run(bench, [name for name in wanted if name != "starts"])
        bench.note_weighed()
    say(f"done: python benchmarks/report.py {options.out}")


if __name__ == "__main__":
    main()
