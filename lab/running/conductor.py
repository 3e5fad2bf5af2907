"""Conducts a run: starts, checks, warms up, measures and judges each cell of its plan."""

from __future__ import annotations

import math
import random
import time
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from lab.analysis import observations, steadiness, verdict
from lab.analysis.evidence import Ending
from lab.analysis.observations import Conditions, NameCounts, Observed
from lab.analysis.service_cost import service_cost
from lab.errors import ComponentError
from lab.formulas import stats
from lab.formulas.breakdown import breakdown
from lab.generator.fleet import Fleet, LoadPhase, PhaseResult, Placement, running_fleet
from lab.running import components, equivalence, programs
from lab.running.invocation import Invocation
from lab.running.testbed import Testbed, set_up
from lab.running.warm_up import REHEARSAL_USERS, first_users, warm_up
from lab.runtimes.process import signals_deferred
from lab.spec import attached, prediction, schedule
from lab.spec.plan import Cell, Plan
from lab.spec.workload import Closed, Load, OpenLoop
from lab.storage import run_folder
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder
from lab.system.attached import attached_service
from lab.system.launch import promised_limits, remove_scratch
from lab.system.service import Service
from lab.telemetry import actuator
from lab.telemetry.sampler import sampling, timing_cores

DRAIN_S, SLOWEST_WORK_S = 30.0, 0.001
# Of a locustfile of the user's own nothing is known: its sessions may take so long.
SESSION_S = 3600.0
COLOURS = {verdict.VALID: "green", verdict.SUSPECT: "yellow", verdict.INVALID: "red"}


def conduct(plan: Plan, invocation: Invocation) -> RunFolder:
    """Measure all cells of a plan, in an order that its seed decides.

    A cell whose components fail is recorded as invalid, and the next one follows. LabError where nothing could be
    started; KeyboardInterrupt after all processes are stopped and all measurements stored.
    """
    with set_up(plan, invocation, most_users(plan)) as testbed:
        for cell in in_random_order(plan):
            measure(testbed, cell)
    return testbed.run


def most_users(plan: Plan) -> int:
    """The largest number of users of any cell, warm-up included."""
    return max(REHEARSAL_USERS, plan.most_users)


def in_random_order(plan: Plan) -> list[Cell]:
    """The cells of a plan, shuffled within each repeat, so that drift of the machine favours no variant."""
    chance = random.Random(plan.seed)
    repeats = sorted({cell.repeat for cell in plan.cells})
    rounds = [[cell for cell in plan.cells if cell.repeat == repeat] for repeat in repeats]
    return [cell for cells in rounds for cell in chance.sample(cells, len(cells))]


def measure(testbed: Testbed, cell: Cell) -> None:
    """Measure one cell and judge it. A failed component makes it invalid; so does Ctrl-C, which is raised again.

    LabError, with nothing begun, if the user's own locustfile is not what the run was planned with.
    """
    if testbed.plan.locustfile:
        testbed.run.check_locustfile(testbed.plan.locustfile)
    folder, observed = testbed.run.begin(cell), Observed()
    others, began = run_folder.others_running(testbed.run), time.monotonic()
    try:
        MEASURED_BY[testbed.plan.scenario.entry](testbed, cell, folder, observed)
    except ComponentError as error:
        # If a database or link has ended, that is the cause of a service's errors, and comes first.
        causes = dict.fromkeys([*testbed.backing.exit_reasons(), error.problem])
        observed.ending = Ending(tuple(causes))
        testbed.reporter.say(f"  {error}", error.problem, "red")
    except KeyboardInterrupt:
        observed.ending = Ending(interrupted=True)
        raise
    finally:
        with signals_deferred():
            folder.keep("timing", {"elapsed_s": time.monotonic() - began})
            conclude(testbed, cell, folder, observed, others)


def _measure(testbed: Testbed, cell: Cell, folder: CellFolder, observed: Observed) -> None:
    plan, backing, phase = testbed.plan, testbed.backing, testbed.reporter.phase
    variant = plan.scenario.variant(cell.variant)
    backing.check_alive()
    with ExitStack() as stack:
        with phase(f"{cell.id}: start service and workers"):
            running = stack.enter_context(testbed.runtime.started(testbed.launch(variant, folder.logs)))
            fleet = stack.enter_context(_fleet(testbed, cell, folder))
            fleet.await_workers()
            if backing.tokens:
                fleet.distribute_tokens(backing.tokens)
            fleet.spawn(max(cell.load.users, first_users(testbed, cell)))
            service = actuator.await_ready(running, folder.logs, testbed.bind and testbed.bind[0])
        prove_equal(testbed, cell, folder, service)
        # Read before the warm-up: what is asked after it leaves the paths that the compiler has optimised for.
        limits = actuator.limits(service)
        folder.keep("limits", limits)
        asked, has_pool = plan.limits_of(cell.variant), bool(plan.scenario.components)
        promised = promised_limits(variant, asked, testbed.cores.cpus, has_pool)
        observed.limits_read = True
        observed.limits_broken += verdict.broken_limits(promised, limits)
        backing.shape_links(on=False)
        with phase(f"{cell.id}: warm up", plan.scenario.rehearsal.rounds) as update:
            warm_up(testbed, cell, service, fleet, observed, update)
        backing.shape_links(on=True)
        running.confine(testbed.cores.service)
        drive(testbed, cell, service, fleet, observed)


def _fleet(testbed: Testbed, cell: Cell, folder: CellFolder) -> AbstractContextManager[Fleet]:
    image, plan, own = testbed.artifacts.images.get("worker", ""), testbed.plan, testbed.plan.locustfile
    at = (testbed.runtime, testbed.cores.generator, folder.logs, folder.stream, image, testbed.bind)
    placement = Placement(*at, testbed.join_token)
    locustfile = Path(own.path) if own else plan.scenario.name
    return running_fleet(locustfile, cell.load, placement, testbed.headers, plan.one_request)


def _measure_attached(testbed: Testbed, cell: Cell, folder: CellFolder, observed: Observed) -> None:
    """Warm up and load an attached service. Whether it is warm is unknown, so the warm-up has a fixed length."""
    phase, before = testbed.reporter.phase, attached.warm_up(cell.load)
    service = attached_service(testbed.plan.scenario.variant(cell.variant).url)
    with ExitStack() as stack:
        with phase(f"{cell.id}: start workers"):
            fleet = stack.enter_context(_fleet(testbed, cell, folder))
            fleet.await_workers()
            fleet.spawn(cell.load.users)
        with phase(f"{cell.id}: warm up"):
            fleet.run_phase(
                LoadPhase(service.url, before, warm_up=1), deadline_s(before, None) + session_s(testbed.plan)
            )
        drive(testbed, cell, service, fleet, observed)


MEASURED_BY = {"service": _measure, "attached": _measure_attached, "program": programs.measure}


def prove_equal(testbed: Testbed, cell: Cell, folder: CellFolder, service: Service) -> None:
    """Send the contract's requests; ComponentError if an earlier variant answered differently."""
    try:
        answers = equivalence.prove(service, testbed.backing.contract)
    except ComponentError as error:
        raise actuator.no_answer_error(service, error.problem) from error
    folder.keep("contract", answers)
    equivalence.check_equal(testbed.proved, cell.variant, answers)


def drive(testbed: Testbed, cell: Cell, service: Service, fleet: Fleet, observed: Observed) -> None:
    """Run the measured load while sampling all processes, and read the counts of service and databases."""
    plan, backing, owned, load = testbed.plan, testbed.backing, testbed.cores.owned, cell.load
    parameters = plan.parameters_of(cell)
    before, calls = actuator.requests_served(service), components.calls_counted(backing)
    with testbed.reporter.phase(f"{cell.id}: measure {load.volume()}", load.planned_sessions) as update:
        workers = {f"worker {number}": worker for number, worker in enumerate(fleet.workers, 1)}
        others = {**workers, "master": fleet.master, **backing.running()}
        with (
            sampling(service, others, owned, into=observed.telemetry) as telemetry,
            timing_cores(testbed.runtime, owned, testbed.run.logs / "cpu-speed.log", telemetry),
        ):
            fleet.run_phase(
                LoadPhase(
                    service.url, load, parameters, plan.scenario.path(parameters), seed=schedule.seed_of(plan, cell)
                ),
                deadline_s(load, prediction.predict(plan, cell)) + session_s(plan),
                [service.running, *backing.running().values()],
                progress=lambda so_far: update(so_far.done, _progress_note(so_far)),
                into=observed.result,
            )
    if before is not None:
        after = actuator.requests_served(service, before + observed.result.finished)
        observed.served = None if after is None else after - before
    # Of several kinds of request the ones with the most calls: then a count is awaited in vain, for a moment.
    most = {name: max(each.values()) * observed.result.finished for name, each in calls_made(plan, cell).items()}
    after_calls = components.calls_counted(backing, {name: calls.get(name, 0) + made for name, made in most.items()})
    observed.calls = {name: count - calls[name] for name, count in after_calls.items() if name in calls}


def calls_made(plan: Plan, cell: Cell) -> dict[str, dict[str, int]]:
    """By component, how many calls each request of a cell makes to it, by the request's name."""
    variant, parameters = plan.scenario.variant(cell.variant), plan.parameters_of(cell)
    names = [component.name for component in plan.scenario.components]
    return {name: prediction.calls_to(plan, variant, name, parameters) for name in names}


def _progress_note(result: PhaseResult) -> str:
    failed = f", {result.failed:,} failed" if result.failed else ""
    return f"{result.finished:,} answered, {result.begun - result.finished:,} under way{failed}"


def deadline_s(load: Load, predicted_mean_s: float | None) -> float:
    """The timeout of a cell's load: generous compared with theory, and after the last request's own timeout.

    Theory covers waiting only; for CPU work a core is taken to serve at least a thousand requests a second.
    """
    after_s = load.timeout_s + DRAIN_S
    if isinstance(load, OpenLoop):
        # Where a queue grows all the time, the last request waits twice the mean; that of a ramp waits longer, by less
        # than the ramp lasts.
        return 2 * (load.duration_s + 2 * (predicted_mean_s or 0.0)) + after_s
    if isinstance(load, Closed):
        return load.ramp_s + 2 * load.duration_s + after_s
    mean_s = load.timeout_s if predicted_mean_s is None else predicted_mean_s
    work_s = max(2 * mean_s * math.ceil(load.rounds), SLOWEST_WORK_S * load.planned_sessions)
    return load.ramp_s + 2 * work_s + after_s


def session_s(plan: Plan) -> float:
    """How long a load may last beyond what is known of it, because a session does."""
    return SESSION_S if plan.locustfile else 0.0


def conclude(testbed: Testbed, cell: Cell, folder: CellFolder, observed: Observed, others: list[str]) -> None:
    """Store all measurements of a cell, judge it, and write the summary last.

    Args:
        others: other runs of this lab that were in progress when the cell began.

    """
    remove_scratch(folder.logs)
    folder.keep_samples(observed.result.cut)
    metrics = observations.metrics(observed.result, observed.telemetry)
    folder.keep_metrics(metrics)
    summary = stats.summarise_pieces(folder.measured_pieces(stats.SUMMARISED), from_planned=cell.load.independent)
    by_name = NameCounts.of(folder.measured_pieces(NameCounts.COLUMNS))
    # Where the backlog is the server's own, that it drops connections is its property, and no fault of a measurement.
    backlog_set = testbed.plan.limits_of(cell.variant).accept_count is not None
    slow = observations.slow_connects(folder.measured_pieces(["connect_us"])) if backlog_set else 0
    named = {request.name for request in testbed.plan.scenario.requests}
    conditions = Conditions(
        cpu_decides=testbed.plan.scenario.cpu_decides,
        entry=testbed.plan.scenario.entry,
        owned_cores=testbed.cores.owned,
        ceiling_rps=testbed.ceiling_rps(cell.load),
        calls_expected=observations.calls_expected(calls_made(testbed.plan, cell), by_name, observed.result.begun),
        unknown_names=sorted(by_name.sent.keys() - named),
        slow_connects=slow,
        others=list(dict.fromkeys([*others, *run_folder.others_running(testbed.run)])),
    )
    pieces = list(folder.measured_pieces(steadiness.COLUMNS)) if cell.load.steady_span_s else []
    samples = pd.concat(pieces) if pieces else pd.DataFrame()
    evidence = observations.evidence(observed, conditions, cell.load, summary, samples)
    folder.keep("evidence", evidence.as_json())
    judged = verdict.judge(evidence, summary, by_name.answered.total())
    folder.keep(
        "summary",
        {
            **asdict(summary),
            **breakdown(folder.measured_pieces, summary.elapsed_s, cell.load.independent),
            **service_cost(metrics, summary.began_s, summary.began_s + summary.elapsed_s, summary.requests),
            "predicted_mean_s": prediction.predict(testbed.plan, cell),
            "verdict": judged.word,
            "reasons": list(judged.reasons),
        },
    )
    testbed.reporter.say(f"  {cell.id}: {judged.word} {' '.join(judged.reasons)}", judged.word, COLOURS[judged.word])
