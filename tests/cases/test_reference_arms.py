"""The settings of the reference experiment do through a gateway what they did there, arm by arm, and the books say so.

Web searches become smaller at first sight; grep goes out exact once and is then pressed (by keyword, whatever that
costs), or left alone where the preflight says that a summary does not pay, or summarised at prices where it does.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bodies import messages_bytes
from cases.agents import PATIENCE_SECONDS, Json
from cases.reference import (
    CALLS,
    GREP,
    GREP_TURN,
    MODEL,
    PRO,
    PROVIDER,
    PURPOSE,
    READS,
    READS_IN_FULL,
    REQUESTS,
    RERUN,
    SEARCH_TURN,
    WEB,
    Agent,
    Arm,
    Played,
    Prices,
    Sent,
    play,
    reference_file,
    script,
    settings_file,
    source,
)
from cases.test_operations import serve
from cases.through import send
from click.testing import CliRunner

from coldpress.cli.main import main
from coldpress.testing import Rules, StrictUpstream

FILES: Mapping[Arm, str] = {"deterministic": "deterministic-arm.json", "model_gated": "model-gated-arm.json"}
PRESSED_TURN = GREP_TURN + 1
"""Number of the request from which on grep is shown smaller, where it is."""


@dataclass(frozen=True)
class Expected:
    """An arm, and what has to come of it.

    Attributes:
        pro: prices of the model of the task; `None` where the file names none.
        grep: the mode in which grep becomes smaller; `None` where it stays exact.
        cut: why it does, or does not.
        offload: what came of wanting a summary; `None` where none was wanted.
        calls: requests to the summariser.
    """

    arm: Arm
    pro: Prices | None = None
    grep: str | None = None
    cut: str | None = None
    offload: str | None = None
    calls: int = 0

    @property
    def on(self) -> bool:
        """Whether anything is changed at all."""
        return self.arm != "control"

    @property
    def later(self) -> range:
        """Requests on which the grep result that has been shown is weighed."""
        return range(PRESSED_TURN, PRESSED_TURN + 1 if self.grep else REQUESTS)

    @property
    def content(self) -> Json:
        """The settings file."""
        return reference_file(self.arm, pro=self.pro or PRO)


ARMS = {
    "control": Expected("control"),
    "deterministic": Expected("deterministic", grep="keyword", cut="ordered"),
    "model gated": Expected("model_gated", PRO, cut="does_not_pay", offload="preflight:does_not_pay"),
    "model gated, reads in full": Expected(
        "model_gated", READS_IN_FULL, grep="model", cut="pays", offload="applied", calls=1
    ),
}


@pytest.fixture(
    scope="module",
    params=[
        *(pytest.param((arm, True), id=f"{arm}, streamed") for arm in ARMS),
        pytest.param(("deterministic", False), id="deterministic, whole"),
    ],
)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Expected, Played]:
    """Each arm, played with streams, and one without."""
    name, stream = request.param
    file = settings_file(tmp_path_factory.mktemp("arm"), ARMS[name].content)
    return ARMS[name], play(file, stream=stream)


def test_results_are_shown_as_the_arm_says(run: tuple[Expected, Played]) -> None:
    expected, played = run
    check_shown(expected, played.sent)
    assert len(played.summaries) == expected.calls


def check_shown(expected: Expected, sent: tuple[Sent, ...]) -> None:
    """Compare what the upstream got with what the arm has to do."""
    assert [(one.exchange.status, one.exchange.refusal) for one in sent] == [(200, None)] * REQUESTS
    web = [one.shown("web_search") for one in sent]
    grep = [one.shown("grep") for one in sent]
    assert web[:SEARCH_TURN] == [[]]
    assert grep[:PRESSED_TURN] == [[], [], [GREP]], "exact on the request that shows it first"
    if not expected.on:
        assert [one.upstream for one in sent] == [one.body for one in sent]
    else:
        (view,) = web[SEARCH_TURN]
        assert RERUN in view
        assert 0 < len(view.encode()) < len(WEB.encode()) * 0.9
        assert web[SEARCH_TURN:] == [[view]] * (REQUESTS - SEARCH_TURN), "from first sight on, the same for ever"
    if expected.grep is None:
        assert grep[GREP_TURN:] == [[GREP]] * (REQUESTS - GREP_TURN)
    else:
        (view,) = grep[PRESSED_TURN]
        assert grep[PRESSED_TURN:] == [[view]] * (REQUESTS - PRESSED_TURN), "once pressed, the same for ever"
        marker, *lines = view.splitlines()
        assert marker.startswith("[coldpress: ")
        assert {line for line in GREP.splitlines() if "retry_budget" in line} <= set(lines)
        assert len(view.encode()) < len(GREP.encode()) / 2
    for one in sent:
        assert one.shown("read") == [source(path) for path in ("retry.py", *READS)][: len(one.shown("read"))]


def test_what_was_sent_is_sent_again_to_the_byte_but_for_the_one_rewrite(run: tuple[Expected, Played]) -> None:
    expected, played = run
    sent = [messages_bytes(one.upstream, "openai_chat") for one in played.sent]
    broken = [at for at, (one, later) in enumerate(itertools.pairwise(sent), 1) if not later.startswith(one)]
    assert broken == ([PRESSED_TURN] if expected.grep else [])
    assert len({json.dumps(one.exchange.request.json["tools"]) for one in played.sent}) == 1


def test_every_schema_asks_for_the_reason_and_the_client_never_meets_it(run: tuple[Expected, Played]) -> None:
    expected, played = run
    for one in played.sent:
        tools: Any = one.exchange.request.json["tools"]
        asks = ["intent" in tool["function"]["parameters"]["required"] for tool in tools]
        assert asks == [expected.on] * len(tools)
        assert b"intent" not in one.body, "neither in the tools of the client nor in the calls that it repeats"
        arguments = [json.loads(call["arguments"]) for call in one.calls()]
        assert ["intent" in given for given in arguments] == [expected.on] * len(arguments)
    last = {call["name"]: json.loads(call["arguments"]) for call in played.sent[-1].calls()}
    assert last["grep"] == ({"intent": PURPOSE} if expected.on else {}) | {"pattern": "retry_budget"}


def test_the_ledger_says_what_was_decided_and_why(run: tuple[Expected, Played]) -> None:
    expected, played = run
    found = [entry.receipt for entry in played.entries]
    lines = [[(line.tool, line.mode, line.reason) for line in receipt.lines] for receipt in found]
    rule = "exact_by_policy"
    first = ("web_search", "deterministic", "pressed") if expected.on else ("web_search", "exact", rule)
    grep = ("grep", "exact", "not_exposed" if expected.on else rule)
    read = ("read", "exact", rule)
    pressed = [("grep", expected.grep, "exposed")] if expected.grep else []
    assert lines == [[], [first], [grep, read], [read, *pressed], [read], [read], [read]]
    assert {at: receipt.cut.reason for at, receipt in enumerate(found) if receipt.cut} == dict.fromkeys(
        expected.later if expected.cut else (), expected.cut
    )
    assert {at: receipt.offload.why for at, receipt in enumerate(found) if receipt.offload} == dict.fromkeys(
        expected.later if expected.offload else (), expected.offload
    )
    assert sum(receipt.offload.calls for receipt in found if receipt.offload) == expected.calls
    edits = [int(expected.on)] * (PRESSED_TURN + 1) + [int(expected.on) + int(bool(expected.grep))] * 3
    assert [receipt.reused for receipt in found] == [0, 0, *edits[2:]]


def test_the_provider_s_own_cache_fields_are_in_the_ledger(run: tuple[Expected, Played]) -> None:
    """Of DeepSeek's fields, streamed or not; the rewrite is where the cache is read less far."""
    expected, played = run
    outcomes = [entry.outcome for entry in played.entries]
    told = [(one.usage.read, one.usage.fresh) for one in played.sent]
    assert [(outcome.usage.read, outcome.usage.fresh) for outcome in outcomes if outcome] == told
    reads = [one.usage.read or 0 for one in played.sent]
    assert [at for at in range(2, REQUESTS) if reads[at] <= reads[at - 1]] == ([PRESSED_TURN] if expected.grep else [])


def test_stats_are_the_sums_of_what_happened(run: tuple[Expected, Played]) -> None:
    expected, played = run
    check_stats(expected, played.sent, played.stats)


def check_stats(expected: Expected, sent: tuple[Sent, ...], stats: Json) -> None:
    """Compare `/stats` with what the client sent and the upstream got."""
    modes = {"deterministic": 1} if expected.on else {}
    modes |= {expected.grep: 1} if expected.grep else {}
    web_again, grep_again = REQUESTS - SEARCH_TURN - 1, REQUESTS - PRESSED_TURN - 1
    reuses = (web_again if expected.on else 0) + (grep_again if expected.grep else 0)
    assert (stats["requests"], stats["lineages"], stats["ended"]) == (REQUESTS, 1, {"complete": REQUESTS})
    assert {mode: views["count"] for mode, views in stats["by_mode"].items()} == modes
    assert stats["transformations"]["count"] == len(modes)
    assert (stats["first_sight"]["count"], stats["aged"]["count"]) == (int(expected.on), int(bool(expected.grep)))
    assert (stats["reuses"], stats["restorations"]) == (reuses, 0)
    assert stats["applications"] == len(modes) + reuses
    tools = {tool: (row["looked_at"], row["eligible"], row["count"]) for tool, row in stats["by_tool"].items()}
    on, grep = int(expected.on), int(bool(expected.grep))
    assert tools == {"web_search": (1, on, on), "grep": (1, on, grep), "read": (len(READS) + 1, 0, 0)}
    assert stats["eligible"]["results"] == 2 * on
    assert stats["bytes_removed"] == {
        "transformations": removed_bytes(sent[-1]),
        "applications": sum(removed_bytes(one) for one in sent),
    }
    assert (stats["body_bytes"], stats["sent_bytes"]) == (
        sum(len(one.body) for one in sent),
        sum(len(one.upstream) for one in sent),
    )
    check_money(expected, sent, stats)
    capture = {tool: (row["calls"], row["captured"], row["restored"]) for tool, row in stats["capture"].items()}
    reads = len(READS) + 1
    wanted = {"web_search": (1, 1, 1), "grep": (1, 1, 1), "read": (reads, reads, reads)} if expected.on else {}
    assert capture == wanted
    assert sum(calls for calls, _, _ in capture.values()) == on * CALLS


def removed_bytes(one: Sent) -> int:
    """How much shorter results reached the upstream than the client sent them."""
    client = json.loads(one.body)
    mine = [message["content"] for message in client["messages"] if message["role"] == "tool"]
    sent: Any = one.exchange.request.json
    theirs = [message["content"] for message in sent["messages"] if message["role"] == "tool"]
    return sum(len(a.encode()) - len(b.encode()) for a, b in zip(mine, theirs, strict=True))


def check_money(expected: Expected, sent: tuple[Sent, ...], stats: Json) -> None:
    """Compare tokens and money with what the upstream billed."""
    usage, bill = stats["usage"], stats["money"]["bill"]
    sums = {name: sum(getattr(one.usage, name) or 0 for one in sent) for name in ("fresh", "read", "output")}
    assert {name: usage[name]["tokens"] for name in sums} == sums
    assert (usage["unknown"], bill["unpriced"]) == (0, 0)
    if expected.pro is not None:
        rates = ("input_usd_per_mtok", "cache_read_usd_per_mtok", "output_usd_per_mtok")
        usd = sum(tokens * expected.pro[rate] for tokens, rate in zip(sums.values(), rates, strict=True)) / 1e6
        assert bill["usd"] == pytest.approx(usd, abs=1e-8)
    asked = stats["summariser"]
    wanted = len(expected.later) if expected.offload else 0
    assert asked["came_of"] == ({expected.offload: wanted} if expected.offload else {})
    assert (asked["requests"], asked["calls"], asked["reused"]) == (wanted, expected.calls, 0)
    assert (asked["cost"]["usd"] > 0) == (expected.calls > 0)


def test_observing_changes_nothing_and_says_what_would_have_been(tmp_path: Path) -> None:
    file = settings_file(tmp_path, reference_file("deterministic"))
    played = play(file, stream=True, operation="observe")
    assert [one.upstream for one in played.sent] == [one.body for one in played.sent]
    assert (played.stats["transformations"]["count"], played.stats["reuses"]) == (0, 0)
    assert played.stats["would_press"]["count"] == 1
    assert played.stats["capture"] == {}
    assert {entry.receipt.cut.reason for entry in played.entries if entry.receipt.cut} == {"observe"}


@pytest.mark.parametrize("arm", FILES)
def test_the_experiment_s_own_files_say_what_the_other_tests_run(arm: Arm, shared: Path) -> None:
    assert json.loads((shared / "reference" / FILES[arm]).read_text()) == reference_file(arm)


def test_the_experiment_s_own_model_gated_file_runs_as_it_is(shared: Path) -> None:
    played = play(shared / "reference" / FILES["model_gated"], stream=True)
    expected = ARMS["model gated"]
    check_shown(expected, played.sent)
    check_stats(expected, played.sent, played.stats)


def test_the_experiment_s_own_deterministic_file_runs_as_it_is(shared: Path, tmp_path: Path) -> None:
    """In a process of its own, and with the commands that tell of it afterwards."""
    file, store = shared / "reference" / FILES["deterministic"], tmp_path / "store.sqlite3"
    with StrictUpstream(script(), rules=Rules(dialect="deepseek")) as upstream:
        more = ("--port", "0", "--store", str(store), "--provider-url", f"{PROVIDER}={upstream.url}")
        with serve("--config", str(file), *more) as server:
            agent = Agent(server.url, upstream)
            sent = tuple(agent.run())
            stats = stats_of(server.url)
            server.stop()
    expected = ARMS["deterministic"]
    check_shown(expected, sent)
    check_stats(expected, sent, stats)
    check_stats(expected, sent, ledger("totals", store))
    assert [entry["model"] for entry in ledger("list", store)["requests"]] == [MODEL] * REQUESTS


def stats_of(url: str) -> Json:
    """What `/stats` says once it knows how every request ended; rows are written in batches."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        stats: Json = json.loads(send(url, "GET", "/stats", b"").body)["decisions"]
        if sum(stats["ended"].values()) == REQUESTS or time.monotonic() > until:
            return stats
        time.sleep(0.01)


def ledger(command: str, store: Path) -> Json:
    """What `coldpress ledger` prints."""
    told = CliRunner().invoke(main, ["ledger", command, "--store", str(store), "--json"])
    assert told.exit_code == 0, told.output
    found: Json = json.loads(told.stdout)
    return found
