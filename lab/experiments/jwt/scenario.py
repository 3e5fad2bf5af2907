"""The scenario ``jwt``: a bearer token verified, one row of MySQL selected; the CPU decides."""

from __future__ import annotations

from lab.experiments.variants import MVC, MVC_VIRTUAL, WEBFLUX
from lab.spec.scenario import Exchange, Scenario
from lab.spec.workload import Load

SCENARIO = Scenario(
    name="jwt",
    question="When every request verifies a token and selects one row, how many a second can each variant answer?",
    path="/users/me",
    contract=(Exchange("no such path", "/nowhere", 404),),
    parameters=(),
    variants=(MVC, MVC_VIRTUAL, WEBFLUX),
    load=Load(users=50, ramp_s=0.0, duration_s=20.0),
    service_time="",
    rehearsal={},
    rehearsal_requests=8000,
    rehearsal_rounds=30,
    cpu_decides=True,
    sweep_users=(50, 100, 300),
    databases=("mysql",),
    own_pool=10,
    bearer=True,
    kind="token",
)
