"""The evidence on one cell, as values: counts, generator, interference, steadiness, service, ending."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class Counts:
    """How many requests there were, by everybody's own count.

    Attributes:
        planned: requests the load should have sent; None where a duration decides.
        begun: requests the workers say they sent.
        finished: requests the workers say were answered or failed.
        whole: whether every worker reported the end of its part.
        served: requests the service counted meanwhile; None if it did not say.
        queries: what the databases answered meanwhile; None if there is none, or it does not count.

    """

    planned: int | None = None
    begun: int = 0
    finished: int = 0
    whole: bool = False
    served: int | None = None
    queries: int | None = None


@dataclass(frozen=True)
class GeneratorState:
    """How well the generator kept up.

    Attributes:
        counted_in_system: N, mean requests under way as the workers counted them; None if they did not.
        awaiting_dispatch: of these, how many had their answer already, which a worker had not come round to.
        counting_error: by how much ``counted_in_system`` may err.
        stood_still_s: the longest time in which a worker did nothing, not even count.
        worker_cpu: the busiest worker's mean use of its core during the load, 1.0 being all of it.
        ceiling_rps: the most such requests a second that the generator can send; None if that is not known.
        clock_step_s: by how much a worker's clock was set during the load.

    """

    counted_in_system: float | None = None
    awaiting_dispatch: float = 0.0
    counting_error: float = 0.0
    stood_still_s: float = 0.0
    worker_cpu: float | None = None
    ceiling_rps: float | None = None
    clock_step_s: float = 0.0


@dataclass(frozen=True)
class Interference:
    """What else ran on this machine.

    Attributes:
        foreign_cpu: the part of the machine that other programs took meanwhile; None if unknown.
        foreign_cores: the part of whose cores other programs took, such as ``{"generator": 0.5}``; empty if nobody had
            cores of their own.
        others: other runs of this lab that were measuring at the same time.

    """

    foreign_cpu: float | None = None
    foreign_cores: Mapping[str, float] = field(default_factory=dict)
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Steadiness:
    """Whether a load that is meant to be the same from begin to end was.

    Attributes:
        latency_fall: by which part latency fell from the first to the last second.
        cpu_fall: the same for the service's CPU time a request, where the CPU decides.
        drift: by which part throughput in the second half of a closed loop differs from the first; None if unknown.
        slowed: by which part whose cores themselves were slower in the second half, where the CPU decides; the other
            three have that taken out.

    """

    latency_fall: float = 0.0
    cpu_fall: float = 0.0
    drift: float | None = None
    slowed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ServiceState:
    """What the service was like.

    Attributes:
        warm_up: one row a round: see :meth:`lab.telemetry.actuator.Effort.since`, and ``users``.
        warm: whether what a request costs had settled.
        gc_share: the part of the load's time that the service's garbage collector stopped it; None if unknown.
        limits_broken: limits that the running service states otherwise than was asked.

    """

    warm_up: tuple[Mapping[str, float], ...] = ()
    warm: bool = False
    gc_share: float | None = None
    limits_broken: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ending:
    """Why a cell ended before its time, if it did.

    Attributes:
        component_errors: what died or failed.
        interrupted: whether the person at the keyboard ended it.

    """

    component_errors: tuple[str, ...] = ()
    interrupted: bool = False


@dataclass(frozen=True)
class Evidence:
    """All of it. As JSON the names of the parts are left out: no two have a field of the same name."""

    counts: Counts = Counts()
    generator: GeneratorState = GeneratorState()
    interference: Interference = Interference()
    steadiness: Steadiness = Steadiness()
    service: ServiceState = ServiceState()
    ending: Ending = Ending()

    def as_json(self) -> dict[str, Any]:
        """A flat dictionary of JSON types."""
        return {name: value for part in asdict(self).values() for name, value in part.items()}

    @staticmethod
    def of(**values: Any) -> Evidence:
        """The evidence with these fields, named as :meth:`as_json` names them; the others are at their defaults."""

        def part(kind: Any) -> Any:
            return kind(**{f.name: values.pop(f.name) for f in fields(kind) if f.name in values})

        found = Evidence(
            part(Counts), part(GeneratorState), part(Interference), part(Steadiness), part(ServiceState), part(Ending)
        )
        if values:
            raise TypeError(f"no part of the evidence has {', '.join(values)}")
        return found
