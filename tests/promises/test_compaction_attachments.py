"""What users attach outlives every compaction, byte for byte, and the body that it is sent in is valid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases.talk import Json
from compacting import FORMATS, compacted, pressure_of, prose, request, sent, valid, windowed, written
from support import pressing

from coldpress.stores.sqlite import SqliteStore
from coldpress.wire.registry import FormatName

SETTINGS = windowed(12_000, budget={"keep_turns": 2})
DATA = "iVBORw0KGgoA" * 20_000
ATTACHED: dict[FormatName, list[Json]] = {
    "anthropic": [
        {
            "type": "document",
            "title": "Spec",
            "source": {"type": "text", "media_type": "text/plain", "data": "Tabs [x]"},
        },
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
    ],
    "openai_chat": [
        {"type": "file", "file": {"filename": "spec.pdf", "file_data": "data:application/pdf;base64,aGk="}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
    ],
}


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_user_attached_stays_through_compactions_and_a_restart(name: FormatName, tmp_path: Path) -> None:
    listed = written(name, [prose(n, 120) for n in range(60)])
    place = next(n for n, message in enumerate(listed) if n > 4 and message["role"] == "user")
    listed[place] = {"role": "user", "content": [*ATTACHED[name], {"type": "text", "text": "This is the spec."}]}
    ends = [n for n in range(place + 1, len(listed) + 1) if listed[n - 1]["role"] == "user"]
    bodies = [request(name, listed[:end]) for end in ends]
    with pressing(SETTINGS, SqliteStore(tmp_path / "store.db")) as press:
        found = sent(press, bodies, name)
        cuts = compacted(found)
        assert len(cuts) >= 2
        assert pressure_of(found[cuts[0]]).after_tokens < 0.65 * 12_000
    for prepared in found:
        messages = json.dumps(valid(prepared.body, name)["messages"])
        assert [messages.count(json.dumps(part)) for part in ATTACHED[name]] == [1, 1]
    with pressing(SETTINGS, SqliteStore(tmp_path / "store.db")) as again:
        (repeated,) = sent(again, bodies[-1:], name)
    assert repeated.body == found[-1].body
