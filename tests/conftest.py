"""Fixtures shared by all tests, how many processes run them, and what hypothesis must not take for a failure."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SHARED = Path(__file__).resolve().parents[2] / "shared"

# Hypothesis' own profile, random at a desk and derandomised under CI, but as under CI never with a limit of time: with
# a worker on each core, and others beside them, an example that takes long says nothing.
settings.register_profile("coldpress", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("coldpress")


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """No worker for single files and tests, which would be done before one has started; else as many as xdist says."""
    named = [Path(argument.partition("::")[0]) for argument in config.args]
    return 0 if named and all(path.suffix == ".py" for path in named) else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real recordings and captures beside the repository, where there is one."""
    if not (SHARED / "data").is_dir():
        pytest.skip("needs the real recordings and captures, which are not part of the repository")
    return SHARED / "data"


@pytest.fixture(autouse=True)
def _own_log() -> Iterator[None]:
    """Undo what a command in this process does to the log, so that tests behind it in the worker see theirs."""
    logger = logging.getLogger("coldpress")
    before = logger.level, logger.propagate, logger.handlers[:]
    yield
    level, logger.propagate, logger.handlers = before
    logger.setLevel(level)  # forgets what was worked out from the other level
