"""A long session of a coding agent, made from a seed, with facts planted in it that must not be lost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from failure_modes.world import Json, build_log, source

Place = Literal["user text", "prose", "change", "shell output", "failure", "tool result", "plan", "document", "source"]


@dataclass(frozen=True)
class Canary:
    """A fact that was said once.

    Attributes:
        name: what it is.
        place: where it was said.
        text: its exact words.
        question: what an agent is asked later that only these words answer; empty where nobody asks before recalling.
    """

    name: str
    place: Place
    text: str
    question: str = ""


CANARIES: Final = (
    Canary("prohibition", "user text", "never touch prod", "May I run it against prod?"),
    Canary("cap", "user text", "$4,300", "What may all of it cost?"),
    Canary("credit", "prose", "$1,845.90", "How much is to be refunded?"),
    Canary("tenant", "prose", "tn-8842af1", "Which tenant was set up?"),
    Canary("last commit", "change", "9f2c17d", "Which commit is to be reverted?"),
    Canary("edited path", "change", "src/ledger/rounding_policy.py", "Which file is being edited?"),
    Canary("pull request", "shell output", "https://git.example.com/shop/pull/4471", "Where is the change reviewed?"),
    Canary("error line", "failure", "ValueError: unknown currency 'XTS' in row 7731", "How does the test fail?"),
    Canary("ruled out", "failure", 'relation "refunds_2024" does not exist', "Why not alembic?"),
    Canary("ticket", "tool result", "OPS-58213", "Which ticket is it?"),
    Canary("open step", "plan", "Backfill refunds_2024_q3 before the cutover", "What comes next?"),
    Canary("batch limit", "document", "must not exceed 250 rows per batch", "How large may a batch be?"),
    Canary("key", "source", 'RETENTION_KEY = "rk-51ac-77e0"'),
    Canary("hit", "tool result", "src/legacy/vat_table.py:88: RATE_XK = 0.18"),
)

TASK: Final = "Move the refunds to the new ledger. It is done when `make check` passes and the ticket is closed."
TOOLS: Final = ("Read", "Edit", "Bash", "Grep", "TodoWrite", "tickets_create_ticket")
FAILURE: Final = f"""Exit code 1
tests/test_import.py F                                                   [100%]
    def test_import_all_rows():
>       load(rows)
E       {CANARIES[7].text}
src/ledger/load.py:58: ValueError
FAILED tests/test_import.py::test_import_all_rows - {CANARIES[7].text}
1 failed, 14 passed in 0.84s
"""
REFUSED: Final = f"Exit code 1\nsqlalchemy.exc.ProgrammingError: {CANARIES[8].text}"
COMMITTED: Final = "[main 9f2c17d] Round half even\n 1 file changed"
POLICY: Final = (
    "# Working on the ledger\n\nKeep commits small. Backfills must not exceed 250 rows per batch.\n"
    + "The ledger is append only by convention and the reports are built at night.\n" * 40
)


@dataclass(frozen=True)
class Step:
    """One turn: what the agent says and calls, what comes back, and what the user adds."""

    said: str
    tool: str
    arguments: Json
    result: str
    user: str = ""


def planted() -> tuple[Step, ...]:
    """The steps that hold the canaries, in the order in which work would bring them."""
    todo = [
        {"content": "Read the ledger", "status": "completed"},
        {"content": "Backfill refunds_2024_q3 before the cutover", "status": "pending"},
    ]
    key = source("src/ledger/settings.py", lines=70, fact='RETENTION_KEY = "rk-51ac-77e0"')
    hits = "\n".join(f"src/legacy/part_{n}.py:{n}: RATE_{n} = 0.{n:02}" for n in range(10, 40))
    return (
        Step("I read how work is done here.", "Read", {"file_path": "docs/POLICY.md"}, POLICY),
        Step(
            "",
            "Bash",
            {"command": "alembic upgrade head"},
            REFUSED,
        ),
        Step("I write the plan down.", "TodoWrite", {"todos": todo}, "Todos have been modified."),
        Step(
            "The staging tenant is tn-8842af1, because the old one is locked.",
            *("Read", {"file_path": "src/ledger/settings.py"}, key),
            user="Two things. First, never touch prod, not even for a dry run. And the cap is $4,300 for all of it.",
        ),
        Step("", "tickets_create_ticket", {"title": "Move refunds"}, '{"ticket_id": "OPS-58213", "status": "open"}'),
        Step("", "Grep", {"pattern": "RATE_"}, f"{hits}\n{CANARIES[13].text}\n{hits}"),
        Step(
            "I set the refund to $1,845.90 since the fee is not refunded.",
            "Edit",
            {"file_path": "src/ledger/rounding_policy.py", "old_string": "HALF_UP", "new_string": "HALF_EVEN"},
            "The file src/ledger/rounding_policy.py has been updated.",
        ),
        Step("", "Bash", {"command": "pytest tests/test_import.py"}, FAILURE),
        Step(
            "",
            "Bash",
            {"command": "git commit -am 'Round half even'"},
            "[main 9f2c17d] Round half even\n 1 file changed",
        ),
        Step("", "Bash", {"command": "gh pr create --fill"}, "https://git.example.com/shop/pull/4471"),
    )


def session(seed: int, steps: int) -> Iterator[list[Json]]:
    """Give the turns of a session, each as the reply and the message that answers it.

    The planted steps come among the first, in order; what is around them is drawn.

    Args:
        seed: of everything that is drawn.
        steps: how many turns there are.
    """
    draw = random.Random(seed)
    facts = planted()
    places = dict(zip(sorted(draw.sample(range(1, 3 * len(facts)), len(facts))), facts, strict=True))
    for number in range(steps):
        step = places.get(number) or _common(draw, number)
        yield [_reply(step, number), _answer(step, number)]


def _common(draw: random.Random, number: int) -> Step:
    path = f"src/shop/{draw.choice(('cart', 'stock', 'mail', 'invoice'))}_{draw.randrange(900):03}.py"
    name, lines = path.rpartition("/")[2], draw.randrange(40, 70)
    match draw.choice(("read", "read", "log", "search", "edit", "check")):
        case "read":
            return Step(f"Next comes {name}.", "Read", {"file_path": path}, source(path, lines=lines))
        case "log":
            return Step(
                "", "Bash", {"command": f"make build-{number}"}, build_log(f"b{number}", lines=draw.randrange(40, 80))
            )
        case "search":
            hits = "\n".join(f"{path}:{n}: value_{n} = {n * 3}" for n in range(1, lines))
            return Step("I look where it is used.", "Grep", {"pattern": f"value_{number}"}, hits)
        case "edit":
            given = {"file_path": path, "old_string": f"a{number}", "new_string": f"b{number}"}
            return Step(f"I rename a thing in {name}.", "Edit", given, f"The file {path} has been updated.")
        case _:
            passed = f"collected {number + 3} items\n{'.' * 60}\n{number + 3} passed in 0.{draw.randrange(10, 99)}s"
            return Step("Let me check.", "Bash", {"command": f"pytest tests/test_shop_{number}.py"}, passed)


def _reply(step: Step, number: int) -> Json:
    text = [{"type": "text", "text": step.said}] if step.said else []
    call = {"type": "tool_use", "id": f"toolu_{number:04}", "name": step.tool, "input": step.arguments}
    return {"role": "assistant", "content": [*text, call]}


def _answer(step: Step, number: int) -> Json:
    failed = {"is_error": True} if step.result.startswith("Exit code") else {}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number:04}", "content": step.result, **failed}
    said = [{"type": "text", "text": step.user}] if step.user else []
    return {"role": "user", "content": [result, *said]}
