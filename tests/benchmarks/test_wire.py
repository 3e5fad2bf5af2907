"""What the wire's benchmark makes of its figures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import wire
from packets import Wire
from peers import FIGURES, Stated


def off(*values_us):
    """How far a generator is off, as the benchmark sums it up."""
    return {"off_us": dict(zip(FIGURES, values_us, strict=True))}


BOUNDED, UNBOUNDED = wire.Row("a", "small", "length", bounded=True), wire.Row("b", "small", "length")


@pytest.mark.parametrize(
    ("row", "ours", "k6", "missed"),
    [
        (BOUNDED, (99, 99, 499, 999), (150, 150, 600, 1000), []),
        (BOUNDED, (101, 99, 501, 999), (150, 150, 600, 1000), ["a: our mean is +101", "a: our p99 is +501"]),
        (BOUNDED, (-101, 0, 0, 0), (-150, 0, 0, 0), ["a: our mean is -101"]),
        (UNBOUNDED, (200, 0, 900, 0), (-300, 0, 901, 0), []),
        (UNBOUNDED, (-20, 0, 0, 31), (10, 0, 0, 30), ["b: our mean is -20", "b: our p99.9 is +31"]),
    ],
)
def test_ours_may_be_off_by_so_much_and_never_farther_than_k6(row, ours, k6, missed):
    """In either direction."""
    found = wire.missed(row, {wire.OURS: off(*ours), "k6": off(*k6)})
    assert [goal[: len(begin)] for goal, begin in zip(found, missed, strict=True)] == missed


def test_without_k6_only_the_wire_judges():
    """Where it is not installed."""
    assert wire.missed(BOUNDED, {wire.OURS: off(50, 50, 50, 5000)}) == []


def test_single_requests_are_compared_in_the_order_in_which_they_passed_the_wire():
    """Not in that of their records."""
    # Recorded as answered: the second was sent first, and the third needed a connection before it was sent.
    samples = pd.DataFrame(
        {"sent_us": [20, 10, 15], "connect_us": [0, 0, 300], "latency_us": [1_005, 2_001, 3_300]}, index=[5, 5, 7]
    )
    passed = Wire(np.array([11_000, 21_000, 316_000]), np.array([1_999_500, 1_000_000, 2_996_000]), 0, 0)
    assert wire.mean_difference_us(samples, passed) == pytest.approx((5 + 1.5 + 4) / 3)


def test_figures_are_mean_and_percentiles():
    """In the order of their names."""
    found = wire.figures_us(np.arange(1001.0))
    assert found == pytest.approx({"mean": 500, "p50": 500, "p99": 990, "p99.9": 999})


@pytest.mark.parametrize(
    ("ceiling_rps", "latency_s", "users"),
    [(20_000, 0.001, 10), (20_000, 0.0013, 13), (3000, 0.003, 4), (400, 0.002, 1)],
)
def test_half_of_the_ceiling_takes_users_as_their_latency_says(ceiling_rps, latency_s, users):
    """By Little's law, and one at least."""

    def generator(_, row, load):
        held_rps = load.users / latency_s if row.delay_ms else ceiling_rps
        return Stated(round(load.duration_s * min(ceiling_rps, held_rps)), {}), None

    assert wire.find_half(generator, None, wire.Row("a", "small", "length")) == wire.Half(ceiling_rps, users)


@pytest.mark.parametrize("framing", wire.SERVERS)
def test_a_server_is_this_checkouts(runtime, tmp_path, monkeypatch, framing):
    """Whatever is planted where the shell has gone, or where a variable of it leads."""
    for name in ("json", "socket", "lab"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('planted')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with wire.serving(runtime, framing, frozenset(), tmp_path) as (url, _):
        assert url
