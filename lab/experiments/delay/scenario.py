"""The scenario ``delay``: an endpoint that only waits, so that nothing but threads can run out."""

from __future__ import annotations

from lab.experiments.variants import MVC, MVC_VIRTUAL, WEBFLUX
from lab.spec.scenario import Exchange, Parameter, Scenario
from lab.spec.workload import Load

SCENARIO = Scenario(
    name="delay",
    question="When every request waits, how many users can platform threads, virtual threads and WebFlux serve?",
    path="/delay/{delay_ms}",
    contract=(
        Exchange("no delay", "/delay/0", 200),
        Exchange("a short delay", "/delay/5", 200),
        Exchange("longer than allowed", "/delay/60001", 400),
        Exchange("negative", "/delay/-1", 400),
        Exchange("not a number", "/delay/abc", 400),
        Exchange("no such path", "/nowhere", 404),
    ),
    parameters=(Parameter("delay_ms", 2000, 0, 60_000, "ms", "how long the endpoint waits (t)"),),
    variants=(MVC, MVC_VIRTUAL, WEBFLUX),
    load=Load(users=4000),
    service_time="delay_ms",
    rehearsal={"delay_ms": 0},
    rehearsal_requests=4000,
    rehearsal_rounds=12,
    cpu_decides=False,
    sweep_users=(1, 10, 100, 500, 1000, 2000, 4000),
)
