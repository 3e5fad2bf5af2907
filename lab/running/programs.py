"""Measures a program: executes it again and again, one execution after the other, each of them a sample."""

from __future__ import annotations

import hashlib
import math
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from lab.analysis.observations import Observed
from lab.errors import ComponentError
from lab.generator.executions import Execution, begin, execute, filled
from lab.running.equivalence import ProvedAnswer, check_equal
from lab.running.progress import Update
from lab.running.testbed import Testbed
from lab.runtimes import Launch
from lab.runtimes.checkout import ROOT
from lab.runtimes.process import ProcessRuntime
from lab.spec import sample
from lab.spec.plan import USERS, Cell, Plan
from lab.spec.system import SERVICE
from lab.spec.workload import Closed
from lab.storage.cell_folder import CellFolder
from lab.system import corpora
from lab.system.attached import attached_service
from lab.system.deployment import Deployment
from lab.telemetry.sampler import sampling, watching_cores

# Of an execution in samples.parquet, in place of an HTTP method.
METHOD = "RUN"
# How often a program is executed with nothing to do, to see how long its start takes.
STARTS = 5


@dataclass
class _Program:
    """A program that is being measured.

    Attributes:
        launch: of each execution.
        right: a regular expression for its output; any does if empty.
        name: of the samples.
        files: the corpus that it reads, if the scenario has one.
        cold: whether that must be read from the disk.
        first: what it printed in its first execution, which it must print in all others.
        executions: how many there were, of the warm-up too.

    """

    runtime: ProcessRuntime
    launch: Launch
    timeout_s: float
    right: str
    name: str
    files: corpora.Files | None = None
    cold: bool = False
    first: dict[str, Any] | None = None
    executions: int = 0

    def execute(self) -> Execution:
        """Execute it once; where it prints something else than the first time, it has failed."""
        self.executions += 1
        if self.files and self.cold:
            self.files.drop()
        done = execute(self.runtime, self.launch, self.timeout_s, self.right)
        if done.error:
            return done
        printed = _answer(done)
        self.first = self.first or printed
        if printed == self.first:
            return done
        problem = f"printed {printed['body_begin']!r}, but {self.first['body_begin']!r} before"
        return replace(done, error=sample.WRONG_OUTPUT, problem=problem)

    def used(self, done: Execution) -> dict[str, float]:
        """What an execution used, by the names of readings."""
        found = {"most_threads": done.threads, "peak_bytes": done.peak_bytes, "read_bytes": done.ended.read_bytes}
        return {"execution_cpu_s": done.ended.cpu_s, **{name: float(value) for name, value in found.items() if value}}

    def record(self, done: Execution, start_s: float, warm_up: int) -> pa.RecordBatch:
        """The sample of its last execution.

        Args:
            start_s: the start of the load, by the monotonic clock.
            warm_up: number of the execution in the warm-up; 0 for the measured load.

        """
        record = np.zeros(1, dtype=sample.RECORD)
        record["planned_us"] = record["sent_us"] = round((done.ended.began_s - start_s) * 1e6)
        record["latency_us"] = round(done.elapsed_s * 1e6)
        record["bytes"] = min(len(done.output), sample.MOST_BYTES)
        record["status"], record["error"], record["session"] = done.ended.status, done.error, self.executions - 1
        return sample.to_batch(record.tobytes(), [(METHOD, self.name)], 0, warm_up)

    def check(self, done: Execution, which: str) -> None:
        """ComponentError, with the end of its standard error, if an execution failed."""
        if done.error:
            said = f": {lines[-1]}" if (lines := done.said.splitlines()) else "."
            raise ComponentError(f"{self.launch.name} {done.problem} ({which}){said}", "", done.said)


def measure(testbed: Testbed, cell: Cell, folder: CellFolder, observed: Observed) -> None:
    """Prove that a program prints what the first one prints, execute it until files are cached, and measure it.

    ComponentError where it is missing, fails, hangs, or prints something else: then nothing else of it is measured.
    """
    phase, rounds = testbed.reporter.phase, max(testbed.plan.scenario.rehearsal.rounds, 1)
    program = _program(testbed, cell, folder)
    with pa.OSFile(str(folder.stream), "wb") as file, pa.ipc.new_stream(file, sample.SCHEMA) as writer:
        with phase(f"{cell.id}: check its output, and warm up", rounds) as update:
            _find_reference(testbed, cell, folder)
            for number in range(1, rounds + 1):
                start_s, done = time.monotonic(), program.execute()
                writer.write_batch(program.record(done, start_s, number))
                program.check(done, f"round {number} of its warm-up")
                update(number, f"{done.elapsed_s:.3f} s")
            answers = {_which(testbed.plan, cell): program.first or {}}
            folder.keep("contract", answers)
            check_equal(testbed.proved, cell.variant, answers)
        starts_s = _starts_s(testbed, cell, folder, program)
        with phase(f"{cell.id}: measure", cell.load.planned_sessions) as update:
            _load(testbed, cell, program, writer, observed, update)
    rows = observed.telemetry.rows
    rows += [(observed.result.unix_start, SERVICE, "start_s", elapsed_s) for elapsed_s in starts_s]


def _starts_s(testbed: Testbed, cell: Cell, folder: CellFolder, program: _Program) -> list[float]:
    """How long the program takes where it has nothing to do, a few times: with a corpus without a file.

    Nothing for programs that read no corpus. What they print, and their exit status, do not matter.
    """
    if not program.files:
        return []
    nothing_to_do = _program(testbed, cell, folder, corpora.empty(program.files))
    return [nothing_to_do.execute().elapsed_s for _ in range(STARTS)]


def _find_reference(testbed: Testbed, cell: Cell, folder: CellFolder) -> None:
    """Execute the first of the plan's programs, unless it was, so that its output is what all others must print.

    Of those that fail, the next one: their own cells say why.
    """
    plan, which = testbed.plan, _which(testbed.plan, cell)
    scope = plan.scenario.variant(cell.variant).scope
    for variant in (variant for variant in plan.variants if variant.scope == scope):
        if which in testbed.proved or variant.name == cell.variant:
            return
        with suppress(ComponentError):
            program = _program(testbed, replace(cell, variant=variant.name), folder)
            done = program.execute()
            program.check(done, "for its output")
            check_equal(testbed.proved, variant.name, {which: _answer(done)})


def _answer(done: Execution) -> dict[str, Any]:
    """What must be equal among programs, as JSON types: the lines of the output, in any order."""
    # A carriage return, or any other byte, may be within a line.
    lines = sorted(done.output.removesuffix(b"\n").split(b"\n")) if done.output else []
    text, count = b"\n".join(lines), f"{len(lines):,} line{'s' * (len(lines) != 1)}"
    proved = ProvedAnswer(done.ended.status, count, len(text), hashlib.sha256(text).hexdigest(), begin(text))
    return asdict(proved)


def _which(plan: Plan, cell: Cell) -> str:
    """The name of a cell's output, which must be the same for all variants of its scope."""
    scope = plan.scenario.variant(cell.variant).scope
    what = "output" + f" ({scope})" * bool(scope)
    return what if plan.axis == USERS else f"{what} at {plan.at(cell)}"


def _program(testbed: Testbed, cell: Cell, folder: CellFolder, reads: corpora.Files | None = None) -> _Program:
    """The program of a cell.

    Args:
        reads: the corpus that it reads; that of the cell if None.

    """
    plan, made = testbed.plan, testbed.artifacts
    parameters, corpus = plan.parameters_of(cell), plan.scenario.corpus
    files = reads or (testbed.corpora[corpus.recipe(parameters).name] if corpus else None)
    variant = plan.scenario.variant(cell.variant)
    known = {"python": sys.executable, "java": made.java, "jar": made.jars.get(variant.module, "")}
    known |= {"corpus": files.folder} if files else {}
    command = filled(variant.command, {**parameters, **known})
    log = folder.logs / f"{variant.name}.log"
    cores = testbed.cores.service
    launch = Launch(variant.name, command, log, variant.environment, cores, alone=True, folder=ROOT, talks=True)
    launch = replace(launch, grace_s=0.0)
    assert isinstance(testbed.runtime, ProcessRuntime)  # as a testbed of programs has
    (right,) = filled((variant.output,), parameters)
    cold = corpus.is_cold(parameters) if corpus else False
    return _Program(testbed.runtime, launch, cell.load.timeout_s, right, plan.scenario.name, files, cold)


def _load(
    testbed: Testbed,
    cell: Cell,
    program: _Program,
    writer: pa.ipc.RecordBatchStreamWriter,
    observed: Observed,
    update: Update,
) -> None:
    """Execute a program as often, or as long, as the load says, and read what it used and what the machine did."""
    result, telemetry, load, owned = observed.result, observed.telemetry, cell.load, testbed.cores.owned
    with (
        sampling(Deployment.of(attached_service("")), {}, owned, into=telemetry),
        watching_cores(testbed.runtime, owned, testbed.run.logs, telemetry),
    ):
        start_s, cpu_s = time.monotonic(), 0.0
        result.unix_start = time.time()

        def used(at_s: float) -> None:
            telemetry.rows.append((result.unix_start + at_s - start_s, SERVICE, "cpu_s", cpu_s))

        used(start_s)
        ends_s = start_s + (load.duration_s if isinstance(load, Closed) else math.inf)
        while result.finished < (load.planned_sessions or math.inf) and time.monotonic() < ends_s:
            result.begun += 1
            done = program.execute()
            result.finished += 1
            result.failed += bool(done.error)
            writer.write_batch(program.record(done, start_s, 0))
            cpu_s += done.ended.cpu_s
            used(done.ended.ended_s)
            at_s = result.unix_start + done.ended.ended_s - start_s
            telemetry.rows += [(at_s, SERVICE, name, value) for name, value in program.used(done).items()]
            program.check(done, f"execution {result.finished:,}")
            update(result.finished, f"{result.finished:,} done, the last one in {done.elapsed_s:.3f} s")
        used(time.monotonic())
    result.whole = True
