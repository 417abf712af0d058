"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real recordings and captures beside the repository, where there is one."""
    if not (SHARED / "data").is_dir():
        pytest.skip("needs the real recordings and captures, which are not part of the repository")
    return SHARED / "data"
