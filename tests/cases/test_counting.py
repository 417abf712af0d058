"""N: counts are the provider's where it counts, and savings are only what we removed ourselves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cases.talk import Json, assistant, dump, listing, log, messages, result, text, use, user
from cases.through import gateway, send
from support import pressing, settings

from coldpress.model.records import Operation
from coldpress.testing import StrictUpstream

THINKING = {"type": "thinking", "thinking": "hm " * 400, "signature": "c2ln"}
BLOCKS: dict[str, list[Json]] = {
    "text": [user("word " * 400)],
    "tool use": [user("go"), assistant(use("t1", "Bash", command="make " * 400)), user(result("t1", "ok"))],
    "tool result": [user("go"), assistant(use("t1")), user(result("t1", log()))],
    "parts": [user("go"), assistant(use("t1")), user(result("t1", [text(log())], is_error=False))],
    "thinking": [user("go"), assistant(THINKING, use("t1")), user(result("t1", log()))],
}


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("operation", ["press", "observe", "off"])
def test_n01_counting_requests_reach_the_provider_whole_and_every_kind_of_block_is_counted(
    kind: str, operation: Operation
) -> None:
    body: Any = json.loads(messages(*BLOCKS[kind]))
    del body["max_tokens"]
    raw = dump(body)
    with StrictUpstream() as upstream, gateway(upstream.url, settings(operation)) as gate:
        direct = send(upstream.url, "POST", "/v1/messages/count_tokens", raw)
        through = gate.post("/v1/messages/count_tokens", raw)
        assert upstream.exchanges[-1].request.raw == raw
    assert (through.status, through.body) == (direct.status, direct.body)
    assert json.loads(through.body)["input_tokens"] > 350


TRUNCATED = log(lines=300) + "\n... [1200 lines truncated] ..."


@pytest.mark.parametrize(
    ("tool", "arguments", "output"),
    [
        pytest.param("Bash", {"command": "cat big.log | head -5"}, log(lines=5), id="the agent's own head"),
        pytest.param("Bash", {"command": "make 2>&1 | tail -40"}, log(lines=40), id="the agent's own tail"),
        pytest.param("Bash", {"command": "make"}, TRUNCATED, id="a client that shortened it itself"),
        pytest.param("Read", {"file_path": "a.py", "limit": 5}, listing(lines=5), id="a read of a few lines"),
        pytest.param("Edit", {"file_path": "a.py"}, log(), id="a result we keep"),
    ],
)
def test_n07_what_the_agent_or_its_client_left_out_is_not_our_saving(
    tool: str, arguments: dict[str, object], output: str
) -> None:
    body = messages(user("go"), assistant(use("t1", tool, **arguments)), user(result("t1", output)))
    with pressing() as press:
        prepared = press(body)
        totals = press.store.totals()
    assert prepared.body is body
    assert totals.transformations.count == 0
    assert (totals.reused_bytes_saved, totals.body_bytes - totals.sent_bytes) == (0, 0)


def test_n07_a_saving_is_exactly_the_bytes_that_did_not_go_upstream() -> None:
    said = [user("go")]
    bodies = []
    for n in range(4):
        said += [assistant(use(f"t{n}")), user(result(f"t{n}", log(str(n)).replace("step", 'st"é\\p')))]
        bodies.append(messages(*said))
    with pressing() as press:
        sent = press.all(bodies)
        totals = press.store.totals()
    for body, prepared in zip(bodies, sent, strict=True):
        receipt = prepared.receipt
        assert (receipt.body_bytes, receipt.sent_bytes) == (len(body), len(prepared.body))
    first = sum(len(b) - len(p.body) for b, p in zip(bodies[:1], sent, strict=False))
    assert sent[1].receipt.reused_bytes_saved == first, "what was saved before is saved again, and no more"
    assert totals.transformations.count == 4
    assert totals.reuses == 0 + 1 + 2 + 3
    views = totals.transformations
    assert views.bytes_before == sum(len(log(str(n)).replace("step", 'st"é\\p').encode()) for n in range(4))
    assert totals.body_bytes - totals.sent_bytes == sum(len(b) - len(p.body) for b, p in zip(bodies, sent, strict=True))


@pytest.mark.parametrize("operation", ["observe", "drain", "off"])
def test_n07_what_would_have_been_saved_is_not_called_saved(operation: Operation) -> None:
    body = messages(user("go"), assistant(use("t1")), user(result("t1", log())))
    with pressing(settings(operation)) as press:
        press.all([body, body])
        totals = press.store.totals()
    assert (totals.transformations.count, totals.reuses, totals.reused_bytes_saved) == (0, 0, 0)
    assert totals.body_bytes == totals.sent_bytes
