"""Conducts a run: starts, checks, warms up, measures and judges each cell of its plan."""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from lab.analysis import expected_counts, observations, ramps, steadiness, verdict, window_figures, window_ratios
from lab.analysis.observations import Conditions
from lab.analysis.program_use import program_use
from lab.analysis.service_cost import of_all_pools, of_pools, service_cost
from lab.analysis.silence import silent_spans
from lab.errors import ComponentError
from lab.formulas import stats
from lab.formulas.breakdown import breakdown
from lab.generator.fleet import Fleet, LoadPhase, Placement, running_fleet
from lab.reporting import formatting
from lab.running import deploying, equivalence, prerequisites, programs, settings
from lab.running.invocation import Invocation
from lab.running.measurement import Measurement, failure_observed, note_failure
from lab.running.setup import in_common, set_up
from lab.running.starts import Starts
from lab.running.testbed import Testbed
from lab.running.turn_taking import calls_made, deadline_s, overtime, session_s, take_turns, warm_up_in_turns
from lab.running.warm_up import first_users, warm_up
from lab.runtimes import PROCESS, Running
from lab.runtimes.process import signals_deferred
from lab.spec import attached, in_turns, prediction
from lab.spec.nodes import at
from lab.spec.plan import WINDOWS, Cell, Plan
from lab.storage import run_folder
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder
from lab.system import images
from lab.system.attached import attached_service
from lab.system.deployment import Deployment
from lab.system.launch import promised_limits
from lab.telemetry import actuator
from lab.telemetry.served import Served

T = TypeVar("T")


def conduct(plan: Plan, invocation: Invocation) -> RunFolder:
    """Measure all cells of a plan, in an order that its seed decides.

    A cell whose components fail is recorded as invalid, and the next one follows. LabError where nothing could be
    started; KeyboardInterrupt after all processes are stopped and all measurements stored.
    """
    plan = prerequisites.with_programs(plan, invocation.reporter)
    with set_up(plan, invocation, plan.peak_users) as testbed:
        if batches := in_turns.batched(plan):
            testbed.reporter.say(f"  {batches}")
        for groups in in_random_order(plan):
            measure_start(testbed, groups)
    return testbed.run


def conduct_together(plans: Sequence[Plan], invocation: Invocation) -> list[RunFolder]:
    """Measure plans of the same system, a run each; in each repeat one start of a variant's services serves all loads.

    What differs between these loads is then not what differs between starts, and each start costs its time once.
    Failures are as in :func:`conduct`; the loads after one have another start.
    """
    with in_common(plans, invocation) as testbeds:
        for loads in shared_starts(plans):
            with Starts() as starts:
                for place, cell in loads:
                    testbeds[place].reporter.say(f"  {testbeds[place].run.called}")
                    measure(testbeds[place], cell, starts=starts)
    return [testbed.run for testbed in testbeds]


def shared_starts(plans: Sequence[Plan]) -> Iterator[list[tuple[int, Cell]]]:
    """The cells that each start serves, one after the other, with the place of their plan; by the first plan's seed.

    A repeat has a start of each variant, in random order. Its loads are in one order for all variants, since each load
    finds the service as the one before has left it; in the next repeat another plan is the first. Those that lack
    variants come last, or what all have would be measured after them in some variants only.
    """
    chance = random.Random(plans[0].seed)
    order = deque(_shuffled([*range(len(plans))], chance))
    for repeat in sorted({cell.repeat for plan in plans for cell in plan.cells}):
        places = sorted(order, key=lambda place: -len(plans[place].variants))
        of_repeat = [(place, cell) for place in places for cell in plans[place].cells if cell.repeat == repeat]
        for variant in _shuffled(sorted({cell.variant for _, cell in of_repeat}), chance):
            yield [(place, cell) for place, cell in of_repeat if cell.variant == variant]
        order.rotate(-1)


def check(plan: Plan, invocation: Invocation) -> None:
    """LabError if this machine is too small for a plan, or lacks a program that it needs; nothing is started."""
    prerequisites.check_machine(plan, plan.peak_users, invocation)
    if images.choose(invocation.runtime)[0] == PROCESS:
        prerequisites.check_programs(plan)


def in_random_order(plan: Plan) -> list[list[list[Cell]]]:
    """The groups of each start, shuffled within each repeat, so that drift of the machine favours no variant and load.

    So are the cells of a group: which is started, and warm, first.
    """
    chance = random.Random(plan.seed)
    repeats = sorted({groups[0][0].repeat for groups in plan.starts})
    rounds = [[groups for groups in plan.starts if groups[0][0].repeat == repeat] for repeat in repeats]
    starts = [groups for of_repeat in rounds for groups in chance.sample(of_repeat, len(of_repeat))]
    return [[_shuffled(group, chance) for group in _shuffled(groups, chance)] for groups in starts]


def _shuffled(members: list[T], chance: random.Random) -> list[T]:
    return chance.sample(members, len(members)) if len(members) > 1 else members


def measure_start(testbed: Testbed, groups: Iterable[list[Cell]]) -> None:
    """Measure groups, one after the other, with the same start of their services; a failed one is started anew."""
    with Starts() as starts:
        for group in groups:
            measure(testbed, *group, starts=starts)


def measure(testbed: Testbed, *cells: Cell, starts: Starts) -> None:
    """Measure the cells of a group and judge each. A failed component makes its cell invalid, and the others go on.

    So does Ctrl-C with all of them, and is raised again. LabError, with nothing begun, if the user's own locustfile is
    not what the run was planned with.

    Args:
        starts: of the services, which stay up.

    """
    if testbed.plan.locustfile:
        testbed.run.check_locustfile(testbed.plan.locustfile)
    others, began = run_folder.others_running(testbed.run), time.monotonic()
    measurements = [Measurement(cell, testbed.run.begin(cell), starts.of(cell.variant)) for cell in cells]
    try:
        MEASURED_BY[testbed.plan.scenario.entry](testbed, measurements)
    except ComponentError as error:  # of what they share
        for each in measurements:
            if each.goes_on:
                note_failure(testbed, each, error)
    except KeyboardInterrupt:
        for each in measurements:
            each.observed.ending = replace(each.observed.ending, interrupted=True)
        raise
    finally:
        with signals_deferred():
            # Whose share of a start is whose is not known, and does not matter to how long the next ones take.
            elapsed_s = (time.monotonic() - began) / len(measurements)
            for each in measurements:
                each.folder.keep("timing", {"elapsed_s": elapsed_s})
                keep_observations(each)
            for each in measurements:
                turned = [other.folder for other in measurements if other is not each]
                conclude(testbed, each, others, turned)


def _measure_programs(testbed: Testbed, measurements: list[Measurement]) -> None:
    for each in measurements:
        with failure_observed(testbed, each):
            programs.measure(testbed, each.cell, each.folder, each.observed)


def _measure_started(testbed: Testbed, measurements: list[Measurement]) -> None:
    """Start services with their workers, prove them equal, warm each up, and load them in turns."""
    # Limits before the warm-up: what is asked after it leaves the paths that the compiler has optimised for.
    _measure(testbed, measurements, (_start, _reset_settings, _prove, _read_limits, _warm_up))


def _measure_attached(testbed: Testbed, measurements: list[Measurement]) -> None:
    """Warm up and load attached services in turns."""
    _measure(testbed, measurements, (_start_workers, _warm_up_attached))


MEASURED_BY = {"service": _measure_started, "attached": _measure_attached, "program": _measure_programs}
Step = Callable[[Testbed, Measurement], None]


def _measure(testbed: Testbed, measurements: list[Measurement], steps: Iterable[Step]) -> None:
    with ExitStack() as stack:
        for each in measurements:
            stack.enter_context(each.stack)
        for step in steps:
            for each in measurements:
                if each.goes_on:
                    with failure_observed(testbed, each):
                        step(testbed, each)
        if len(measurements) > 1:
            warm_up_in_turns(testbed, measurements)
        take_turns(testbed, measurements)


def _start(testbed: Testbed, measurement: Measurement) -> None:
    """Start the workers of a cell, and its service unless that is up."""
    cell, folder, backing, start = measurement.cell, measurement.folder, testbed.backing, measurement.start
    variant = testbed.plan.scenario.variant(cell.variant)
    backing.check_alive()
    with testbed.reporter.phase(f"{cell.id}: start {'workers' if start.deployment else 'service and workers'}"):
        nodes: Mapping[str, Running] = {}
        if not start.deployment:
            start.stack.callback(_restore, testbed, cell)  # once the service, which may still write, has ended
            start.begin(testbed.start_name(cell), folder.logs)
            nodes = start.stack.enter_context(deploying.started_nodes(testbed, variant, start.name, start.logs))
        measurement.fleet = measurement.stack.enter_context(_fleet(testbed, cell, folder))
        measurement.fleet.await_workers()
        if backing.tokens:
            measurement.fleet.distribute_tokens(backing.tokens)
        measurement.fleet.spawn(max(cell.load.users, first_users(testbed, cell)))
        if nodes:
            start.deployment = start.stack.enter_context(deploying.deployed(testbed, nodes, start.name, start.logs))
    start.loads += 1
    logs = Path(os.path.relpath(start.logs, folder.path)).as_posix()
    folder.keep("start", {"name": start.name, "load": start.loads, "logs": logs})


def _restore(testbed: Testbed, cell: Cell) -> None:
    """Leave databases as they were seeded; if they cannot be, say so, and the next run that uses them mends them."""
    if testbed.backing.exit_reasons():  # as has been said
        return
    try:
        testbed.backing.restore(testbed.plan.scenario, testbed.plan.parameters_of(cell))
    except ComponentError as error:
        testbed.reporter.say(f"  The database was not restored: {error.problem}", error.problem, "yellow")


def _reset_settings(testbed: Testbed, measurement: Measurement) -> None:
    """Have all settings at their defaults: what a load before this one was to meet is not for this one's contract."""
    settings.put_in_force_for(testbed, measurement, testbed.plan.scenario.defaults())


def _prove(testbed: Testbed, measurement: Measurement) -> None:
    """Send the contract's requests to each node; ComponentError if an earlier one, or variant, answered differently."""
    start, variant = measurement.start, measurement.cell.variant
    for name, node in measurement.deployment.nodes.items() if not start.answers else ():
        try:
            answers = equivalence.prove(node, testbed.backing.contract)
        except ComponentError as error:
            raise actuator.no_answer_error(node, error.problem) from error
        equivalence.check_equal(testbed.proved, f"{variant}, {name}" if start.answers else variant, answers)
        start.answers = start.answers or answers
        measurement.folder.keep("contract", start.answers)  # also where the next node is not equal
    measurement.folder.keep("contract", start.answers)


def _read_limits(testbed: Testbed, measurement: Measurement) -> None:
    plan, cell, observed, start = testbed.plan, measurement.cell, measurement.observed, measurement.start
    deployment = measurement.deployment
    start.limits = start.limits or {name: actuator.limits(node) for name, node in deployment.nodes.items()}
    first = next(iter(start.limits.values()))
    settled = measurement.folder.read("limits")
    measurement.folder.keep("limits", {**first, **settled, **deploying.balancer_limits(testbed, deployment)})
    asked, has_pool = plan.limits_of(cell.variant), bool(plan.components)
    promised = promised_limits(plan.scenario.variant(cell.variant), asked, testbed.cores.cpus, has_pool)
    observed.limits_read = True
    # Nodes must agree in all that is not a process's own, promised or not.
    same = {limit: value for limit, value in first.items() if limit not in actuator.OF_ONE_PROCESS}
    for name, limits in start.limits.items():
        observed.limits_broken += [f"{at(name)}{each}" for each in verdict.broken_limits({**same, **promised}, limits)]


def _warm_up(testbed: Testbed, measurement: Measurement) -> None:
    cell, backing, start, observed = measurement.cell, testbed.backing, measurement.start, measurement.observed
    observed.warm_up_before = [*start.warm_up]
    if start.warm_up and testbed.plan.interleave == WINDOWS:  # each window has its own, in turns with the others
        observed.warm = start.warm
        return
    with (
        backing.links_unshaped(),
        testbed.reporter.phase(f"{cell.id}: warm up", testbed.plan.scenario.rehearsal.rounds) as update,
    ):
        warm_up(testbed, cell, measurement.deployment, measurement.fleet, observed, update)
    start.warm_up, start.warm = [*start.warm_up, *observed.warm_up], observed.warm
    measurement.deployment.confine(testbed.cores.service)


def _fleet(testbed: Testbed, cell: Cell, folder: CellFolder) -> AbstractContextManager[Fleet]:
    image, plan, own = testbed.artifacts.images.get("worker", ""), testbed.plan, testbed.plan.locustfile
    at = (testbed.runtime, testbed.cores.generator, folder.logs, folder.stream, image, testbed.bind)
    placement = Placement(*at, testbed.join_token)
    locustfile = Path(own.path) if own else plan.scenario.played_by
    return running_fleet(locustfile, cell.load, placement, testbed.headers, plan.one_request)


def _start_workers(testbed: Testbed, measurement: Measurement) -> None:
    cell = measurement.cell
    measurement.start.deployment = Deployment.of(attached_service(testbed.plan.scenario.variant(cell.variant).url))
    with testbed.reporter.phase(f"{cell.id}: start workers"):
        measurement.fleet = measurement.stack.enter_context(_fleet(testbed, cell, measurement.folder))
        measurement.fleet.await_workers()
        measurement.fleet.spawn(cell.load.users)


def _warm_up_attached(testbed: Testbed, measurement: Measurement) -> None:
    """Warm up an attached service. Whether it is warm is unknown, so the warm-up has a fixed length."""
    before = attached.warm_up(measurement.cell.load)
    with testbed.reporter.phase(f"{measurement.cell.id}: warm up"):
        measurement.fleet.run_phase(
            LoadPhase(measurement.deployment.url, before, warm_up=1),
            deadline_s(before) + session_s(testbed.plan, before),
            overtime=overtime(testbed.plan, before),
        )


def keep_observations(measurement: Measurement) -> None:
    """Store the samples and the metrics of a cell, and the figures of its windows where it took turns."""
    cell, folder, observed = measurement.cell, measurement.folder, measurement.observed
    folder.keep_samples(observed.result.cut, observed.result.stopped)
    metrics = observations.metrics(observed.result, observed.telemetry)
    folder.keep_metrics(metrics)
    if cell.load.windows > 1:
        samples = _steady_samples(measurement)
        folder.keep("windows", {"windows": window_figures.of_windows(observed.windows, cell.load, samples, metrics)})


def _steady_samples(measurement: Measurement) -> pd.DataFrame:
    """What the steadiness of a cell's load is judged by; empty where that is never steady."""
    if not measurement.cell.load.steady_span_s:
        return pd.DataFrame()
    return _joined(measurement.folder.measured_pieces(steadiness.COLUMNS))


def _joined(pieces: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Pieces as one, with text as categories; column by column, so that hardly more is held than the result.

    Joined as frames they would be held twice, and pandas makes objects of text where pieces have not all the same.
    """
    parts: dict[str, list[Any]] = defaultdict(list)
    for piece in pieces:
        for name, column in piece.items():
            is_number = pd.api.types.is_numeric_dtype(column.dtype)
            parts[str(name)].append(column.to_numpy(copy=True) if is_number else column.astype("category").array)
    columns: dict[str, Any] = {}
    for name in list(parts):
        of_column = parts.pop(name)
        is_text = isinstance(of_column[0], pd.Categorical)
        columns[name] = union_categoricals(of_column) if is_text else np.concatenate(of_column)
    return pd.DataFrame(columns, copy=False)


def conclude(testbed: Testbed, measurement: Measurement, others: list[str], turned: list[CellFolder]) -> None:
    """Judge a cell by what was observed and stored of it, and write the summary last.

    Args:
        others: other runs of this lab that were in progress when the cell began.
        turned: the cells that took turns with it, whose observations are stored.

    """
    cell, folder, observed = measurement.cell, measurement.folder, measurement.observed
    metrics = observations.metrics(observed.result, observed.telemetry)
    summary = stats.summarise_pieces(folder.measured_pieces(stats.SUMMARISED), from_planned=cell.load.independent)
    by_name = expected_counts.NameCounts.of(folder.measured_pieces(expected_counts.NameCounts.COLUMNS))
    # Where the backlog is the server's own, that it drops connections is its property, and no fault of a measurement.
    backlog_set = testbed.plan.limits_of(cell.variant).accept_count is not None
    slow = observations.slow_connects(folder.measured_pieces(["connect_us"])) if backlog_set else 0
    variant = testbed.plan.scenario.variant(cell.variant)
    named = {request.name for request in testbed.plan.scenario.requests}
    begun, counts = observed.result.begun, observed.counts or Served()
    conditions = Conditions(
        cpu_decides=testbed.plan.cpu_decides,
        entry=testbed.plan.scenario.entry,
        owned_cores=testbed.cores.owned,
        ceiling_rps=testbed.ceiling_rps(cell.load),
        succeeded_expected=expected_counts.succeeded_expected(by_name, begun),
        answers_expected=expected_counts.answers_expected(testbed.plan.scenario.requests, by_name, begun, counts),
        calls_expected=expected_counts.calls_expected(
            calls_made(testbed.plan, cell), by_name, begun, variant.guarded, counts.refused
        ),
        called_services=[component.name for component in testbed.plan.components if not component.database],
        unknown_names=sorted(by_name.sent.keys() - named),
        slow_connects=slow,
        others=list(dict.fromkeys([*others, *run_folder.others_running(testbed.run)])),
        # Of a load that was broken off before it began no time is known.
        silent=silent_spans(metrics, folder.measured_pieces) if observed.result.unix_start else {},
        rounds=window_figures.by_round(*map(window_ratios.windows_of, (folder, *turned))) if turned else {},
    )
    evidence = observations.evidence(observed, conditions, cell.load, summary, _steady_samples(measurement))
    folder.keep("evidence", evidence.as_json())
    right, steady = summary.requests - sum(summary.errors.values()), prediction.is_steady(testbed.plan, cell)
    span = (summary.began_s, summary.began_s + summary.elapsed_s)
    pools = of_pools(metrics, *span, summary.requests, folder.read("limits"))
    judged = verdict.judge(evidence, summary, by_name.answered.total())
    folder.keep(
        "summary",
        {
            **asdict(summary),
            **breakdown(
                folder.measured_pieces,
                summary.elapsed_s,
                cell.load.independent,
                testbed.plan.scenario.requests_a_session,
            ),
            **service_cost(metrics, *span, summary.requests, right),
            **of_all_pools(pools),
            **({"pools": pools} if pools else {}),
            **program_use(metrics),
            **({"ramp": course.as_json()} if (course := ramps.result_of(folder, steady)) else {}),
            "predicted_mean_s": prediction.predict(testbed.plan, cell),
            "verdict": judged.word,
            "reasons": list(judged.reasons),
        },
    )
    testbed.reporter.say(
        f"  {cell.id}: {judged.word} {' '.join(judged.reasons)}", judged.word, formatting.COLOURS[judged.word]
    )
