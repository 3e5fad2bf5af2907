"""The scenario ``fanout``: each request makes x independent finds over a database link of fixed latency."""

from __future__ import annotations

from dataclasses import replace

from lab.experiments.variants import MVC, MVC_VIRTUAL, WEBFLUX
from lab.spec.scenario import Exchange, Parameter, Rehearsal, Request, Scenario
from lab.spec.system import Component, Link, Stage, Variant
from lab.spec.workload import Burst


def _calling(variant: Variant, parallel: bool) -> Variant:
    """A variant whose requests make all their calls at once, or one after another."""
    factors = {**variant.factors, "calls": "at once" if parallel else "one after another"}
    demands = {"/fanout": (Stage("mongo", calls="calls", parallel=parallel),)}
    return replace(variant, factors=factors, demands=demands)


MVC_VIRTUAL_PARALLEL = replace(
    MVC_VIRTUAL,
    name="mvc-virtual-parallel",
    title="Spring MVC on Tomcat, virtual threads, a request's calls at once",
    properties={**MVC_VIRTUAL.properties, "lab.fanout-parallel": "true"},
)

SCENARIO = Scenario(
    name="fanout",
    question="When each request makes several independent calls, what is won by making them at once?",
    requests=(Request("/fanout", "/fanout/{calls}"),),
    contract=(
        Exchange("one call", "/fanout/1", 200),
        Exchange("five calls", "/fanout/5", 200),
        Exchange("no call", "/fanout/0", 400),
        Exchange("more than allowed", "/fanout/101", 400),
        Exchange("not a number", "/fanout/abc", 400),
        Exchange("no such path", "/nowhere", 404),
    ),
    parameters=(Parameter("calls", 5, 1, 100, "", "independent finds of each request (x)"),),
    variants=(
        _calling(MVC, parallel=False),
        _calling(MVC_VIRTUAL, parallel=False),
        _calling(MVC_VIRTUAL_PARALLEL, parallel=True),
        _calling(WEBFLUX, parallel=True),
    ),
    load=Burst(users=100, ramp_s=0.0),
    rehearsal=Rehearsal(requests=800, rounds=60, most_users=8),
    sweep={"users": (1, 10, 20, 50, 100, 200)},
    components=(Component("mongo", database="mongo", own_pool=100),),
    link=Link(latency_ms=100),
)
