"""Read arms: settings files of coldpress, with a `[lab]` table that says what only a replay can do.

    source_age = 20                # any key of coldpress.toml

    [lab]
    about = "..."                  # one sentence for readers of a report
    schedule = "gate"              # who chooses the moment: see `Schedule`
    batch_turns = 10               # for `batched`
    window = 0.8                   # of the budget's window: a share of each recording's own longest prompt, or tokens

Of a file without that table everything is as in the gateway.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, Literal, get_args

from coldpress.config.files import parse_text
from coldpress.config.load import load_tree
from coldpress.config.settings import Settings
from coldpress.engine.budget import TARGET, TRIGGER, URGENT, BudgetRule, Budgets
from coldpress.lab.pressed import as_replayed
from coldpress.model.errors import ConfigError

Schedule = Literal["gate", "never", "every_turn", "batched", "cold", "reference", "clairvoyant"]
"""Who says which aged results go: coldpress's own gate, nobody, each as soon as it is of age, all of them once the
oldest has waited, only a cold cache, the reference experiment's gate, or whoever knows the whole run."""

BATCH_TURNS: Final = 10
NO_BUDGET: Final = Budgets(BudgetRule(stages=()))
NAMED: Final = "named_arms"
_KEYS: Final = frozenset({"about", "schedule", "batch_turns", "window"})


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to treat a recorded run.

    Attributes:
        name: of its file, without its ending; of a sweep's trigger and window too, where it has some.
        about: what it does, one sentence.
        settings: of the driver, but for provider and prices. Without a `[budget]` of its own nothing is brought down
            to one: recorded prompts fitted their windows.
        schedule: who chooses the moment.
        batch_turns: for `batched`.
        window: of the budget: tokens, or a share of each recording's own longest prompt where it is 1 or less;
            `None` where the settings say it.
        text: of the file.
    """

    name: str
    about: str
    settings: Settings
    schedule: Schedule = "gate"
    batch_turns: int = BATCH_TURNS
    window: float | None = None
    text: str = ""

    @property
    def digest(self) -> str:
        """Names everything that decides what the arm does: 16 hex digits."""
        budget = self.settings.budgets.default
        said = (self.text, self.schedule, self.batch_turns, self.window, budget.trigger, budget.target)
        return hashlib.sha256(repr(said).encode()).hexdigest()[:16]

    @property
    def is_control(self) -> bool:
        """Whether the client's own bodies go out, whatever else is set."""
        return self.settings.operation == "off"

    @property
    def has_budget(self) -> bool:
        """Whether prompts are brought down to a budget."""
        budgets = self.settings.budgets
        return budgets.default.stages != () or any(rule.stages for rule in budgets.rules)

    def budgets(self, longest_prompt_tokens: int) -> Budgets:
        """Give the budgets for one recording.

        Args:
            longest_prompt_tokens: of the recording as it was written.
        """
        if self.window is None or not self.has_budget:
            return self.settings.budgets
        tokens = round(self.window * longest_prompt_tokens) if self.window <= 1 else round(self.window)
        return replace(
            self.settings.budgets, default=replace(self.settings.budgets.default, window_tokens=max(1, tokens))
        )


def named_arms() -> dict[str, Arm]:
    """Give the arms that come with coldpress, by name: the control first, the clairvoyant ones last."""
    return dict(_named())


@functools.cache
def _named() -> tuple[tuple[str, Arm], ...]:
    folder = files("coldpress.lab") / NAMED
    found = [_read(entry, entry.name.removesuffix(".toml")) for entry in folder.iterdir() if entry.name[-5:] == ".toml"]
    found.sort(key=lambda arm: (not arm.is_control, arm.schedule == "clairvoyant", _natural(arm.name)))
    return tuple((arm.name, arm) for arm in found)


def load_arm(path: Path) -> Arm:
    """Read an arm from a file.

    Raises:
        ConfigError: it cannot be read, or something in it is wrong; says what.
    """
    return _read(path, path.stem)


def parse_arm(text: str, name: str) -> Arm:
    """Make an arm of what a settings file in TOML would hold; no file is read.

    Raises:
        ConfigError: something in it is wrong.

    >>> parse_arm("source_age = 20", "mine").settings.source_age
    20
    """
    return _parse(Path(f"{name}.toml"), text, name)


def find_arm(name: str) -> Arm:
    """Give a named arm, or that of a file.

    Raises:
        ConfigError: there is none; says which there are.
    """
    named = named_arms()
    if name in named:
        return named[name]
    if name.endswith((".toml", ".json")) or Path(name).is_file():
        return load_arm(Path(name))
    raise ConfigError(f"no arm {name!r}; give a settings file, or one of {', '.join(named)}")


def with_budget(arm: Arm, *, trigger: float | None = None, window: float | None = None) -> Arm:
    """Give an arm another trigger (share of the window) or window (see `Arm.window`), and a name that tells.

    The target keeps its share of the trigger. An arm without a budget stays as it is.
    """
    if not arm.has_budget or (trigger is None and window is None):
        return arm
    name, rule = arm.name, arm.settings.budgets.default
    if trigger is not None:
        share = (TARGET if rule.target is None else rule.target) / (rule.trigger or TRIGGER)
        urgent = max(URGENT if rule.urgent is None else rule.urgent, trigger)
        rule = replace(rule, trigger=trigger, target=round(share * trigger, 4), urgent=urgent)
        name += f"@{trigger:g}"
    if window is not None:
        name += f"/{window:g}"
    budgets = replace(arm.settings.budgets, default=rule)
    settings = replace(arm.settings, budgets=budgets)
    return replace(arm, name=name, settings=settings, window=arm.window if window is None else window)


def _read(source: Traversable | Path, name: str) -> Arm:
    path = Path(str(source))
    try:
        text = source.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 at byte {error.start}") from error
    return _parse(path, text, name)


def _parse(path: Path, text: str, name: str) -> Arm:
    tree = parse_text(path, text)
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{path}: holds no table of settings")
    lab = tree.get("lab", {})
    rest = {key: value for key, value in tree.items() if key != "lab"}
    settings = load_tree(rest, path, environ={}, directory=path.parent, secrets="optional")
    budgets = settings.budgets if "budget" in rest or "budgets" in rest else NO_BUDGET
    return _with_lab(Arm(name, "", replace(as_replayed(settings), budgets=budgets, file=None), text=text), lab, path)


def _with_lab(arm: Arm, lab: object, path: Path) -> Arm:
    """Add what the `[lab]` table says."""
    if not isinstance(lab, Mapping):
        raise ConfigError(f"{path}: lab is no table; write [lab] above its keys")
    unknown = sorted(set(lab) - _KEYS)
    if unknown:
        raise ConfigError(f"{path}: lab.{unknown[0]} is not known; keys of [lab] are {', '.join(sorted(_KEYS))}")
    about, schedule = lab.get("about", f"The settings of {arm.name}."), lab.get("schedule", "gate")
    turns, window = lab.get("batch_turns", BATCH_TURNS), lab.get("window")
    if not isinstance(about, str):
        raise ConfigError(f"{path}: lab.about is no text")
    if schedule not in get_args(Schedule):
        raise ConfigError(f"{path}: lab.schedule is {schedule!r}; use one of {', '.join(get_args(Schedule))}")
    if isinstance(turns, bool) or not isinstance(turns, int) or turns < 1:
        raise ConfigError(f"{path}: lab.batch_turns is {turns!r}; use a whole number, 1 or more")
    if window is not None and (isinstance(window, bool) or not isinstance(window, int | float) or window <= 0):
        raise ConfigError(f"{path}: lab.window is {window!r}; use tokens, or a share of the longest prompt (0 to 1)")
    return replace(arm, about=about, schedule=schedule, batch_turns=turns, window=window)


def _natural(name: str) -> tuple[str, int]:
    """Sort by the words of a name, then by the number that it ends with."""
    words, _, number = name.rpartition("-")
    return (words, int(number)) if number.isdecimal() else (name, 0)
