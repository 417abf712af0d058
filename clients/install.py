"""Install a client into a folder of its own, once."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from catalogue import Package

LIMIT_SECONDS = 900
_DONE = "installed.json"


class InstallFailed(Exception):
    """A package could not be installed; says which, and what to do."""


def installed(package: Package, cache: Path) -> Path:
    """Give the folder of a package, installing it where it is not there yet.

    Raises:
        InstallFailed: npm or Python's venv is missing, or the index cannot be reached.
    """
    folder = cache / package.folder
    done = folder / _DONE
    if done.is_file() and json.loads(done.read_text(encoding="utf-8")) == list(package.specs):
        return folder
    print(f"installing {' '.join(package.specs)} ...", file=sys.stderr, flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    if package.manager == "npm":
        _npm(package, folder)
    else:
        _pip(package, folder)
    done.write_text(json.dumps(package.specs), encoding="utf-8")
    return folder


def _npm(package: Package, folder: Path) -> None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise InstallFailed(f"{package.folder} needs node and npm on the PATH; install Node.js 20 or newer")
    # Install scripts are other people's code that the clients here do without.
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    _run(("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *package.specs), folder, package)


def _pip(package: Package, folder: Path) -> None:
    _run((sys.executable, "-m", "venv", str(folder)), folder, package)
    _run((str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *package.specs), folder, package)


def _run(command: Sequence[str], folder: Path, package: Package) -> None:
    try:
        done = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise InstallFailed(f"{package.folder}: {command[0]} took more than {LIMIT_SECONDS} seconds") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-800:]
        raise InstallFailed(f"{package.folder}: {' '.join(command[:3])} ended with {done.returncode}: {said}")
