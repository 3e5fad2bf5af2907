"""What the executions of a program used: memory, threads, bytes, and the time of its start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median

from lab.telemetry.sampler import Reading
from lab.telemetry.series import counter

# By reading, what stands for all executions: the most that was ever seen, or what was typical.
OF_EXECUTIONS: dict[str, Callable[[Iterable[float]], float]] = {
    "peak_bytes": max,
    "most_threads": max,
    "read_bytes": median,
    "execution_cpu_s": median,
    "start_s": median,
}


def program_use(rows: Iterable[Reading]) -> dict[str, float]:
    """What the executions of a program used; nothing for anything else.

    Args:
        rows: those of :func:`lab.analysis.observations.metrics`.

    Returns:
        ``peak_bytes``, the most memory of any execution; ``most_threads``, the most threads; the medians of
        ``read_bytes``, what it asked the kernel for, of ``execution_cpu_s``, and of ``start_s``, the time of an
        execution that had nothing to do. What is not known is left out.

    """
    rows = list(rows)
    if not any(name == "execution_cpu_s" for _, _, name, _ in rows):
        return {}
    found = {name: counter(rows, "service", name)[1] for name in OF_EXECUTIONS}
    return {name: float(OF_EXECUTIONS[name](values)) for name, values in found.items() if len(values)}
