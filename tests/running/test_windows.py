"""Windows of a load, joined: what was counted adds up, and the time between them is nowhere."""

from __future__ import annotations

import pytest

from lab.analysis.observations import Observed, metrics
from lab.analysis.window_figures import CORES_USED, of_windows
from lab.generator.fleet import PhaseResult
from lab.running.windows import Joined
from lab.spec.window import Window
from lab.spec.workload import Closed
from lab.telemetry.sampler import FIXED_WORK, MACHINE, PAUSED, PAUSES_UNREAD, SPEED_UNREAD, Telemetry


def window(unix_start: float, before_us: int, elapsed_us: int, requests: int) -> PhaseResult:
    """What the generator reports of a window: counts at its planned start, shortly before it, and at its end."""
    ticks = [(before_us - 100_000, 0), (before_us + 50_000, 5), (before_us + elapsed_us, 0)]
    return PhaseResult(
        unix_start,
        begun=requests,
        finished=requests,
        ticks={"0": ticks},
        cut=[(1, requests)],
        cpu={"0": [(unix_start, 7.0 * unix_start), (unix_start + elapsed_us / 1e6, 7.0 * unix_start + 1.0)]},
        whole=True,
    )


def readings(unix_start: float, elapsed_s: float, spent_s: float) -> Telemetry:
    """A second's readings of a service that used one core in its window, and spent something before that."""
    ends = unix_start + elapsed_s + 0.1
    return Telemetry(
        [
            (unix_start - 0.1, "service", "cpu_s", spent_s),
            (ends, "service", "cpu_s", spent_s + elapsed_s),
            (unix_start - 0.1, "service", "threads", 20.0),
            (ends, "service", "threads", 30.0),
        ],
        gaps=[unix_start + 0.5],
    )


@pytest.fixture
def joined() -> tuple[Observed, Joined]:
    """Two windows of 2.0 and 2.1 s, four seconds apart, in which the service used 0.3 s."""
    observed = Observed()
    whole = Joined(observed, windows=2)
    speed = [(t, "service", FIXED_WORK, t) for t in (99.0, 101.0, 104.0, 107.0, 109.0)]
    assert whole.add(window(100.0, 0, 2_000_000, 40), readings(100.0, 2.0, 10.0), speed) == pytest.approx(2.0)
    assert not observed.result.whole
    assert whole.before_us == 2_000_000
    assert whole.add(window(106.0, 2_000_000, 2_100_000, 44), readings(106.0, 2.1, 12.3), speed) == pytest.approx(2.1)
    return observed, whole


def test_counts_add_up(joined):
    """And the whole is whole after its last window."""
    result = joined[0].result
    assert (result.begun, result.finished, result.whole) == (84, 84, True)
    assert result.cut == [(1, 40), (1, 44)]


def test_counts_under_way_go_on_where_the_window_before_ended(joined):
    """What was counted before a later window's planned start lies in no window."""
    assert [t for t, _ in joined[0].result.ticks["0"]] == [-100_000, 50_000, 2_000_000, 2_050_000, 4_100_000]


def test_readings_go_on_where_the_window_before_ended(joined):
    """A counter is as if the service had not been there between windows; what is no counter stays as it is."""
    observed, _ = joined
    rows = [(t - 100.0, value) for t, _, name, value in observed.telemetry.rows if name == "cpu_s"]
    assert rows == [pytest.approx(row) for row in [(0.0, 10.0), (2.0, 12.0), (4.2, 14.1)]]
    assert [v for _, _, name, v in observed.telemetry.rows if name == "threads"] == [20.0, 30.0, 20.0, 30.0]
    assert observed.telemetry.gaps == [pytest.approx(100.5), pytest.approx(102.5)]


def test_the_first_window_has_all_the_cpu_that_the_service_used_in_it(samples_of):
    """The service was idle from the reading before it to its begin, and busy throughout from then on."""
    observed, load = Observed(), Closed(users=1, ramp_s=0.0, duration_s=4.0, windows=2)
    whole, found = Joined(observed, windows=2), []
    for number, unix_start in enumerate((100.0, 106.0)):
        spent_s = ((-0.1, 0.0), (0.9, 0.9), (1.9, 1.9), (2.0, 2.0))
        rows = [(unix_start + t, "service", "cpu_s", 2.0 * number + spent) for t, spent in spent_s]
        whole.add(window(unix_start, number * 2_000_000, 2_000_000, 40), Telemetry(rows), ())
        found.append(Window(number, 0, unix_start, number * 2.0, 2.0, 2.0, 40, 0, 40))
    figures = of_windows(found, load, samples_of([]), metrics(observed.result, observed.telemetry))
    assert [each[CORES_USED] for each in figures] == pytest.approx([1.0, 1.0])


def test_a_window_of_an_open_loop_lasts_as_long_as_it_was_planned():
    """Its last answer comes before that, and time that is left out would make its rate higher than it was."""
    whole = Joined(Observed(), windows=3)
    assert whole.add(window(100.0, 0, 1_900_000, 20), Telemetry(), (), planned_s=2.0) == pytest.approx(1.9)
    assert whole.before_us == 2_000_000
    assert whole.add(window(106.0, 2_000_000, 2_100_000, 20), Telemetry(), (), planned_s=2.0) == pytest.approx(2.1)
    assert whole.before_us == 4_100_000


def test_what_was_read_after_a_window_is_not_in_it():
    """Its last answer had come: what the service spent afterwards, it spent for nobody."""
    observed, telemetry = Observed(), readings(100.0, 2.0, 10.0)
    whole = Joined(observed, windows=2)
    whole.add(window(100.0, 0, 2_000_000, 40), telemetry, ())
    later = Telemetry([(105.9, "service", "cpu_s", 12.5), (106.0, "service", "cpu_s", 12.6)])
    later.rows += [(t, "service", "cpu_s", 12.6 + t - 106.0) for t in (107.0, 108.1, 108.2, 108.3)]
    whole.add(window(106.0, 2_000_000, 2_050_000, 40), later, ())
    rows = [(t - 100.0, value) for t, _, name, value in observed.telemetry.rows if name == "cpu_s"]
    assert [t for t, _ in rows] == pytest.approx([0.0, 2.0, 3.0, 4.1, 4.2, 4.3])
    assert [value for _, value in rows] == pytest.approx([10.0, 12.0, 13.0, 14.1, 14.2, 14.3])


def test_the_speed_of_the_cores_is_that_in_the_windows(joined):
    """Readings between the windows belong to another variant."""
    rows = [(t - 100.0, value) for t, _, name, value in joined[0].telemetry.rows if name == FIXED_WORK]
    assert rows == [(1.0, 101.0), (3.0, 107.0), (5.0, 109.0)]


def test_a_pause_of_the_machine_counts_as_far_as_it_lies_in_a_window():
    """What of it lay between two windows, or before the first, is in no time of theirs."""
    observed = Observed()
    whole = Joined(observed, windows=2)
    pauses = [(began, MACHINE, PAUSED, 0.5) for began in (100.5, 101.8, 104.0, 105.9)]
    whole.add(window(100.0, 0, 2_000_000, 40), Telemetry(), pauses)
    whole.add(window(106.0, 2_000_000, 2_100_000, 44), Telemetry(), pauses)
    found = [(t - 100.0, value) for t, _, name, value in observed.telemetry.rows if name == PAUSED]
    assert found == [pytest.approx(pair) for pair in ((0.5, 0.5), (1.8, 0.2), (2.0, 0.4))]


def test_what_no_longer_watches_the_cores_is_unread_in_this_window_and_all_that_follow():
    """Even if it ended between two of them, and not in those before."""
    observed = Observed()
    whole = Joined(observed, windows=3)
    ended = [(103.0, MACHINE, PAUSES_UNREAD, 1.0), (107.0, MACHINE, SPEED_UNREAD, 1.0)]
    for number, (began, ends_us) in enumerate(((100.0, 2_000_000), (106.0, 2_100_000), (112.0, 2_000_000))):
        whole.add(window(began, 2_000_000 * bool(number), ends_us, 40), Telemetry(), ended)
        names = [name for _, _, name, _ in observed.telemetry.rows]
        assert (names.count(PAUSES_UNREAD), names.count(SPEED_UNREAD)) == (number, number)


def test_workers_own_cpu_is_that_in_the_windows(joined):
    """They were idle, or busy for nobody, in between."""
    spent = joined[0].result.cpu["0"]
    assert [t - 100.0 for t, _ in spent] == pytest.approx([0.0, 2.0, 4.1])
    assert spent[-1][1] - spent[0][1] == pytest.approx(2.0)


def test_a_load_in_one_piece_stays_as_it_is():
    """Nothing is cut off before or after it."""
    observed, result, telemetry = Observed(), window(100.0, 0, 2_000_000, 40), readings(100.0, 2.0, 10.0)
    Joined(observed, windows=1).add(result, telemetry, [(99.0, "service", FIXED_WORK, 1.0)])
    assert observed.result == result
    assert [t for t, *_ in observed.telemetry.rows] == [99.9, 99.9, 102.1, 102.1, 99.0]


def test_what_is_unknown_of_one_window_is_unknown_of_all():
    """Counts of the service and of what is behind it must be of all requests."""
    observed = Observed()
    observed.add_window(Window(0, 0, 0.0, 0.0, 2.0, 2.0, 10, 0, 10), {"mysql": 10, "mongo": 3})
    assert (observed.served, observed.calls) == (10, {"mysql": 10, "mongo": 3})
    observed.add_window(Window(1, 0, 0.0, 2.0, 2.0, 2.0, 20, 0, None), {"mysql": 21})
    assert (observed.served, observed.calls) == (None, {"mysql": 31})
    observed.add_window(Window(2, 0, 0.0, 4.0, 2.0, 2.0, 20, 0, 20), {"mysql": 20})
    assert (observed.served, observed.calls) == (None, {"mysql": 51})
