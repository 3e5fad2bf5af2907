"""Conducts a run: starts, checks, warms up, measures and judges each cell of its plan."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from lab.analysis import verdict
from lab.errors import ComponentError
from lab.generator.fleet import Fleet, Placement, running_fleet
from lab.running import deploying, equivalence, prerequisites, programs, settings
from lab.running.concluding import conclude, keep_observations
from lab.running.invocation import Invocation
from lab.running.measurement import Measurement, failure_observed, note_failure
from lab.running.setup import in_common, set_up
from lab.running.starts import Starts
from lab.running.testbed import Testbed
from lab.running.turn_taking import take_turns, uncounted, warm_up_in_turns
from lab.running.warm_up import first_users, warm_up
from lab.runtimes import Running, host
from lab.runtimes.process import signals_deferred
from lab.spec import attached, in_turns
from lab.spec.nodes import at
from lab.spec.ordering import in_random_order, shared_starts
from lab.spec.plan import WINDOWS, Cell, Plan
from lab.storage import run_folder
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder
from lab.system.attached import attached_service
from lab.system.deployment import Deployment
from lab.system.launch import promised_limits
from lab.telemetry import actuator


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


def check(plan: Plan, invocation: Invocation) -> Plan:
    """What :func:`conduct` would measure of a plan, without the programs that this machine does not have.

    LabError where it would refuse to begin, as far as that is known while nothing is started or written.
    """
    plan = prerequisites.with_programs(plan, invocation.reporter)
    prerequisites.check(plan, plan.peak_users, invocation)
    host.check_writable(invocation.runs)
    return plan


def measure_start(testbed: Testbed, groups: Iterable[list[Cell]]) -> None:
    """Measure groups, one after the other, with the same start of their services; a failed one is started anew."""
    with Starts() as starts:
        for group in groups:
            measure(testbed, *group, starts=starts)


def measure(testbed: Testbed, *cells: Cell, starts: Starts) -> None:
    """Measure the cells of a group and judge each. A failed component makes its cell invalid, and the others go on.

    Ctrl-C, and any error that is no component's, interrupts all of them, and is raised again: they are still to be
    measured by who resumes the run. LabError, with nothing begun, if the user's own locustfile is not what the run was
    planned with.

    Args:
        starts: of the services, which stay up.

    """
    if testbed.plan.locustfile:
        testbed.run.check_locustfile(testbed.plan.locustfile)
    others, before = run_folder.others_running(testbed.run), run_folder.owners_beside(testbed.run)
    began, since = time.monotonic(), datetime.now(UTC)
    measurements = [Measurement(cell, testbed.run.begin(cell), starts.of(cell.variant)) for cell in cells]
    try:
        _measure_all(testbed, measurements)
    except BaseException:
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
            others += run_folder.others_begun(testbed.run, before, since)  # some of which may be over again
            for each in measurements:
                turned = [other.folder for other in measurements if other is not each]
                conclude(testbed, each, others, turned)


def _measure_all(testbed: Testbed, measurements: list[Measurement]) -> None:
    """Measure the cells of a group; the failure of a component that they share ends all of them."""
    try:
        MEASURED_BY[testbed.plan.scenario.entry](testbed, measurements)
    except ComponentError as error:
        for each in measurements:
            if each.goes_on:
                note_failure(testbed, each, error)


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
    start, variant, first = measurement.start, measurement.cell.variant, measurement.start.answers
    for name, node in measurement.deployment.nodes.items() if not start.answers else ():
        try:
            answers = equivalence.prove(node, testbed.backing.contract)
        except ComponentError as error:
            raise actuator.no_answer_error(node, error.problem) from error
        answering, first = f"{variant}, {name}" if first else variant, first or answers
        measurement.folder.keep("contract", first)  # before anything is found to differ from it
        equivalence.check_equal(testbed.proved, answering, answers)
    start.answers = first
    measurement.folder.keep("contract", first)


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
    with testbed.reporter.phase(f"{measurement.cell.id}: warm up"):
        uncounted(testbed, measurement, attached.warm_up(measurement.cell.load))
