"""Only a provider's own words about bound reasoning are taken for a refusal of it."""

from __future__ import annotations

import json

import pytest

from coldpress.wire.binding_refusal import refuses_binding

SAID = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


def body(message: object) -> bytes:
    return json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).encode()


def test_the_providers_words_are_known() -> None:
    assert refuses_binding(400, body(SAID))


@pytest.mark.parametrize(
    ("status", "reply"),
    [
        pytest.param(500, body(SAID), id="another status"),
        pytest.param(
            400, body("messages.1.content.0: Invalid `signature` in `thinking` block"), id="a foreign signature"
        ),
        pytest.param(400, body(SAID + "x" * 2_000), id="with somebody's text in it"),
        pytest.param(400, body(["bound to a different conversation", "signature"]), id="no sentence"),
        pytest.param(400, b"bound to a different conversation: signature", id="no JSON"),
        pytest.param(400, b"\xff\xfe", id="no text"),
    ],
)
def test_nothing_else_is_taken_for_it(status: int, reply: bytes) -> None:
    assert not refuses_binding(status, reply)
