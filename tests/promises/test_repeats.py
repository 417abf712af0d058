"""A repeat names only a result whose every line is still shown, of the same file or the same command."""

from __future__ import annotations

from typing import Any

import pytest
from bodies import changed_literals
from cases.talk import assistant, listing, log, messages, result, use, user
from support import pressing, settings

from coldpress.engine.policy import DEFAULT_POLICY, Policy, Rule, RuleMode

COLOURED = "\n".join(f"\x1b[32m{line}\x1b[0m" for line in log().split("\n"))
Step = tuple[str, dict[str, Any], str]


def views(steps: list[Step], policy: Policy = DEFAULT_POLICY) -> dict[int, str]:
    """What is sent in the end for each step's result that was pressed, by its number."""
    said = [user("go")]
    bodies = []
    for number, (tool, arguments, output) in enumerate(steps):
        said = [
            *said,
            assistant(use(f"t{number}", tool, **arguments)),
            user(result(f"t{number}", f"{output}\n{number}")),
        ]
        bodies.append(messages(*said))
    with pressing(settings(policy=policy)) as press:
        sent = press.all(bodies)[-1].body
    return {int(old.rsplit("\n", 1)[1]): new for old, new in changed_literals(bodies[-1], sent)}


def of_shell(*modes: RuleMode) -> Policy:
    return Policy((Rule("kind:shell", modes, first_pass=True), *DEFAULT_POLICY.rules))


def read(path: str = "a.py", text: str = listing()) -> Step:
    return "Read", {"file_path": path}, text


def run(command: str = "make", text: str = log()) -> Step:
    return "Bash", {"command": command}, text


def test_a_third_read_refers_to_the_first_since_the_second_is_not_shown_whole() -> None:
    found = views([read(), read(), read()])
    assert "above" not in found[0]
    for later in (1, 2):
        assert "of Read a.py above" in found[later]
        assert "(call" not in found[later]


@pytest.mark.parametrize(
    ("modes", "output"),
    [
        pytest.param(("dedupe", "deterministic"), log(), id="shortened"),
        pytest.param(("dedupe", "lossless"), COLOURED, id="without its colours"),
    ],
)
def test_output_that_was_not_shown_as_it_was_is_never_referred_to(modes: tuple[RuleMode, ...], output: str) -> None:
    found = views([run(text=output), run(text=output), run(text=output)], of_shell(*modes))
    assert set(found) == {0, 1, 2}
    assert not [view for view in found.values() if "above" in view]


def test_output_that_is_shown_whole_is_referred_to() -> None:
    found = views([run(), run(), run()], of_shell("dedupe"))
    assert set(found) == {1, 2}
    assert all("of Bash make above" in view for view in found.values())


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(read("b.py"), id="another file"),
        pytest.param(read("lib/a.py"), id="a file of the same name elsewhere"),
        pytest.param(run("make -j"), id="another command"),
    ],
)
def test_the_same_lines_from_elsewhere_are_not_called_a_repeat(other: Step) -> None:
    first = read() if other[0] == "Read" else run()
    found = views([first, other], of_shell("dedupe"))
    assert "above" not in found.get(1, "")


def test_after_what_it_names_was_rewound_away_nothing_refers_to_it() -> None:
    def asked(*steps: Step) -> bytes:
        said = [user("go")]
        for number, (tool, arguments, output) in enumerate(steps):
            said += [assistant(use(f"t{number}", tool, **arguments)), user(result(f"t{number}", output))]
        return messages(*said)

    long = [read("x.py"), read(), read("y.py"), read("z.py")]
    with pressing() as press:
        press.all([asked(*long[:n]) for n in range(1, 5)])
        forked = asked(long[0], run("ls", "one\n" * 3), read())
        sent = press.all([asked(long[0], run("ls", "one\n" * 3)), forked])[-1].body
    *_, (_, view) = changed_literals(forked, sent)
    assert "above" not in view


@pytest.mark.parametrize(
    ("edits", "repeats"),
    [
        pytest.param([{"type": "clear_tool_uses_20250919"}], False, id="tool results"),
        pytest.param([{"type": "clear_thinking_20251015", "keep": "all"}], True, id="thinking alone"),
    ],
)
def test_nothing_refers_to_a_result_that_the_server_may_clear(edits: list[dict[str, Any]], repeats: bool) -> None:
    said = [user("go")]
    for number in range(2):
        said += [assistant(use(f"t{number}", "Read", file_path="a.py")), user(result(f"t{number}", listing()))]
    body = messages(*said, context_management={"edits": edits})
    first = messages(*said[:3], context_management={"edits": edits})
    with pressing() as press:
        sent = press.all([first, body])[-1].body
    assert (b"still shown there in full" in sent) is repeats


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        pytest.param([user(result("t9", log()))], "unpaired", id="no call"),
        pytest.param(
            [assistant(use("t0", "Bash", command="make")), user(result("t0", "LONE" + log()))],
            "unreadable",
            id="a lone surrogate",
        ),
    ],
)
def test_what_nothing_can_be_decided_on_is_told(said: list[dict[str, Any]], reason: str) -> None:
    with pressing() as press:
        prepared = press(messages(user("go"), *said).replace(b"LONE", rb"\ud83d"))
    assert [line.reason for line in prepared.receipt.lines] == [reason]
    assert not prepared.changed
