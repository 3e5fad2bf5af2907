"""The story of a run: build, and for each cell start, check, warm up, measure, stop, judge."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd

from lab.analysis import observations, verdict
from lab.analysis.verdict import Evidence
from lab.errors import Casualty
from lab.formulas import stats
from lab.generator.fleet import Fleet, Played, running_fleet
from lab.running import equivalence
from lab.running.prerequisites import Stage, set_up
from lab.running.progress import Reporter, Update
from lab.runtimes.process import unhurried
from lab.spec import prediction, schedule
from lab.spec.scenario import Cell, Load, Plan
from lab.storage import run_folder
from lab.storage.run_folder import CellFolder, RunFolder
from lab.system import attached, services
from lab.system.backends import NO_ADDRESSES, Addresses
from lab.telemetry import actuator
from lab.telemetry.actuator import Service
from lab.telemetry.sampler import Watch, timing_cores, watching

MIN_WARM_UP_ROUNDS = 3
REHEARSAL_USERS, FEW_USERS = 200, 8
SETTLED_SHARE, AT_REST_SHARE = 0.15, 0.10
DRAIN_S, SLOWEST_WORK_S = 30.0, 0.001
REHEARSAL_WITHIN_S = 120.0


def conduct(
    plan: Plan,
    command: Sequence[str],
    runs: Path,
    reporter: Reporter,
    runtime: str = "process",
    addresses: Addresses = NO_ADDRESSES,
) -> RunFolder:
    """Carry out a plan, cell by cell, in an order that the seed decides.

    A cell that breaks is recorded as invalid and the next one goes on. LabError where nothing could be started;
    KeyboardInterrupt after everything is stopped and kept.
    """
    with set_up(plan, command, runs, reporter, most_users(plan), runtime, addresses) as stage:
        for cell in in_random_order(plan):
            measure(stage, cell)
    return stage.run


def most_users(plan: Plan) -> int:
    """The most that will be spawned at once."""
    return max(REHEARSAL_USERS, *(cell.load.users for cell in plan.cells))


def in_random_order(plan: Plan) -> list[Cell]:
    """The cells of a plan, shuffled within each repeat, so that drift of the machine favours nobody."""
    chance = random.Random(plan.seed)
    repeats = sorted({cell.repeat for cell in plan.cells})
    rounds = [[cell for cell in plan.cells if cell.repeat == repeat] for repeat in repeats]
    return [cell for cells in rounds for cell in chance.sample(cells, len(cells))]


def measure(stage: Stage, cell: Cell) -> None:
    """Measure one cell and judge it. A casualty makes it invalid; Ctrl-C too, and is passed on."""
    folder = stage.run.begin(cell)
    evidence = Evidence(planned=cell.load.planned_requests, others=run_folder.others_running(stage.run))
    played, watch = Played(), Watch()
    began = time.monotonic()
    try:
        _measure(stage, cell, folder, evidence, played, watch)
    except Casualty as casualty:
        # Whatever a service says of a database that has ended, that end is the cause.
        evidence.casualties += dict.fromkeys([*stage.backing.obituaries(), casualty.problem])
        stage.reporter.say(f"  {casualty.problem}\n{casualty.detail}", casualty.problem, "red")
    except KeyboardInterrupt:
        evidence.interrupted = True
        raise
    finally:
        with unhurried():
            folder.keep("timing", {"elapsed_s": time.monotonic() - began})
            conclude(stage, cell, folder, evidence, played, watch)


def _measure(stage: Stage, cell: Cell, folder: CellFolder, evidence: Evidence, played: Played, watch: Watch) -> None:
    if stage.plan.urls:
        _measure_elsewhere(stage, cell, folder, evidence, played, watch)
        return
    variant, phase = stage.scenario.variant(cell.variant), stage.reporter.phase
    stage.backing.check_alive()
    asked, cpus = stage.plan.limits_of(cell.variant), stage.cores.cpus
    with ExitStack() as stack:
        with phase(f"{cell.id}: start service and workers"):
            running = stack.enter_context(stage.runtime.started(stage.launch(variant, folder.logs)))
            fleet = stack.enter_context(_fleet(stage, cell, folder))
            fleet.await_workers()
            if stage.backing.tokens:
                fleet.equip(stage.backing.tokens)
            fleet.spawn(max(cell.load.users, _rehearsal_users(stage, cell)))
            service = actuator.await_ready(running, folder.logs, stage.bind and stage.bind[0])
        prove_equal(stage, cell, folder, service)
        stage.backing.shape_links(on=False)
        with phase(f"{cell.id}: warm up", stage.scenario.rehearsal_rounds) as update:
            warm_up(stage, cell, service, fleet, evidence, update)
        stage.backing.shape_links(on=True)
        running.confine(stage.cores.service)
        limits = actuator.limits(service)
        folder.keep("limits", limits)
        evidence.limits_broken = verdict.broken_limits(
            services.promised_limits(variant, asked, cpus, has_pool=bool(stage.scenario.databases)), limits
        )
        drive(stage, cell, service, fleet, evidence, played, watch)


def _fleet(stage: Stage, cell: Cell, folder: CellFolder) -> AbstractContextManager[Fleet]:
    return running_fleet(
        stage.runtime,
        stage.scenario.name,
        cell.load,
        stage.cores.generator,
        folder.logs,
        folder.stream,
        stage.images.get("worker", ""),
        stage.bind,
        stage.headers,
    )


def _measure_elsewhere(
    stage: Stage, cell: Cell, folder: CellFolder, evidence: Evidence, played: Played, watch: Watch
) -> None:
    """Load a service that the lab did not start. Whether it is warm cannot be seen, so it gets the same for all."""
    phase, service, before = (
        stage.reporter.phase,
        attached.service(stage.plan.urls[cell.variant]),
        attached.warm_up(cell.load),
    )
    with ExitStack() as stack:
        with phase(f"{cell.id}: start workers"):
            fleet = stack.enter_context(_fleet(stage, cell, folder))
            fleet.await_workers()
            fleet.spawn(cell.load.users)
        with phase(f"{cell.id}: warm up"):
            fleet.play(service.url, before, {}, warm_up=1, within_s=deadline_s(before, None), watched=[])
        drive(stage, cell, service, fleet, evidence, played, watch)


def prove_equal(stage: Stage, cell: Cell, folder: CellFolder, service: Service) -> None:
    """Ask what the contract asks; Casualty if a variant before this one answered differently."""
    try:
        answers = equivalence.prove(service, stage.backing.contract)
    except Casualty as casualty:
        raise actuator.silence(service, casualty.problem) from casualty
    folder.keep("contract", answers)
    reference_variant, reference = stage.proved.setdefault("reference", (cell.variant, answers))
    if different := equivalence.differences(answers, reference):
        raise Casualty(f"{cell.variant} and {reference_variant} are not equal: {'; '.join(different)}.")


def warm_up(stage: Stage, cell: Cell, service: Service, fleet: Fleet, evidence: Evidence, update: Update) -> None:
    """Rehearse the load, with the waiting taken out, until what a request costs the service has settled.

    Where the CPU decides, in three acts: by a few users, since dozens of busy threads leave the compiler's no time; by
    as many as will be measured, since they take other paths; and by these on the service's cores alone.
    """
    parameters = {**stage.plan.parameters, **stage.scenario.rehearsal}
    watched = [service.running, *stage.backing.running().values()]
    first, many = _rehearsal_users(stage, cell), cell.load.users
    acts = [(first, False), (many, False), (many, True)] if stage.scenario.cpu_decides else [(first, False)]
    before = actuator.effort(service)
    for users, alone in acts:
        if alone:
            service.running.confine(stage.cores.service)
        loops = max(1, stage.scenario.rehearsal_requests // users)
        rehearsal = replace(cell.load, users=users, ramp_s=0.0, loops=loops, duration_s=0.0, requests=0, rate_rps=0.0)
        begun = len(evidence.warm_up)
        for number in range(begun + 1, begun + stage.scenario.rehearsal_rounds + 1):
            played = fleet.play(
                service.url, rehearsal, parameters, warm_up=number, within_s=REHEARSAL_WITHIN_S, watched=watched
            )
            after = actuator.effort(service)
            spent = after.since(before, played.finished)
            before = after
            evidence.warm_up.append({**spent, "users": users})
            cost, compiler = f"{spent['cpu_us_per_request']:.0f} µs CPU a request", f"compiler {spent['jit_share']:.0%}"
            update(number - begun, f"round {number}: {cost}, {compiler}")  # the bar begins anew with each act
            evidence.warm = is_warm(evidence.warm_up[begun:], stage.scenario.cpu_decides)
            if evidence.warm:
                break


def _rehearsal_users(stage: Stage, cell: Cell) -> int:
    """How many users begin the warm-up."""
    return FEW_USERS if stage.scenario.cpu_decides else max(cell.load.users, REHEARSAL_USERS)


def is_warm(rounds: Sequence[Mapping[str, float]], cpu_decides: bool) -> bool:
    """Whether a service is warm: its compiler was at rest in the last two rounds, or they cost the same.

    Where the CPU decides what is measured, the same cost is not enough: it may be about to fall.

    Args:
        rounds: rows of :meth:`lab.telemetry.actuator.Effort.since`, oldest first.

    """
    if len(rounds) < MIN_WARM_UP_ROUNDS:
        return False
    if max(row["jit_share"] for row in rounds[-2:]) <= AT_REST_SHARE:
        return True
    before, last = (row["cpu_us_per_request"] for row in rounds[-2:])
    return not cpu_decides and abs(before - last) <= SETTLED_SHARE * max(before, last)


def drive(
    stage: Stage, cell: Cell, service: Service, fleet: Fleet, evidence: Evidence, played: Played, watch: Watch
) -> None:
    """Play the measured load while everything is watched, and compare the counts of both sides."""
    predicted = prediction.predict(stage.scenario, stage.plan, cell)
    total, limit_s = cell.load.planned_requests, deadline_s(cell.load, predicted)
    asked = f"{cell.load.rate_rps:,g} requests/s" if cell.load.is_open else f"{cell.load.users:,} users"
    before, queries = actuator.served(service), stage.backing.queries()
    with stage.reporter.phase(f"{cell.id}: measure {asked}", total) as update:
        workers = {f"worker {number}": worker for number, worker in enumerate(fleet.workers, 1)}
        others = {**workers, "master": fleet.master, **stage.backing.running()}
        with (
            watching(service, others, stage.cores.owned) as readings,
            timing_cores(stage.runtime, stage.cores.owned, stage.run.logs / "yardstick.log", readings),
        ):
            watch.rows, watch.gaps = readings.rows, readings.gaps if service.management else []
            fleet.play(
                service.url,
                cell.load,
                stage.plan.parameters,
                warm_up=0,
                within_s=limit_s,
                watched=[service.running, *stage.backing.running().values()],
                seed=schedule.seed_of(stage.plan, cell),
                progress=lambda so_far: update(so_far.finished, _progress_note(so_far)),
                into=played,
            )
    if before is not None:
        after = actuator.served(service, before + played.finished)
        evidence.served = None if after is None else after - before
    if queries is not None:
        evidence.queries = (stage.backing.queries() or 0) - queries


def _progress_note(played: Played) -> str:
    failed = f", {played.failed:,} failed" if played.failed else ""
    return f"{played.finished:,} answered, {played.begun - played.finished:,} under way{failed}"


def deadline_s(load: Load, predicted_mean_s: float | None) -> float:
    """When to give up on a cell: generously after theory, and never before the slowest request may time out.

    Theory knows of waiting only; where the CPU has to do the work, a core does at least a thousand requests a second.
    """
    rounds = math.ceil(load.requests / load.users) if load.requests else load.loops
    mean_s = load.timeout_s if predicted_mean_s is None else predicted_mean_s
    if load.is_open:  # where a queue grows all the time, the last request waits twice the mean
        return 2 * (load.duration_s + 2 * (predicted_mean_s or 0.0)) + load.timeout_s + DRAIN_S
    work_s = max(2 * mean_s * rounds, SLOWEST_WORK_S * (load.planned_requests or 0))
    return load.ramp_s + 2 * (load.duration_s or work_s) + load.timeout_s + DRAIN_S


def conclude(stage: Stage, cell: Cell, folder: CellFolder, evidence: Evidence, played: Played, watch: Watch) -> None:
    """Keep everything that was measured, and write the summary last."""
    services.tidy(folder.logs)
    folder.keep_samples()
    metrics = observations.metrics(played, watch)
    folder.keep_metrics(metrics)
    evidence.begun, evidence.finished, evidence.whole = played.begun, played.finished, played.whole
    summary = stats.summarise_pieces(folder.measured_pieces(stats.SUMMARISED), from_planned=cell.load.is_open)
    evidence.counted_in_system = observations.counted_in_system(played, summary.elapsed_s)
    evidence.untaken = played.untaken_s / summary.elapsed_s if summary.elapsed_s else 0.0
    if not stage.plan.urls:  # else the service itself may be among the others
        evidence.foreign_cpu = observations.foreign_cpu(watch, os.cpu_count() or 1)
    evidence.taken = observations.taken(watch, stage.cores.owned)
    evidence.stood_still_s = observations.stood_still_s(played, summary.elapsed_s)
    evidence.counting_error = observations.counting_error(played, cell.load, summary.elapsed_s)
    evidence.ceiling_rps = stage.ceiling_rps(cell.load)
    evidence.others = list(dict.fromkeys([*evidence.others, *run_folder.others_running(stage.run)]))
    evidence.clock_step_s = played.clock_step_s
    if not cell.load.is_burst:
        samples = pd.concat(list(folder.measured_pieces(observations.STEADY_COLUMNS)) or [pd.DataFrame()])
        observations.note_steadiness(evidence, cell.load, samples, metrics, stage.scenario.cpu_decides)
    evidence.gc_share = observations.gc_share(watch)
    evidence.worker_cpu = observations.worker_cpu(watch, played, summary.elapsed_s)
    folder.keep("evidence", evidence.as_json())
    answered = sum(int((piece["status"] > 0).sum()) for piece in folder.measured_pieces(["status"]))
    judged = verdict.judge(evidence, summary, answered)
    folder.keep(
        "summary",
        {
            **asdict(summary),
            **observations.server_truth(
                metrics, summary.began_s, summary.began_s + summary.elapsed_s, summary.requests
            ),
            "predicted_mean_s": prediction.predict(stage.scenario, stage.plan, cell),
            "verdict": judged.word,
            "reasons": list(judged.reasons),
        },
    )
    colour = {verdict.VALID: "green", verdict.SUSPECT: "yellow", verdict.INVALID: "red"}[judged.word]
    stage.reporter.say(f"  {cell.id}: {judged.word} {' '.join(judged.reasons)}", judged.word, colour)
