"""Whether a closed loop with a queue is steady: as its service is, whoever waits first."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable

import numpy as np
import pytest

from lab.analysis.steadiness import steadiness
from lab.formulas import trend
from lab.spec.workload import Closed, Open

USERS, THREADS, SERVICE_S = 400, 200, 0.5


def pooled(
    samples_of,
    seconds: float,
    *,
    ends_at: Callable[[float], float] = lambda begun_s: begun_s + SERVICE_S,
    kept_until_s: float = 0.0,
    kept_share: float = 0.8,
):
    """Samples of users who share half as many threads; see Tomcat, which serves a connection again that sent already.

    Args:
        ends_at: when a request ends whose service begins at a time.
        kept_until_s: until then a share of the users keep their thread; later they queue in order.
        kept_share: that share.

    """
    chance = np.random.default_rng(5)
    waiting: deque[tuple[float, int]] = deque()
    served: list[tuple[float, float, int]] = []
    sent, took = [], []
    for user in range(USERS):
        at = user / USERS
        if len(served) < THREADS:
            heapq.heappush(served, (ends_at(at), at, user))
        else:
            waiting.append((at, user))
    while served:
        at, sent_s, user = heapq.heappop(served)
        sent.append(sent_s)
        took.append(at - sent_s)
        kept = at < kept_until_s and chance.random() < kept_share
        if at < seconds and not kept:
            waiting.append((at, user))
        if at < seconds and kept:
            heapq.heappush(served, (ends_at(at), at, user))
        elif waiting:
            sent_s, user = waiting.popleft()
            heapq.heappush(served, (ends_at(at), sent_s, user))
    return samples_of(took, sent_s=sent)


def judged(samples, seconds: float):
    """The steadiness of such a loop."""
    return steadiness(Closed(users=USERS, duration_s=seconds), samples, (), False)


def test_a_queue_that_forms_is_no_change_of_the_service(samples_of):
    """At first half of the users are served again and again; the service answers as many from beginning to end."""
    samples = pooled(samples_of, 30.0, kept_until_s=6.0)
    sent_s = samples["sent_us"] / 1e6
    first, last = (samples["latency_us"][sent_s.between(*span)].median() / 1e6 for span in ((2, 5), (20, 25)))
    assert (first, last) == (pytest.approx(0.5), pytest.approx(1.0, rel=0.05))
    assert samples["latency_us"].max() > 2e6  # some wait much longer than the median, and others overtake them
    found = judged(samples, 30.0)
    assert found.course == "flat"
    assert (found.latency_change, found.throughput_change) == (pytest.approx(0.0, abs=0.05),) * 2
    assert found.stalled_s < 0.1
    assert trend.throughput_over_time(samples, 1.0, 29.0).to_numpy() == pytest.approx(400.0, rel=0.1)


@pytest.mark.parametrize("kept_until_s", [4.0, 6.0])
def test_a_queue_whose_first_waits_are_the_longest_is_no_change_of_the_service(samples_of, kept_until_s):
    """Those that were overtaken are served one after the other, and the median falls to its level from above."""
    samples = pooled(samples_of, 30.0, kept_until_s=kept_until_s, kept_share=0.3)
    ended_s = (samples["sent_us"] + samples["latency_us"]) / 1e6
    medians = [samples["latency_us"][ended_s.between(at, at + 1)].median() / 1e6 for at in range(3, 29)]
    assert max(medians[:5]) > 1.15
    assert medians[15:] == pytest.approx([1.0] * len(medians[15:]), abs=0.05)
    found = judged(samples, 30.0)
    assert (found.course, found.latency_change) == ("flat", 0.0)


def test_a_queue_that_takes_a_third_of_the_load_to_form_is_judged_by_what_it_does_to_the_quartiles(samples_of):
    """Those of all are those of the rest within 5 %, although the median of its first ten seconds is far above."""
    samples = pooled(samples_of, 30.0, kept_until_s=10.0, kept_share=0.3)
    took_s, sent_s = samples["latency_us"] / 1e6, samples["sent_us"] / 1e6
    assert took_s[sent_s.between(2, 8)].median() > 1.15
    quartiles = [0.25, 0.5, 0.75]
    assert took_s.quantile(quartiles).to_numpy() == pytest.approx(took_s[sent_s > 12].quantile(quartiles), rel=0.05)
    found = judged(samples, 30.0)
    assert (found.course, found.latency_change) == ("flat", 0.0)


@pytest.mark.parametrize(("seconds", "kept_until_s"), [(12.0, 6.0), (30.0, 14.0)], ids=["too-short", "half-of-it"])
def test_a_load_that_is_mostly_the_beginning_of_its_queue_is_not_steady(samples_of, seconds, kept_until_s):
    """What is left after it is too short to be judged, or has other quartiles than the whole: one of 0.5 s, not 1 s."""
    assert judged(pooled(samples_of, seconds, kept_until_s=kept_until_s), seconds).latency_change > 0.3


def test_some_requests_that_become_slower_for_most_of_the_load_are_no_queue(samples_of):
    """By 13 %, of the faster ones: it hardly shows in the quartiles of all, and costs 4 % of the throughput."""
    chance, sent, took = np.random.default_rng(4), [], []
    for user in range(USERS):
        at = user / USERS
        while at < 30.0:
            sent.append(at)
            usual_s = 0.3 if chance.random() < 0.4 else 0.1 if at < 12.0 else 0.113
            took.append(usual_s * chance.normal(1.0, 0.01))
            at += took[-1]
    assert judged(samples_of(took, sent_s=sent), 30.0).latency_change == pytest.approx(0.13, abs=0.03)


def test_a_service_that_answers_nobody_from_a_third_of_the_load_on_is_seen(samples_of):
    """Nothing is sent after it has settled, at no answers at all."""
    sent = np.sort(np.concatenate([np.arange(0.0, 10.0, 0.01) + user / 5000 for user in range(50)]))
    took = np.where(sent < 9.99, 0.01, 21.2)
    found = steadiness(Closed(users=50, duration_s=30.0), samples_of(took.tolist(), sent_s=sent.tolist()), (), False)
    assert found.stalled_s > 20


@pytest.mark.parametrize(("first_s", "change"), [(0.4, 0.25), (0.6, -0.17)], ids=["slower", "faster"])
def test_a_service_that_becomes_slower_or_faster_behind_a_queue_is_seen(samples_of, first_s, change):
    """Its throughput changes too, and it has settled long before the end, as a service that was not warm."""
    samples = pooled(samples_of, 30.0, ends_at=lambda at: at + (first_s if at < 6.0 else SERVICE_S))
    found = judged(samples, 30.0)
    assert found.latency_change == pytest.approx(change, abs=0.06)
    assert found.throughput_change == pytest.approx(1 / (1 + change) - 1, abs=0.06)
    assert found.course == ("slowing" if change > 0 else "warming")


@pytest.mark.parametrize("kept_until_s", [0.0, 40.0], ids=["in-order", "out-of-order"])
def test_a_standstill_behind_a_queue_is_seen(samples_of, kept_until_s):
    """All that is under way takes so much longer, and what is asked meanwhile begins after it."""

    def ends_at(begun_s: float) -> float:
        paused = 14.0 < begun_s < 15.0
        return 15.0 + SERVICE_S - max(14.5 - begun_s, 0.0) if paused else begun_s + SERVICE_S

    assert judged(pooled(samples_of, 30.0, ends_at=ends_at, kept_until_s=kept_until_s), 30.0).stalled_s > 0.3
    assert judged(pooled(samples_of, 30.0, kept_until_s=kept_until_s), 30.0).stalled_s < 0.2


def test_a_wait_that_grows_where_users_pause_is_seen(samples_of):
    """Their throughput hardly depends on latency, so that no answer is missing while all wait for longer and longer."""
    chance, sent, took = np.random.default_rng(3), [], []
    for _ in range(1500):
        at = 3.0 * chance.random()
        while at < 40.0:
            sent.append(at)
            took.append(0.01 + max(0.0, min((at - 20.0) / 8, 26.0 - at, 0.6)))
            at += took[-1] + chance.exponential(3.0)
    found = steadiness(Closed(users=1500, duration_s=40.0), samples_of(took, sent_s=sent), (), False)
    assert found.stalled_s > 0.4
    assert found.course == "erratic"


def test_a_service_that_becomes_faster_by_far_is_warming(samples_of):
    """A line through its latencies reaches zero before the load ends: a change by all that there was."""
    sent, took = [], []
    for user in range(50):
        at = user / 50
        while at < 40.0:
            sent.append(at)
            took.append(0.5 - 0.45 * at / 20 if at < 20 else 0.05 * (1 - 0.09 * (at - 20) / 20))
            at += took[-1]
    found = steadiness(Closed(users=50, duration_s=40.0), samples_of(took, sent_s=sent), (), False)
    assert found.course == "warming"
    assert found.latency_change == -1.0


def test_a_service_that_ends_up_doing_nothing_is_judged(samples_of):
    """By its readings a request takes no CPU in the end, which explains any fall of what the service used."""
    samples = pooled(samples_of, 40.0)
    used = np.cumsum([0.0, *(max(0.0, 1 - at / 20) for at in range(40))])
    cpu = [(float(at), "service", "cpu_s", value) for at, value in enumerate(used)]
    found = steadiness(Closed(users=USERS, duration_s=40.0), samples, cpu, True)
    assert found.cpu_change == -1.0
    assert found.cpu_used_change == 0.0


def test_refusals_make_no_waves_of_throughput(samples_of):
    """Users in step, three in a hundred of whose requests are refused at once: the seconds are alike all the same."""
    waves = np.repeat(np.arange(0.0, 20.0, 0.7), 100)
    refused = np.arange(len(waves)) % 33 == 0
    samples = samples_of(
        list(np.where(refused, 0.0003, 0.7)), sent_s=list(waves), error=list(np.where(refused, "refused", ""))
    )
    found = trend.throughput_over_time(samples, 1.0, 20.0).to_numpy()
    assert found.std() / found.mean() < 0.05


def test_few_answers_of_users_who_pause_show_no_latency(samples_of):
    """Their throughput hardly depends on it; without pauses either shows what the other does."""
    sent_s = [user / 5 + 2.1 * lap for user in range(10) for lap in range(18)]
    load = Closed(users=10, duration_s=40.0)
    few = steadiness(load, samples_of([0.1] * len(sent_s), sent_s=sent_s), (), False)
    assert "too few answers" in few.not_judged
    assert steadiness(load, samples_of([2.1] * len(sent_s), sent_s=sent_s), (), False).not_judged == ""


def test_a_queue_is_not_seen_in_a_few_long_windows(samples_of):
    """That is said, and is no verdict that it does not grow."""
    at = [30.0 * window + k / 20 for window in range(2) for k in range(600)]
    numbers = [window for window in range(2) for _ in range(600)]
    samples = samples_of([0.1] * 1200, sent_s=at, planned_s=at, window=numbers)
    load = Open(users=100, rate_rps=20.0, duration_s=60.0, windows=2)
    assert "fewer than 8 windows to see a queue in" in steadiness(load, samples, (), False).not_judged
