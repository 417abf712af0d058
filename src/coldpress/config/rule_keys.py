"""What may stand in a rule: which tools it is about, and how their results may become smaller."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from coldpress.config.about import say
from coldpress.engine.policy import AGED_TURNS

ModeWord = Literal["exact", "lossless", "dedupe", "deterministic", "keyword", "model", "mask", "source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleKeys:
    """One rule. Rules are tried in the order of the file, the first that matches decides."""

    match: str = field(
        metadata=say(
            "Shell pattern over the tool's name, upper and lower case alike, or `kind:` and a kind of tool.",
            example='"web_*"',
        )
    )
    mode: tuple[ModeWord, ...] = field(
        metadata=say(
            "How results of these tools may become smaller; of several, each works on what the one before left. "
            "`keyword` and `model` work on results that the model was shown exact once: the lines that match the "
            "intent of the call, or a summary by the model of `offload`. `mask` and `source` work on results that are "
            "`age` turns old, `source` on file reads that a later one covers and only where the cache is cold.",
            example='"deterministic"',
        )
    )
    first_pass: bool = field(
        default=False,
        metadata=say(
            "Whether `deterministic` applies when a result is first sent. Without it the mode waits for aged results."
        ),
    )
    rerun: str | None = field(
        default=None,
        metadata=say(
            "Sentence for the model: how to get the whole result again.",
            example='"Repeat the search to recover every result."',
            unset="a sentence that the same call can be made again",
        ),
    )
    min_bytes: int | None = field(
        default=None,
        metadata=say(
            "Results under this size are not shortened by `deterministic`.",
            unit="bytes of UTF-8",
            least=0,
            example="8192",
            unset="no minimum but the gain that every view must have",
        ),
    )
    age: int = field(
        default=AGED_TURNS,
        metadata=say(
            "How many replies of the model must stand behind a result before `mask` or `source`, or `deterministic` "
            "without `first_pass`, may make it smaller. It then waits for a cold cache or for a cut that pays.",
            unit="turns",
            least=1,
        ),
    )
    gate: bool | None = field(
        default=None,
        metadata=say(
            "Whether results that the model has seen are rewritten only where that pays. `false` rewrites them as soon "
            "as the rule allows, whatever it costs.",
            example="true",
            unset="true; false for the rules of `plugins.config.keyword_compactor`, as in the reference experiment",
        ),
    )
