"""How long before its first send a load is announced."""

from __future__ import annotations

import pytest

from lab.generator.fleet import CLOCK_WITHIN_S, LoadPhase
from lab.spec.workload import Burst, Load, Open


@pytest.mark.parametrize(
    ("here", "elsewhere"),
    [
        (Burst(users=1, workers=1), Burst(users=1, workers=0, remote_workers=1)),
        (
            Open(users=400, rate_rps=1000.0, duration_s=60.0),
            Open(users=400, rate_rps=1000.0, duration_s=60.0, remote_workers=3),
        ),
    ],
)
def test_a_worker_whose_clock_is_ahead_as_far_as_is_allowed_has_as_long_as_one_here(here: Load, elsewhere: Load):
    """By its clock the load begins earlier, and its users must know of it by then all the same."""
    left_s = LoadPhase("", elsewhere).start_delay_s - CLOCK_WITHIN_S
    assert left_s == pytest.approx(LoadPhase("", here).start_delay_s)
