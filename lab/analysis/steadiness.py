"""Whether a load was steady from beginning to end: how latency, throughput, CPU cost and the cores changed in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.analysis import checks
from lab.analysis.evidence import Steadiness
from lab.analysis.window_figures import CORES_USED, CPU, MEAN, P50, THROUGHPUT
from lab.formulas import stats, steady_state, trend
from lab.formulas.two_levels import slopes
from lab.spec.nodes import is_node
from lab.spec.sample import NO_ANSWER
from lab.spec.system import SERVICE
from lab.spec.workload import Load
from lab.telemetry.actuator import GC_PAUSES
from lab.telemetry.running_clock import RunningClock
from lab.telemetry.sampler import CORES_BUSY, FIXED_WORK, INTERRUPTS, SPEED_UNREAD, Reading
from lab.telemetry.series import counter, growth, growth_around

Floats = NDArray[np.float64]

# The columns of the samples that :func:`steadiness` needs.
COLUMNS = ("planned_us", "sent_us", "latency_us", "step", "error", "name", "window")
# Ten seconds minus the usual ramp: in a shorter time a trend cannot be distinguished from chance.
MIN_STEADY_S = 9.0
# With fewer requests between two readings, their number is mostly chance.
MIN_PER_READING = 20
# In the first second every user connects, which is a different load.
CONNECTING_S = 1.0
# Readings of the fixed work are twelve a second. Those above so many medians hold an interrupt or a change of core.
SMOOTHED_READINGS, OUTLIER = 13, 2.0
# The fastest quarter of the readings of a second were hardly disturbed by other programs; of fewer it is chance.
UNDISTURBED_SHARE, FEWEST_IN_SECOND = 1 / 4, 8
# A series follows the speed of cores if it has so many points for each owner; nearly empty seconds tell nothing of it.
FEWEST_TO_FOLLOW, LEAST_USUAL_SHARE = 8, 0.1
# By how much at most, of both owners' together: work that misses caches slows down more than the fixed work, which does
# not; more than half as much again would be a change of the service's own.
MOST_FOLLOWED = 1.5
# Windows of those that take turns are a second long.
PACE_STEP_S = 0.1
# Of latencies that were sent within a piece of time this long, the fastest tenth shows a service that answered nobody.
STALL_PIECE_S, FASTEST_PERCENT, MIN_PER_PIECE = 0.05, 10, 10
# So does a time without any answer, if so many requests wait through it longer than one in a thousand usually does.
MIN_WAITING, SLOW_PERCENT = 3, 99.9
# How many of the longest times without an answer are looked at.
LONGEST_GAPS = 10
# A time by which all are late lacks answers: a third of them at least, as its edges have some.
MISSING_SHARE = 1 / 3
# Cores of both sides change alike where those of each change in this way, by so much of what both do; a side that is
# busy for less than so much of both says nothing.
LEAST_ALIKE, LEAST_SIDE = 0.5, 0.2
# What is left of a load after a short transient is so many times as long at least.
LEFT_OF_TRANSIENT = 2.0
# Percentiles that a longer one must not move; what it does to the tail is told.
QUARTILES = (25, 50, 75)
# Users of a closed loop that wait for so much of their time do not pause: it is saturated.
ALWAYS_WAITING_SHARE = 0.9


def steadiness(
    load: Load,
    samples: pd.DataFrame,
    rows: Iterable[Reading],
    cpu_decides: bool,
    until_s: float = math.inf,
    rounds: Mapping[str, pd.DataFrame] | None = None,
) -> Steadiness:
    """Changes of latency, throughput, CPU cost and core speed within a load that should be steady.

    A burst and a ramp have none, as they are never steady; of a load that is over within ten seconds they cannot be
    judged. Times in which the machine itself stood still are left out.

    Args:
        samples: with :data:`COLUMNS`, of the measured load.
        rows: those of :func:`lab.analysis.observations.metrics`.
        cpu_decides: whether the service's CPU decides, so that its CPU time a request must not change either.
        until_s: when the load was cut off, in seconds since its planned start; infinite if it was not.
        rounds: of a variant that took turns with others, see :func:`lab.analysis.window_figures.by_round`: what
            happened to them too is no change of this variant.

    """
    if load.steady_span_s is None:
        return Steadiness()
    if samples.empty:
        return Steadiness(not_judged="nothing was sent")
    begin_s, end_s = load.steady_span_s[0], min(load.steady_span_s[1], until_s)
    if end_s == math.inf:
        end_s = samples["sent_us"].max() / 1e6
    if end_s - begin_s < MIN_STEADY_S:
        return Steadiness(not_judged=f"it lasted less than {MIN_STEADY_S:.0f} s after its ramp")
    # What waits for a free user, or for the generator, waits before it is sent: a queue that grows there counts too.
    rows = list(rows)
    clock = RunningClock.of(rows)
    samples, rows = clock.samples(samples), clock.rows(rows)
    begin_s, end_s = map(float, clock(np.array([begin_s + CONNECTING_S, end_s])))
    samples = stats.as_planned(samples) if load.independent else samples
    latency = trend.latency_over_time(samples, begin_s, end_s)
    # The rate of an open loop is planned: of that its latency shows what changes.
    throughput = pd.Series(dtype=float) if load.independent else trend.throughput_over_time(samples, begin_s, end_s)
    if max(len(latency), len(throughput)) < trend.MIN_POINTS:
        return Steadiness(not_judged="there were too few answers a second")
    always_waiting = not load.independent and _is_saturated(load, samples, begin_s, end_s)
    # Where users pause, throughput does not show what latency would: Little's law has their pauses too.
    lacks_latency = len(latency) < trend.MIN_POINTS and not always_waiting
    lacks_throughput = not load.independent and len(throughput) < trend.MIN_POINTS and not always_waiting
    unread = any(name == SPEED_UNREAD and t < end_s for t, _, name, _ in rows)
    owners = dict.fromkeys(target for _, target, name, _ in rows if name == FIXED_WORK)
    of_cores = partial(_of_cores, partial(_slow, rows, tuple(owners) if cpu_decides else ()))
    rounds = {field: both for field, both in (rounds or {}).items() if len(both)}
    saturated = always_waiting and load.windows == 1
    latencies = {P50: latency}
    if load.independent or not always_waiting:
        # What a part of the requests waits for, as those to one node of several, changes neither median nor rate.
        latencies[MEAN] = trend.latency_over_time(samples, begin_s, end_s, "mean")
    changes = [_changes(each / of_cores(each), rounds.get(field)) for field, each in latencies.items()]
    took, shared = (max(of_each, key=abs) for of_each in zip(*changes, strict=True))
    settling = _settling(samples, begin_s, end_s)
    if saturated:
        from_s = settling.from_s if settling else None
        settled_s = math.inf if from_s is None else begin_s + from_s
        took = _beyond_queue(took, samples, latency, throughput, (begin_s, settled_s), of_cores)
    pace_of_cores = of_cores(throughput, rises=False)
    did, _ = _changes(throughput / pace_of_cores, rounds.get(THROUGHPUT))
    judged = [*(each / of_cores(each) for each in latencies.values()), throughput / pace_of_cores]
    cost = _cpu_per_request(samples, rows, begin_s, end_s) if cpu_decides else pd.Series(dtype=float)
    dearer, _ = _changes(cost / of_cores(cost), rounds.get(CPU))
    busier = both_busier = 0.0
    if cpu_decides and always_waiting:
        busier = _beyond_cost(_used_change(load, rows, (begin_s, end_s), rounds.get(CORES_USED)), dearer)
        both_busier = _change_of_both_sides(load, rows, tuple(owners), (begin_s, end_s), clock(clock.begins_s))
    longest = stall(samples, begin_s, end_s, queues=saturated or load.independent)
    longest = max(longest, *(standstill(*span) for span in _sending_spans(load, samples, begin_s, end_s)))
    collecting_s = _collecting_s(rows, longest)
    growing = trend.growth_within_windows(samples) if load.independent and load.windows > 1 else 0.0
    service_read = bool(len(_service_cpu(rows, begin_s, end_s)[0]))
    lacking = {
        "there were too few requests to know the CPU time of each": (
            cpu_decides and service_read and len(cost) < trend.MIN_POINTS
        ),
        "there were too few answers to judge its latency": lacks_latency,
        "there were too few seconds to judge its throughput": lacks_throughput,
        f"it had fewer than {trend.MIN_POINTS} windows to see a queue in": growing is None,
    }
    paces = _paces(throughput, pace_of_cores, rounds, clock) if not load.independent else []
    at_paces = (_settling(*_at_pace(samples, (begin_s, end_s), pace)) for pace in paces)
    level = any(map(_is_settled, chain([settling], at_paces)))
    return Steadiness(
        latency_change=took,
        throughput_change=did,
        cpu_change=dearer,
        cpu_used_change=busier,
        both_sides_busy_change=both_busier,
        queue_growth=growing or 0.0,
        slowed={} if unread else dict(_speed_changes(rows, owners, begin_s, end_s, cpu_decides)),
        cores_busy={owner: busy for owner in owners if (busy := _busy(rows, owner, begin_s, end_s)) is not None},
        shared_change=shared,
        stalled_s=longest.length_s,
        collecting_s=collecting_s,
        settled=level,
        course=checks.course(
            (took, growing or 0.0, dearer, *map(checks.inverse, (did, busier, both_busier))),
            longest.length_s,
            collecting_s,
            level,
        ),
        detectable_change=_detectable(judged, by_littles_law=always_waiting),
        not_judged=" and ".join(why for why, lacks in lacking.items() if lacks),
    )


def _detectable(judged: Iterable[pd.Series], by_littles_law: bool) -> float | None:
    """The least change that noise would not have hidden; 1 where it may have hidden any, None if it is not known.

    Args:
        judged: latencies and throughput over time.
        by_littles_law: whether what one of them hides is shown by the other.

    """
    each = (_least_seen(series.to_numpy(dtype=float)) for series in judged)
    found = [least for least in each if least is not None]
    return min((min if by_littles_law else max)(found), 1.0) if found else None


def _least_seen(values: Floats) -> float | None:
    """The least change of a series that noise would not hide; None if it is not known.

    Where successive seconds are alike any drift may be hidden, but for a series that stays as a whole within what
    counts as a change: there it is no more than its range.
    """
    least = trend.detectable(values)
    seen = values.max() / values.min() - 1 if len(values) and values.min() > 0 else math.inf
    return least if least is None or seen > checks.CHANGE_SUSPECT_SHARE else min(least, float(seen))


def _paces(
    throughput: pd.Series, pace_of_cores: Floats, rounds: Mapping[str, pd.DataFrame], clock: RunningClock
) -> list[pd.Series]:
    """How fast the machine was over time, as a multiple: by its cores, and by those that took turns with this one."""
    paces = [pd.Series(pace_of_cores, throughput.index)] if np.any(pace_of_cores != 1) else []
    if THROUGHPUT in rounds:
        pace = rounds[THROUGHPUT]["others"]
        paces.append(pace.set_axis(clock(pace.index.to_numpy(dtype=float))))
    return paces


def _is_settled(found: steady_state.Settling | None) -> bool:
    """Whether latency and throughput of a load settled; True with too few answers to say."""
    return found is None or found.from_s is not None


def _settling(samples: pd.DataFrame, begin_s: float, end_s: float) -> steady_state.Settling | None:
    """When a load settled, in seconds after the begin of a span of it; None with too few answers to say."""
    right = samples[(samples["error"] == "").to_numpy()]
    right = right[right["sent_us"].between(begin_s * 1e6, end_s * 1e6)]
    ended_s = (right["sent_us"] + right["latency_us"]).to_numpy() / 1e6 - begin_s
    return steady_state.settling(ended_s, right["latency_us"].to_numpy() / 1e6)


class Stall(NamedTuple):
    """How long a service answered nobody, and when that was over, in seconds since the planned start."""

    length_s: float
    until_s: float


NO_STALL = Stall(0.0, 0.0)


def stall(samples: pd.DataFrame, begin_s: float, end_s: float, queues: bool) -> Stall:
    """The longest time by which all requests of a moment were answered late: a stall of the service.

    Of the requests that were sent within a twentieth of a second even the fastest tenth took so much longer than the
    median of all; what only some of them waited for is no stall. Nor is it one, where queues are usual, if as many
    others as ever were answered meanwhile, from the moment when they were due: those were before them in the queue, or
    overtook them in it.

    Args:
        samples: with :data:`COLUMNS`.
        begin_s: seconds since the planned start; what was sent before is left out.
        end_s: what was sent later is left out.
        queues: whether requests wait for one another now and then although nothing is wrong: users of a closed loop
            never pause, or requests come whatever becomes of those before them.

    """
    right = samples[(samples["error"] == "").to_numpy()]
    sent = right[right["sent_us"].between(begin_s * 1e6, end_s * 1e6)]
    pieces = sent["latency_us"].groupby(sent["sent_us"] // round(STALL_PIECE_S * 1e6))
    fastest_s = pieces.quantile(FASTEST_PERCENT / 100)[pieces.size() >= MIN_PER_PIECE] / 1e6
    if fastest_s.empty:
        return NO_STALL
    sent_s, usual_s = fastest_s.index.to_numpy() * STALL_PIECE_S, sent["latency_us"].median() / 1e6
    late_s = np.maximum(fastest_s.to_numpy() - usual_s, 0.0)
    ended_s = np.sort((right["sent_us"] + right["latency_us"]).to_numpy() / 1e6)
    due_s = sent_s + usual_s
    answered = np.searchsorted(ended_s, due_s + late_s) - np.searchsorted(ended_s, due_s, "right")
    usual = np.diff(np.searchsorted(ended_s, (begin_s, end_s))) / (end_s - begin_s) * late_s
    late_s[(answered > (1 - MISSING_SHARE) * usual) & queues] = 0.0
    longest = int(late_s.argmax())
    return Stall(float(late_s[longest]), float(due_s[longest] + late_s[longest]))


def _sending_spans(
    load: Load, samples: pd.DataFrame, begin_s: float, end_s: float
) -> Iterator[tuple[pd.DataFrame, float, float]]:
    """The samples of a load, or of each of its windows, with the span in which requests were sent."""
    if load.windows == 1:
        yield samples, begin_s, end_s
        return
    for _, mine in samples.groupby("window"):
        sent_s = mine["sent_us"] / 1e6
        yield mine, max(begin_s, float(sent_s.min())), min(end_s, float(sent_s.max()))


def standstill(samples: pd.DataFrame, begin_s: float, end_s: float) -> Stall:
    """The longest time in which requests waited and none was answered, beyond what is usual.

    It counts where several waited to its end, or until they timed out, each for longer than one in a thousand of its
    name usually does. What waited through any such time does not tell what is usual.

    Args:
        samples: with :data:`COLUMNS`.
        begin_s: seconds since the planned start; waiting before is left out.
        end_s: when the load ends. What is overdue by then is slow by itself, as nobody asks any more who is answered.

    """
    sent_us, took_us = samples["sent_us"].to_numpy(), samples["latency_us"].to_numpy()
    ended_us, is_answered = sent_us + took_us, ~samples["error"].isin(NO_ANSWER).to_numpy()
    begin_us, end_us = 1e6 * begin_s, 1e6 * end_s
    answered_us = np.sort(ended_us[is_answered & (ended_us > begin_us)])
    edges_us = np.concatenate([[begin_us], answered_us, [max(ended_us.max(initial=0), begin_us)]])
    gaps_us = np.diff(edges_us)
    # After the load one request that waits for its timeout makes a longer gap than any that it is to be seen beside.
    within_us = gaps_us[edges_us[1:] <= end_us].max(initial=0.0)
    long = np.flatnonzero(gaps_us >= max(0.5 * within_us, 1e6 * checks.STALL_SUSPECT_S))
    froms_us, tos_us = edges_us[long], edges_us[long + 1]
    done = np.searchsorted(tos_us, sent_us, "right")
    to_the_end = np.searchsorted(tos_us, ended_us, "right") > done
    in_vain = ~is_answered & (np.searchsorted(froms_us, ended_us) > done)
    others = is_answered & ~to_the_end
    names = samples["name"].to_numpy()
    usual_us = pd.Series(took_us[others]).groupby(names[others]).quantile(SLOW_PERCENT / 100)
    waiting = np.flatnonzero(to_the_end | in_vain)
    sent_us, ended_us = sent_us[waiting], ended_us[waiting]
    # What is usual is not known of a kind that has no others.
    most_us = pd.Series(names[waiting]).map(usual_us).fillna(np.inf).to_numpy()
    found = NO_STALL
    for gap in np.argsort(tos_us - froms_us)[-LONGEST_GAPS:]:
        from_us, to_us = float(froms_us[gap]), float(tos_us[gap])
        waited_us = np.minimum(ended_us, to_us) - np.maximum(sent_us, from_us) - most_us
        waited_us = waited_us[(to_us <= end_us) | (from_us - sent_us <= most_us)]
        if len(waited_us) >= MIN_WAITING:
            found = max(found, Stall(float(np.partition(waited_us, -MIN_WAITING)[-MIN_WAITING]) / 1e6, to_us / 1e6))
    return found


def _collecting_s(rows: Iterable[Reading], stalled: Stall) -> float:
    """For how long the garbage collector may have paused the service meanwhile, in seconds.

    A collector computes, so it explains no more than the CPU time that its process used: what holds a process while it
    collects lengthens the pause by the time in which it used none. Of several nodes it is the one that it paused the
    longest: while all pause together, nobody waits for their sum.
    """
    if not stalled.length_s:
        return 0.0
    rows = [row for row in rows if row[2] in (GC_PAUSES, "cpu_s")]
    nodes = {target for _, target, _, _ in rows if is_node(target)} or {SERVICE}
    span_s = (stalled.until_s - stalled.length_s, stalled.until_s)

    def paused_s(node: str) -> float:
        paused, used = (counter(rows, node, name) for name in (GC_PAUSES, "cpu_s"))
        explains_s = growth_around(*paused, *span_s)
        return min(explains_s, growth_around(*used, *span_s)) if len(used[0]) else explains_s

    return max(map(paused_s, nodes))


def slowness(rows: Iterable[Reading], owner: str, at_s: Floats) -> Floats:
    """How slow an owner's cores were at given times, as a multiple of the median; 1.0 if not measured.

    Args:
        at_s: seconds since the planned start, shape (n,).

    """
    times, spent_s = counter(rows, owner, FIXED_WORK)
    if not len(times):
        return np.ones(len(at_s))
    usual_s = float(np.median(spent_s))
    # Cores that others share have two speeds: their mean tells for how long they had which, their median does not.
    around = pd.Series(spent_s).clip(upper=OUTLIER * usual_s).rolling(SMOOTHED_READINGS, center=True, min_periods=1)
    slow: Floats = np.interp(at_s, times, around.mean() / usual_s)
    return slow


def _slow(rows: Iterable[Reading], owners: Sequence[str], at_s: Floats) -> Floats:
    """The logarithm of each owner's :func:`slowness` at given times, shape (n, owners)."""
    return np.array([np.log(slowness(rows, owner, at_s)) for owner in owners]).reshape(len(owners), len(at_s)).T


def _of_cores(slow: Callable[[Floats], Floats], over_time: pd.Series, *, rises: bool = True) -> Floats:
    """The factor by which the speed of the cores multiplies a series at each of its points, shape (n,).

    All cores of a machine slow down together where its host is busy, and the readings of either owner's are noisy: how
    much the series follows each of them is found by least squares. So a change that slower cores explain is not called
    one of the service, and a reading that the series does not follow makes none.

    Args:
        slow: of :func:`_slow`; of no owners where the cores do not matter.
        over_time: indexed by seconds since the planned start.
        rises: whether slower cores make it more, as a latency, or less, as a throughput.

    Returns:
        Ones with too few points (:data:`FEWEST_TO_FOLLOW`); with too few for each owner, by the mean of them.

    """
    values, slower = over_time.to_numpy(dtype=float), slow(over_time.index.to_numpy(dtype=float))
    usual = values > LEAST_USUAL_SHARE * np.median(values) if len(values) else np.zeros(0, dtype=bool)
    if slower.shape[1] and usual.sum() < FEWEST_TO_FOLLOW * slower.shape[1]:
        slower = slower.mean(axis=1, keepdims=True)
    if not slower.shape[1] or usual.sum() < FEWEST_TO_FOLLOW:
        return np.ones(len(values))
    logs, known = np.log(values[usual]), slower[usual]
    follows = slopes(logs - logs.mean(), known - known.mean(axis=0), *((0.0, 1.0) if rises else (-1.0, 0.0)))
    follows *= min(1.0, MOST_FOLLOWED / max(abs(float(follows.sum())), 1e-9))
    factor: Floats = np.exp(slower @ follows)
    return factor


def _at_pace(samples: pd.DataFrame, span_s: tuple[float, float], pace: pd.Series) -> tuple[pd.DataFrame, float, float]:
    """Samples and a span of a closed loop by a clock that goes as fast as its machine did.

    Args:
        pace: as a multiple of the usual one, indexed by seconds since the planned start: what the speed of the cores
            makes of throughput, or the throughput of those that took turns with it.

    """
    sent_s, took_s = (samples[name].to_numpy() / 1e6 for name in ("sent_us", "latency_us"))
    moments_s = np.arange(0.0, max(span_s[1], float((sent_s + took_s).max())) + PACE_STEP_S, PACE_STEP_S)
    within_s = (moments_s[:-1] + moments_s[1:]) / 2
    paces = np.interp(within_s, pace.index.to_numpy(dtype=float), pace.to_numpy())
    shown_s = np.concatenate([[0.0], np.cumsum(paces * PACE_STEP_S)])

    def by_this(at_s: Floats) -> Floats:
        read_s: Floats = np.interp(at_s, moments_s, shown_s)
        return read_s

    begun_s = by_this(sent_s)
    changed = samples.assign(sent_us=begun_s * 1e6, latency_us=(by_this(sent_s + took_s) - begun_s) * 1e6)
    from_s, to_s = by_this(np.array(span_s))
    return changed, float(from_s), float(to_s)


def _changes(over_time: pd.Series, rounds: pd.DataFrame | None) -> tuple[float, float]:
    """The change of a series beyond that of others that took turns with it, and what it had in common with them.

    Args:
        rounds: the same figure by window, of this variant and of those that took turns with it; None if none did.

    """
    found = trend.change(over_time.to_numpy(dtype=float))
    if rounds is None:
        return found, 0.0
    left = trend.beyond(found, rounds["own"].to_numpy(), rounds["others"].to_numpy())
    return left, found - left


def _used_change(load: Load, rows: list[Reading], span_s: tuple[float, float], rounds: pd.DataFrame | None) -> float:
    """The change of the CPU that the service used: between readings, or by window, as between windows nobody asks."""
    if load.windows == 1:
        return trend.change(_cpu_used(rows, *span_s).to_numpy())
    return 0.0 if rounds is None else _changes(rounds["own"], rounds)[0]


def _change_of_both_sides(
    load: Load, rows: list[Reading], owners: Sequence[str], span_s: tuple[float, float], paused_at_s: Floats
) -> float:
    """The change of how many cores service and generator keep busy together; 0 unless those of both change alike.

    Requests of users who never pause are always somewhere: on the service's cores, on those of the generator, which are
    the databases' too, or they wait for something else. If the service's cores become faster, it is busy for less of
    the time and the generator for more, or the generator alone is if the service remains busy all the time. If requests
    wait for something else, both are less busy.

    Args:
        owners: both sides, as readings name them.
        paused_at_s: when the machine stood still, in order, by the clock of the readings: all cores seem busy then.

    Returns:
        0 in turns, as between windows nobody asks, where the generator is on other machines, and where the cores of
        either side were not read.

    """
    if load.windows > 1 or load.remote_workers:
        return 0.0
    busy_s = [_busy_counter(rows, owner) for owner in owners]
    if len(busy_s) < 2 or not all(len(times) for times, _ in busy_s):
        return 0.0
    times = busy_s[0][0]
    times = times[(times >= span_s[0]) & (times <= span_s[1])]
    took_s, pauses = np.diff(times), np.diff(np.searchsorted(paused_at_s, times))
    kept = _is_whole(took_s) & (pauses == 0)
    each = np.array([np.diff(np.interp(times, *counted))[kept] / took_s[kept] for counted in busy_s])
    both = each.sum(axis=0)
    found = trend.change(both)
    if not found:
        return 0.0
    counts = each[each.mean(axis=1) >= LEAST_SIDE * both.mean()]
    first, *_, last = np.array_split(np.vstack([counts, both]), 3, axis=1)
    *of_each, of_both = last.mean(axis=1) / first.mean(axis=1) - 1
    is_alike = of_both * found > 0 and all(change / of_both >= LEAST_ALIKE for change in of_each)
    return found if is_alike else 0.0


def _is_saturated(load: Load, samples: pd.DataFrame, begin_s: float, end_s: float) -> bool:
    """Whether users hardly pause between requests, so that latency and throughput say the same by Little's law."""
    sent = samples["sent_us"].between(begin_s * 1e6, end_s * 1e6)
    waited_s = float(samples.loc[sent, "latency_us"].sum()) / 1e6
    return waited_s >= ALWAYS_WAITING_SHARE * load.users * (end_s - begin_s)


def _beyond_cost(busier: float, dearer: float) -> float:
    """The change of the CPU that a service used, without what requests that took more of it, or less, explain.

    Args:
        busier: the change of the CPU used.
        dearer: the change of the CPU time a request. Both relative.

    """
    if busier * dearer <= 0:
        return busier
    rest = (1 + busier) / (1 + dearer) - 1 if dearer > -1 else 0.0  # a request that takes nothing explains any fall
    return rest if rest * busier > 0 else 0.0


def _beyond_queue(
    took: float,
    samples: pd.DataFrame,
    latency: pd.Series,
    throughput: pd.Series,
    transient_s: tuple[float, float],
    of_cores: Callable[[pd.Series], Floats],
) -> float:
    """The change of latency of a saturated closed loop, without that of an initial transient in which its queue formed.

    By Little's law its mean latency is users / throughput. Where the median rose, or fell, until it settled, and
    throughput did not fall, or rise, half as much, the service did not change: others waited. So begins a loop with a
    queue, if those that were just served are served again before those that wait. Then the change is that after the
    transient, of which enough must be left to judge it by. The transient must be short, or throughput stay the same
    and no quartile of all latencies be moved by it.

    Args:
        took: the change of the whole.
        samples: with :data:`COLUMNS`.
        transient_s: from when until answers had settled, in seconds since the planned start; infinite if they never
            did.

    """
    begin_s, settled_s = transient_s
    first, rest = latency[latency.index < settled_s], latency[latency.index >= settled_s]
    before, after = throughput[throughput.index < settled_s], throughput[throughput.index >= settled_s]
    if not took or first.empty or len(rest) < trend.MIN_POINTS or before.empty or not after.mean() > 0:
        return took
    left_s = rest.index[-1] - settled_s
    if left_s < MIN_STEADY_S:
        return took
    by_latency, by_rate = rest.mean() / first.mean(), before.mean() / after.mean()
    is_short = left_s >= LEFT_OF_TRANSIENT * (settled_s - begin_s)
    is_same_rate = abs(by_rate - 1) <= checks.CHANGE_SUSPECT_SHARE / 2
    if not is_short and not (is_same_rate and _keeps_quartiles(samples, transient_s)):
        return took
    is_slower = took > 0 and by_rate >= math.sqrt(max(by_latency, 1.0))
    is_faster = took < 0 and by_latency < 1 and by_rate <= math.sqrt(by_latency)
    return took if is_slower or is_faster else trend.change((rest / of_cores(rest)).to_numpy(dtype=float))


def _keeps_quartiles(samples: pd.DataFrame, transient_s: tuple[float, float]) -> bool:
    """Whether an initial transient moves none of p25, p50 and p75 of a load's right answers by more than 5 %."""
    begin_s, settled_s = transient_s
    sent_s, right = samples["sent_us"] / 1e6, (samples["error"] == "").to_numpy()
    whole_us, settled_us = (samples.loc[right & (sent_s >= from_s), "latency_us"] for from_s in (begin_s, settled_s))
    if settled_us.empty:
        return False
    of_whole, of_settled = (np.percentile(took_us, QUARTILES) for took_us in (whole_us, settled_us))
    return bool(np.all(np.abs(of_whole - of_settled) <= checks.CHANGE_SUSPECT_SHARE * of_settled))


def _speed_changes(
    rows: list[Reading], owners: Iterable[str], begin_s: float, end_s: float, cpu_decides: bool
) -> Iterator[tuple[str, float]]:
    """By owner, how much slower its cores became from the beginning of a period to its end, as a share.

    Without those of which there are too few readings to show a trend.

    By all readings: cores that others share have two speeds, and the mean tells for how long they had which. Where the
    CPU decides, by the fastest of each second too: programs that fill a core disturb so many that their mean may hide
    a tenth.
    """
    for owner in owners:
        times, spent_s = counter(rows, owner, FIXED_WORK)
        within = (times >= begin_s) & (times <= end_s)
        if within.sum() < trend.MIN_POINTS:
            continue
        by_second = pd.Series(spent_s[within]).groupby(np.floor(times[within] - begin_s))
        undisturbed_s = by_second.quantile(UNDISTURBED_SHARE)[by_second.size() >= FEWEST_IN_SECOND]
        judged = [spent_s[within], *([np.asarray(undisturbed_s, dtype=float)] if cpu_decides else [])]
        yield owner, max(map(trend.change, judged), key=abs)


def _busy(rows: list[Reading], owner: str, begin_s: float, end_s: float) -> float | None:
    """How many of an owner's cores were busy on average within a period, interrupts included; None if not read."""
    times, busy_s = _busy_counter(rows, owner)
    last_s = min(end_s, times[-1]) if len(times) else begin_s
    spent_s = growth(times, busy_s, begin_s, last_s) if last_s > begin_s else None
    return None if spent_s is None else spent_s / (last_s - begin_s)


def _busy_counter(rows: list[Reading], owner: str) -> tuple[Floats, Floats]:
    """For how many seconds an owner's cores had been busy by each reading, interrupts included; empty if not read."""
    (times, programs_s), (others, interrupts_s) = (counter(rows, owner, name) for name in (CORES_BUSY, INTERRUPTS))
    if not len(times) or not len(others):
        return np.zeros(0), np.zeros(0)
    return times, programs_s + np.interp(times, others, interrupts_s)


def _cpu_per_request(samples: pd.DataFrame, rows: list[Reading], begin_s: float, end_s: float) -> pd.Series:
    """The service's CPU seconds a request between readings, by the moment between them.

    Between consecutive ones; or, where so few have enough requests between them that no trend would show, between
    those that have.
    """
    times, cpu_s = _service_cpu(rows, begin_s, end_s)
    if len(times) < 2:
        return pd.Series(dtype=float)
    ended_s = (samples["sent_us"] + samples["latency_us"]).to_numpy() / 1e6
    requests, _ = np.histogram(ended_s, bins=times)
    if np.count_nonzero(requests >= MIN_PER_READING) < trend.MIN_POINTS:
        done, kept = np.concatenate([[0], np.cumsum(requests)]), [0]
        for at in range(1, len(times)):
            if done[at] - done[kept[-1]] >= MIN_PER_READING:
                kept.append(at)
        times, cpu_s, requests = times[kept], cpu_s[kept], np.diff(done[kept])
    cost = pd.Series(np.diff(cpu_s) / np.maximum(requests, 1), index=(times[:-1] + times[1:]) / 2)
    return cost[requests >= MIN_PER_READING]


def _cpu_used(rows: list[Reading], begin_s: float, end_s: float) -> pd.Series:
    """How many of its cores the service used between consecutive readings, by the moment between them.

    Throughput is the CPU used divided by that of a request. Where users never pause, and the CPU decides, it is the
    same all the time, however fast the cores are: less of it is a service that waits. Intervals of which the machine
    stood still for the most part are left out.
    """
    times, cpu_s = _service_cpu(rows, begin_s, end_s)
    took_s = np.diff(times)
    whole = _is_whole(took_s)
    return pd.Series(np.diff(cpu_s)[whole] / took_s[whole], index=((times[:-1] + times[1:]) / 2)[whole], dtype=float)


def _is_whole(took_s: Floats) -> NDArray[np.bool_]:
    """Which intervals between readings are longer than half of the usual: in others the machine mostly stood still."""
    return took_s > np.median(took_s) / 2 if len(took_s) else np.zeros(0, dtype=bool)


def _service_cpu(rows: list[Reading], begin_s: float, end_s: float) -> tuple[Floats, Floats]:
    """The times of the readings within a period, and what CPU seconds the service had used by then."""
    times, cpu_s = counter(rows, "service", "cpu_s")
    within = (times >= begin_s) & (times <= end_s)
    return times[within], cpu_s[within]
