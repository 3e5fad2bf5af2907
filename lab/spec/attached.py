"""A service that is there already: the lab knows its address, and nothing else of it."""

from __future__ import annotations

from collections.abc import Mapping

from lab.spec.scenario import Load, Scenario, Variant

LOAD = Scenario(
    name="load",
    question="How much does it take, and where does its tail begin?",
    path="",
    contract=(),
    parameters=(),
    variants=(),
    load=Load(users=10, duration_s=20.0),
    service_time="",
    rehearsal={},
    rehearsal_requests=0,
    rehearsal_rounds=0,
    cpu_decides=False,
    sweep_users=(),
)


def variants(urls: Mapping[str, str]) -> tuple[Variant, ...]:
    """A variant for each address, by its label."""
    return tuple(Variant(name=label, module="", title=url) for label, url in urls.items())
