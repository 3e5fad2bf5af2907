"""The scenario ``operations``: a user who logs in, looks around, and twice creates, reads and deletes an operation."""

from __future__ import annotations

from dataclasses import replace

from lab.experiments.operations.contract import CONTRACT
from lab.experiments.operations.variants import COMPONENTS, MONGO, VARIANTS
from lab.spec.scenario import Parameter, Rehearsal, Request, Scenario
from lab.spec.system import Variant
from lab.spec.workload import Burst

# Who logs in, by the strength of the hash of the password: each step doubles the work of a login.
USERS = {"4": "admin4", "10": "admin"}
# Pauses of a session, in seconds: after the refusal and the login, after both looks at the account, and in two rounds
# of operations, where the one after the list of all is drawn.
THINK_S = 5 + 1 + 2 * 5 + 2 * ((5 + 10) / 2 + 5 + 8 * 3 + 5)

# By the name of a variant, without its database: the published row that it reproduces.
PUBLISHED_AS = {
    "boot-1.5": "Spring 4",
    "boot-2.0": "Spring 5",
    "controller-elastic": "one controller on elastic",
    "controller-parallel": "one controller on parallel",
    "repository-elastic": "repository on elastic",
    "repository-parallel": "repository on parallel",
    "rest-elastic": "REST layer on elastic",
    "rest-parallel": "REST layer on parallel",
}


def _as_published(variant: Variant) -> Variant:
    """A variant with the name of its published row, of its database; without one if nothing like it was published."""
    row = PUBLISHED_AS.get(variant.name.removesuffix(f"-{MONGO}"))
    return replace(variant, published_as=f"{row}, {variant.factors['database']}" if row else "")


SCENARIO = Scenario(
    name="operations",
    question="How long does a user wait in a session, by generation of Spring, release of Java, style and database?",
    requests=(
        Request("unauthenticated account", "/api/account", times=1),
        Request("authenticate", "/api/authenticate", "POST", times=1),
        Request("account", "/api/account", times=2),
        Request("all operations", "/api/operations", times=2),
        Request("create operation", "/api/operations", "POST", times=2),
        Request("get operation", "/api/operations/KEY", times=16),
        Request("delete operation", "/api/operations/KEY", "DELETE", times=2),
    ),
    contract=CONTRACT,
    parameters=(Parameter("bcrypt", "10", choices=tuple(USERS), help="strength of the hash of the user's password"),),
    variants=tuple(map(_as_published, VARIANTS)),
    load=Burst(users=200, ramp_s=60.0, timeout_s=60.0),
    # Users who do not pause log in all the time: a few, with weak hashes, else they would wait for nothing but that.
    # Code that runs twice a session is compiled only after thousands of sessions.
    rehearsal=Rehearsal(requests=128, rounds=30, most_users=8, parameters={"bcrypt": "4"}),
    sweep={"users": (50, 100, 200, 400)},
    components=COMPONENTS,
    signs_tokens=True,
    default_variants=("mvc", "mvc-virtual", "webflux"),
    think_s=THINK_S,
)
