"""A real SDK agent is asked for its reasons through the gateway, and the check of such runs finds what is wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

CLIENTS = Path(__file__).resolve().parents[2] / "clients"

if not CLIENTS.is_dir():
    pytest.skip("the clients are not part of this distribution", allow_module_level=True)
sys.path.insert(0, str(CLIENTS))

from catalogue import CLIENTS as KNOWN  # noqa: E402
from intent_check import executed, infer_problems, prefixes, problems, restored  # noqa: E402
from intent_tap import Heard  # noqa: E402
from intent_task import STEPS  # noqa: E402
from intent_trial import Run, run_mode  # noqa: E402

CALLS = sum(map(len, STEPS))
AGENT = next(client for client in KNOWN if client.name == "openai-sdk-stream")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    pytest.importorskip("openai", reason="the SDKs come with the test extra")
    folder = tmp_path_factory.mktemp("intent") / AGENT.name
    folder.mkdir()
    return run_mode(AGENT, Path(sys.prefix), folder, "capture", timeout_seconds=60)


def test_the_agent_makes_every_call_and_never_meets_the_field(run: Run) -> None:
    assert problems(AGENT, run, run) == []
    assert (executed(AGENT.wire, run), len(run.written)) == (CALLS, CALLS)
    assert prefixes(AGENT.wire, run) == [True] * len(STEPS)
    told, history = restored(AGENT.wire, run)
    assert told == history > CALLS


def _met(run: Run) -> Run:
    *before, last = run.heard
    body = last.body.replace(b'{\\"command\\"', b'{\\"intent\\": \\"xqreason\\", \\"command\\"', 1)
    assert body != last.body
    changed = Heard(last.method, last.target, last.headers, body)
    return replace(run, heard=(*before, changed), all_heard=(*run.all_heard[:-1], changed))


def _refused(run: Run) -> Run:
    *before, last = run.heard
    body = json.loads(last.body)
    body["messages"][-1]["content"] = "InputValidationError: an unexpected parameter was provided"
    changed = Heard(last.method, last.target, last.headers, json.dumps(body).encode())
    return replace(run, heard=(*before, changed))


def _as_the_client_has_it(run: Run) -> Run:
    *before, last = run.sent
    request = replace(last.request, body=run.heard[-1].body)
    return replace(run, sent=(*before, replace(last, request=request)))


def _uncounted(run: Run) -> Run:
    return replace(run, stats={**run.stats, "capture": {}}, receipts=())


@pytest.mark.parametrize(
    ("spoiled", "told"),
    [
        pytest.param(_met, "of the client has the field in a call", id="a client that sends the field"),
        pytest.param(_refused, "gave 'InputValidationError", id="a call that the client refused"),
        pytest.param(_as_the_client_has_it, "does not ask for the reason", id="tools that went out as they came"),
        pytest.param(_as_the_client_has_it, "is shown as", id="calls that were not restored"),
        pytest.param(_as_the_client_has_it, "the prefix holds", id="a prefix that broke"),
        pytest.param(_as_the_client_has_it, "the tools do not stay the same", id="tools that changed on the way"),
        pytest.param(_uncounted, "/stats tells {}", id="stats that know nothing"),
        pytest.param(_uncounted, "the ledger tells {}", id="a ledger that knows nothing"),
        pytest.param(lambda run: replace(run, sent=()), "0 reached the upstream", id="no request at all"),
        pytest.param(lambda run: replace(run, ended="ended with 1"), "ended with 1", id="a client that failed"),
    ],
)
def test_what_is_wrong_is_found(run: Run, spoiled: Callable[[Run], Run], told: str) -> None:
    assert [problem for problem in problems(AGENT, spoiled(run), run) if told in problem]


def test_inferring_that_changes_a_byte_is_found(run: Run) -> None:
    sent = [one.request.body for one in run.sent]
    found = list(infer_problems(AGENT, run, [*sent[:-1], b"{}"]))
    assert f"infer: {len(sent) - 1} of {len(sent)} bodies are as without plugins" in found
    assert "infer: a call says why it was made" in found
    assert any("/stats knows of captured reasons" in problem for problem in found)
