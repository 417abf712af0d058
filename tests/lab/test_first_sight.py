"""What is measured of first sight is what was sent; and over real sessions the default policy keeps its promise."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from lab.recording import Session

from coldpress.engine.reduce.dedupe import EDGE_LINES, MIN_BORDERED_LINES
from coldpress.lab.first_sight import Sent, SessionFigures, measure
from coldpress.lab.first_sight_summary import Summary, summarise
from coldpress.lab.importers.claude_code import read_file, read_lines
from coldpress.lab.pressed import Exchange, default_settings, exchanges
from coldpress.lab.quotes import Quoted, Shown
from coldpress.lab.stats import most_if_none, share_interval
from coldpress.measure.cache import Piece, PrefixCache
from coldpress.measure.cache_rules import ANTHROPIC
from coldpress.measure.tokens import estimate
from coldpress.model.errors import RecordingError

REPOSITORY = Path(__file__).resolve().parents[2]
RECORDED = REPOSITORY / ".." / "shared" / "data" / "trajectories" / "dev"
FOLDERS = ("claude-code", "claude-code-long")

LONG = [f"    total = total + rates[{i}] * hours[{i}]  # week {i}" for i in range(400)]
LINES = [*LONG[:250], *(f"    n += {i}" for i in range(300)), *LONG[250:]]
TEXT = "\n".join(LINES)


def numbered(lines: list[str]) -> str:
    return "\n".join(f"{number:>6}→{line}" for number, line in enumerate(lines, 1))


def marked(before: int, after: int) -> str:
    """The file with everything left out but some lines at both ends."""
    return "\n".join([*LINES[:before], "[coldpress: lines are the same]", *LINES[-after:]])


ALL = Quoted(edits=1, from_results=1, lines=4)


@pytest.mark.parametrize(
    ("original", "sent", "old", "expected"),
    [
        pytest.param(numbered(LINES), numbered(LINES), LINES[3:7], ALL, id="shown as it was"),
        pytest.param(numbered(LINES), TEXT, LINES[3:7], ALL, id="shown without the numbers"),
        pytest.param(numbered(LINES), marked(5, 5), LINES[-5:-1], ALL, id="shown in one piece though much is left out"),
        pytest.param(
            TEXT,
            marked(5, 5),
            LINES[3:7],
            Quoted(1, 1, 1, 1, lines=4, lines_lost=2, examples=("\n".join(LINES[3:7]),)),
            id="half of it is left out and stands nowhere",
        ),
        pytest.param(
            TEXT,
            "\n".join([*LINES[:5], "[coldpress: x]", *LINES[5:]]),
            LINES[3:7],
            Quoted(1, 1, 1, 0, lines=4, examples=("\n".join(LINES[3:7]),)),
            id="all of its lines are shown and a marker stands between",
        ),
        pytest.param(
            f"src/pay.py:17:{LINES[0]}",
            f"src/pay.py\n17:{LINES[0]}",
            LINES[:1],
            Quoted(1, 1, lines=1),
            id="a search under a heading",
        ),
        pytest.param("other", "gone", LINES[:4], Quoted(edits=1), id="not from a result"),
    ],
)
def test_an_edit_is_lost_where_its_text_is_sent_nowhere_in_one_piece(
    original: str, sent: str, old: list[str], expected: Quoted
) -> None:
    shown = Shown()
    shown.result(original, sent)
    assert shown.call("Edit", {"file_path": "a.py", "old_string": "\n".join(old), "new_string": ""}) == expected


def test_a_text_of_the_model_itself_counts_as_shown() -> None:
    shown = Shown()
    shown.result(TEXT, marked(5, 5))
    shown.input({"content": "\n".join(LINES[:9])})
    edits = [{"old_string": "\n".join(LINES[3:7])}, {"old_string": "\n".join(LINES[6:11])}, {"old_string": " "}]
    found = shown.call("MultiEdit", {"edits": edits})
    assert (found.edits, found.from_results, found.broken, found.line_lost) == (2, 2, 1, 1)


def test_other_calls_quote_lines_and_make_no_edit() -> None:
    shown = Shown()
    shown.result(TEXT, marked(5, 5))
    assert shown.call("Write", {"content": "\n".join(LINES[3:7])}) == Quoted(lines=4, lines_lost=2)


def reads(session: Session, name: str, lines: list[str]) -> None:
    block = {"type": "tool_use", "id": f"c{name}", "name": "Read", "input": {"file_path": "pay.py"}}
    session.reply(f"m{name}", block, stop="tool_use")
    session.result(f"c{name}", numbered(lines))


def edits(session: Session, name: str, old: list[str]) -> None:
    arguments = {"file_path": "pay.py", "old_string": "\n".join(old), "new_string": "pass"}
    session.reply(f"m{name}", {"type": "tool_use", "id": f"c{name}", "name": "Edit", "input": arguments})
    session.result(f"c{name}", "done")


def recorded() -> Session:
    """A file is read, a line in the middle changes, it is read again; then an edit quotes around the change."""
    session = Session()
    session.user("Shorten the sum.")
    reads(session, "1", LINES)
    changed = [*LINES[:200], "    total = math.fsum(total_of(week) for week in weeks)", *LINES[201:]]
    reads(session, "2", changed)
    edits(session, "3", changed[190:206])
    edits(session, "4", changed[196:206])
    session.says("m5", "Done.")
    return session


def figures(session: Session, count: Callable[[str], int] = estimate) -> SessionFigures:
    trajectories = read_lines(session.lines, name="run").trajectories
    return measure("run", exchanges(trajectories, default_settings()), count)


def test_tokens_are_those_of_every_text_of_every_request() -> None:
    received, sent = 0, 0
    for _, made in exchanges(read_lines(recorded().lines, name="run").trajectories, default_settings()):
        for exchange in made:
            received += sum(map(len, texts(json.loads(exchange.received))))
            sent += sum(map(len, texts(json.loads(exchange.sent))))
    tokens = figures(recorded(), len).tokens
    assert (tokens.without.every, tokens.pressed.every) == (received, sent)
    assert sent < received


def texts(body: dict[str, list[dict[str, list[dict[str, object]]]]]) -> list[str]:
    """Every text of the messages, found without the code under test."""
    found = list[str]()
    for message in body["messages"]:
        for block in message["content"]:
            match block["type"]:
                case "text":
                    found.append(str(block["text"]))
                case "tool_use":
                    arguments = json.dumps(block["input"], ensure_ascii=False, separators=(",", ":"))
                    found += [str(block["name"]), arguments]
                case _:
                    found.append(str(block["content"]))
    return found


def test_a_recording_gives_its_views_and_the_edit_that_reaches_past_the_edge() -> None:
    found = figures(recorded())
    assert (found.requests, found.conversations, dict(found.results)) == (5, 1, {"Read": 2, "Edit": 2})
    assert {key: views.results for key, views in found.views.items()} == {
        ("Read", "lossless"): 1,
        ("Read", "dedupe"): 1,
    }
    assert found.quoted.edits == found.quoted.from_results == 2
    assert found.quoted.broken == (1 if EDGE_LINES < 10 else 0)
    assert found.quoted.line_lost == found.quoted.lines_lost == 0
    assert 200 - EDGE_LINES >= MIN_BORDERED_LINES, "else this recording shows nothing"


def test_a_share_of_the_saving_is_told_for_every_view_and_they_add_up() -> None:
    summary = summarise([figures(recorded()), figures(recorded())])
    saving = summary.saving("messages")
    assert sum(row.saved_resent for row in summary.rows) == saving.without - saving.pressed
    assert sum(row.share for row in summary.rows) == pytest.approx(1)
    assert [(row.of, row.results) for row in summary.rows] == [(4, 2), (4, 2)]
    assert summary.edits == 4


def test_a_request_that_changes_an_earlier_one_is_not_measured() -> None:
    trajectory = read_lines(recorded().lines, name="run").trajectories[0]
    [(_, made)] = [(t, list(found)) for t, found in exchanges([trajectory], default_settings())]
    late = made[-1]
    broken = [*made[:-1], Exchange(late.received, late.sent.replace(b"[coldpress", b"[otherwise"), (), late.turn)]
    with pytest.raises(RecordingError, match="request 4 changes"):
        measure("run", [(trajectory, broken)], estimate)


@pytest.mark.parametrize("ratio", [12.5, 25.0])
def test_the_bill_is_that_of_a_marked_cache_that_never_runs_cold(ratio: float) -> None:
    sizes = [700, 20, 3000, 5, 90]
    cache, bill, sent = PrefixCache(replace(ANTHROPIC, minimum_tokens=0)), 0.0, Sent()
    for end in range(1, len(sizes) + 1):
        pieces = [Piece(bytes([i]), size, "short" if i == end - 1 else None) for i, size in enumerate(sizes[:end])]
        usage = cache.send(pieces, scope=b"m", now=float(end))
        bill += (usage.read or 0) + ratio * (usage.write_short or 0)
        sent += Sent(sum(sizes[:end]), sizes[end - 1])
    assert sent.bill(ratio) == bill


def test_an_interval_holds_its_share_and_comes_out_the_same_again() -> None:
    pairs = [(1.0, 10.0), (0.0, 40.0), (9.0, 30.0), (0.0, 0.0)]
    found = share_interval(pairs, seed=166)
    assert found is not None
    assert found.value == pytest.approx(10 / 80)
    assert found.low < found.value < found.high
    assert (found.low, found.high) == (0.0, 0.3)
    assert found == share_interval(pairs, seed=166)
    assert share_interval([(0, 0)], seed=166) is None


def test_nothing_found_in_few_trials_says_little() -> None:
    assert most_if_none(0) is None
    assert [round(most_if_none(trials) or 0, 3) for trials in (1, 10, 690)] == [0.95, 0.259, 0.004]


def test_the_command_prints_one_object(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one.jsonl").write_text("\n".join(recorded().lines), encoding="utf-8")
    command = [sys.executable, str(REPOSITORY / "benchmarks" / "first_sight.py"), str(tmp_path / "runs"), "--json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)
    assert found["loop"] == "open"
    assert found["figures"]["runs"]["requests"] == 5


@pytest.fixture(scope="module")
def real() -> dict[str, Summary]:
    """Figures over the recordings beside the repository, folder by folder and together."""
    if not RECORDED.is_dir():
        pytest.skip("needs the real recordings, which are not part of the repository")
    groups = {name: [real_session(path) for path in sorted((RECORDED / name).glob("*.jsonl"))] for name in FOLDERS}
    together = [session for sessions in groups.values() for session in sessions]
    return {name: summarise(sessions) for name, sessions in {**groups, "together": together}.items()}


def real_session(path: Path) -> SessionFigures:
    return measure(path.stem, exchanges(read_file(path).trajectories, default_settings()), estimate)


@pytest.mark.parametrize("group", [*FOLDERS, "together"])
def test_first_sight_takes_eight_percent_and_at_most_one_edit_in_two_hundred(
    real: dict[str, Summary], group: str
) -> None:
    found = real[group]
    assert found.requests > 1000, "too little to say anything"
    assert found.edits > 300, "too little to say anything"
    for scope in ("messages", "rebuilt"):
        saved = found.saving(scope).saved
        assert saved is not None
        assert saved.value >= 0.08
        assert saved.low >= 0.08
    for loss in (found.broken_edits, found.edits_with_a_line_lost, found.quoted_lines_lost):
        assert loss.lost <= 0.005 * loss.of
    assert (
        sum(row.saved_resent for row in found.rows)
        == found.saving("messages").without - found.saving("messages").pressed
    )
