"""N: counts are the provider's where it counts, and savings are only what we removed ourselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bodies import changed_literals
from cases.talk import Json, assistant, dump, listing, log, messages, result, text, use, user
from cases.through import gateway, send
from support import pressing, settings

from coldpress.model.records import Operation
from coldpress.stores.sqlite import SqliteStore
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
    first = removed_bytes(bodies[0], sent[0].body)
    assert sent[1].receipt.reused_bytes_saved == first, "what was saved before is saved again, and no more"
    assert first < len(bodies[0]) - len(sent[0].body), "of the text, not of its JSON"
    removed = [removed_bytes(body, prepared.body) for body, prepared in zip(bodies, sent, strict=True)]
    assert totals.bytes_removed == {"transformations": removed[-1], "applications": sum(removed)}
    assert totals.transformations.count == 4
    assert totals.reuses == 0 + 1 + 2 + 3
    views = totals.transformations
    assert views.bytes_before == sum(len(log(str(n)).replace("step", 'st"é\\p').encode()) for n in range(4))
    assert totals.body_bytes - totals.sent_bytes == sum(len(b) - len(p.body) for b, p in zip(bodies, sent, strict=True))


AGAIN = "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead."


def test_n07_an_exact_text_that_is_given_back_is_no_reuse_of_a_smaller_view(tmp_path: Path) -> None:
    """However often it is sent again, and after a restart, when all that is known of it is in the store."""
    read = {"file_path": "src/a.py"}
    said = [user("go"), assistant(use("r0", "Read", **read)), user(result("r0", listing("é", lines=400)))]
    bodies = [messages(*said)]
    for n in range(1, 4):
        output = AGAIN if n == 1 else log(str(n))
        said += [assistant(use(f"t{n}", *(["Read"] if n == 1 else []), **(read if n == 1 else {})))]
        bodies.append(messages(*(said := [*said, user(result(f"t{n}", output))])))
    path = tmp_path / "s.sqlite3"
    with SqliteStore(path) as store, pressing(store=store) as press:
        sent = press.all(bodies)
        totals = store.totals()
    assert [[line.reason for line in one.receipt.lines] for one in sent] == [
        ["pressed"],
        ["restored"],
        ["pressed"],
        ["pressed"],
    ]
    assert [one.receipt.reused for one in sent] == [0, 1, 1, 2]
    assert (totals.restorations, totals.reuses, totals.applications) == (1, 4, 3 + 4 + 1)
    skip = len(listing("é", lines=400).encode()) - len(AGAIN.encode())
    removed = [removed_bytes(b, p.body) + (skip if n else 0) for n, (b, p) in enumerate(zip(bodies, sent, strict=True))]
    assert totals.bytes_removed["applications"] == sum(removed)
    with SqliteStore(path) as store, pressing(store=store) as press:
        again = press(bodies[-1])
    assert again.body == sent[-1].body
    assert (again.receipt.reused, again.receipt.reused_bytes_saved) == (3, removed[-1])


def removed_bytes(body: bytes, sent: bytes) -> int:
    """UTF-8 bytes that the texts of a body have more than as they were sent."""
    return sum(len(old.encode()) - len(new.encode()) for old, new in changed_literals(body, sent))


@pytest.mark.parametrize("operation", ["observe", "drain", "off"])
def test_n07_what_would_have_been_saved_is_not_called_saved(operation: Operation) -> None:
    body = messages(user("go"), assistant(use("t1")), user(result("t1", log())))
    with pressing(settings(operation)) as press:
        press.all([body, body])
        totals = press.store.totals()
    assert (totals.transformations.count, totals.reuses, totals.reused_bytes_saved) == (0, 0, 0)
    assert totals.body_bytes == totals.sent_bytes
