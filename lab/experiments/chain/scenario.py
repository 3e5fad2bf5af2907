"""The scenario ``chain``: service A calls service B, and B answers after a delay."""

from __future__ import annotations

from dataclasses import replace

from lab.experiments.variants import MVC, MVC_VIRTUAL, WEBFLUX
from lab.spec.limits import Limits
from lab.spec.scenario import NEVER, Exchange, Parameter, Rehearsal, Request, Scenario
from lab.spec.system import Component, Stage, Variant
from lab.spec.workload import Burst

CALLS_B = {
    "/chain": (
        Stage(
            "backend",
            time_parameter="delay_ms",
            servers_parameter="b_threads",
            steady_at_default=("b_fails", "b_slow", "b_dead"),
            guarded=True,
        ),
    )
}
# B is told these before each load: by its own names, the parameters.
BEHAVIOUR = {
    "threads": "b_threads",
    "fails": "b_fails",
    "slow": "b_slow",
    "slowerMs": "b_slower_ms",
    "dead": "b_dead",
}
# A, the loaded service, is told these.
BREAKER = {
    "mode": "breaker",
    "window": "breaker_window",
    "percent": "breaker_percent",
    "slowMs": "breaker_slow_ms",
    "openMs": "breaker_open_ms",
}
WITH_A_BREAKER = {"breaker": ("refuse", "fallback")}
# Connections that the clients open to one server by themselves: Apache HttpClient 5, Reactor Netty 1.3.
APACHE_CONNECTIONS, NETTY_CONNECTIONS = 5, 500


def _calling(variant: Variant, module: str, client: str, connections: int) -> Variant:
    """A variant whose service calls B with that client."""
    title, own = f"{variant.title}, {client}", replace(variant.own, pool=connections)
    factors = {**variant.factors, "client": client}
    return replace(variant, module=module, title=title, own=own, demands=CALLS_B, factors=factors, settings=BREAKER)


def _by_rest_template(stack: Variant) -> Variant:
    """The same with the client of the document."""
    calling = _calling(stack, "mvc-chain", "RestTemplate", APACHE_CONNECTIONS)
    properties = {**stack.properties, "lab.client": "rest-template"}
    return replace(calling, name=f"{stack.name}-resttemplate", properties=properties)


SCENARIO = Scenario(
    name="chain",
    question="When every request waits for another service, how many users can each variant serve?",
    requests=(Request("/chain", "/chain/{delay_ms}"),),
    contract=(
        Exchange("no delay", "/chain/0", 200),
        Exchange("a short delay", "/chain/5", 200),
        Exchange("longer than allowed", "/chain/60001", 400),
        Exchange("not a number", "/chain/abc", 400),
        Exchange("no such path", "/nowhere", 404),
    ),
    parameters=(
        Parameter("delay_ms", 200, 0, 60_000, "ms", "how long the called service waits (t)"),
        Parameter("b_threads", 0, 0, 100_000, "", "calls that the called service works on at once; 0 for any number"),
        Parameter("b_fails", NEVER, span=True, help="when the called service fails, from its first call on"),
        Parameter("b_slow", NEVER, span=True, help="when the called service is slower, from its first call on"),
        Parameter("b_slower_ms", 2000, 1, 60_000, "ms", "how much slower it is then", needs={"b_slow": ()}),
        Parameter(
            "b_dead",
            NEVER,
            span=True,
            help="when the called service resets all connections, as if it were killed, from its first call on",
        ),
        Parameter(
            "breaker",
            "off",
            help="circuit breaker before the call, and what is answered where it is open",
            choices=("off", "refuse", "fallback"),
        ),
        Parameter(
            "breaker_window",
            100,
            2,
            10_000,
            "",
            "last calls that the breaker looks at, and needs",
            needs=WITH_A_BREAKER,
        ),
        Parameter(
            "breaker_percent",
            50,
            1,
            100,
            "",
            "percentage of them that must fail, or be slow, to open it",
            needs=WITH_A_BREAKER,
        ),
        Parameter(
            "breaker_slow_ms", 60_000, 1, 120_000, "ms", "how long a slow call takes at least", needs=WITH_A_BREAKER
        ),
        Parameter(
            "breaker_open_ms",
            5000,
            100,
            600_000,
            "ms",
            "how long the breaker stays open before it tries again",
            needs=WITH_A_BREAKER,
        ),
    ),
    variants=(
        _calling(MVC, "mvc-chain", "RestClient", APACHE_CONNECTIONS),
        _calling(MVC_VIRTUAL, "mvc-chain", "RestClient", APACHE_CONNECTIONS),
        _calling(WEBFLUX, "webflux-chain", "WebClient", NETTY_CONNECTIONS),
        _by_rest_template(MVC),
        _by_rest_template(MVC_VIRTUAL),
    ),
    default_variants=tuple(stack.name for stack in (MVC, MVC_VIRTUAL, WEBFLUX)),
    load=Burst(users=1000),
    rehearsal=Rehearsal(requests=4000, rounds=40, parameters={"delay_ms": 0}),
    sweep={"users": (1, 10, 50, 100, 200, 500, 1000)},
    # On Netty, which limits neither connections nor what is under way by itself; the same for every variant.
    components=(Component("backend", module="backend", settings=BEHAVIOUR),),
    # The pool of connections to B is the same for all, and larger than what is under way: T is what is compared.
    limits=Limits(pool=4000),
)
