"""The official SDKs finish a tool-using task through the gateway, streaming and not, with results pressed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

CLIENTS = Path(__file__).resolve().parents[2] / "clients"

if not CLIENTS.is_dir():
    pytest.skip("the clients are not part of this distribution", allow_module_level=True)
sys.path.insert(0, str(CLIENTS))

from catalogue import CLIENTS as KNOWN  # noqa: E402
from catalogue import SDKS, Client  # noqa: E402
from trial import run_trial  # noqa: E402

AGENTS = [client for client in KNOWN if client.package is SDKS]


@pytest.mark.parametrize("client", AGENTS, ids=lambda client: client.name)
def test_agent_finishes_through_the_gateway(client: Client, tmp_path: Path) -> None:
    pytest.importorskip(client.name.partition("-")[0], reason="the SDKs come with the test extra")
    outcome = run_trial(client, Path(sys.prefix), tmp_path / client.name, timeout_seconds=60)
    assert outcome.problem is None
    assert (outcome.finished, outcome.refused, outcome.streamed > 0) == (True, 0, client.streams)
    assert outcome.pressed >= 3, "two builds and a file that is read twice"
    assert outcome.recalled == outcome.pressed
