"""The scenario ``document``: one document of a megabyte from MongoDB, by its id; a limit, a link or the CPU decides."""

from __future__ import annotations

from dataclasses import replace

from lab.experiments.variants import MVC, MVC_VIRTUAL, WEBFLUX
from lab.spec.scenario import Exchange, Rehearsal, Request, Scenario
from lab.spec.system import Component, Stage
from lab.spec.workload import Burst
from lab.system.databases.rows import DOCUMENT_ID, DOCUMENT_LENGTH, document

TEXT_BYTES = DOCUMENT_LENGTH  # all of it is ASCII
ALREADY_THERE = '{"id":"1000","text":""}'
FETCHES = {"/documents": (Stage("mongo", answer_bytes=TEXT_BYTES),)}


def answer() -> bytes:
    """The body of the right answer to every request: the seeded document, in whose text nothing is escaped."""
    return f'{{"id":"{DOCUMENT_ID}","text":"{document()}"}}'.encode()


SCENARIO = Scenario(
    name="document",
    question="When every request fetches 1 MB from MongoDB, what decides: threads, connections, the link or the CPU?",
    requests=(Request("/documents", "/documents/1000", answer_bytes=TEXT_BYTES),),
    contract=(
        Exchange("the document", "/documents/1000", 200),
        Exchange("no such document", "/documents/999", 404),
        Exchange("not JSON", "/documents", 400, "POST", {"Content-Type": "application/json"}, "{"),
        Exchange("no type of JSON", "/documents", 415, "POST", {"Content-Type": "text/plain"}, ALREADY_THERE),
        Exchange("already there", "/documents", 409, "POST", {"Content-Type": "application/json"}, ALREADY_THERE),
        Exchange("all documents at once", "/documents", 405),
        Exchange("no such path", "/nowhere", 404),
    ),
    parameters=(),
    variants=tuple(replace(variant, demands=FETCHES) for variant in (MVC, MVC_VIRTUAL, WEBFLUX)),
    load=Burst(users=50),
    # By the clock, as how long a document takes depends on where its database is.
    rehearsal=Rehearsal(requests=0, rounds=20, duration_s=3.0),
    cpu_without_link=True,
    sweep={"users": (1, 10, 50, 100, 200, 400)},
    components=(Component("mongo", database="mongo", own_pool=100),),
)
