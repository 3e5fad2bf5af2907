"""Conducts a run: starts, checks, warms up, measures and judges each cell of its plan."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import pandas as pd

from lab.analysis import observations, steadiness, verdict, window_figures
from lab.analysis.evidence import Ending
from lab.analysis.observations import Conditions, NameCounts, Observed
from lab.analysis.service_cost import service_cost
from lab.errors import ComponentError
from lab.formulas import stats
from lab.formulas.breakdown import breakdown
from lab.generator.fleet import Fleet, LoadPhase, PhaseResult, Placement, running_fleet
from lab.reporting import formatting
from lab.running import components, equivalence, programs
from lab.running.invocation import Invocation
from lab.running.testbed import Testbed, set_up
from lab.running.warm_up import MIN_ROUNDS, REHEARSAL_USERS, first_users, is_warm, warm_up
from lab.running.windows import Joined
from lab.runtimes import Running
from lab.runtimes.process import signals_deferred
from lab.spec import attached, in_turns, prediction, schedule, turns
from lab.spec.plan import Cell, Plan
from lab.spec.system import SERVICE
from lab.spec.window import Window
from lab.spec.workload import Closed, Load, OpenLoop
from lab.storage import run_folder
from lab.storage.cell_folder import CellFolder
from lab.storage.run_folder import RunFolder
from lab.system.attached import attached_service
from lab.system.launch import promised_limits, remove_scratch
from lab.system.service import Service
from lab.telemetry import actuator
from lab.telemetry.sampler import Telemetry, sampling, timing_cores

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
        if batches := in_turns.batched(plan):
            testbed.reporter.say(f"  {batches}")
        for group in in_random_order(plan):
            measure(testbed, *group)
    return testbed.run


def most_users(plan: Plan) -> int:
    """The largest number of users of any cell, warm-up included."""
    return max(REHEARSAL_USERS, plan.most_users)


def in_random_order(plan: Plan) -> list[list[Cell]]:
    """The groups of a plan, shuffled within each repeat, so that drift of the machine favours no variant."""
    chance, groups = random.Random(plan.seed), plan.groups
    repeats = sorted({group[0].repeat for group in groups})
    rounds = [[group for group in groups if group[0].repeat == repeat] for repeat in repeats]
    return [group for groups in rounds for group in chance.sample(groups, len(groups))]


@dataclass
class Contender:
    """A cell that is measured, alone or in turns with others: what was started for it, and what was observed.

    Attributes:
        stack: what ends with it.
        joined: its windows so far.

    """

    cell: Cell
    folder: CellFolder
    observed: Observed = field(default_factory=Observed)
    stack: ExitStack = field(default_factory=ExitStack)
    service: Service = field(init=False)
    fleet: Fleet = field(init=False)
    joined: Joined = field(init=False)

    def __post_init__(self) -> None:
        """Begin without a window."""
        self.joined = Joined(self.observed, self.cell.load.windows)

    @property
    def goes_on(self) -> bool:
        """Whether nothing has ended it."""
        return self.observed.ending == Ending()


def measure(testbed: Testbed, *cells: Cell) -> None:
    """Measure the cells of a group and judge each. A failed component makes its cell invalid, and the others go on.

    So does Ctrl-C with all of them, and is raised again. LabError, with nothing begun, if the user's own locustfile is
    not what the run was planned with.
    """
    if testbed.plan.locustfile:
        testbed.run.check_locustfile(testbed.plan.locustfile)
    contenders = [Contender(cell, testbed.run.begin(cell)) for cell in cells]
    others, began = run_folder.others_running(testbed.run), time.monotonic()
    try:
        MEASURED_BY[testbed.plan.scenario.entry](testbed, contenders)
    except ComponentError as error:  # of what they share
        for each in contenders:
            if each.goes_on:
                _note(testbed, each, error)
    except KeyboardInterrupt:
        for each in contenders:
            each.observed.ending = replace(each.observed.ending, interrupted=True)
        raise
    finally:
        with signals_deferred():
            for each in contenders:
                # Whose share of a start is whose is not known, and does not matter to how long the next ones take.
                each.folder.keep("timing", {"elapsed_s": (time.monotonic() - began) / len(contenders)})
                conclude(testbed, each, others)


@contextmanager
def failure_observed(testbed: Testbed, contender: Contender) -> Iterator[None]:
    """Where a component fails, note why its cell ends, and stop what was started for it."""
    try:
        yield
    except ComponentError as error:
        _note(testbed, contender, error)
        contender.stack.close()


def _note(testbed: Testbed, contender: Contender, error: ComponentError) -> None:
    # If a database or link has ended, that is the cause of a service's errors, and comes first.
    causes = dict.fromkeys([*testbed.backing.exit_reasons(), error.problem])
    contender.observed.ending = Ending(tuple(causes))
    testbed.reporter.say(f"  {error}", error.problem, "red")


def _measure_programs(testbed: Testbed, contenders: list[Contender]) -> None:
    for each in contenders:
        with failure_observed(testbed, each):
            programs.measure(testbed, each.cell, each.folder, each.observed)


def _measure_started(testbed: Testbed, contenders: list[Contender]) -> None:
    """Start services with their workers, prove them equal, warm each up, and load them in turns."""
    _measure(testbed, contenders, (_start, _prove, _warm_up, _read_limits))


def _measure_attached(testbed: Testbed, contenders: list[Contender]) -> None:
    """Warm up and load attached services in turns."""
    _measure(testbed, contenders, (_start_workers, _warm_up_attached))


MEASURED_BY = {"service": _measure_started, "attached": _measure_attached, "program": _measure_programs}
Step = Callable[[Testbed, Contender], None]


def _measure(testbed: Testbed, contenders: list[Contender], steps: Iterable[Step]) -> None:
    with ExitStack() as stack:
        for each in contenders:
            stack.enter_context(each.stack)
        for step in steps:
            for each in contenders:
                if each.goes_on:
                    with failure_observed(testbed, each):
                        step(testbed, each)
        if len(contenders) > 1:
            wake(testbed, contenders)
        take_turns(testbed, contenders)


def wake(testbed: Testbed, contenders: list[Contender]) -> None:
    """Load contenders in turns, uncounted, until they are warm again: each has been idle since it was.

    Where the CPU decides, a service that rests after its warm-up compiles anew what it is asked for then. It is awake
    as soon as it is warm: see :func:`lab.running.warm_up.is_warm`. All others are after one window.
    """
    scenario, load = testbed.plan.scenario, contenders[0].cell.load.window
    most = max(MIN_ROUNDS, scenario.rehearsal.rounds) if scenario.cpu_decides else 1
    awake: dict[str, list[dict[str, float]]] = {each.cell.id: [] for each in contenders}
    with testbed.reporter.phase(f"{', '.join(awake)}: wake up", most) as update:
        for number in range(1, most + 1):
            for each in contenders:
                if each.goes_on:
                    with failure_observed(testbed, each):
                        awake[each.cell.id].append(_uncounted(testbed, each, load))
            busy = ", ".join(f"{rounds[-1]['jit_share']:.0%}" for rounds in awake.values() if rounds and rounds[-1])
            update(number, f"round {number}{f': compilers {busy}' * bool(busy)}")
            still = [each for each in contenders if each.goes_on and scenario.cpu_decides]
            for each in still:
                each.observed.warm = is_warm(awake[each.cell.id], scenario.cpu_decides)
            if all(each.observed.warm for each in still):
                break


def _uncounted(testbed: Testbed, contender: Contender, load: Load) -> dict[str, float]:
    """Load a contender for one window that is a round of its warm-up; what it cost, if the lab started the service."""
    service, observed, parameters = contender.service, contender.observed, testbed.plan.parameters_of(contender.cell)
    path, number = testbed.plan.scenario.path(parameters), len(observed.warm_up) + 1
    before = actuator.cpu_times(service) if service.management else None
    phase = LoadPhase(service.url, load, parameters, path, warm_up=number)
    result = contender.fleet.run_phase(phase, deadline_s(load, None) + session_s(testbed.plan), [service.running])
    if before is None:
        return {}
    spent = actuator.cpu_times(service).since(before, result.finished)
    observed.warm_up.append({**spent, "users": load.users})
    return spent


def _start(testbed: Testbed, contender: Contender) -> None:
    cell, folder, backing = contender.cell, contender.folder, testbed.backing
    variant = testbed.plan.scenario.variant(cell.variant)
    backing.check_alive()
    with testbed.reporter.phase(f"{cell.id}: start service and workers"):
        running = contender.stack.enter_context(testbed.runtime.started(testbed.launch(variant, folder.logs)))
        contender.fleet = contender.stack.enter_context(_fleet(testbed, cell, folder))
        contender.fleet.await_workers()
        if backing.tokens:
            contender.fleet.distribute_tokens(backing.tokens)
        contender.fleet.spawn(max(cell.load.users, first_users(testbed, cell)))
        contender.service = actuator.await_ready(running, folder.logs, testbed.bind and testbed.bind[0])


def _prove(testbed: Testbed, contender: Contender) -> None:
    prove_equal(testbed, contender.cell, contender.folder, contender.service)


def _warm_up(testbed: Testbed, contender: Contender) -> None:
    cell, backing = contender.cell, testbed.backing
    backing.shape_links(on=False)
    with testbed.reporter.phase(f"{cell.id}: warm up", testbed.plan.scenario.rehearsal.rounds) as update:
        warm_up(testbed, cell, contender.service, contender.fleet, contender.observed, update)
    backing.shape_links(on=True)
    contender.service.running.confine(testbed.cores.service)


def _read_limits(testbed: Testbed, contender: Contender) -> None:
    plan, cell, observed = testbed.plan, contender.cell, contender.observed
    limits = actuator.limits(contender.service)
    contender.folder.keep("limits", limits)
    asked, has_pool = plan.limits_of(cell.variant), bool(plan.scenario.components)
    promised = promised_limits(plan.scenario.variant(cell.variant), asked, testbed.cores.cpus, has_pool)
    observed.limits_read = True
    observed.limits_broken += verdict.broken_limits(promised, limits)


def _fleet(testbed: Testbed, cell: Cell, folder: CellFolder) -> AbstractContextManager[Fleet]:
    image, plan, own = testbed.artifacts.images.get("worker", ""), testbed.plan, testbed.plan.locustfile
    placement = Placement(testbed.runtime, testbed.cores.generator, folder.logs, folder.stream, image, testbed.bind)
    locustfile = Path(own.path) if own else plan.scenario.name
    return running_fleet(locustfile, cell.load, placement, testbed.headers, plan.one_request)


def _start_workers(testbed: Testbed, contender: Contender) -> None:
    cell = contender.cell
    contender.service = attached_service(testbed.plan.scenario.variant(cell.variant).url)
    with testbed.reporter.phase(f"{cell.id}: start workers"):
        contender.fleet = contender.stack.enter_context(_fleet(testbed, cell, contender.folder))
        contender.fleet.await_workers()
        contender.fleet.spawn(cell.load.users)


def _warm_up_attached(testbed: Testbed, contender: Contender) -> None:
    """Warm up an attached service. Whether it is warm is unknown, so the warm-up has a fixed length."""
    before = attached.warm_up(contender.cell.load)
    with testbed.reporter.phase(f"{contender.cell.id}: warm up"):
        contender.fleet.run_phase(
            LoadPhase(contender.service.url, before, warm_up=1), deadline_s(before, None) + session_s(testbed.plan)
        )


def prove_equal(testbed: Testbed, cell: Cell, folder: CellFolder, service: Service) -> None:
    """Send the contract's requests; ComponentError if an earlier variant answered differently."""
    try:
        answers = equivalence.prove(service, testbed.backing.contract)
    except ComponentError as error:
        raise actuator.no_answer_error(service, error.problem) from error
    folder.keep("contract", answers)
    equivalence.check_equal(testbed.proved, cell.variant, answers)


@dataclass(frozen=True)
class Turn:
    """A contender's turn: one window of its load, or all of a load in one piece.

    Attributes:
        number: of the round, from 0.
        place: in the round, from 0.
        neighbours: the services that are up meanwhile.
        speed: where readings of the cores' speed are, of all turns.
        update: shows the progress of the load.

    """

    number: int
    place: int
    neighbours: Sequence[Running]
    speed: Telemetry
    update: Callable[[PhaseResult], None]


def take_turns(testbed: Testbed, contenders: list[Contender]) -> None:
    """Load each contender in turn, round after round, until each has had its windows; a load in one piece has one."""
    cell, load, speed = contenders[0].cell, contenders[0].cell.load, Telemetry()
    rounds = turns.order(contenders, load.windows, cell.repeat, testbed.plan.seed)
    in_windows, whose = load.windows > 1, ", ".join(each.cell.id for each in contenders)
    total = load.windows * len(contenders) if in_windows else load.planned_sessions
    with (
        testbed.reporter.phase(f"{whose}: measure {load.volume()}{formatting.windows(load)}", total) as update,
        timing_cores(testbed.runtime, testbed.cores.owned, testbed.run.logs / "cpu-speed.log", speed),
    ):
        for number, order in enumerate(rounds):
            for place, each in enumerate(order):
                if not each.goes_on:
                    continue
                done = number * len(order) + place

                def shown(so_far: PhaseResult, each: Contender = each, done: int = done) -> None:
                    which = f"window {done + 1}, {each.cell.variant}: " if in_windows else ""
                    update(done if in_windows else so_far.done, which + _progress_note(so_far))

                with failure_observed(testbed, each):
                    drive(testbed, each, Turn(number, place, _neighbours(each, contenders), speed, shown))


def _neighbours(contender: Contender, contenders: Iterable[Contender]) -> list[Running]:
    """The processes of the lab's services that are up while a contender is loaded."""
    others = (each.service for each in contenders if each is not contender and each.goes_on)
    return [service.running for service in others if service.management]


def drive(testbed: Testbed, contender: Contender, turn: Turn) -> None:
    """Run a window of the measured load while sampling all processes, and read the counts of service and databases."""
    plan, backing, owned, observed = testbed.plan, testbed.backing, testbed.cores.owned, contender.observed
    cell, service, fleet, joined = contender.cell, contender.service, contender.fleet, contender.joined
    load, parameters, before_us = cell.load.window, plan.parameters_of(cell), joined.before_us
    result, readings = PhaseResult(), Telemetry()
    before, calls = actuator.requests_served(service), components.calls_counted(backing)
    workers = {f"worker {number}": worker for number, worker in enumerate(fleet.workers, 1)}
    others = {**workers, "master": fleet.master, **backing.running()}
    try:
        with sampling(service, others, owned, into=readings, neighbours=turn.neighbours):
            fleet.run_phase(
                LoadPhase(
                    service.url,
                    load,
                    parameters,
                    plan.scenario.path(parameters),
                    seed=schedule.seed_of(plan, cell, turn.number),
                    window=turn.number,
                    windows=cell.load.windows,
                    before_us=before_us,
                ),
                deadline_s(load, prediction.predict(plan, cell)) + session_s(plan),
                [service.running, *backing.running().values()],
                progress=turn.update,
                into=result,
            )
    finally:
        elapsed_s = joined.add(result, readings, turn.speed.rows)
        observed.between_cpu_s = joined.between_s(SERVICE)
    after = None if before is None else actuator.requests_served(service, before + result.finished)
    served = None if before is None or after is None else after - before
    # Of several kinds of request the ones with the most calls: then a count is awaited in vain, for a moment.
    most = {name: max(each.values()) * result.finished for name, each in calls_made(plan, cell).items()}
    after_calls = components.calls_counted(backing, {name: calls.get(name, 0) + made for name, made in most.items()})
    made_now = {name: count - calls[name] for name, count in after_calls.items() if name in calls}
    observed.add_window(
        Window(
            turn.number,
            turn.place,
            result.unix_start,
            before_us / 1e6,
            load.duration_s if isinstance(load, Closed | OpenLoop) else elapsed_s,
            elapsed_s,
            result.begun,
            result.failed,
            served,
        ),
        made_now,
    )
    contender.folder.keep("windows", {"windows": [asdict(window) for window in observed.windows]})


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


def conclude(testbed: Testbed, contender: Contender, others: list[str]) -> None:
    """Store all measurements of a cell, judge it, and write the summary last.

    Args:
        others: other runs of this lab that were in progress when the cell began.

    """
    cell, folder, observed = contender.cell, contender.folder, contender.observed
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
    columns = (*steadiness.COLUMNS, "window")
    pieces = list(folder.measured_pieces(columns)) if cell.load.steady_span_s else []
    samples = pd.concat(pieces) if pieces else pd.DataFrame()
    evidence = observations.evidence(observed, conditions, cell.load, summary, samples)
    folder.keep("evidence", evidence.as_json())
    if cell.load.windows > 1:
        folder.keep("windows", {"windows": window_figures.of_windows(observed.windows, cell.load, samples, metrics)})
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
