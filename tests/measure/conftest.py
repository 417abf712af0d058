"""Recorded texts to measure against."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def recorded_texts(shared: Path) -> list[str]:
    """Every tool result of at least 200 characters in a few recorded sessions."""
    texts = []
    for path in sorted((shared / "trajectories" / "dev" / "claude-code").glob("**/*.jsonl"))[::4]:
        for line in path.read_text(errors="replace").splitlines():
            try:
                message = json.loads(line).get("message") or {}
            except (ValueError, AttributeError):
                continue
            content = message.get("content") if isinstance(message, dict) else None
            for block in content if isinstance(content, list) else []:
                if isinstance(block, dict) and isinstance(block.get("content"), str) and len(block["content"]) >= 200:
                    texts.append(block["content"])
    assert len(texts) > 100
    return texts
