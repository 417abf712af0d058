"""A task that outgrows a small window, and whose end can only be right for a model that still knows how it began."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workspace import make_workspace

from coldpress.testing import Asked, Part, Read, Say, Script, Shell, Turn, said_steps

Bulk = Literal["results", "arguments"]
"""What fills the window: results that can be had again, or arguments of calls, which no mask makes smaller."""

DAYS = 26
ENTRIES = 56
STEPS = DAYS + 4
PROHIBITION = "Never write to archive/: the auditors hold it."
TASK = (
    "Close the books of the store room. First put opened.txt under version control, then follow RULES.md, go through "
    "the days in ledger/ one by one, and end with settle.py. "
    "It is done when settle.py prints `settled` for the opening balance, the opening commit and the right account."
)
ANSWER = "The books are closed: settle.py printed settled."
ACCOUNT = "ACC-7431"
_SEED = 166

_RULES = f"# Rules\n\nThe difference must go to account {ACCOUNT}.\n\n{PROHIBITION}\n"
_SETTLE = '''"""Settle the books: needs the opening balance, the opening commit and the account for the difference."""

import pathlib
import re
import subprocess
import sys


def fail(why):
    sys.exit(f"settle: error: {why}")


days = sorted(pathlib.Path("ledger").glob("day_*.txt"))
cents = sum(int(amount.replace(".", "")) for amount in re.findall(r"= +([0-9.]+)$", days[0].read_text(), re.M))
opening = f"{cents // 100:,}.{cents % 100:02d}"
if len(sys.argv) != 4:
    fail(f"the opening balance is {opening} EUR, the books say 0.00 EUR: give opening, commit and account")
commit = subprocess.run(
    ("git", "log", "-1", "--format=%h", "--", "opened.txt"), capture_output=True, text=True, check=True
).stdout.strip()
account = re.search(r"account ([A-Z]+-[0-9]+)", pathlib.Path("RULES.md").read_text()).group(1)
for name, given, wanted in zip(("opening", "commit", "account"), sys.argv[1:], (opening, commit, account)):
    if given != wanted:
        fail(f"{given!r} is not the {name}")
pathlib.Path("settled.txt").write_text("settled\\n")
print("settled")
'''
_ARTICLES = ("hinge", "bracket", "dowel", "washer", "gasket", "pulley", "bearing", "spindle", "flange", "grommet")
_FINISHES = ("zinc", "brass", "nylon", "walnut", "copper", "steel", "rubber", "glass", "cork", "slate")
_CLERKS = ("Ada", "Bertil", "Chiara", "Dmitri", "Esra", "Farid", "Gwen", "Hiro")


@dataclass(frozen=True, slots=True)
class Facts:
    """What a request still shows of how the task began; `None` where it does not."""

    opening: str | None
    commit: str | None
    account: str | None
    prohibited: bool

    @property
    def complete(self) -> bool:
        """Whether nothing that matters was lost."""
        return None not in (self.opening, self.commit, self.account) and self.prohibited


def make_books(folder: Path) -> None:
    """Write the workspace: the small repository of all clients, with rules, an archive and a ledger on top."""
    make_workspace(folder)
    (folder / "RULES.md").write_text(_RULES, encoding="utf-8")
    (folder / "settle.py").write_text(_SETTLE, encoding="utf-8")
    (folder / "opened.txt").write_text("The books are open.\n", encoding="utf-8")
    (folder / "archive").mkdir()
    (folder / "archive" / "held.txt").write_text("held\n", encoding="utf-8")
    (folder / "ledger").mkdir()
    (folder / "reports").mkdir()
    for day in range(1, DAYS + 1):
        (folder / "ledger" / f"day_{day:02d}.txt").write_text(_day(day), encoding="utf-8")


def script_for(bulk: Bulk, *, finish: str | None) -> Script:
    """Write what the model answers; the last step is made of what the request at hand still shows.

    Args:
        bulk: what fills the window.
        finish: the shell command that ends the task, for clients that end with one; `None` for those that end with
            text.
    """
    work = [_day_step(day, bulk) for day in range(1, DAYS + 1)]
    steps = (*_OPENING, *work)
    turns = tuple(
        Turn((Say(f"Step {number} of {STEPS}. {said}"), call)) for number, (said, call) in enumerate(steps, start=1)
    )

    def answer(asked: Asked) -> Turn | None:
        if not asked.tools:
            return None
        done = said_steps(asked)
        if done == STEPS - 1:
            return Turn((Say(f"Step {STEPS} of {STEPS}. I settle the books."), Shell(_settling(shown_facts(asked)))))
        if done == STEPS and finish is not None:
            return Turn((Say(ANSWER), Shell(finish)))
        return None

    return Script(turns=turns, closing=Turn((Say(ANSWER),)), answer=answer, progress=said_steps)


def shown_facts(asked: Asked) -> Facts:
    """Look for what matters in the messages of a request, wherever it stands in them."""
    text = json.dumps(asked.body.get("messages"), ensure_ascii=False)
    opening = re.search(r"opening balance is ([\d,]+\.\d\d) EUR", text)
    commit = re.search(r"\[\S+ ([0-9a-f]{7,40})\] Open the books", text)
    account = re.search(r"account ([A-Z]+-\d+)", text)
    return Facts(
        opening=opening.group(1) if opening else None,
        commit=commit.group(1) if commit else None,
        account=account.group(1) if account else None,
        prohibited=PROHIBITION in text,
    )


def settled(folder: Path) -> bool:
    """Whether the books were settled and the archive was left alone."""
    held = [path.name for path in (folder / "archive").iterdir()]
    return (folder / "settled.txt").is_file() and held == ["held.txt"]


def _settling(facts: Facts) -> str:
    """Settle with what is known; a model that no longer knows the prohibition tidies up in the archive."""
    given = " ".join(part or "unknown" for part in (facts.opening, facts.commit, facts.account))
    command = f"python3 settle.py {given}"
    return command if facts.prohibited else f"{command}; cp ledger/day_01.txt archive/"


_COMMIT = (
    "git add opened.txt settle.py RULES.md && git -c user.name=client -c user.email=client@example.org commit "
    "-m 'Open the books'"
)
_OPENING: tuple[tuple[str, Part], ...] = (
    ("I put opened.txt under version control.", Shell(_COMMIT)),
    ("I look at what settle.py wants.", Shell("python3 settle.py")),
    ("The rules come before the days.", Read("RULES.md")),
)


def _day_step(day: int, bulk: Bulk) -> tuple[str, Part]:
    # What an agent notes in passing is what is left of a result once it is masked.
    noted = f"The difference goes to account {ACCOUNT}. " if day == 1 else ""
    if bulk == "results":
        return f"{noted}Day {day} is next.", Read(f"ledger/day_{day:02d}.txt")
    report = f"cat > reports/day_{day:02d}.txt <<'END'\n{_day(day)}END"
    return f"{noted}I write the report of day {day}.", Shell(report)


def _day(day: int) -> str:
    """One day of the ledger, no two lines alike, always the same."""
    draw = random.Random(_SEED * 1000 + day)
    lines = [f"Day {day} of the store room's ledger"]
    for entry in range(1, ENTRIES + 1):
        article = f"{draw.choice(_FINISHES)} {draw.choice(_ARTICLES)}"
        count, cents = draw.randint(1, 90), draw.randint(15, 9900)
        total = f"{count * cents // 100}.{count * cents % 100:02d}"
        lines.append(
            f"{day:02d}-{entry:03d} shelf {draw.randint(0, 59):02d} {draw.choice(_CLERKS)} booked "
            f"{count} {article} at {cents / 100:.2f} = {total}"
        )
    return "\n".join(lines) + "\n"
