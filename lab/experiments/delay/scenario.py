"""The scenario ``delay``: an endpoint that only waits, so that nothing but threads can run out."""

from __future__ import annotations

from dataclasses import replace

from lab.experiments.variants import MVC, MVC_VIRTUAL, WEBFLUX
from lab.spec.scenario import Exchange, Parameter, Rehearsal, Request, Scenario
from lab.spec.system import SERVICE, Stage
from lab.spec.workload import Burst

WAITS = {"/delay": (Stage(SERVICE, time_parameter="delay_ms"),)}

SCENARIO = Scenario(
    name="delay",
    question="When every request waits, how many users can platform threads, virtual threads and WebFlux serve?",
    requests=(Request("/delay", "/delay/{delay_ms}"),),
    contract=(
        Exchange("a framework's own path", "/error", 404),
        Exchange("no delay", "/delay/0", 200),
        Exchange("a short delay", "/delay/5", 200),
        Exchange("longer than allowed", "/delay/60001", 400),
        Exchange("negative", "/delay/-1", 400),
        Exchange("not a number", "/delay/abc", 400),
        Exchange("no such path", "/nowhere", 404),
    ),
    parameters=(Parameter("delay_ms", 2000, 0, 60_000, "ms", "how long the endpoint waits (t)"),),
    variants=tuple(replace(variant, demands=WAITS) for variant in (MVC, MVC_VIRTUAL, WEBFLUX)),
    load=Burst(users=4000),
    rehearsal=Rehearsal(requests=4000, rounds=60, parameters={"delay_ms": 0}),
    sweep={"users": (1, 10, 100, 500, 1000, 2000, 4000)},
)
