"""Figures: what is measured is drawn, what is doubtful looks doubtful, and what is missing is named."""

from __future__ import annotations

import io
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from lab.reporting import figures, run_view
from lab.reporting.figures.forest import Bar
from lab.reporting.figures.panel import Panel, step_of, thinned
from lab.reporting.figures.style import KNOWN, OTHERS, styles_of
from lab.telemetry.actuator import HEAP, JVM_MEMORY
from lab.telemetry.sampler import PASSED_ON

METRICS = ["t_s", "target", "name", "value"]


def texts(figure) -> str:
    """Everything that a figure says in words."""
    legends = [legend for axes in figure.axes if (legend := axes.get_legend())]
    found = [axes.get_title(loc="left") for axes in figure.axes]
    found += [text.get_text() for axes in figure.axes for text in axes.texts]
    found += [text.get_text() for legend in legends for text in legend.get_texts()]
    return "\n".join([*found, *(text.get_text() for text in figure.texts)])


def panel(samples, verdict="valid", variant="mvc", metrics=None) -> Panel:
    """A cell as figures show it."""
    kept = {} if metrics is None else {"metrics": metrics}
    return Panel(variant, samples, verdict, 2.0, **kept)


def drawn(figure) -> np.ndarray:
    """The figure as pixels."""
    return imread(io.BytesIO(figure.png(dpi=30)))


@pytest.fixture(scope="module")
def example():
    """The run that ships with the lab."""
    return run_view.open_run("delay-sweep")


def test_all_figures_of_a_run_can_be_drawn_and_have_units_on_every_axis(example):
    """Each is a picture with something on it; axes that carry values say of what and in which unit."""
    for figure in (example.figure(), example.timeline(), example.sweep_figure(), example.errors_figure()):
        assert drawn(figure)[..., :3].std() > 0
    for axes in (*example.figure().axes, *example.sweep_figure().axes):
        assert axes.get_xlabel()
        assert axes.get_ylabel()


def test_the_percentile_axis_puts_each_further_nine_equally_far(example):
    """90, 99 and 99.9 are as far apart as 1/(1-p) says on a logarithmic scale."""
    axes = example.figure().axes[0]
    at = axes.transData.transform([(percent, 10.0) for percent in (90, 99, 99.9)])[:, 0]
    assert at[2] - at[1] == pytest.approx(at[1] - at[0])


def test_the_distribution_passes_through_the_samples(samples_of):
    """The curve's value at the median is the median of right answers, and failures are not in it."""
    samples = samples_of([*np.linspace(1, 3, 101), 99.0], error=[""] * 101 + ["timeout"])
    share, latency = panel(samples).percentiles()
    assert np.interp(50, share, latency) == pytest.approx(2.0)
    assert latency.max() == pytest.approx(3.0)


def test_thinning_keeps_the_tail_whole():
    """Of a long distribution the slowest thousand stay, and so does the fastest."""
    share, latency = np.linspace(0, 100, 100_000), np.arange(100_000.0)
    _, kept = thinned(share, latency)
    assert len(kept) < 10_000
    assert kept[0] == 0
    assert (kept[-1000:] == latency[-1000:]).all()


def test_an_open_loop_counts_from_the_planned_moment(samples_of):
    """What a late request waited before it was sent is part of its latency there, and only there."""
    samples = samples_of([1.0], sent_s=3.0, planned_s=[1.0])
    assert Panel("mvc", samples, "valid", None, from_planned=True).latency_s[0] == pytest.approx(3.0)
    assert Panel("mvc", samples, "valid", None).latency_s[0] == pytest.approx(1.0)


@pytest.mark.parametrize("verdict", ["suspect", "invalid", "incomplete"])
def test_a_cell_that_is_not_valid_says_so(samples_of, verdict):
    """In the legend of the comparison and over its own timeline."""
    panels = [panel(samples_of([1.0, 2.0]), verdict)]
    assert f"mvc ({verdict.upper()})" in texts(figures.run_figure("title", panels))
    assert verdict.upper() in texts(figures.timeline_figure("title", panels)).splitlines()


@pytest.mark.thorough
def test_nothing_measured_gives_a_figure_that_says_so(samples_of):
    """No samples, only failures, one sample: all can be drawn."""
    nothing, failure, one = samples_of([]), samples_of([1.0], error="refused", status=0), samples_of([1.0])
    for samples in (nothing, failure, one):
        for figure in (figures.run_figure, figures.timeline_figure, figures.errors_figure, figures.users_figure):
            drawn(figure("title", [panel(samples)]))
    assert "no right answer" in texts(figures.run_figure("title", [panel(nothing)]))
    assert "no request was answered" in texts(figures.timeline_figure("title", [panel(nothing)]))
    assert "no request failed" in texts(figures.errors_figure("title", [panel(one)]))


def test_users_are_alive_from_their_first_request_to_their_last_answer(samples_of):
    """Pauses included; who was stopped early is counted from then on."""
    samples = samples_of([1.0] * 4, sent_s=[0, 8, 2, 5], user=[0, 0, 1, 2], step=[0, 1, 0, 0])
    samples.loc[2, "stopped"] = True
    shown = panel(samples)
    at, alive = shown.users_alive()
    expected = {0.5: 1, 2.5: 2, 4.0: 1, 5.5: 2, 7.0: 1, 8.5: 1}
    assert {moment: alive[np.searchsorted(at, moment)] for moment in expected} == expected
    assert [series.tolist() for series in shown.stops()] == [[0.0, 3.0, 9.0], [0.0, 1.0, 1.0]]
    assert "mvc: 1" in texts(figures.users_figure("title", [shown]))


def test_seven_variants_fit(samples_of):
    """More variants than columns go into further rows, each with a title of its own."""
    panels = [panel(samples_of([1.0, 2.0]), variant=f"variant-{number}") for number in range(7)]
    said = texts(figures.timeline_figure("title", panels))
    assert all(f"variant-{number}" in said for number in range(7))


def test_the_wait_for_a_pool_has_a_row_where_a_service_stated_it(samples_of):
    """Rows without a single reading are left out, those with readings are there."""
    metrics = pd.DataFrame(
        {"t_s": [0.0, 1.0], "target": "service", "name": "hikaricp_connections_pending", "value": [3.0, 1.0]}
    )
    samples = samples_of([2.0])
    without = figures.timeline_figure("title", [panel(samples)])
    with_pool = figures.timeline_figure("title", [panel(samples, metrics=metrics)])
    assert len(with_pool.axes) == len(without.axes) + 1
    assert any("connection" in axes.get_ylabel() for axes in with_pool.axes)


def test_each_of_two_pools_has_its_own_queue_by_name(samples_of):
    """In the colour of the component that it leads to, as that one's CPU is; there is room for the names."""
    queues = {"mongodb_driver_pool_waitqueuesize": 0.0, "httpcomponents_httpclient_pool_total_pending": 15.0}
    rows = [(t, "service", name, value) for name, value in queues.items() for t in (0.0, 1.0, 2.0, 3.0)]
    metrics = pd.concat([cpu_readings(backend=0.3, mongo=0.2), pd.DataFrame(rows, columns=METRICS)])
    figure = figures.timeline_figure("title", [panel(samples_of([3.0]), metrics=metrics)])
    (waiting,) = [axes for axes in figure.axes if axes.get_ylabel().startswith("waiting")]
    (cpu,) = [axes for axes in figure.axes if axes.get_ylabel().startswith("CPU of the")]
    drawn_by_label = {patch.get_label(): patch for axes in (waiting, cpu) for patch in axes.patches}
    for name, queue in (("mongo", 0.0), ("backend", 15.0)):
        line = drawn_by_label[f"pool to {name}"]
        assert line.get_data().values == pytest.approx([queue] * 3)
        assert line.get_edgecolor() == drawn_by_label[name].get_edgecolor()
    assert {text.get_text() for text in waiting.get_legend().get_texts()} == {"pool to mongo", "pool to backend"}
    assert waiting.get_ylim()[1] > 20


@pytest.mark.parametrize(("states", "rows"), [([0.0, 1.0, 0.5], 1), ([0.0, 0.0, 0.0], 0)])
def test_a_circuit_breaker_has_a_row_where_it_was_open(samples_of, states, rows):
    """With its states in words; one that stayed closed, as where there is none, takes no room."""
    metrics = pd.DataFrame({"t_s": [0.0, 1.0, 2.0], "target": "service", "name": "lab_breaker_open", "value": states})
    samples = samples_of([2.0])
    without = figures.timeline_figure("title", [panel(samples)])
    figure = figures.timeline_figure("title", [panel(samples, metrics=metrics)])
    assert len(figure.axes) == len(without.axes) + rows
    if rows:
        assert [label.get_text() for label in figure.axes[-1].get_yticklabels()] == ["closed", "trying", "open"]


def cpu_readings(**cores_by_target: float) -> pd.DataFrame:
    """A reading a second of targets that use so many cores all the time, and of the generator's, half of them busy."""
    seconds = [0.0, 1.0, 2.0, 3.0]
    rows = [(t, name, "cpu_s", 7 + t * cores) for name, cores in cores_by_target.items() for t in seconds]
    rows += [(t, "generator", "cores_busy_s", 100 + t / 2) for t in seconds]
    return pd.DataFrame(rows, columns=METRICS)


def test_the_cpu_of_whatever_runs_beside_the_service_is_in_the_timeline(samples_of):
    """Database, link, component and workers have a line each, in colours of their own; grey is all of their cores."""
    names = {"service": 0.9, "mysql": 0.2, "link to mysql": 0.1, "backend": 0.3, "worker 1": 0.15, "worker 2": 0.05}
    metrics = cpu_readings(**names, master=0.01, lab=0.01, machine=1.5)
    figure = figures.timeline_figure("title", [panel(samples_of([3.0]), metrics=metrics)], {"generator": 1})
    (others,) = [axes for axes in figure.axes if axes.get_ylabel().startswith("CPU of the")]
    drawn_by_label = {patch.get_label(): patch for patch in others.patches}
    labels = [text.get_text() for text in others.get_legend().get_texts()]
    assert sorted(labels) == ["Locust worker", "all on these cores", "backend", "link to mysql", "mysql"]
    for label, cores in (("mysql", 0.2), ("link to mysql", 0.1), ("backend", 0.3), ("Locust worker", 0.15)):
        assert drawn_by_label[label].get_data().values == pytest.approx([cores] * 3)
    assert drawn_by_label["all on these cores"].get_data().values == pytest.approx([0.5] * 3)
    assert len({patch.get_edgecolor() for label, patch in drawn_by_label.items() if label in names}) == 3
    assert [line.get_ydata()[0] for line in others.lines] == [1]  # as many cores as there are
    assert len(others.patches) == 6  # the second worker too, without a label of its own
    figure.draw_without_rendering()
    legend = others.get_legend().get_window_extent()
    highest = others.transData.transform((0, 1.0))[1]
    assert legend.y0 > highest


def test_the_answers_of_each_node_are_in_the_timeline(samples_of):
    """By what the balancer passed on, second by second, so that one that is lost is a line at nothing."""
    rows = [(t, name, "cpu_s", 1.0) for name in ("node 1", "node 2") for t in (0.0, 1.0, 2.0)]
    rows += [(t, "node 1", PASSED_ON, n) for t, n in ((0.0, 0.0), (1.0, 10.0), (2.0, 30.0))]
    rows += [(t, "node 2", PASSED_ON, n) for t, n in ((0.0, 0.0), (1.0, 10.0), (2.0, 10.0))]
    metrics = pd.DataFrame(rows, columns=METRICS)
    figure = figures.timeline_figure("title", [panel(samples_of([2.0]), metrics=metrics)])
    (answers,) = [axes for axes in figure.axes if axes.get_ylabel().startswith("answers/s")]
    drawn = {patch.get_label(): list(patch.get_data().values) for patch in answers.patches}
    assert drawn == {"node 1": [10.0, 20.0], "node 2": [10.0, 0.0]}


def test_the_memory_of_the_jvm_and_the_heap_in_it_are_in_the_timeline(samples_of):
    """In MiB, at each reading; where the service reports neither there is no row."""
    of_heap = dict.fromkeys((0.0, 1.0, 2.0), 64 * 2.0**20)
    rows = [(t, "service", HEAP, heap) for t, heap in of_heap.items()]
    rows += [(t, "service", JVM_MEMORY, heap + 32 * 2.0**20) for t, heap in of_heap.items()]
    figure = figures.timeline_figure("title", [panel(samples_of([2.0]), metrics=pd.DataFrame(rows, columns=METRICS))])
    (memory,) = [axes for axes in figure.axes if axes.get_ylabel().startswith("JVM in")]
    assert {max(patch.get_data().values) for patch in memory.patches} == {64.0, 96.0}
    without = figures.timeline_figure("title", [panel(samples_of([2.0]))])
    assert not [axes for axes in without.axes if axes.get_ylabel().startswith(("JVM in", "answers/s"))]


def test_a_run_without_readings_beside_the_service_has_no_row_for_them(samples_of):
    """Readings of the service alone, or none at all, leave no empty row."""
    figure = figures.timeline_figure("title", [panel(samples_of([3.0]), metrics=cpu_readings(service=0.9))])
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert any(label.startswith("service's") for label in labels)
    assert not any("others" in label for label in labels)


def test_failures_are_named_by_class(samples_of):
    """The classes are in the legend, and the share of failures in the heading."""
    samples = samples_of([1.0] * 4, error=["", "timeout", "status", ""], status=[200, 0, 503, 200])
    said = texts(figures.errors_figure("title", [panel(samples)]))
    assert "HTTP 503" in said
    assert "timeout" in said
    assert "50.00%" in said


def sweep_table(**columns) -> pd.DataFrame:
    """A sweep's table of three repeats at two loads."""
    rows = {"variant": "mvc", "users": [1, 1, 1, 10, 10, 10], "verdict": "valid", "mean_s": [1.0, 1.1, 1.2, 2.0, 2, 2]}
    rows["at"] = rows["users"]
    rows |= {"ok_throughput_rps": 5.0, "predicted_mean_s": None, "published_mean_s": None, "published_rps": None}
    return pd.DataFrame({**rows, **columns})


def test_repeats_have_an_interval(samples_of):
    """From three repeats on there is a bar, and the legend says what it is."""
    figure = figures.sweep_figure("delay", sweep_table(), [])
    assert "95% interval of the mean" in texts(figure)
    assert figure.axes[0].containers


def test_an_axis_of_names_has_them_in_their_order_and_joins_nothing():
    """What lies between two names is nothing that a line could show."""
    table = sweep_table(at=[2, 2, 2, 0, 0, 0])
    figure = figures.sweep_figure("delay", table, [], "operation", ("add", "get", "remove"))
    mean = figure.axes[0]
    assert [label.get_text() for label in mean.get_xticklabels()] == ["add", "remove"]
    assert list(mean.get_xticks()) == [0, 2]
    assert all(line.get_linestyle() in ("None", "none") for line in mean.lines if len(line.get_xdata()) > 1)


def test_variants_on_an_axis_of_names_stand_side_by_side_and_their_legend_below():
    """No mark hides another, and none is hidden by the legend; a cell without a result is named by the name."""
    table = pd.concat([sweep_table(at=[0, 0, 0, 1, 1, 1], variant=name) for name in ("mvc", "webflux")])
    table.loc[(table["variant"] == "webflux") & (table["at"] == 1), ["mean_s", "verdict"]] = [None, "incomplete"]
    figure = figures.sweep_figure("delay", table, [], "operation", ("add", "get"))
    drawn(figure)
    marks = [float(x) for line in figure.axes[0].lines if line.get_marker() == "o" for x in line.get_xdata()[:1]]
    others = [float(x) for line in figure.axes[0].lines if line.get_marker() == "^" for x in line.get_xdata()[:1]]
    assert marks
    assert set(marks).isdisjoint(others)
    assert "webflux at get (incomplete)" in texts(figure)
    (below,) = figure.legends
    assert below.get_window_extent().y1 < min(axes.get_window_extent().y0 for axes in figure.axes)


def test_a_run_over_names_has_them_in_its_tables():
    """Beside their place among all that the parameter may have."""
    run = run_view.open_run("mongo-access")
    assert list(dict.fromkeys(run.table()["operation"])) == ["get-one", "update-one"]
    assert set(run.calls()["operation"]) == {"get-one", "update-one"}
    assert "delay_ms" not in run_view.open_run("delay-sweep").table()


@pytest.mark.parametrize("verdict", ["valid", "suspect"])
def test_repeats_stand_side_by_side(verdict):
    """A line a variant with all its repeats, throughput and p99; repeats in doubt are hollow."""
    table = pd.DataFrame(
        {
            "variant": ["mvc", "webflux"] * 3,
            "repeat": [1, 1, 2, 2, 3, 3],
            "ok_throughput_rps": [100.0, 120.0, 101.0, 119.0, 99.0, 121.0],
            "p99_s": [0.1] * 6,
            "p999_s": [None] * 6,
            "verdict": [verdict] + ["valid"] * 5,
        }
    )
    rate, slowest = figures.repeats_figure("repeats", table).axes
    lines = {line.get_label(): line for line in rate.lines}
    assert list(lines["mvc"].get_ydata()) == [100.0, 101.0, 99.0]
    assert "ms" in slowest.get_ylabel()
    hollow = [line for line in rate.lines if line.get_markerfacecolor() == "white" and len(line.get_xdata())]
    assert len(hollow) == (verdict != "valid")
    *_, slowest = figures.repeats_figure("repeats", table.assign(p999_s=[0.2] * 5 + [None])).axes
    assert "p99.9" in slowest.get_ylabel()
    assert list(slowest.lines[0].get_ydata()) == [200.0] * 3


@pytest.mark.parametrize("empty", [1, 2])
def test_repeats_without_an_answer_are_named(empty):
    """One that has nothing to draw is told under the figure; where none has, the figure says so in its middle."""
    table = pd.DataFrame({"variant": "mvc", "repeat": [1, 2], "verdict": ["suspect"] * empty + ["valid"] * (2 - empty)})
    table["p99_s"] = [None] * empty + [0.1] * (2 - empty)
    table["p999_s"] = None
    table["ok_throughput_rps"] = [0.0] * empty + [100.0] * (2 - empty)
    figure = figures.repeats_figure("repeats", table)
    assert drawn(figure).size
    assert "Without a right answer: mvc, repeat 1 (suspect)" in texts(figure)
    assert ("no right answer" in texts(figure)) == (empty == 2)


def test_a_cell_without_a_result_is_named_under_a_sweep():
    """It cannot be drawn, so it is told."""
    table = sweep_table(verdict=["valid"] * 5 + ["incomplete"], mean_s=[1.0] * 5 + [None])
    assert "mvc at 10 (incomplete)" in texts(figures.sweep_figure("delay", table, [("T/t", 100.0)]))
    drawn(figures.sweep_figure("delay", sweep_table(mean_s=None, ok_throughput_rps=0.0), [("T/t", 100.0)]))


def test_a_sweep_has_a_line_for_each_limit_that_decides():
    """Each is named by its letter, with what it allows; where none decides there is none."""
    plateaus = [
        line
        for line in texts(figures.sweep_figure("delay", sweep_table(), [("T/t", 20.0), ("N/(x·t)", 40.0)])).splitlines()
        if "/t" in line or "·t" in line
    ]
    assert plateaus == ["T threads: T/t = 20 a second", "N connections: N/(x·t) = 40 a second"]
    assert "/t" not in texts(figures.sweep_figure("delay", sweep_table(), []))


def test_labels_of_a_sweep_do_not_collide():
    """Loads that lie close together share one label; the largest keeps its own."""
    table = pd.concat([sweep_table(users=users, at=users).iloc[:1] for users in (1, 10, 3900, 4000)])
    figure = figures.sweep_figure("delay", table, [])
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels[-1] == "4k"
    assert "3,900" not in labels


@pytest.mark.parametrize(("axis", "label"), [("rate", "rate (planned a second)"), ("delay_ms", "delay_ms")])
def test_a_sweep_goes_along_what_is_varied(axis, label):
    """The axis has its name and its values, also where one of them is 0, which has no logarithm."""
    figure = figures.sweep_figure("delay", sweep_table(at=[0, 0, 0, 150, 150, 150]), [], axis)
    assert figure.axes[0].get_xlabel() == label
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["0", "150"]
    assert drawn(figure).size


def test_variants_differ_without_colour():
    """Markers and dashes are all different, and a variant keeps its style."""
    looks = [*KNOWN.values(), *OTHERS]
    assert len({look.marker for look in looks}) == len(looks)
    assert len({str(look.dashes) for look in looks}) == len(looks)
    known, *others = styles_of(["mvc", *"abcdefgh"]).values()
    assert known == KNOWN["mvc"]
    assert len(set(others)) == 8
    assert len(styles_of(map(str, range(20)))) == 20


@pytest.mark.parametrize("end_s", [0.01, 0.9, 3.3, 40, 7200])
def test_a_timeline_has_a_readable_number_of_steps(end_s):
    """Twenty to forty-odd, however long the load was."""
    assert 4 <= max(end_s, 0.1) / step_of(end_s) <= 41


@pytest.mark.parametrize(
    ("low", "high"), [(0.999, 1.001), (0.95, 1.3), (0.9, 4.0), (0.2, 3.0), (0.005, 600.0), (1e-9, 1e9)]
)
def test_a_forest_has_a_few_round_ticks_whatever_the_ratios(low, high):
    """From a hair's breadth to eighteen powers of ten: 1 and at least one more number, and labels that do not touch."""
    bars = [Bar("b / a", "10 users: mean s", ratio, ratio, ratio, "different") for ratio in (low, high)]
    figure = figures.forest(bars, 0.05)
    figure.draw_without_rendering()
    shown = [label for label in figure.axes[0].get_xticklabels() if label.get_text()]
    assert "1" in [label.get_text() for label in shown]
    boxes = [label.get_window_extent() for label in shown]
    assert 2 <= len(boxes) <= 10
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_a_forest_is_not_squeezed_by_one_wild_interval():
    """Two repeats may have an interval of many powers of ten: its line leaves the plot, the ratios stay apart."""
    wild, tame = (
        Bar("b / a", "p99 s", 1.1, 1e-30, 1e30, "undecided"),
        Bar("b / a", "mean s", 2.0, 1.9, 2.1, "different"),
    )
    low, high = figures.forest([wild, tame], 0.05).axes[0].get_xlim()
    assert high / low < 1000


def test_a_forest_of_nothing_says_so():
    """No ratio at all is a sentence in a picture."""
    assert [text.get_text() for text in figures.forest([], 0.05).axes[0].texts] == ["nothing to compare"]


@pytest.fixture(scope="module")
def searched():
    """The run of programs that ships with the lab."""
    return run_view.open_run("grep-large")


def test_programs_are_drawn_execution_by_execution(searched):
    """Every execution is a point, none of them a request under way; what may not be compared is marked."""
    figure = searched.figure()
    time, cpu, memory = figure.axes
    assert time.get_xlabel() == "wall time of each execution, s"
    assert cpu.get_xlabel() == "seconds an execution"
    assert memory.get_xlabel() == "most of any execution, MiB"
    points = sum(len(line.get_xdata()) for line in time.get_lines() if line.get_marker() == ".")
    assert points == len(searched.samples())
    names = [label.get_text() for label in time.get_yticklabels()]
    assert [name for name in names if name.endswith(" *")] == ["grep-published *", "java-published *"]
    assert "not to be compared: as published: every file" in texts(figure)
    assert drawn(figure)[..., :3].std() > 0


def test_programs_of_which_none_succeeded_are_a_sentence(searched):
    """In a picture that can be drawn all the same."""
    failed = searched.samples().assign(error="exit status")
    assert "no execution succeeded" in texts(figures.programs_figure("grep", searched.table(), failed, {}))


def test_formulas_are_held_against_what_was_measured():
    """Every cell is a point; those outside the band have their name, and the others have not."""
    trials = [figures.Trial("R·t", "R = 5", 5.0, 5.2), figures.Trial("t", "R = 25, slow", 1.0, 1.6)]
    figure = figures.trials_figure(trials, 0.1)
    (axes,) = figure.axes
    points = [(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.get_lines() if line.get_marker() != "None"]
    assert points == [(5.0, pytest.approx(1.04)), (1.0, 1.6)]
    said = texts(figure)
    assert "R = 25, slow" in said
    assert "R = 5\n" not in said
    assert "nothing was measured" in texts(figures.trials_figure([], 0.1))


def test_what_is_up_and_idle_meanwhile_is_not_drawn_as_a_database(samples_of):
    """The other variants of a run in turns, and their generators, are not behind the service that is loaded."""
    targets = ("service", "neighbours", "idle generators", "machine", "master", "lab", "worker 1", "mysql", "node 1")
    rows = [(t, target, "cpu_s", t) for t in (0.0, 1.0) for target in targets]
    assert panel(samples_of([1.0]), metrics=pd.DataFrame(rows, columns=METRICS)).behind == ["mysql"]
