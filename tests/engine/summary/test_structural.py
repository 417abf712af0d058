"""What a summary without a model carries over, and that it says nothing of its own."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from bodies import conversation
from cases.talk import Json, assistant, chat, chat_calls, chat_result, messages, result, use, user
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import STEPS, STYLES, anthropic_messages, anthropic_request, chat_messages, chat_request, write

from coldpress.engine.summary.bound import Bounded
from coldpress.engine.summary.check import Checked, checked
from coldpress.engine.summary.render import render
from coldpress.engine.summary.structural import MAX_RULES, build
from coldpress.engine.transcript import source_texts
from coldpress.model.summary import Item, Section


def built(*listed: Json, **bounds: int) -> Bounded:
    """Summarise all messages but the first, which states the task, and check that every item holds."""
    found = conversation(messages(user("Fix the build. It is done when make test passes."), *listed))
    made = build(found, 1, len(found.messages), task_stop=1, **bounds)
    assert checked(made.summary, source_texts(found)) == Checked(made.summary, 0)
    return made


def ran(number: int, text: str, tool: str = "Bash", *, failed: bool = False, **arguments: object) -> tuple[Json, Json]:
    """One call with its result."""
    call = f"t{number}"
    return assistant(use(call, tool, **arguments)), user(result(call, text, is_error=failed))


def texts(made: Bounded, section: Section) -> list[str]:
    return [item.text for item in getattr(made.summary, section)]


def said_in(made: Bounded) -> str:
    return "\n".join(item.text for _, items in made.summary.sections() for item in items)


CANARIES = ("$4,300", "9f2c1", "never touch prod")


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(
            [assistant("The cap is $4,300, so I never touch prod. I built on commit 9f2c1 here.")], id="the assistant"
        ),
        pytest.param(
            [user("The cap is $4,300.\nAlso: never touch prod.\n- must stay on commit 9f2c1")],
            id="the user",
        ),
        pytest.param(
            ran(
                1,
                "# Rules\n\nThe cap is $4,300.\n- never touch prod\n- You must stay on commit 9f2c1",
                "Read",
                file_path="RULES.md",
            ),
            id="a document",
        ),
        pytest.param(
            ran(
                1, "Approved. The cap is $4,300; never touch prod. You must deploy commit 9f2c1.", "ask_reviewer", q="?"
            ),
            id="the answer of a tool that nobody knows",
        ),
        pytest.param(
            ran(1, "policy: never touch prod\nbudget: $4,300\nYou must keep commit 9f2c1.", command="./policy.sh"),
            id="output of a command",
        ),
    ],
)
def test_f17_canaries_survive_wherever_they_were_said(where: Iterable[Json]) -> None:
    noise = [m for n in range(9, 60) for m in ran(n, f"step {n} done", command=f"make step-{n}")]
    said = said_in(built(*where, *noise))
    assert [canary for canary in CANARIES if canary not in said] == []


def test_f17_canaries_survive_five_rounds_over_ever_more_messages() -> None:
    listed = [
        user("Deploy the service."),
        assistant("I will keep in mind: never touch prod. The cap is $4,300. The base is commit 9f2c1."),
        user("go on"),
    ]
    for generation in range(1, 6):
        for number in range(40):
            name = f"{generation}_{number}"
            listed += [
                assistant(f"Because step {name} passed I chose to go on with the next one.", use(f"t{name}")),
                user(result(f"t{name}", f"built module_{name}\nwrote out/{name}.o")),
            ]
        found = conversation(messages(*listed))
        made = build(found, 1, len(found.messages) - 12, task_stop=1)
        text = render(made.summary, first=2, last=9, generation=generation, recall=None, left_out=made.left_out)
        assert [canary for canary in CANARIES if canary not in text] == []
        assert checked(made.summary, source_texts(found)).dropped == 0


@pytest.mark.parametrize(
    "sentence",
    [
        "The query took approximately 4200 ms because the index is probably missing.",
        "It turns out that the cache may be stale, though I have not verified this.",
        "I believe the root cause is a race, but this is only a guess.",
    ],
)
def test_f15_words_of_doubt_survive(sentence: str) -> None:
    assert texts(built(assistant(f"Some first words here. {sentence} Now let me look on.")), "decisions") == [sentence]


@pytest.mark.parametrize(
    ("sentence", "binds"),
    [
        pytest.param("Do not push to main.", True, id="do not"),
        pytest.param("Please don't rename the public functions.", True, id="don't"),
        pytest.param("The user said that we must not edit vendored code.", True, id="must not"),
        pytest.param("Remember: never\ndelete the backups.", True, id="over two lines"),
        pytest.param("The production database is off-limits.", True, id="off-limits"),
        pytest.param("Spend at most 40 USD on this.", True, id="at most"),
        pytest.param("The deadline is 2026-12-24.", True, id="a deadline"),
        pytest.param("Always run the linter before a commit.", True, id="always"),
        pytest.param("No deploys without asking the owner first.", True, id="without asking"),
        pytest.param("Got it, I won't amend commits any more.", True, id="a promise"),
        pytest.param("Should we never touch prod?", False, id="a question"),
        pytest.param("Only 3 of the calls remain.", False, id="a count"),
        pytest.param("This value is never used anywhere.", False, id="never used forbids nothing"),
        pytest.param("I don't see the file in this folder.", False, id="I don't see"),
        pytest.param("The tests do not cover this branch yet.", False, id="a finding"),
        pytest.param("It was not only slow but also wrong.", False, id="not only"),
    ],
)
def test_constraints_in_prose(sentence: str, binds: bool) -> None:
    assert texts(built(assistant(sentence)), "constraints") == ([f"assistant: {sentence}"] if binds else [])


@pytest.mark.parametrize(
    ("call", "binds"),
    [
        pytest.param({"tool": "Read", "file_path": "AGENTS.md"}, True, id="a document"),
        pytest.param({"tool": "Read", "file_path": "docs/guide.rst"}, True, id="a prohibition in a manual"),
        pytest.param({"tool": "Read", "file_path": "src/a.py"}, False, id="source code"),
        pytest.param({"tool": "Grep", "pattern": "prod"}, False, id="hits of a search"),
        pytest.param({"tool": "Task", "prompt": "ask"}, True, id="a subagent's report"),
    ],
)
def test_constraints_in_results(call: dict[str, str], binds: bool) -> None:
    made = built(*ran(1, "     1→Rules\n     2→You must never touch prod.", **call))
    label = f"result of {call['tool']}: You must never touch prod."
    assert made.summary.constraints == ((Item(label, 3, ("You must never touch prod.",)),) if binds else ())


ORDERS = """# Refunds

Refunds are never paid in cash.
- No refunds after 30 days.
- Book the difference to account 7431-08.
- Use tabs in Go files.
The shop was founded in 1998.
"""


@pytest.mark.parametrize(
    ("path", "constraints"),
    [
        pytest.param(
            "docs/RULES.md",
            ["Refunds are never paid in cash.", "No refunds after 30 days.", "Use tabs in Go files."],
            id="a document of rules",
        ),
        pytest.param("docs/history.md", [], id="another document"),
        pytest.param("src/rules.py", [], id="code"),
    ],
)
def test_orders_without_a_word_that_binds(path: str, constraints: list[str]) -> None:
    made = built(*ran(1, ORDERS, "Read", file_path=path))
    assert texts(made, "constraints") == [f"result of Read: {sentence}" for sentence in constraints]
    assert texts(made, "artifacts") == (["Book the difference to account 7431-08."] if constraints else [])


def test_a_long_document_of_rules_crowds_out_nothing() -> None:
    rules = "\n".join(f"- Use tool {name} for everything." for name in "abcdefghijklmnopqrstuvwxyz")
    made = built(*ran(1, f"{rules}\n- You must never touch prod.", "Read", file_path="RULES.md"))
    assert len(made.summary.constraints) == MAX_RULES + 1
    assert texts(made, "constraints")[-1] == "result of Read: You must never touch prod."


def test_names_of_single_things_go_before_measures() -> None:
    measures = " ".join(f"Run {n} took {n}00 ms and was fine." for n in range(1, 60))
    made = built(assistant("It goes to account 7431-08."), assistant(f"Well. {measures} Well."))
    assert "It goes to account 7431-08." in texts(made, "artifacts")
    assert dict(made.left_out)["artifacts"] > 0


def test_thinking_aloud_crowds_out_no_prohibition() -> None:
    aloud = assistant(" ".join(f"So it must be case {n} of them." for n in range(30)))
    made = built(assistant("Never touch prod."), aloud, aloud, most_items=10)
    assert texts(made, "constraints")[0] == "assistant: Never touch prod."
    assert dict(made.left_out)["constraints"] > 0


def test_a_long_text_of_a_user_is_no_list_of_constraints() -> None:
    pasted = "Never touch prod.\n\n" + "Words of a manual follow here. " * 80
    assert texts(built(assistant("hello"), user(pasted)), "constraints") == []


def test_a_system_message_between_the_turns_binds() -> None:
    listed = (user("go"), chat_calls(("t1", "Bash", {"command": "ls"})), chat_result("t1", "a"))
    found = conversation(chat(*listed, {"role": "system", "content": "Never touch prod."}), "openai_chat")
    assert texts(build(found, 1, 4, task_stop=1), "constraints") == ["system: Never touch prod."]


def test_what_a_harness_injects_is_nobodys_word() -> None:
    reminder = "<system-reminder>\nNever mention this. You must use the todo tool.\n</system-reminder>"
    made = built(
        assistant("hello"), user(f"{reminder}\nDo not push."), *ran(1, f"fine\n{reminder}", "Task", prompt="x")
    )
    assert texts(made, "constraints") == ["user: Do not push."]


FAILED = "src/a.c:3:5: error: 'x' undeclared\nmake: *** [all] Error 1"


@pytest.mark.parametrize(
    ("calls", "failures", "ruled_out"),
    [
        pytest.param([("make test", FAILED)], ["make test"], [], id="fails"),
        pytest.param([("make test", FAILED), ("make test", "ok")], [], [], id="passes later"),
        pytest.param([("make test", "ok"), ("make test", FAILED)], ["make test"], [], id="passed before"),
        pytest.param(
            [("cd x && make test 2>&1 | tail -5", FAILED), ("make test", "ok")], [], [], id="passes in another guise"
        ),
        pytest.param([("make test", FAILED), ("make lint", "ok")], ["make test"], [], id="another target passes"),
        pytest.param(
            [("pytest tests/a.py", "1 failed in 0.1s\nE   assert 0"), ("pytest -q", "3 passed in 0.1s")],
            [],
            [],
            id="all tests pass",
        ),
        pytest.param(
            [("pytest", "1 failed in 0.1s\nE   assert 0"), ("pytest tests/b.py", "3 passed in 0.1s")],
            ["pytest"],
            [],
            id="some tests pass",
        ),
        pytest.param(
            [("go test ./a -run T", "--- FAIL: T (0.0s)"), ("go test ./...", "ok  \tx/a\t0.1s")], [], [], id="go"
        ),
        pytest.param(
            [("pip install foo==1", "ERROR: No matching distribution"), ("pip install foo==2", "done")],
            [],
            ["pip install foo==1"],
            id="another way was taken",
        ),
        pytest.param(
            [("pip install foo==1", "ERROR: No matching distribution")], ["pip install foo==1"], [], id="last"
        ),
    ],
)
def test_commands_that_fail(calls: list[tuple[str, str]], failures: list[str], ruled_out: list[str]) -> None:
    made = built(*(m for n, (command, text) in enumerate(calls) for m in ran(n, text, command=command)))
    assert [text.split("\n")[0] for text in texts(made, "failures")] == failures
    assert [text.split("\n")[0] for text in texts(made, "ruled_out")] == ruled_out


def test_a_failure_is_told_with_its_exact_lines_and_its_latest_run_counts() -> None:
    made = built(
        *ran(1, "a.c:1:1: error: old one", command="make test"),
        *ran(2, f"cc -c a.c\n\x1b[31m{FAILED}\x1b[0m\r\nbye", command="make test"),
    )
    lines = ("make test", "src/a.c:3:5: error: 'x' undeclared", "make: *** [all] Error 1")
    assert made.summary.failures == (Item("\n".join(lines), 5, lines),)


def test_a_failed_edit_is_made_good_by_a_later_edit_of_that_file() -> None:
    lost = ran(
        1, "String to replace not found", "Edit", failed=True, file_path="src/a.py", old_string="x", new_string="y"
    )
    good = ran(2, "updated", "Edit", file_path="src/a.py", old_string="z", new_string="y")
    other = ran(3, "updated", "Edit", file_path="src/b.py", old_string="z", new_string="y")
    assert texts(built(*lost, *good), "ruled_out") == []
    assert texts(built(*lost, *other), "ruled_out") == ["Edit with file_path: src/a.py\nString to replace not found"]


def test_files_that_were_changed() -> None:
    edit = {"file_path": "src/my app/a.py", "old_string": "x", "new_string": "y"}
    patch = "*** Begin Patch\n*** Update File: lib/p.py\n@@\n-x\n+y\n*** End Patch"
    made = built(
        *ran(1, "updated", "Edit", **edit),
        *ran(2, "updated", "MultiEdit", **edit),
        *ran(3, "no", "Write", failed=True, file_path="never/written.py", content="x"),
        *ran(4, "", command="cat > out/new.txt <<'EOF'\nx\nEOF"),
        *ran(5, "", command="sed -i s/x/y/ conf/b.ini 2>/dev/null"),
        *ran(6, "Success", "apply_patch", input=patch),
    )
    assert made.summary.artifacts == (
        Item("src/my app/a.py: changed by Edit and MultiEdit 2 times", 5, ("src/my app/a.py",)),
        Item("out/new.txt: changed by Bash once", 9, ("out/new.txt",)),
        Item("conf/b.ini: changed by Bash once", 11, ("conf/b.ini",)),
        Item("lib/p.py: changed by apply_patch once", 13, ("lib/p.py",)),
    )


SHA = "8843d7f92416211de9ebb963ff4ce28125932878"


@pytest.mark.parametrize(
    ("run", "told"),
    [
        pytest.param(
            ran(1, "[main 9f2c1ab] fix it\n 1 file changed", command="git commit -m 'fix it'"),
            ["[main 9f2c1ab] fix it"],
            id="a commit",
        ),
        pytest.param(
            ran(1, "https://x.example/o/r/pull/41\n", command="gh pr create"),
            ["https://x.example/o/r/pull/41"],
            id="a pull request",
        ),
        pytest.param(
            ran(1, "commit 9f2c1ab0\nAuthor: x\n\n    fix", command="git log -1 --format=full"),
            [],
            id="a look at the log",
        ),
        pytest.param(
            ran(1, f"{SHA}\n", command="git rev-parse HEAD"),
            [f"git rev-parse HEAD: {SHA}"],
            id="a hash that was asked for",
        ),
        pytest.param(
            ran(1, "9f2c1ab", command="git log -1 --format=%h"), ["git log -1 --format=%h: 9f2c1ab"], id="a short one"
        ),
        pytest.param(
            ran(1, SHA, command="./release.sh | tail -1"), [f"./release.sh | tail -1: {SHA}"], id="a hash alone"
        ),
        pytest.param(
            ran(1, "9f2c1ab fix it\n8e01b2c add it", command="git log --oneline -2"),
            [],
            id="a list of commits is a look",
        ),
        pytest.param(
            ran(1, "The difference goes to account 7431-08.\nbye", command="./settle --next"),
            ["The difference goes to account 7431-08."],
            id="a labelled id",
        ),
        pytest.param(ran(1, "opened ABC-12", command="jira new"), ["opened ABC-12"], id="a ticket in a short answer"),
        pytest.param(
            ran(1, "\n".join(f"ok {n} order id: 55A1-{n}" for n in range(9)), command="make test"), [], id="a long log"
        ),
        pytest.param(
            ran(1, "x\n" * 3_000 + "[main 9f2c1ab] fix it", command="make && git commit -am 'fix it'"),
            ["[main 9f2c1ab] fix it"],
            id="at the end of a long log",
        ),
        pytest.param(
            ran(1, "[main 9f2c1ab] fix it\nmake: *** [all] Error 1", command="git commit -m x; make"),
            ["[main 9f2c1ab] fix it"],
            id="a commit before something that failed",
        ),
        pytest.param(
            ran(1, '{"reservation_id": "4WQ150", "name": "x", "price": 88}', "book_reservation", user="u_1"),
            ['book_reservation: "reservation_id": "4WQ150"', 'book_reservation: "price": 88'],
            id="a booking",
        ),
        pytest.param(
            ran(1, "ok", "cancel_order", order="W-1"), ["cancel_order was called: order: W-1"], id="nothing came back"
        ),
    ],
)
def test_what_calls_gave_back(run: tuple[Json, Json], told: list[str]) -> None:
    assert texts(built(*run), "artifacts") == told


def test_the_plan_is_the_latest_one() -> None:
    old = [{"content": "Old step", "status": "pending"}]
    new = [{"content": 'Fix "x"', "status": "completed"}, {"content": "Ship it", "status": "in_progress"}]
    made = built(*ran(1, "ok", "TodoWrite", todos=old), *ran(2, "ok", "TodoWrite", todos=new))
    assert made.summary.plan == (
        Item('completed: Fix "x"', 4, ('Fix "x"',)),
        Item("in progress: Ship it", 4, ("Ship it",)),
    )


def test_a_plan_that_is_kept_task_by_task() -> None:
    made = built(
        *ran(1, "Task #1 created successfully: One", "TaskCreate", subject="One"),
        *ran(2, "Task #2 created successfully: Two", "TaskCreate", subject="Two"),
        *ran(3, "Updated task #1", "TaskUpdate", taskId="1", status="completed"),
        *ran(4, "Updated task #2", "TaskUpdate", taskId="2", status="deleted"),
    )
    assert made.summary.plan == (Item("completed: One", 2, ("One",)),)


def test_questions_are_open_until_a_user_speaks() -> None:
    asked = assistant("I fixed it. Shall I also update the docs?")
    assert texts(built(asked), "questions") == ["Shall I also update the docs?"]
    assert texts(built(asked, user("yes")), "questions") == []


def test_the_goal_is_quoted_from_the_task() -> None:
    goal = built(assistant("hello")).summary.goal
    assert goal == tuple(Item(s, 1, (s,)) for s in ("Fix the build.", "It is done when make test passes."))


def test_bounds_hold_and_what_they_cost_is_told() -> None:
    listed = [m for n in range(80) for m in ran(n, "updated", "Write", file_path=f"src/f_{n}.py", content="x")]
    assert built(*listed, most_items=5).left_out == (("artifacts", 75),)
    assert texts(built(*listed, most_items=1), "artifacts") == ["src/f_79.py: changed by Write once"]
    small = built(*listed, most_bytes=300)
    assert 0 < len(said_in(small).encode()) <= 300
    assert dict(small.left_out)["artifacts"] == 80 - len(small.summary.artifacts)


def test_both_formats_say_the_same() -> None:
    mine = built(*ran(1, FAILED, command="make test"))
    found = conversation(
        chat(
            user("Fix the build. It is done when make test passes."),
            chat_calls(("t1", "Bash", {"command": "make test"})),
            chat_result("t1", FAILED),
        ),
        "openai_chat",
    )
    assert build(found, 1, 3, task_stop=1) == mine


def test_arguments_that_are_no_unicode_count_as_absent() -> None:
    body = chat(user("go"), chat_calls(("t1", "Bash", {"command": "PLACE"})), chat_result("t1", FAILED))
    found = conversation(body.replace(b'{\\"command\\": \\"PLACE\\"}', b"\\ud83d"), "openai_chat")
    assert b"PLACE" not in found.body
    assert checked(build(found, 1, 3, task_stop=1).summary, source_texts(found)).dropped == 0


@settings(max_examples=60)
@given(st.lists(STEPS, max_size=6), STYLES, st.booleans())
def test_every_item_of_any_conversation_holds_and_twice_is_the_same(steps: list, style: object, is_chat: bool) -> None:
    name = "openai_chat" if is_chat else "anthropic"
    body = write(chat_request(chat_messages(steps)) if is_chat else anthropic_request(anthropic_messages(steps)), style)
    found = conversation(body, name)
    first = 2 if is_chat else 1
    made = build(found, first, len(found.messages), task_stop=first)
    assert checked(made.summary, source_texts(found)) == Checked(made.summary, 0)
    assert build(conversation(body, name), first, len(found.messages), task_stop=first) == made
