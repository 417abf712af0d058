"""Others' figures are read with their conditions, and a wrong file says what is wrong in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coldpress.lab.report.peers import read_peers
from coldpress.model.errors import ConfigError

PEERS = Path(__file__).resolve().parents[3] / "benchmarks" / "peers.json"


def test_the_peers_of_the_repository_are_read() -> None:
    peers = read_peers(PEERS)
    assert [one.write_to_read for one in peers.conditions] == [12.5, 25, 30]
    assert len(peers.peers) == 9 and "open-loop" in peers.source
    smart = next(one for one in peers.peers if one.settings == "--smart")
    assert smart.saved == pytest.approx((0.176, 0.177, 0.182)) and smart.edits_lost == pytest.approx(0.148)
    assert [one.name for one in peers.peers if one.edits_lost is None] == ["furl-ctx"]


@pytest.mark.parametrize(
    ("ratio", "index"),
    [
        pytest.param(12.5, 0, id="the same ratio"),
        pytest.param(26.0, 1, id="a near one"),
        pytest.param(120.0, None, id="none is near"),
        pytest.param(1.0, None, id="no cache"),
        pytest.param(None, 0, id="no one ratio: the first"),
    ],
)
def test_the_nearest_prices_are_taken(ratio: float | None, index: int | None) -> None:
    assert read_peers(PEERS).nearest(ratio) == index


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        pytest.param([], "is no object", id="a list"),
        pytest.param({"conditions": 3}, "conditions is no list", id="no list of conditions"),
        pytest.param(
            {"conditions": [{"write_to_read": 0}], "peers": []}, r"conditions\[0\].write_to_read", id="ratio 0"
        ),
        pytest.param({"conditions": [], "peers": [{"colour": 1}]}, r"peers\[0\].colour is not known", id="unknown key"),
        pytest.param({"conditions": [], "peers": [{"saved_pct": [1]}]}, "give a list of 0 numbers", id="too many"),
        pytest.param(
            {"conditions": [{"write_to_read": 2}], "peers": [{"saved_pct": ["5"]}]}, r"saved_pct\[0\]", id="a text"
        ),
        pytest.param(
            {"conditions": [], "peers": [{"saved_pct": [], "name": 3}]}, "use a text", id="a number for a name"
        ),
    ],
)
def test_what_is_wrong_is_said(tree: object, says: str, tmp_path: Path) -> None:
    path = tmp_path / "peers.json"
    path.write_text(json.dumps(tree))
    with pytest.raises(ConfigError, match=says):
        read_peers(path)


def test_a_file_that_is_no_json_or_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "peers.json"
    with pytest.raises(ConfigError, match=r"peers\.json: cannot be read"):
        read_peers(path)
    path.write_text("{")
    with pytest.raises(ConfigError, match=r"peers\.json: is not JSON"):
        read_peers(path)
