"""What may stand in `[plugins.config.pii]`: what is sensitive in results, and what is done about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from coldpress.config.about import say
from coldpress.engine.pii import SensitiveKind
from coldpress.engine.pii_data import ALLOWED
from coldpress.engine.pii_patterns import DEFAULT_KINDS

PiiAction = Literal["redact", "block", "report"]
PiiToolAction = Literal["redact", "block", "report", "off"]
OnFailure = Literal["open", "closed"]

SCREEN_SECONDS: Final = 2.0
"""As much as reading and deciding may take by default (`limits.prepare_seconds`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PiiRuleKeys:
    """What is done with the results of some tools. The first row that matches decides."""

    match: str = field(
        metadata=say(
            "Shell pattern over the tool's name, upper and lower case alike, or `kind:` and a kind of tool.",
            example='"kind:web"',
        )
    )
    action: PiiToolAction = field(
        metadata=say("As for all tools, or `off`: results of these tools are not looked at.", example='"off"')
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PiiKeys:
    """Settings of `pii`, which looks for secrets and personal data in results before they leave."""

    action: PiiAction = field(
        default="redact",
        metadata=say(
            "What is done where something is found: `redact` puts a placeholder in its place and keeps it nowhere, "
            "`block` refuses the request, `report` writes it into the ledger and lets it go."
        ),
    )
    tools: tuple[PiiRuleKeys, ...] = field(default=(), metadata=say("Tools for which something else is done."))
    kinds: tuple[SensitiveKind, ...] = field(
        default=DEFAULT_KINDS,
        metadata=say("What is looked for; `ip` is an IPv4 address outside private networks."),
    )
    allow: tuple[str, ...] = field(
        default=(),
        metadata=say(
            "What is let through, as shell patterns over the text that was found; cards, accounts and phone numbers "
            "without spaces and dashes.",
            example='["*@our-company.com"]',
        ),
    )
    allow_examples: bool = field(
        default=True,
        metadata=say(
            "Whether what manuals and test suites are full of is let through: addresses at example.com, .test and the "
            "like, `git@` and `noreply@`, known test cards and account numbers."
        ),
    )
    on_failure: OnFailure | None = field(
        default=None,
        metadata=say(
            "What becomes of a request that cannot be looked through, since the detector is missing, fails or takes "
            "too long: `open` lets it go with what our own patterns found, `closed` refuses it.",
            example='"closed"',
            unset="closed where the action of any tool is block, else open",
        ),
    )
    seconds: float = field(
        default=SCREEN_SECONDS,
        metadata=say("Longest time for looking through one request.", unit="seconds", least=0.01),
    )

    @property
    def allowed(self) -> tuple[str, ...]:
        """All patterns of what is let through."""
        return (*self.allow, *(ALLOWED if self.allow_examples else ()))

    @property
    def fails_closed(self) -> bool:
        """Whether a request that cannot be looked through is refused."""
        if self.on_failure is not None:
            return self.on_failure == "closed"
        return self.action == "block" or any(rule.action == "block" for rule in self.tools)
