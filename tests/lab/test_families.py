"""Which files hold the same requests: resumed, forked and copied sessions, and those that only look like it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from coldpress.lab.families import Continued, Families, find_families

from .recording import Session

Line = dict[str, object]
Write = Callable[[str, Sequence[str]], Path]


def reply_id(session: str, number: int) -> str:
    """An id as a provider draws it."""
    return f"msg_01XFDUDYJgAACzvn{session}{number:04d}"


def talk(one: Session, name: str, numbers: Sequence[int]) -> None:
    """Let a session go on: the model calls a tool, its result comes, it says something."""
    for number in numbers:
        one.user(f"Do {number}.")
        one.calls(reply_id(name, number), f"toolu_{name}_{number}")
        one.says(reply_id(name, number), "I looked.")  # a second line of the same reply
        one.result(f"toolu_{name}_{number}")
        one.says(reply_id(f"{name}e", number), "Done.")


def session(*parts: tuple[str, Sequence[int]], called: str = "s1") -> list[str]:
    """The lines of a session that is made of parts; equal parts at its beginning have equal ids and times."""
    one = Session()
    for name, numbers in parts:
        talk(one, name, numbers)
    return [json.dumps({**json.loads(line), "sessionId": called}) for line in one.lines]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, lines: Sequence[str]) -> Path:
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return write


FIRST = session(("a", range(5)))


def test_a_resumed_session_holds_the_one_before(write: Write) -> None:
    before = write("x", FIRST)
    after = write("y", session(("a", range(5)), ("b", range(3)), called="s2"))
    alone = write("z", session(("c", range(5))))
    expected = Families(continued=(Continued(before, by=after, more=6),))
    assert find_families([before, after, alone]) == find_families([after, alone, before]) == expected


def test_of_a_session_resumed_twice_the_last_file_stays(write: Write) -> None:
    paths = [write(f"x{count}", session(("a", range(count)), called=f"s{count}")) for count in (2, 4, 9)]
    found = find_families(paths)
    assert [(one.path, one.by, one.more) for one in found.continued] == [
        (paths[0], paths[2], 14),
        (paths[1], paths[2], 10),
    ]
    assert found.together == ((paths[2], paths[0], paths[1]),)


def test_forked_sessions_both_stay_in_one_family(write: Write) -> None:
    begin = ("a", range(5))
    one, other = write("x", session(begin, ("b", range(3)))), write("y", session(begin, ("c", range(2)), called="s2"))
    before = write("z", FIRST)
    alone = write("w", session(("d", range(5))))
    found = find_families([alone, before, other, one])
    assert found == Families((Continued(before, by=one, more=6),), ((other, one),))
    assert found.together == ((other, one, before),)


def test_of_copies_under_another_session_id_the_larger_file_stays_or_the_first(write: Write) -> None:
    one, other = write("x", FIRST), write("y", session(("a", range(5)), called="s2"))
    assert find_families([one, other]).continued == (Continued(other, by=one, more=0),)
    longer = write("z", session(("a", range(5)), called="a-longer-name"))
    assert find_families([one, longer]).continued == (Continued(one, by=longer, more=0),)


def test_the_same_words_do_not_make_a_family(write: Write) -> None:
    one = write("x", FIRST)
    again = write("y", [line.replace("msg_01XFDUDYJgAACzvna", "msg_01XFDUDYJgAACzvnq") for line in FIRST])
    assert find_families([one, again]) == Families()


@pytest.mark.parametrize(
    "shape", [pytest.param("msg_{}", id="short"), pytest.param("msg_{:024d}", id="filled up with zeros")]
)
def test_ids_that_a_local_server_counted_say_nothing(write: Write, shape: str) -> None:
    def counted(what: str) -> list[str]:
        one = Session()
        for number in range(5):
            one.user(what)
            one.says(shape.format(number), "Hello.")
        return one.lines

    assert (
        find_families([write("x", counted("Hi")), write("y", counted("Hello")), write("z", counted("Hi!"))])
        == Families()
    )


def test_a_torn_first_line_and_a_torn_first_reply_hide_nothing(write: Write) -> None:
    longer = write("y", session(("a", range(5)), ("b", range(3)), called="s2"))
    torn = write("x", [FIRST[0][50:], *FIRST[1:]])
    assert find_families([torn, longer]).continued == (Continued(torn, by=longer, more=6),)
    without = write("z", [line[50:] if reply_id("a", 0) in line else line for line in FIRST])
    assert find_families([without, longer]).continued == (Continued(without, by=longer, more=7),)


def test_a_file_whose_sub_agents_the_other_has_not_is_not_left_out(write: Write) -> None:
    def progress(number: int) -> str:
        inner = {"type": "assistant", "message": {"id": reply_id("sub", number), "model": "m", "content": []}}
        data = {"type": "agent_progress", "agentId": "g", "message": inner}
        return json.dumps({"type": "progress", "sessionId": "s1", "uuid": f"p{number}", "data": data})

    longer = session(("a", range(5)), ("b", range(3)), called="s2")
    with_agents, without = write("x", [*FIRST, *map(progress, range(2))]), write("y", longer)
    assert find_families([with_agents, without]) == Families((), ((with_agents, without),))
    both = write("z", [*longer, *map(progress, range(2))])
    assert find_families([with_agents, both]).continued == (Continued(with_agents, by=both, more=6),)


def test_notes_of_the_client_are_no_replies(write: Write) -> None:
    one = Session(list(FIRST))
    one.reply("e9b3c6a0-77aa-4f0e-9e0c-3f1d2b4a5c6d", {"type": "text", "text": "API error"}, isApiErrorMessage=True)
    noted = write("x", one.lines)
    longer = write("y", session(("a", range(5)), ("b", range(1)), called="s2"))
    assert find_families([noted, longer]).continued == (Continued(noted, by=longer, more=2),)


def pi(session_id: str, entries: Sequence[tuple[str, int]]) -> list[str]:
    lines: list[Line] = [{"type": "session", "version": 3, "id": session_id, "timestamp": "2026-01-01T00:00:00Z"}]
    for name, at in entries:
        message = {"role": "assistant", "content": [{"type": "text", "text": "Yes."}], "timestamp": at}
        lines += [
            {
                "type": "message",
                "id": f"{at % 97:08x}",
                "message": {"role": "user", "content": "Go on.", "timestamp": at},
            },
            {"type": "message", "id": name, "message": {**message, "responseId": "msg_00000001"}},
        ]
    return [json.dumps(line) for line in lines]


def codex(session_id: str, calls: Sequence[str], *said: str) -> list[str]:
    items: list[Line] = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]}]
    items += [{"type": "function_call", "name": "shell", "arguments": "{}", "call_id": call} for call in calls]
    items += [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": t}]} for t in said]
    lines = [{"type": "session_meta", "payload": {"id": session_id}}]
    lines += [{"type": "response_item", "payload": item} for item in items]
    return [json.dumps({"timestamp": f"2026-01-01T00:00:00.{session_id}Z", **line}) for line in lines]


def test_a_branch_of_a_pi_session_holds_what_it_was_branched_from(write: Write) -> None:
    entries = [("6a37a8f6", 1796051377363), ("13744a2e", 1796051377426)]
    before, after = write("x", pi("p1", entries)), write("y", pi("p2", [*entries, ("5977f634", 1796051377477)]))
    later = write("z", pi("p3", [(name, at + 1) for name, at in entries]))
    assert find_families([before, after, later]) == Families((Continued(before, by=after, more=1),))


CALLS = [f"call_Qx7bT2mK9vLpR4sW8nYc{number}" for number in range(4)]


def test_a_forked_codex_rollout_holds_what_it_was_forked_from(write: Write) -> None:
    before, after = write("x", codex("1", CALLS[:2], "Done.")), write("y", codex("2", CALLS[:2], "Done.", "More."))
    assert find_families([before, after]).continued == (Continued(before, by=after, more=1),)


def test_a_codex_rollout_that_said_something_else_is_not_left_out(write: Write) -> None:
    one, other = write("x", codex("1", CALLS[:2], "Ended.")), write("y", codex("2", CALLS, "Done."))
    assert find_families([one, other]) == Families((), ((one, other),))


def test_two_programs_have_no_family(write: Write) -> None:
    shared = CALLS[0]
    lines = [json.dumps({**json.loads(line), "sessionId": "s"}) for line in FIRST]
    claude = write("x", [line.replace(reply_id("a", 0), shared) for line in lines])
    assert find_families([claude, write("y", codex("1", [shared])), write("z", codex("2", [CALLS[1]]))]) == Families()


def test_what_is_no_session_or_not_there_has_no_family(write: Write, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(json.dumps([{"role": "user", "content": "Hi"}]))
    (tmp_path / "bytes").write_bytes(b"\xff\x00\n" * 9)
    paths = [tmp_path / "list.json", tmp_path / "bytes", tmp_path / "gone", tmp_path, write("x", FIRST)]
    assert find_families(paths) == Families()


def test_recorded_sessions_that_are_not_the_same_are_left_alone(shared: Path) -> None:
    paths = sorted(path for path in (shared / "trajectories" / "dev").rglob("*") if path.is_file())
    assert len(paths) > 60
    assert find_families(paths) == Families()


def test_a_recorded_session_that_was_resumed_is_found(shared: Path, write: Write) -> None:
    folder = shared / "trajectories" / "dev" / "claude-code"
    path = folder / "entire-04_0b015eb1c2_0.jsonl"
    lines = path.read_text().splitlines()
    half = [json.dumps({**json.loads(line), "sessionId": "another"}) for line in lines[: len(lines) // 2]]
    begun = write("begun", half)
    found = find_families([begun, *sorted(folder.iterdir())])
    assert [(one.path, one.by) for one in found.continued] == [(begun, path)]
    assert found.continued[0].more > 0 and not found.apart
