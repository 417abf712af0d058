"""Install the peers, pinned, into throw-away environments: python benchmarks/setup.py [--work FOLDER] [PEER...]

Only wheels are taken, and they are looked into before anything of them runs: a file that Python executes at
start-up (`.pth`, `sitecustomize`) is refused. Two releases of one of these peers carried such a file and stole keys
(LiteLLM 1.82.7 and 1.82.8), which is why everything is pinned and nothing here shares an environment with coldpress.
nginx comes from the system's packages.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

PEERS = {
    "litellm": "litellm[proxy]==1.100.0",
    "headroom": "headroom-ai[proxy]==0.42.0",
    "awecompress": "awecompress==0.2.0",
}
CONSTRAINTS = ("litellm==1.100.0",)
"""headroom depends on LiteLLM without naming a version."""
RUNS_AT_START = (".pth", "sitecustomize.py", "usercustomize.py")


def default_work() -> Path:
    """Where environments, bodies and programs go unless the caller says otherwise."""
    return Path(tempfile.gettempdir()) / "coldpress-bench"


def suspicious(wheel: Path) -> list[str]:
    """Name the files of a wheel that Python would run by itself."""
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if name.endswith(RUNS_AT_START)]


def install(peer: str, work: Path) -> None:
    """Fetch the wheels of one peer, look into them, and install them into a new environment.

    Raises:
        SystemExit: a wheel holds a file that runs at start-up.
    """
    wheels, folder = work / "wheels" / peer, work / "venvs" / peer
    wheels.mkdir(parents=True, exist_ok=True)
    limits = wheels / "constraints.txt"
    limits.write_text("\n".join(CONSTRAINTS) + "\n")
    fetch = [sys.executable, "-m", "pip", "download", "-q", "--only-binary", ":all:", "-d", str(wheels)]
    subprocess.run([*fetch, "-c", str(limits), PEERS[peer]], check=True)
    for wheel in sorted(wheels.glob("*.whl")):
        if found := suspicious(wheel):
            raise SystemExit(f"{wheel.name} holds {', '.join(found)}, which would run at start-up; not installed")
    venv.create(folder, clear=True, with_pip=True)
    from_wheels = ["install", "-q", "--no-index", "--find-links", str(wheels), "-c", str(limits), PEERS[peer]]
    subprocess.run([folder / "bin" / "python", "-m", "pip", *from_wheels], check=True)


def main() -> None:
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument(
        "--work", type=Path, default=default_work(), help="folder for everything (default: %(default)s)"
    )
    reader.add_argument("peers", nargs="*", metavar="PEER", help=f"of {', '.join(PEERS)} (default: all)")
    options = reader.parse_args()
    if unknown := set(options.peers) - set(PEERS):
        reader.error(f"no such peer: {', '.join(sorted(unknown))}")
    for peer in options.peers or PEERS:
        install(peer, options.work)
        print(f"{PEERS[peer]} installed", file=sys.stderr)
    if not shutil.which("nginx"):
        print("nginx is missing: install it with the system's package manager", file=sys.stderr)


if __name__ == "__main__":
    main()
