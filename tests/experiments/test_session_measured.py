"""The session of ``operations`` on a service that the lab starts: client, service and database count the same."""

from __future__ import annotations

import pytest

import lab

USERS = 8


@pytest.mark.thorough
@pytest.mark.java
@pytest.mark.parametrize("variant", ["mvc", "webflux-mongo", "boot-1.5", "rest-parallel"])
def test_client_service_and_database_count_the_same_26_requests(variant, tmp_path, brief):
    """Of each session, by name and by command; every one goes through to its end, and nothing of it is left."""
    how = {"pace": 0.02, "bcrypt": "4", "heap_mb": 256, "timeout": 120, "seed": 1}
    run = lab.run("operations", users=USERS, variants=[variant], data=tmp_path, quiet=True, **how)
    (row,), (cell,) = run.cells, run.folder.cells()
    evidence, sessions = cell.read("evidence"), row["sessions"]
    assert (row["errors"], evidence["component_errors"]) == ({}, [])
    assert (sessions["begun"], sessions["complete"], sessions["requests"]) == (USERS, USERS, 26)
    times = {request.name: request.times for request in run.scenario.requests}
    assert {of["name"]: of["requests"] for of in row["by_name"]} == {n: USERS * count for n, count in times.items()}
    assert (evidence["begun"], evidence["finished"], evidence["served"]) == (USERS * 26,) * 3
    account, one = "GET /api/account with status ", " /api/operations/{id} with status "
    assert {kind: count / USERS for kind, count in evidence["answers"].items()} == {
        **{f"{account}401": 1, "POST /api/authenticate with status 200": 1, f"{account}200": 2},
        **{"GET /api/operations with status 200": 2, "POST /api/operations with status 201": 2},
        **{f"GET{one}200": 16, f"DELETE{one}204": 2},
    }
    assert evidence["answers_expected"] == {kind: [count] * 2 for kind, count in evidence["answers"].items()}
    assert evidence["calls_expected"]
    for counted, (least, most) in evidence["calls_expected"].items():
        assert least <= evidence["calls"][counted] <= most + 10 * (" " not in counted)
    assert not [reason for reason in row["reasons"] if "counted" in reason]
