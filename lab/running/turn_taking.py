"""Loads cells whose services are up, in turns: each window by window, or one alone in one piece."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from lab.generator.fleet import LoadPhase, Overtime, PhaseResult
from lab.reporting import formatting
from lab.running import components, settings
from lab.running.measurement import Measurement, failure_observed
from lab.running.testbed import Testbed
from lab.running.warm_up import MIN_ROUNDS, is_warm
from lab.runtimes import Running
from lab.spec import in_turns, prediction, schedule, turns
from lab.spec.plan import Cell, Plan
from lab.spec.prediction import CallsMade
from lab.spec.window import Window
from lab.spec.workload import Burst, Closed, Load, OpenLoop, Total
from lab.telemetry import actuator, scrapes, served
from lab.telemetry.sampler import IDLE_GENERATORS, IDLE_SERVICES, WORKER, Telemetry, sampling, watching_cores

DRAIN_S, SLOWEST_WORK_S = 30.0, 0.001
# Of a locustfile of the user's own nothing is known: its sessions may take so long.
SESSION_S = 3600.0


def warm_up_in_turns(testbed: Testbed, measurements: list[Measurement]) -> None:
    """Load measurements in turns, uncounted, until they are warm again: each has been idle since it was.

    Where the CPU decides, a service that rests after its warm-up compiles anew what it is asked for then. It is done
    as soon as it is warm again: see :func:`lab.running.warm_up.is_warm`. All others are after one window.
    """
    scenario, load = testbed.plan.scenario, measurements[0].cell.load.window()
    most = max(MIN_ROUNDS, scenario.rehearsal.rounds) if testbed.plan.cpu_decides else 1
    rounds_of: dict[str, list[dict[str, float]]] = {each.cell.id: [] for each in measurements}
    with testbed.reporter.phase(f"{', '.join(rounds_of)}: warm up in turns", most) as update:
        for number in range(1, most + 1):
            for each in measurements:
                if each.goes_on:
                    with failure_observed(testbed, each):
                        rounds_of[each.cell.id].append(uncounted(testbed, each, load))
            busy = ", ".join(f"{rounds[-1]['jit_share']:.0%}" for rounds in rounds_of.values() if rounds and rounds[-1])
            update(number, f"round {number}{f': compilers {busy}' * bool(busy)}")
            still = [each for each in measurements if each.goes_on and testbed.plan.cpu_decides]
            for each in still:
                each.observed.warm = is_warm(rounds_of[each.cell.id], until_compiled=True)
            if all(each.observed.warm for each in still):
                break


def uncounted(testbed: Testbed, measurement: Measurement, load: Load) -> dict[str, float]:
    """Load a cell as a round of its warm-up, which is not counted; what it cost, if the lab started the service."""
    testbed.tracked.await_room(testbed.connections(load.users), testbed.reporter)
    deployment, observed = measurement.deployment, measurement.observed
    parameters = testbed.plan.parameters_of(measurement.cell)
    path, number = testbed.plan.scenario.path(parameters), len(observed.warm_up) + 1
    before = actuator.cpu_times(deployment) if deployment.is_ours else None
    phase = LoadPhase(deployment.url, load, parameters, path, warm_up=number)
    within_s = deadline_s(load) + session_s(testbed.plan, load)
    longer = overtime(testbed.plan, load)
    result = measurement.fleet.run_phase(phase, within_s, deployment.running, overtime=longer)
    if before is None:
        return {}
    spent = actuator.cpu_times(deployment).since(before, result.finished)
    observed.warm_up.append({**spent, "users": load.users})
    return spent


@dataclass(frozen=True)
class Turn:
    """A measurement's turn: one window of its load, or all of a load in one piece.

    Attributes:
        number: of the round, from 0.
        place: in the round, from 0.
        idle: what is up meanwhile, services and generators.
        speed: where readings of the cores' speed are, of all turns.
        update: shows the progress of the load.

    """

    number: int
    place: int
    idle: Mapping[str, Sequence[Running]]
    speed: Telemetry
    update: Callable[[PhaseResult], None]


def take_turns(testbed: Testbed, measurements: list[Measurement]) -> None:
    """Load each measurement in turn, round after round, until each has had its windows; a load in one piece has one."""
    cell, load, speed = measurements[0].cell, measurements[0].cell.load, Telemetry()
    # The same in all starts, whoever was started first.
    by_name = sorted(measurements, key=lambda each: each.cell.variant)
    start = in_turns.start_in_batch(testbed.plan, cell)
    rounds = turns.order(by_name, load.windows, start, testbed.plan.seed)
    in_windows, whose = load.windows > 1, ", ".join(each.cell.id for each in measurements)
    total = load.windows * len(measurements) if in_windows else load.planned_sessions
    with (
        testbed.reporter.phase(f"{whose}: measure {load.volume()}{formatting.windows(load)}", total) as update,
        watching_cores(testbed.runtime, testbed.cores.owned, testbed.run.logs, speed),
    ):
        for number, order in enumerate(rounds):
            for place, each in enumerate(order):
                if not each.goes_on:
                    continue
                done = number * len(order) + place

                def shown(so_far: PhaseResult, each: Measurement = each, done: int = done) -> None:
                    which = f"window {done + 1}, {each.cell.variant}: " if in_windows else ""
                    update(done if in_windows else so_far.done, which + _progress_note(so_far))

                with failure_observed(testbed, each):
                    drive(testbed, each, Turn(number, place, _idle(each, measurements), speed, shown))


def _idle(measurement: Measurement, measurements: Iterable[Measurement]) -> dict[str, list[Running]]:
    """The processes that are up while a measurement is loaded, of services that the lab started, and of generators."""
    others = [each for each in measurements if each is not measurement and each.goes_on]
    services = [running for each in others if each.deployment.is_ours for running in each.deployment.running]
    generators = [running for each in others for running in (each.fleet.master, *each.fleet.workers)]
    return {name: found for name, found in ((IDLE_SERVICES, services), (IDLE_GENERATORS, generators)) if found}


def drive(testbed: Testbed, measurement: Measurement, turn: Turn) -> None:
    """Run a window of the measured load while sampling all processes, and read the counts of service and databases.

    The load goes on while one node lives; then ComponentError names the one that has ended.
    """
    plan, backing, owned, observed = testbed.plan, testbed.backing, testbed.cores.owned, measurement.observed
    cell, deployment, fleet, joined = measurement.cell, measurement.deployment, measurement.fleet, measurement.joined
    load, parameters, before_us = cell.load.window(turn.number), plan.parameters_of(cell), joined.before_us
    result, readings = PhaseResult(), Telemetry()
    testbed.tracked.await_room(testbed.connections(load.users), testbed.reporter)
    # Nobody else is asked for counts of its own right before the load: that would be work that is not measured.
    caching = list(deployment.nodes.values()) if plan.scenario.variant(cell.variant).caches else []
    backing.restore(plan.scenario, parameters)
    for node in caching:
        actuator.empty_caches(node)
    settings.put_in_force_for(testbed, measurement, parameters)
    before, calls = served.counted(deployment), components.calls_counted(backing, caching)
    workers = {f"{WORKER}{number}": worker for number, worker in enumerate(fleet.workers, 1)}
    others = {**workers, "master": fleet.master, **backing.running()}
    try:
        with sampling(deployment, others, owned, into=readings, together=turn.idle):
            fleet.run_phase(
                LoadPhase(
                    deployment.url,
                    load,
                    parameters,
                    plan.scenario.path(parameters),
                    seed=schedule.seed_of(plan, cell, turn.number),
                    window=turn.number,
                    windows=cell.load.windows,
                    before_us=before_us,
                ),
                deadline_s(load, prediction.predict_wait(plan, cell)) + session_s(plan, load),
                [*deployment.watched, *backing.needed().values()],
                progress=turn.update,
                into=result,
                overtime=overtime(plan, load),
            )
    finally:
        planned_s = load.duration_s if isinstance(load, OpenLoop) else 0.0
        elapsed_s = joined.add(result, readings, turn.speed.rows, planned_s)
    counts = served.counted(deployment, before, result.finished).since(before)
    observed.counts = observed.counts.plus(counts) if observed.counts else counts
    if testbed.prometheus and not observed.prometheus_lost:  # whose answer each window would await in vain
        span = (result.unix_start, result.unix_start + elapsed_s)
        observed.add_scrapes(*scrapes.read(testbed.prometheus, measurement.start.name, *span))
    deployment.check_whole()
    # Of several kinds of request the ones with the most calls: then a count is awaited in vain, for a moment.
    most = {
        name: max((of[1] for of in each.values() if of), default=0) for name, each in calls_made(plan, cell).items()
    }
    # What is behind a circuit breaker need not have seen a call that failed.
    without_call = dict.fromkeys(plan.scenario.variant(cell.variant).guarded, result.failed)
    awaited = {
        name: calls.get(name, 0) + made * (result.finished - without_call.get(name, 0)) for name, made in most.items()
    }
    after_calls = components.calls_counted(backing, caching, awaited)
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
            counts.total,
        ),
        made_now,
    )
    if cell.load.windows > 1:
        measurement.folder.keep("windows", {"windows": [asdict(window) for window in observed.windows]})


def calls_made(plan: Plan, cell: Cell) -> dict[str, CallsMade]:
    """By what is counted behind the service, how many calls each request of a cell makes, by the request's name."""
    variant, parameters = plan.scenario.variant(cell.variant), plan.parameters_of(cell)
    made: dict[str, CallsMade] = {}
    for component in plan.components:
        made |= prediction.calls_to(plan, variant, component.name, parameters)
    return made


def _progress_note(result: PhaseResult) -> str:
    failed = f", {result.failed:,} failed" if result.failed else ""
    return f"{result.finished:,} answered, {result.begun - result.finished:,} under way{failed}"


def deadline_s(load: Load, predicted_mean_s: float | None = None) -> float:
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


def overtime(plan: Plan, load: Load) -> Overtime | None:
    """How much longer than :func:`deadline_s` an open loop may take, all of whose requests are sent, however late.

    None for other loads. Where a service keeps every user until the timeout, R sends of N users take R/N timeouts one
    after the other, counted from the last planned send; so a load is not cut off in which requests do time out.
    """
    if not isinstance(load, OpenLoop):
        return None
    longest_s, sends = load.timeout_s + session_s(plan, load), load.planned_sessions
    waiting_s = longest_s * (math.ceil(sends / load.users) + 1)
    most_s = load.duration_s + max(waiting_s, SLOWEST_WORK_S * sends) + DRAIN_S
    return Overtime(longest_s + DRAIN_S, most_s)


def session_s(plan: Plan, load: Load) -> float:
    """How long a load may last beyond :func:`deadline_s`, because a session is more than a request.

    Each request after the first may wait until its timeout, and pauses may be drawn twice as long as on average.
    """
    if plan.locustfile:
        return SESSION_S
    later = max(plan.scenario.requests_a_session - 1, 0)
    rounds = math.ceil(load.rounds) if isinstance(load, Burst | Total) else 1
    return rounds * (later * load.timeout_s + 2 * load.pace * plan.scenario.think_s)
