"""The task every client works on, and the small repository it works in."""

from __future__ import annotations

import subprocess
from pathlib import Path

from catalogue import Client

from coldpress.testing import Read, Say, Script, Shell, Turn, task

TASK = "Build the project, look at the inventory, say whether the build went well."
ANSWER = "The build went well: every step ended with ok."

_BUILD = '''"""Pretend to build: one line a step, no two alike."""

import sys

steps = int(sys.argv[1])
for step in range(1, steps + 1):
    checksum = (step * 2654435761) % 2**32
    print(f"[{step:>4}/{steps}] compile src/module_{step:04d}.c -> build/module_{step:04d}.o  {checksum:08x}  ok")
print(f"{steps} steps, 0 errors")
'''
_SHELF = '''

class Shelf{number:03d}:
    """Shelf {number} of the store room."""

    capacity = {capacity}

    def free(self, used: int) -> int:
        """Give what still fits on shelf {number}."""
        return self.capacity - used
'''
SHELVES = 60


def make_workspace(folder: Path) -> None:
    """Write the repository and put it under version control, as some clients want it."""
    folder.mkdir(parents=True)
    shelves = "".join(_SHELF.format(number=number, capacity=number * 7 % 40 + 3) for number in range(SHELVES))
    (folder / "build.py").write_text(_BUILD, encoding="utf-8")
    (folder / "inventory.py").write_text('"""What is in the store room."""\n' + shelves, encoding="utf-8")
    (folder / "README.md").write_text("A store room. Build it with `python3 build.py 100`.\n", encoding="utf-8")
    identity = ("-c", "user.name=client", "-c", "user.email=client@example.org")
    for command in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-q", "-m", "Start")):
        subprocess.run(("git", *command), cwd=folder, check=True, capture_output=True)


def build_log(client: Client) -> str:
    """Give what the build prints for this client, to the byte."""
    return subprocess.run(
        ("python3", "-c", _BUILD, str(client.log_lines)), text=True, capture_output=True, check=True
    ).stdout


def script_for(client: Client) -> Script:
    """Write what the model answers: build, read the inventory, search it, build again, read again, answer."""
    build = Shell(f"python3 build.py {client.log_lines}")
    search = Shell("grep -n 'class Shelf\\|capacity = ' inventory.py")
    in_parallel = (build, Read("README.md"))
    script = task(build, Read("inventory.py"), search, in_parallel, Read("inventory.py"), thinking=True, done=ANSWER)
    if client.finish is None:
        return script
    return Script(turns=(*script.turns, Turn((Say(ANSWER), Shell(client.finish)))), closing=script.closing)
