"""A sweep over rates: up to which rate nobody had to wait for others."""

from __future__ import annotations

import pytest

from lab.formulas.knee import RatePoint, rates_kept


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([RatePoint(50, 2.0), RatePoint(100, 2.01)], "no queue up to 100/s, the highest that can be judged"),
        (
            [RatePoint(150, 9.0), RatePoint(50, 2.0), RatePoint(100, 2.0)],
            "no queue up to 100/s; at 150/s the mean latency",
        ),
        ([RatePoint(50, 2.0), RatePoint(100, 2.0, 0.2)], "no queue up to 50/s; at 100/s 20% of the requests failed"),
        ([RatePoint(50, 2.0), RatePoint(100, 2.0, 0.004)], "no queue up to 50/s; at 100/s 0.4% of the requests failed"),
        ([RatePoint(50, 2.0, 0.0005), RatePoint(100, 2.0)], "no queue up to 100/s, the highest that can be judged"),
        ([RatePoint(1e6, 2.0), RatePoint(1234567.0, 9.0)], "no queue up to 1,000,000/s; at 1,234,567/s the mean"),
        (
            [RatePoint(50, 2.0), RatePoint(90, 2.0), RatePoint(103, 2.4, is_slowing=True)],
            "up to 90/s; at 103/s latency rose",
        ),
        (
            [RatePoint(50, 0.02), RatePoint(50, 0.02), RatePoint(100, 0.02), RatePoint(100, 0.5)],
            "no queue up to 50/s; at 100/s the mean latency was 0.5 s",
        ),
        ([RatePoint(50, None, 1.0)], "a queue at every rate; at 50/s 100% of the requests failed"),
    ],
)
def test_a_rate_is_kept_while_latency_is_that_of_the_lowest(points, said):
    """However long a request takes: what is answered in the end says nothing, as all planned requests are sent."""
    assert said in rates_kept(points, tolerated=0.001)
