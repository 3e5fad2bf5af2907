"""The scenario ``chain-mongo``: as ``chain``, with a read of the service's own from MongoDB before each call."""

from __future__ import annotations

from dataclasses import replace

from lab.experiments.chain.scenario import CALLS_B
from lab.experiments.chain.scenario import SCENARIO as CHAIN
from lab.experiments.entity_access import SEEDED, command
from lab.spec.limits import Limits
from lab.spec.scenario import Exchange, Request
from lab.spec.system import Component, Entities, Variant

REQUEST = "/chain/after"
# Small ones: what is compared is waiting.
ENTITIES = Entities(count=1000, doubles=10, integers=1000)


def _reading(variant: Variant) -> Variant:
    """The same variant, which finds an entity by its key before it calls."""
    return replace(variant, demands={REQUEST: (command("find"), *CALLS_B["/chain"])})


SCENARIO = replace(
    CHAIN,
    name="chain-mongo",
    question="As chain, with a read from MongoDB before each call: how many users can each variant serve?",
    requests=(Request(REQUEST, f"/chain/{{delay_ms}}/after/{SEEDED}"),),
    contract=(
        Exchange("a read and a call", f"/chain/5/after/{SEEDED}", 200),
        Exchange("a read of nothing", "/chain/5/after/nobody", 404),
        Exchange("longer than allowed", f"/chain/60001/after/{SEEDED}", 400),
        Exchange("no such path", "/nowhere", 404),
    ),
    variants=tuple(map(_reading, CHAIN.variants)),
    # Of both pools, which are equally large: more than threads ask for, and few enough to be open from the start.
    limits=Limits(pool=500),
    components=(Component("mongo", database="mongo", own_pool=100, entities=ENTITIES), *CHAIN.components),
)
