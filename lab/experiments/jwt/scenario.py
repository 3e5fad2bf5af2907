"""The scenario ``jwt``: a bearer token verified, one row of MySQL selected; the CPU decides."""

from __future__ import annotations

from dataclasses import replace

from lab.experiments.variants import MVC, MVC_VIRTUAL, WEBFLUX
from lab.spec.scenario import Exchange, Rehearsal, Request, Scenario
from lab.spec.system import Component, Stage
from lab.spec.workload import Closed

SELECTS = {"/users/me": (Stage("mysql", cpu=True),)}

SCENARIO = Scenario(
    name="jwt",
    question="When every request verifies a token and selects one row, how many a second can each variant answer?",
    requests=(Request("/users/me", "/users/me", token=True),),
    contract=(Exchange("no such path", "/nowhere", 404),),
    parameters=(),
    variants=tuple(replace(variant, demands=SELECTS) for variant in (MVC, MVC_VIRTUAL, WEBFLUX)),
    load=Closed(users=50, ramp_s=0.0, duration_s=20.0),
    rehearsal=Rehearsal(requests=8000, rounds=30),
    sweep={"users": (50, 100, 300)},
    components=(Component("mysql", database="mysql", own_pool=10),),
)
