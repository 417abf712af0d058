"""What is believed of a lifetime follows what was read and what was gone after pauses."""

from __future__ import annotations

import pytest

from coldpress.measure.lifetime import Lifetime

DOCUMENTED, PROMISED = 3_600.0, 1_800.0


def after(*seen: float, documented: float | None = DOCUMENTED, promised: float | None = PROMISED) -> float | None:
    """Learn of pauses, in seconds: read after one, or gone after one that is told as a negative number."""
    known = Lifetime(documented)
    for pause in seen:
        known = known.hit(pause) if pause > 0 else known.missed(-pause, promised_seconds=promised)
    return known.seconds


@pytest.mark.parametrize(
    ("seen", "believed"),
    [
        pytest.param((), 3_600, id="nothing seen"),
        pytest.param((5_000,), 5_000, id="a longer pause was outlived"),
        pytest.param((-5_000, -4_000), 3_600, id="gone as documented"),
        pytest.param((5_000, -4_000), 3_600, id="gone after a pause that one had outlived"),
        pytest.param((5_000, -6_000), 5_000, id="gone after a longer one"),
        pytest.param((-2_400,), 3_600, id="gone early once, which may be an accident"),
        pytest.param((-2_400, -3_000), 2_400, id="gone early twice"),
        pytest.param((-3_000, -2_400, -3_500), 2_400, id="gone early three times"),
        pytest.param((-2_400, 3_000, -3_000), 3_600, id="gone early twice, and read in between after such a pause"),
        pytest.param((-2_400, 60, -3_000), 2_400, id="read in between after a short pause"),
        pytest.param((-2_400, -3_000, 2_500), 3_600, id="read again after such a pause"),
        pytest.param((3_000, -2_400, -2_600), 2_400, id="gone after pauses that one had outlived"),
        pytest.param((-60, -70, -1_800), 3_600, id="gone within what is promised: lost by accident"),
    ],
)
def test_the_belief_follows_what_was_seen(seen: tuple[float, ...], believed: float) -> None:
    assert after(*seen) == believed


def test_where_no_less_is_promised_than_documented_an_early_loss_shortens_nothing() -> None:
    assert after(-200, -200, -200, documented=300, promised=None) == 300
    assert after(-200, -200, -200, documented=300, promised=300) == 300


def test_where_nothing_is_documented_nothing_is_believed() -> None:
    assert after(900, -300, -300, documented=None, promised=None) is None
