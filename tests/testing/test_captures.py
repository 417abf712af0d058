"""Everything that real clients were seen to send is accepted."""

from __future__ import annotations

import json
from pathlib import Path

from testing.wires import post

from coldpress.testing import Rules, StrictUpstream

_PATHS = ("/messages", "/messages/count_tokens", "/chat/completions")


def test_every_captured_request_is_accepted(shared: Path) -> None:
    refused, accepted, readers = [], 0, set()
    with StrictUpstream(rules=Rules(check_signatures=False)) as upstream:
        for path in sorted((shared / "captures").glob("*/turn*.json")):
            turn = json.loads(path.read_text())
            if turn["method"] != "POST" or not turn["path"].partition("?")[0].endswith(_PATHS):
                continue
            named = {k: v for k, v in turn["headers"] if k.lower() in ("anthropic-version", "anthropic-beta")}
            reply = post(upstream.url, turn["path"], turn["raw_text"].encode(), named)
            if reply.status != 200:
                refused.append((path.parent.name, path.name, reply.body))
            accepted += reply.status == 200
            usage = upstream.exchanges[-1].usage
            if usage is not None and usage.read:
                readers.add(path.parent.name)
    assert refused == []
    assert accepted > 60
    # Clients that mark their prompts, and long chat prompts, must find them in the cache again.
    assert {"claude-code", "claude-code-1h", "omp-anthropic", "opencode-anthropic", "omp-chat", "qwen-code"} <= readers
