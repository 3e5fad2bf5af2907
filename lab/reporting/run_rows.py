"""The rows of a stored run: one dictionary a cell, as ``lab show --json`` prints them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.analysis import verdict
from lab.analysis.summaries import ADDED_LATER, ALL_REQUESTS, summary_of
from lab.spec.nodes import is_node
from lab.spec.system import SERVICE
from lab.spec.workload import Burst, Load, Open, OpenLoop, Ramp, WaitingUsers
from lab.storage.cell_folder import CellFolder
from lab.storage.json_file import damaged

# Fields that later versions of the lab added; absent from older runs.
LATER = (
    *("min_s", "p95_s", "cpu_s", "cpu_s_per_1000_requests", "cpu_s_per_1000_right"),
    *("memory_bytes", "jvm_bytes", "jvm_bytes_per_1000_right", "heap_bytes", "heap_bytes_per_1000_right"),
    *("gc_pause_s", "gc_pause_s_per_1000_right", "jit_share", "generator_cpu_s_per_1000_requests"),
    *("pool_in_use", "pool_wait", "pool_acquire_s"),
)
LATENCIES = ("mean_s", "p50_s", "p90_s", "p99_s", "p999_s", "max_s")
FIGURES = (*LATENCIES, *ALL_REQUESTS, "throughput_rps", "ok_throughput_rps", "predicted_mean_s")
# How much the generator had to do, and how late it was: see :class:`lab.analysis.evidence.GeneratorState` and
# :class:`lab.formulas.stats.Summary`.
OF_GENERATOR, LATENESS = ("worker_cpu", "ceiling_rps", "peak_rps"), ("late_mean_s", "late_p99_s")
OPEN_FIGURES = ("service_mean_s", "service_p50_s", "service_p99_s", "service_p999_s")
# Figures of a cell's parts, which it has where there are several names, or several requests a session; the calls that
# were counted behind the service; the pools of connections to what is behind it; and the course of a ramp.
PARTS = ("by_name", "sessions", "calls", "pools", "ramp")
# What an execution of a program used: see :func:`lab.analysis.program_use.program_use`; and how fast it read.
OF_PROGRAMS = ("execution_cpu_s", "start_s", "peak_bytes", "most_threads", "read_bytes")
SESSION_COUNTS = ("begun", "complete", "failed", "stopped", "cut", "never_sent", "requests")
# Counts that came later: in older runs no session was stopped early.
NOT_STOPPED = {"begun": None, "stopped": 0, "never_sent": 0}


def flat_sessions(sessions: Mapping[str, Any]) -> dict[str, Any]:
    """A summary of sessions in one row: the statistics of each time with the name of that time before theirs."""
    times = {name: value for name, value in sessions.items() if isinstance(value, Mapping) and name != "stopped_at"}
    flat = {f"{name}_{key}": value for name, of in times.items() for key, value in with_p999(of).items()}
    return {name: {**NOT_STOPPED, **sessions}[name] for name in SESSION_COUNTS} | flat


def with_p999(of: Mapping[str, Any]) -> dict[str, Any]:
    """The statistics of a cell's part with p99.9 among them, which older runs lack."""
    return {**of, "p999_s": of.get("p999_s")}


def row_of(folder: CellFolder, at: float) -> dict[str, Any]:
    """The row of one cell; ``at`` is the value of what the run varies.

    LabError if its folder is damaged.
    """
    folder.check()
    cell = folder.cell
    row: dict[str, Any] = {
        "variant": cell.variant,
        "users": cell.load.users,
        "at": at,
        **_shape(cell.load),
        "repeat": cell.repeat,
        "requests": 0,
        "errors": {},
    }
    keys: tuple[str, ...] = FIGURES
    if isinstance(cell.load, OpenLoop):
        row, keys = {**row, **_rates(cell.load), "arrivals": cell.load.arrivals}, FIGURES + OPEN_FIGURES
    evidence = folder.read("evidence")
    row |= _counted_beside(evidence) | {key: evidence.get(key) for key in OF_GENERATOR}
    if not folder.complete:
        kept = sum(len(piece) for piece in folder.measured_pieces(["error"]))
        there = f" {kept:,} samples of it are kept." * bool(kept)
        nothing = {"requests": kept, **dict.fromkeys((*keys, *LATER, *LATENESS))}
        return {**row, **nothing, "verdict": verdict.INCOMPLETE, "reasons": [f"It was not measured to its end.{there}"]}
    folder.check_summary((*(key for key in keys if key not in ADDED_LATER), "reasons", "elapsed_s", "began_s"))
    summary = summary_of(folder)
    counted = {**NOT_STOPPED, **summary.get("sessions", {})}
    if "sessions" in summary and (lacking := [name for name in SESSION_COUNTS if name not in counted]):
        raise damaged(folder.path / "summary.json", f"its sessions have no {', '.join(lacking)}")
    later = {key: summary.get(key) for key in (*LATER, *LATENESS)} | {
        key: summary[key] for key in (*PARTS, *OF_PROGRAMS) if key in summary
    }
    if later.get("read_bytes") and summary["mean_s"]:
        later["read_bytes_per_s"] = later["read_bytes"] / summary["mean_s"]
    return {**row, **later, **{key: summary[key] for key in ("requests", "errors", *keys, "verdict", "reasons")}}


def _counted_beside(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """What the evidence has of calls to what is behind the service, and of the scrapes of Prometheus."""
    counted: dict[str, Any] = {"calls": calls} if (calls := evidence.get("calls")) else {}
    if (scrapes := evidence.get("scrapes")) and not evidence.get("prometheus_lost"):
        missed = {name: part["missed"] + part["skipped"] for name, part in scrapes.items()}
        counted["scrapes_missed"] = sum(missed.values())
        counted["service_scrapes_missed"] = sum(of for name, of in missed.items() if name == SERVICE or is_node(name))
    return counted


def _shape(load: Load) -> dict[str, float]:
    """Ramp and loops, which every row has: programs find them in loads that have neither, as 0 and 1.

    The pace too, where it is not 1.
    """
    ramp_s = load.ramp_s if isinstance(load, WaitingUsers) else 0.0
    paced = {} if load.pace == 1 else {"pace": load.pace}
    return {"ramp_s": ramp_s, "loops": load.loops if isinstance(load, Burst) else 1, **paced}


def _rates(load: Open | Ramp) -> dict[str, float]:
    """The planned rates of an open loop."""
    if isinstance(load, Open):
        return {"rate_rps": load.rate_rps}
    return {"from_rps": load.from_rps, "to_rps": load.to_rps}
