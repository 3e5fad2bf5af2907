"""Measures a program: executes it again and again, one execution after the other, each of them a sample."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lab.analysis.observations import Observed
from lab.errors import ComponentError
from lab.generator.executions import Execution, answer, execute, filled
from lab.generator.fleet import PhaseResult
from lab.running.equivalence import check_equal
from lab.running.progress import Update
from lab.running.testbed import Testbed
from lab.runtimes import Launch, tail
from lab.runtimes.checkout import ROOT
from lab.runtimes.process import ProcessRuntime
from lab.spec import sample
from lab.spec.plan import USERS, Cell, Plan
from lab.spec.system import SERVICE
from lab.spec.workload import Closed
from lab.storage.cell_folder import CellFolder
from lab.system.attached import attached_service
from lab.telemetry.sampler import sampling, timing_cores

# Of an execution in samples.parquet, in place of an HTTP method.
METHOD = "RUN"
# Of its standard error, shown where it fails.
LINES = 12


@dataclass
class _Program:
    """A program that is being measured.

    Attributes:
        launch: of each execution.
        right: a regular expression for its output; any does if empty.
        writer: of the samples.
        name: of the samples.
        executions: how many there were, of the warm-up too.

    """

    runtime: ProcessRuntime
    launch: Launch
    timeout_s: float
    right: str
    writer: pa.ipc.RecordBatchStreamWriter
    name: str
    executions: int = 0

    def execute(self, result: PhaseResult, start_s: float, warm_up: int = 0) -> Execution:
        """Execute it once, and record that; ComponentError where it fails.

        Args:
            result: counts so far, which are added to.
            start_s: the start of the load, by the monotonic clock.
            warm_up: number of the execution in the warm-up; 0 for the measured load.

        """
        result.begun += 1
        done = execute(self.runtime, self.launch, self.timeout_s, self.right)
        result.finished += 1
        result.failed += bool(done.error)
        sent_us, latency_us = round((done.began_s - start_s) * 1e6), round(done.elapsed_s * 1e6)
        record = np.zeros(1, dtype=sample.RECORD)
        record["planned_us"] = record["sent_us"] = sent_us
        record["latency_us"], record["bytes"], record["session"] = latency_us, len(done.output), self.executions
        record["status"], record["error"] = abs(done.usage.status), done.error
        self.executions += 1
        self.writer.write_batch(sample.to_batch(record.tobytes(), [(METHOD, self.name)], 0, warm_up))
        if done.error:
            number = f"round {warm_up} of its warm-up" if warm_up else f"execution {result.finished:,}"
            raise ComponentError(f"{self.launch.name} {done.problem} ({number}).", "", tail(self.launch.log, LINES))
        return done


def measure(testbed: Testbed, cell: Cell, folder: CellFolder, observed: Observed) -> None:
    """Prove that a program prints what the others print, execute it until files are cached, and measure it.

    ComponentError where it is missing, fails, hangs, or prints something else: then nothing else of it is measured.
    """
    plan, phase, warm_up = testbed.plan, testbed.reporter.phase, testbed.plan.scenario.rehearsal.rounds
    with pa.OSFile(str(folder.stream), "wb") as file, pa.ipc.new_stream(file, sample.SCHEMA) as writer:
        program = _program(testbed, cell, folder, writer)
        with phase(f"{cell.id}: check its output, and warm up", warm_up) as update:
            for number in range(1, max(warm_up, 1) + 1):
                done = program.execute(PhaseResult(), time.monotonic(), number)
                update(number, f"{done.elapsed_s:.3f} s")
                if number == 1:
                    answers = {_which(plan, cell): answer(done)}
                    folder.keep("contract", answers)
                    check_equal(testbed.proved, cell.variant, answers)
        with phase(f"{cell.id}: measure", cell.load.planned_sessions) as update:
            _load(testbed, cell, program, observed, update)


def _which(plan: Plan, cell: Cell) -> str:
    """The name of a cell's output, which must be the same for all variants."""
    return "output" if plan.axis == USERS else f"output at {plan.at(cell)}"


def _program(testbed: Testbed, cell: Cell, folder: CellFolder, writer: pa.ipc.RecordBatchStreamWriter) -> _Program:
    plan, made = testbed.plan, testbed.artifacts
    variant = plan.scenario.variant(cell.variant)
    known = {"python": sys.executable, "java": made.java, "jar": made.jars.get(variant.module, "")}
    command = filled(variant.command, {**known, **plan.parameters_of(cell)})
    log = folder.logs / "program.log"
    launch = Launch(cell.variant, command, log, cores=testbed.cores.service, folder=ROOT, talks=True, grace_s=0.0)
    assert isinstance(testbed.runtime, ProcessRuntime)  # as a testbed of programs has
    return _Program(testbed.runtime, launch, cell.load.timeout_s, variant.output, writer, plan.scenario.name)


def _load(testbed: Testbed, cell: Cell, program: _Program, observed: Observed, update: Update) -> None:
    """Execute a program as often, or as long, as the load says, and read what it used and what the machine did."""
    result, telemetry, load = observed.result, observed.telemetry, cell.load
    owned = testbed.cores.owned
    with (
        sampling(attached_service(""), {}, owned, into=telemetry),
        timing_cores(testbed.runtime, owned, testbed.run.logs / "cpu-speed.log", telemetry),
    ):
        start_s, cpu_s = time.monotonic(), 0.0
        result.unix_start = time.time()
        telemetry.rows.append((result.unix_start, SERVICE, "cpu_s", cpu_s))
        ends_s = start_s + (load.duration_s if isinstance(load, Closed) else math.inf)
        while result.finished < (load.planned_sessions or math.inf) and time.monotonic() < ends_s:
            done = program.execute(result, start_s)
            cpu_s += done.usage.cpu_s
            ended = result.unix_start + done.usage.ended_s - start_s
            telemetry.rows.append((ended, SERVICE, "cpu_s", cpu_s))
            telemetry.rows.append((ended, SERVICE, "rss_bytes", float(done.usage.peak_rss_bytes)))
            update(result.finished, f"{result.finished:,} done, the last one in {done.elapsed_s:.3f} s")
        telemetry.rows.append((time.time(), SERVICE, "cpu_s", cpu_s))
    result.whole = True
