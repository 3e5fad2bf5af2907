"""How much the just-in-time compilers worked during a load, whose figures have what they spent."""

from __future__ import annotations

from collections.abc import Iterable

from lab.analysis.checks import AT_REST_SHARE
from lab.spec import prediction
from lab.spec.plan import Plan
from lab.spec.system import SERVICE
from lab.storage.cell_folder import CellFolder
from lab.telemetry import series
from lab.telemetry.actuator import COMPILED_MS


def sentence(plan: Plan, repeats: Iterable[CellFolder]) -> str:
    """What was compiled during the same load in each of its repeats; empty where that is little and decides nothing.

    A steady load is judged by its course, which becomes faster while much is compiled. A burst or a ramp has none, so
    that it is told how much it was, and no verdict says how much is too much.
    """
    measured = [folder for folder in repeats if not is_judged_by_course(plan, folder)]
    known = [share for folder in measured if (share := share_of(folder)) is not None]
    if not known or not (plan.cpu_decides or max(known) > AT_REST_SHARE):
        return ""
    shares = [f"{share:.0%}" for share in known]
    starts = f" in its {len(shares)} starts" * (len(shares) > 1)
    each = f"{', '.join(shares[:-1])}{' and ' * (len(shares) > 1)}{shares[-1]}"
    of_nodes = f"just-in-time compilers, two in each of {plan.nodes} nodes,"
    compilers = "two just-in-time compilers" if plan.nodes == 1 else of_nodes
    return f"Its {compilers} were at work for {each} of the load's time{starts}, which is in its figures."


def is_judged_by_course(plan: Plan, folder: CellFolder) -> bool:
    """Whether a load has a steady part, and nothing that it calls is to fail or to be slow."""
    return bool(folder.cell.load.steady_span_s) and prediction.is_steady(plan, folder.cell)


def share_of(folder: CellFolder) -> float | None:
    """For how much of a cell's load compilers were at work, two in each node; None where that was not read.

    It is the time that passed, and not what they used of a core that they shared: that may be much less.
    """
    summary = folder.read("summary")
    begin_s, elapsed_s = summary.get("began_s", 0.0), summary["elapsed_s"]
    compiled_ms = series.cpu_s(folder.metrics(), SERVICE, begin_s, begin_s + elapsed_s, COMPILED_MS)
    return None if compiled_ms is None else compiled_ms / 1000 / elapsed_s
