"""Readings of a load: how much a counter grew, and for how long together it did."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lab.analysis.bottleneck import FULL_FOR_SHARE
from lab.telemetry import series


def test_cpu_is_read_second_by_second_between_readings_too():
    """A counter of 1 s a second that rests for the last two of five, read every half second and out of order."""
    at = np.arange(0.0, 5.5, 0.5)
    rows = pd.DataFrame({"t_s": at, "target": "service", "name": "cpu_s", "value": np.minimum(at, 3.0)})[::-1]
    assert series.cpu_by_second(rows, "service", 0.0, 5.0) == pytest.approx([1, 1, 1, 0, 0])
    assert series.cpu_by_second(rows, "service", 0.25, 4.9) == pytest.approx([1, 1, 0.75, 0])
    assert len(series.cpu_by_second(rows, "mysql", 0.0, 5.0)) == 0


@pytest.mark.parametrize(
    ("by_second", "seconds"),
    [
        ([1, 1, 1, 1, 0, 0, 1, 1, 1, 1], 0),  # never five together
        ([1, 1, 1, 1, 1, 0, 0, 0, 0, 0], 5),
        ([0, 1, 1, 1, 1, 1, 1, 1, 0, 0], 7),
        ([0.9, 0.8, 0.9, 0.8, 0.9, 0, 0, 0], 5),  # by their mean
        ([1, 1, 1, 1], 0),
        ([], 0),
    ],
)
def test_a_second_is_high_in_a_span_that_is(by_second, seconds):
    """One by itself is noise."""
    assert series.seconds_above(np.array(by_second, dtype=float), 0.85, together_s=5) == seconds


def test_a_use_just_below_is_seldom_high_for_a_fifth_of_a_minute():
    """Noise around 80 %, of which a sixth of all seconds are above 85 %: in one of fifty minutes at most."""
    noise = np.random.default_rng(1)
    found = [series.seconds_above(noise.normal(0.80, 0.05, 60), 0.85, together_s=5) for _ in range(500)]
    assert np.mean(np.array(found) >= 60 * FULL_FOR_SHARE) <= 0.02


@pytest.mark.parametrize(
    ("at", "grown", "span_s", "most"),
    [
        ([0, 1, 2, 3, 4, 5, 6], [0.1] * 6, (0.9, 3.4), 0.4),
        ([0, 1, 2, 3, 4, 5, 6], [0.1] * 6, (1.0, 3.0), 0.2),
        ([0, 1, 2, 3, 4, 5, 6], [0.1] * 6, (-5.0, 50.0), 0.6),
        ([0, 1, 2, 3, 4, 5, 6], [0, 0, 0.7, 0, 0.1, 0], (2.4, 2.6), 0.7),
        ([0, 1, 2, 3, 4, 5, 6], [0, 0, 0.7, 0, 0.1, 0], (3.1, 3.9), 0.0),
        ([0, 1, 2, 8, 9, 10], [0, 0, 5.0, 0, 0.1], (3.0, 7.0), 5.0),  # nothing was read meanwhile
        ([0], [], (0.0, 1.0), 0.0),
        ([], [], (0.0, 1.0), 0.0),
    ],
)
def test_a_counter_grew_by_no_more_within_a_time(at, grown, span_s, most):
    """From the reading before to the one after, as nobody knows when between two of them it grew."""
    values = np.concatenate([[3.0], 3.0 + np.cumsum(grown)])[: len(at)]
    assert series.growth_around(np.array(at, dtype=float), values, *span_s) == pytest.approx(most)
