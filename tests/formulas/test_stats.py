"""Samples in, numbers out: exact percentiles, counts by class, and rates with a stated meaning."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from hdrh.histogram import HdrHistogram

from lab.formulas import stats


def test_percentiles_are_those_of_the_inverted_distribution(samples_of):
    """P50, p90, p99 and p99.9 are numpy's inverted CDF on the raw latencies, not an interpolation."""
    latencies = np.random.default_rng(3).lognormal(0, 1, 4237).round(6)
    summary = stats.summarise(samples_of(latencies.tolist()))
    expected = np.percentile(latencies, [50, 90, 99, 99.9], method="inverted_cdf")
    found = [summary.p50_s, summary.p90_s, summary.p99_s, summary.p999_s]
    assert found == pytest.approx(expected.tolist(), abs=1e-9)
    assert (summary.service_p99_s, summary.service_p999_s) == (summary.p99_s, summary.p999_s)
    assert summary.mean_s == pytest.approx(latencies.mean(), abs=1e-6)
    assert summary.max_s == pytest.approx(latencies.max(), abs=1e-9)
    assert summary.min_s == pytest.approx(latencies.min(), abs=1e-9)
    assert summary.p95_s == pytest.approx(np.percentile(latencies, 95, method="inverted_cdf"), abs=1e-9)


@pytest.mark.parametrize(
    ("latencies", "p50", "p90", "p99"),
    [
        ([1.0, 2.0, 3.0, 4.0], 2.0, 4.0, 4.0),
        ([4.0, 1.0, 3.0, 2.0, 5.0], 3.0, 5.0, 5.0),
        ([float(n) for n in range(1, 101)], 50.0, 90.0, 99.0),
        ([float(n) for n in range(1, 1001)], 500.0, 900.0, 990.0),
        ([2.5], 2.5, 2.5, 2.5),
    ],
)
def test_percentiles_by_hand(samples_of, latencies, p50, p90, p99):
    """A percentile is a latency that was measured: the smallest that at least p of all do not exceed."""
    summary = stats.summarise(samples_of(latencies))
    assert (summary.p50_s, summary.p90_s, summary.p99_s) == (p50, p90, p99)


@pytest.mark.parametrize(("answers", "p999"), [(999, None), (1000, 999.0), (2001, 1999.0)])
def test_the_slowest_one_in_a_thousand_takes_a_thousand_answers(samples_of, answers, p999):
    """Of fewer it would be the slowest one; failures do not count towards them, but do among all requests."""
    summary = stats.summarise(samples_of([float(n) for n in range(1, answers + 1)]))
    assert summary.p999_s == p999
    with_failure = samples_of([float(n) for n in range(1, answers + 2)], error=[""] * answers + ["timeout"])
    summary = stats.summarise(with_failure)
    assert summary.p999_s == p999
    assert summary.all_p999_s == {999: 999.0, 1000: 1000.0, 2001: 2000.0}[answers]


@pytest.mark.parametrize("from_planned", [False, True])
@pytest.mark.parametrize("size", [7, 10_000])
def test_all_requests_are_the_right_answers_and_the_failures(samples_of, from_planned, size):
    """A failure counts with the time until it failed, a timeout with what it waited; from the planned send as ever."""
    rng = np.random.default_rng(4)
    n = 1500
    errors = rng.choice(["", "", "", "timeout", "reset"], n)
    sent = np.sort(rng.random(n) * 60)
    frame = samples_of(
        np.where(errors == "timeout", 120.0, rng.lognormal(0, 1, n)).tolist(),
        sent_s=sent.tolist(),
        planned_s=(sent - rng.random(n)).tolist(),
        error=errors.tolist(),
    )
    summary = stats.summarise_pieces((frame[at : at + size] for at in range(0, n, size)), from_planned)
    counted = (stats.as_planned(frame) if from_planned else frame)["latency_us"] / 1e6
    expected = np.percentile(counted, [50, 90, 99, 99.9], method="inverted_cdf")
    found = [summary.all_p50_s, summary.all_p90_s, summary.all_p99_s, summary.all_p999_s]
    assert found == pytest.approx(expected.tolist())
    assert summary.all_mean_s == pytest.approx(counted.mean())
    right = stats.summarise(frame[errors == ""], from_planned)
    figures = ("mean_s", "p50_s", "p90_s", "p99_s", "p999_s", "max_s", "service_mean_s", "service_p99_s")
    assert [getattr(summary, name) for name in figures] == [getattr(right, name) for name in figures]
    assert summary.ok_throughput_rps == pytest.approx((errors == "").sum() / summary.elapsed_s)
    assert (right.all_mean_s, right.all_p50_s, right.all_p99_s) == (right.mean_s, right.p50_s, right.p99_s)


def test_errors_are_counted_by_class(samples_of):
    """An unexpected status is named by its number, every other failure by its class."""
    frame = samples_of(
        [1.0] * 6,
        error=["", "status", "status", "status", "refused", "wrong body"],
        status=[200, 503, 503, 500, 0, 200],
    )
    assert stats.summarise(frame).errors == {"HTTP 503": 2, "HTTP 500": 1, "refused": 1, "wrong body": 1}
    assert stats.error_class(frame).tolist() == ["", "HTTP 503", "HTTP 503", "HTTP 500", "refused", "wrong body"]


def test_latencies_are_those_of_right_answers(samples_of):
    """A failure counts as a request, but its latency does not sweeten or spoil the mean."""
    summary = stats.summarise(samples_of([1.0, 3.0, 100.0, 0.001], error=["", "", "timeout", "refused"]))
    assert summary.requests == 4
    assert (summary.mean_s, summary.max_s) == (2.0, 3.0)


def test_nothing_measured_gives_no_numbers(samples_of):
    """Without samples there is no mean, rather than a mean of zero."""
    summary = stats.summarise(samples_of([]))
    assert (summary.requests, summary.errors) == (0, {})
    assert [summary.mean_s, summary.p50_s, summary.p90_s, summary.p99_s, summary.max_s] == [None] * 5
    assert (summary.throughput_rps, summary.ok_throughput_rps) == (0.0, 0.0)


def test_only_failures_give_no_latencies(samples_of):
    """If nothing was answered rightly there are counts and a rate, but no latency."""
    summary = stats.summarise(samples_of([0.5, 0.5], sent_s=[0.0, 1.5], error="reset", status=0))
    assert (summary.requests, summary.errors) == (2, {"reset": 2})
    assert [summary.mean_s, summary.p50_s, summary.p90_s, summary.p99_s, summary.max_s] == [None] * 5
    assert (summary.throughput_rps, summary.ok_throughput_rps) == (1.0, 0.0)
    assert (summary.all_mean_s, summary.all_p99_s, summary.all_p999_s) == (0.5, 0.5, None)


def test_throughput_is_from_first_send_to_last_end(samples_of):
    """As JMeter counts: all requests over the time from the first one sent to the last one ended, wherever it began."""
    frame = samples_of([2.0, 0.5, 1.0], sent_s=[10.0, 13.5, 11.0], error=["", "reset", ""])
    summary = stats.summarise(frame)
    assert summary.elapsed_s == pytest.approx(4.0)
    assert summary.throughput_rps == pytest.approx(3 / 4)
    assert summary.ok_throughput_rps == pytest.approx(2 / 4)


def test_one_instant_sample_does_not_divide_by_zero(samples_of):
    """A single sample of no measurable length still has a finite rate."""
    summary = stats.summarise(samples_of([0.0]))
    assert summary.requests == 1
    assert np.isfinite(summary.throughput_rps)


def test_in_system_is_littles_law(samples_of):
    """N̄ is throughput times mean latency, the failures' time included."""
    summary = stats.summarise(samples_of([2.0, 2.0, 4.0], sent_s=[0.0, 0.0, 0.0], error=["", "", "timeout"]))
    assert summary.in_system == pytest.approx((2 + 2 + 4) / 4)


def test_lateness_is_sent_minus_planned(samples_of):
    """late_p99_s is what the latest 1 % of sends were behind their plan."""
    planned = [n / 100 for n in range(100)]
    sent = [p + (0.3 if i >= 98 else 0.001) for i, p in enumerate(planned)]
    assert stats.summarise(samples_of([1.0] * 100, sent_s=sent, planned_s=planned)).late_p99_s == pytest.approx(0.3)


def test_later_sends_of_a_closed_loop_are_late_since_their_users_were_free(samples_of):
    """And the first ones against their plan, which says nothing of a latency; an open loop plans them all."""
    late_s = [0.5, 0.01, 0.03]
    samples = samples_of([1.0] * 3, sent_s=late_s, planned_s=0.0, user=[0, 0, 0], session=[0, 1, 2])
    closed = stats.summarise(samples)
    assert closed.late_p99_s == pytest.approx(0.5)
    assert closed.late_mean_s == pytest.approx(0.02)
    assert stats.summarise(samples, from_planned=True).late_mean_s == pytest.approx(0.18)
    assert stats.summarise(samples[:1]).late_mean_s == 0.0


def test_in_windows_the_first_send_of_each_user_is_planned_in_each(samples_of):
    """Whatever the number of its session is there, and wherever a piece of the samples ends."""
    columns = {"user": [0, 1, 0, 0, 1, 1], "session": [0, 0, 1, 2, 1, 2], "window": [0, 0, 0, 1, 1, 1]}
    late_s = [0.5, 0.5, 0.01, 0.5, 0.5, 0.03]
    samples = samples_of([1.0] * 6, sent_s=late_s, planned_s=0.0, **columns)
    for cut in range(7):
        summary = stats.summarise_pieces([samples[:cut], samples[cut:]])
        assert (summary.late_p99_s, summary.late_mean_s) == pytest.approx((0.5, 0.02))


def test_the_order_of_samples_does_not_matter(samples_of):
    """Workers' samples arrive interleaved; the summary is of the set."""
    rng = np.random.default_rng(5)
    frame = samples_of(rng.random(300).tolist(), sent_s=rng.random(300).tolist())
    shuffled = frame.sample(frac=1, random_state=1)
    before, after = asdict(stats.summarise(frame)), asdict(stats.summarise(shuffled))
    assert before.pop("errors") == after.pop("errors")
    assert before == pytest.approx(after)


def test_under_way_counts_by_hand(samples_of):
    """A request is under way from its send until its end."""
    frame = samples_of([2.0, 1.0, 1.0], sent_s=[0.0, 0.5, 3.0])
    at = np.array([-0.1, 0.0, 0.6, 1.4, 1.6, 2.5, 3.5, 4.5])
    assert stats.under_way(frame, at).tolist() == [0, 1, 2, 2, 1, 0, 1, 0]


def test_no_answers_are_no_rate(samples_of):
    """A load without a right answer has a timeline of zeros."""
    _, rate = stats.rate_over_time(samples_of([1.0], error="reset"), 1.0)
    assert rate.sum() == 0


def test_the_rate_over_time_holds_every_right_answer(samples_of):
    """Each right answer counts in the step in which it arrived, and failures count nowhere."""
    frame = samples_of([0.6, 0.5, 1.7, 0.6], sent_s=[0.0, 0.2, 0.0, 0.0], error=["", "", "", "reset"])
    edges, rate = stats.rate_over_time(frame, 0.5)
    counted = {edge: value for edge, value in zip(edges.tolist(), rate.tolist(), strict=True) if value}
    assert counted == {0.5: 4.0, 1.5: 2.0}


def test_an_open_loop_counts_latency_from_the_planned_moment(samples_of):
    """A request that was sent late because the answer before it was slow has taken that much longer."""
    late = samples_of([0.9, 0.05], sent_s=[0, 0.9], planned_s=[0, 0.1])
    assert stats.summarise(late).max_s == 0.9
    assert stats.summarise(late).p50_s == 0.05
    from_planned = stats.summarise(late, from_planned=True)
    assert (from_planned.p50_s, from_planned.max_s) == (0.85, 0.9)
    assert (from_planned.service_p50_s, from_planned.service_p99_s) == (0.05, 0.9)


def test_waiting_for_a_busy_user_is_told_apart_from_a_late_generator(samples_of):
    """What was due while all users were busy waited for one of them; the rest of its lateness is the lab's doing."""
    frame = samples_of([0.9, 0.05, 0.05], sent_s=[0, 1.0, 0.3], planned_s=[0, 0.1, 0.3], waited_s=[0, 0.8, 0])
    summary = stats.summarise(frame, from_planned=True)
    assert summary.busy_p99_s == pytest.approx(0.8)
    assert summary.late_p99_s == pytest.approx(0.1)
    assert stats.summarise(frame.iloc[::-1], from_planned=True) == summary, "the order of samples does not matter"


def test_only_the_first_request_of_a_session_waits_for_a_user(samples_of):
    """The others have one: they follow when the session gets to them."""
    one = samples_of([0.1] * 2, sent_s=[1.0, 2.0], planned_s=[0.2, 2.0], waited_s=0.8, step=[0, 1], user=0)
    for frame in (one, pd.concat([one, *[one[1:]] * 200])):
        summary = stats.summarise(frame, from_planned=True)
        assert (summary.busy_p99_s, summary.late_p99_s) == (pytest.approx(0.8), 0.0)


def test_nothing_waits_longer_than_it_is_late(samples_of):
    """A timer that ends a pause a moment early makes no session wait for longer than it did."""
    frame = samples_of([0.1] * 2, sent_s=[0.5, 0.4], planned_s=[0.2, 0.4], waited_s=[0.3001, 0.0001])
    summary = stats.summarise(frame, from_planned=True)
    assert (summary.busy_p99_s, summary.late_p99_s) == (0.3, 0.0)


def test_a_send_that_waited_for_nobody_and_is_late_is_the_generators_doing(samples_of):
    """Its user could have sent in time."""
    frame = samples_of([0.1, 0.1], sent_s=[0, 0.7], planned_s=[0, 0.5], user=[4, 4])
    summary = stats.summarise(frame, from_planned=True)
    assert (summary.busy_p99_s, summary.late_p99_s) == (0.0, pytest.approx(0.2))


def test_the_pace_is_the_rate_kept_of_the_rate_planned(samples_of):
    """Four requests planned over 3 s and sent over 6 s went at half the rate; those sent in time at all of it."""
    slow = samples_of([0.1] * 4, sent_s=[0, 2, 4, 6], planned_s=[0, 1, 2, 3])
    assert stats.summarise(slow, from_planned=True).pace == pytest.approx(0.5)
    assert stats.summarise(samples_of([0.1] * 4, sent_s=[0, 1, 2, 3]), from_planned=True).pace == 1.0
    assert stats.summarise(samples_of([0.1]), from_planned=True).pace == 1.0
    assert stats.summarise(slow).pace == 1.0, "a closed loop has no planned rate"


def test_the_pace_of_windows_is_that_within_each_of_them(samples_of):
    """A window that takes twice as long as planned moves the plan of the next one, which hides nothing of it."""
    starts, windows, each = range(4), range(10), range(40)
    planned = [8 * window + start for window in windows for start in starts]
    sent = [8 * window + 2 * start for window in windows for start in starts]
    slow = samples_of([0.1] * 40, sent_s=sent, planned_s=planned, window=[n // 4 for n in each], user=list(each))
    assert stats.summarise(slow, from_planned=True).pace == pytest.approx(0.5)
    pieces = [slow[n : n + 3] for n in range(0, 40, 3)]
    assert stats.summarise_pieces(pieces, from_planned=True).pace == pytest.approx(0.5)


def test_samples_as_planned_end_when_they_ended(samples_of):
    """A user who waits from the planned moment on has the answer at the same moment, after longer."""
    frame = samples_of([0.05], sent_s=[0.9], planned_s=[0.1])
    planned = stats.as_planned(frame)
    assert (planned["sent_us"] + planned["latency_us"]).tolist() == [950_000]
    assert planned["latency_us"].tolist() == [850_000]


@pytest.mark.parametrize("sizes", [[1237], [1, 1236], [500, 0, 500, 237], [100] * 12 + [37]])
@pytest.mark.parametrize("from_planned", [False, True])
def test_pieces_have_the_summary_of_the_whole(samples_of, sizes, from_planned):
    """However samples are cut into pieces, every number is the same."""
    rng = np.random.default_rng(9)
    late = rng.random(1237)
    errors = rng.choice(["", "", "", "reset", "status"], 1237).tolist()
    latencies, sent = rng.lognormal(0, 1, 1237), rng.random(1237) + late
    whole = samples_of(latencies.tolist(), sent_s=sent.tolist(), planned_s=(sent - late).tolist(), error=errors)
    whole["waited_us"] = rng.integers(0, 500_000, 1237)
    ends = np.cumsum(sizes)
    pieces = [whole.iloc[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    assert stats.summarise_pieces(pieces, from_planned) == stats.summarise(whole, from_planned)
    right = np.array(errors) == ""
    measured = (latencies + late if from_planned else latencies)[right]
    expected = np.percentile(measured, [50, 90, 99], method="inverted_cdf")
    found = stats.summarise(whole, from_planned)
    assert [found.p50_s, found.p90_s, found.p99_s] == pytest.approx(expected.tolist(), abs=2e-6)


def test_latencies_beyond_35_minutes_are_exact_too(samples_of):
    """Microseconds that do not fit into four bytes are kept in eight, also where earlier pieces were small."""
    pieces = [samples_of([1.0, 2.0]), samples_of([3000.0, 4000.0]), samples_of([3.0])]
    summary = stats.summarise_pieces(pieces)
    assert (summary.p50_s, summary.p99_s, summary.max_s) == (3.0, 4000.0, 4000.0)
    assert summary.mean_s == pytest.approx(7006 / 5)


def test_percentiles_are_those_of_hdr_histogram(samples_of):
    """HdrHistogram's own percentiles are met to within its resolution of three digits."""
    latencies_us = np.random.default_rng(12).lognormal(11, 1, 20_000).astype(int)
    theirs = HdrHistogram(1, 3_600_000_000, 3)
    for latency_us in latencies_us.tolist():
        theirs.record_value(latency_us)
    summary = stats.summarise(samples_of((latencies_us / 1e6).tolist()))
    for percent, ours in ((50, summary.p50_s), (90, summary.p90_s), (99, summary.p99_s), (100, summary.max_s)):
        assert ours * 1e6 == pytest.approx(theirs.get_value_at_percentile(percent), rel=2e-3)
