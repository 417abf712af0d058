"""Requests rebuilt from a trajectory are valid, and each is a prefix of the next."""

from __future__ import annotations

import json
from itertools import pairwise

from lab.recording import Session, messages_bytes, objections

from coldpress.lab.importers.claude_code import read_lines
from coldpress.lab.rebuild import requests
from coldpress.model.trajectory import Trajectory, Turn
from coldpress.model.usage import Usage


def session_of(calls: int) -> Session:
    session = Session()
    session.user("count to three")
    for number in range(calls):
        session.calls(f"m{number}", f"c{number}", "Bash" if number % 2 else "Read")
        session.result(f"c{number}", [{"type": "text", "text": f"ünd {number}"}])
    session.says("last", "counted")
    return session


def trajectory(calls: int = 3) -> Trajectory:
    return read_lines(session_of(calls).lines, name="run").trajectories[0]


def test_every_request_is_valid() -> None:
    bodies = list(requests(trajectory()))
    assert len(bodies) == 4
    assert [objections(body) for body in bodies] == [[]] * 4


def test_each_request_is_a_prefix_of_the_next_but_for_cache_marks() -> None:
    for before, after in pairwise(requests(trajectory())):
        assert messages_bytes(after).startswith(messages_bytes(before))


def test_the_mark_moves_with_the_last_message() -> None:
    for body in requests(trajectory()):
        request = json.loads(body)
        marked = [i for i, m in enumerate(request["messages"]) for block in m["content"] if "cache_control" in block]
        assert marked == [len(request["messages"]) - 1]
        assert request["system"][-1]["cache_control"] == {"type": "ephemeral"}


def test_messages_come_before_system_and_tools() -> None:
    assert list(json.loads(next(requests(trajectory())))) == [
        "model", "messages", "system", "tools", "metadata", "max_tokens", "stream",
    ]  # fmt: skip


def test_the_tools_are_the_same_in_every_request() -> None:
    names = [[tool["name"] for tool in json.loads(body)["tools"]] for body in requests(trajectory())]
    assert names == [["Bash", "Read"]] * 4


def test_bodies_are_compact_utf8() -> None:
    last = list(requests(trajectory()))[-1]
    assert "ünd 2".encode() in last
    assert last.decode() == json.dumps(json.loads(last), ensure_ascii=False, separators=(",", ":"))


def test_marks_last_an_hour_where_the_provider_wrote_such() -> None:
    turn = Turn(('{"role":"user","content":[{"type":"text","text":"a"}]}',), "{}", "m", None, None, Usage(write_long=5))
    body = json.loads(next(requests(Trajectory("n", "s", False, (turn,)))))
    assert body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_a_fork_requests_only_what_is_new_and_shows_all_of_it() -> None:
    session = session_of(2)
    session.user("again", parent="u2")
    session.says("fork", "no")
    main, fork = read_lines(session.lines, name="run").trajectories
    (body,) = requests(fork)
    assert fork.shared_turns == 1
    assert objections(body) == []
    assert messages_bytes(body).startswith(messages_bytes(next(requests(main))))
