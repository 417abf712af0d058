"""In one's own loop `pii` does what it does in the gateway: what may not leave is not in what comes back."""

from __future__ import annotations

from typing import Any

import pytest
from support import settings

from coldpress import Session
from coldpress.config.pii_keys import PiiKeys
from coldpress.config.plugin_keys import PluginConfigKeys
from coldpress.config.plugin_settings import PluginSettings
from coldpress.model.errors import Withheld

WHO = "ada@lovelace.uk"
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": f"from {WHO}"}]},
]


def session(**keys: Any) -> Session:
    plugins = PluginSettings(order=("pii",), builtin=PluginConfigKeys(pii=PiiKeys(**keys)))
    return Session("claude-sonnet-4-6", format="anthropic", settings=settings(plugins=plugins))


def test_a_redacted_message_is_another_and_the_others_are_the_callers_own() -> None:
    with session() as held:
        shown = held.compact(MESSAGES)
    assert shown[:2] == MESSAGES[:2] and shown[0] is MESSAGES[0]
    assert shown[2]["content"][0]["content"] == "from [redacted email 1]"
    assert MESSAGES[2]["content"][0]["content"] == f"from {WHO}"


def test_a_blocked_request_raises_and_the_next_one_goes() -> None:
    with session(action="block") as held:
        with pytest.raises(Withheld, match="email 1") as caught:
            held.compact(MESSAGES)
        assert WHO not in str(caught.value)
        assert list(held.compact(MESSAGES[:1])) == MESSAGES[:1]
