"""The scenario ``document``: one document of a megabyte from MongoDB, by its id; connections or the link decide."""

from __future__ import annotations

from lab.experiments.variants import MVC, MVC_VIRTUAL, WEBFLUX
from lab.spec.scenario import Exchange, Scenario
from lab.spec.workload import Load

SCENARIO = Scenario(
    name="document",
    question="When every request fetches 1 MB from MongoDB, what decides: threads, connections, the link or the CPU?",
    path="/documents/1000",
    contract=(
        Exchange("the document", "/documents/1000", 200),
        Exchange("no such document", "/documents/999", 404),
        Exchange("not JSON", "/documents", 400, "POST", {"Content-Type": "application/json"}, "{"),
        Exchange("no such path", "/nowhere", 404),
    ),
    parameters=(),
    variants=(MVC, MVC_VIRTUAL, WEBFLUX),
    load=Load(users=50),
    service_time="",
    rehearsal={},
    rehearsal_requests=200,
    rehearsal_rounds=12,
    cpu_decides=False,
    sweep_users=(1, 10, 50, 100, 200, 400),
    databases=("mongo",),
    answer_bytes=1_019_684,
    kind="large",
    own_pool=100,
)
