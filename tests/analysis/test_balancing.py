"""What is said of nodes and of monitoring follows from what was counted and read, and nothing is said without them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_runs import fill

from lab.analysis import balancing, monitoring, ramps
from lab.spec import sample
from lab.spec.plan import Plan
from lab.storage.cell_folder import CellFolder
from lab.telemetry.actuator import GC_PAUSES
from lab.telemetry.sampler import PASSED_ON

BY_NODE = {"node 1": 120, "node 2": 80}
COUNTED = {"passed_on": BY_NODE, "nodes": BY_NODE, "received": 200, "refused": 0, "component_errors": []}
UP = [(t, "node 2", "up", float(up)) for t, up in enumerate((1, 1, 0, 0, 1))]


@pytest.fixture
def cell(tmp_path: Path, plan: Plan) -> CellFolder:
    """A cell with 200 right answers within a second."""
    folder = CellFolder(tmp_path / "cell", plan.cells[0])
    folder.path.mkdir()
    fill(folder, 0.01, np.random.default_rng(1))
    return folder


def test_requests_by_node_are_told_and_that_no_queue_can_form(cell):
    """Where the balancer limits no node's connections; of a service with one node nothing is said."""
    assert list(balancing.sentences(cell)) == []
    cell.keep("evidence", COUNTED)
    told = "The balancer received 200 requests, and passed on the answers of node 1 (120) and node 2 (80)"
    assert list(balancing.sentences(cell)) == [f"{told}."]
    cell.keep("limits", {"balancer_node_connections": "unlimited"})
    _, said = balancing.sentences(cell)
    assert "no queue can form in it" in said
    assert ramps.outcomes(cell).empty


def test_what_a_client_sent_twice_is_told(cell):
    """The balancer sends nothing twice, but a client whose idle connection has ended does, as all clients do."""
    cell.keep("evidence", {**COUNTED, "sent_again": 3})
    assert "3 requests were sent once more by their client" in " ".join(balancing.sentences(cell))


def test_a_node_that_is_out_and_back_is_told_with_the_times(cell):
    """As the balancer was read once a second."""
    cell.keep("evidence", COUNTED)
    cell.keep_metrics(UP)
    out = "The balancer was seen to have taken node 2 out after 2 s"
    assert f"{out}, and back in after 4 s." in balancing.sentences(cell)
    cell.keep_metrics(UP[:-1])
    assert f"{out}." in balancing.sentences(cell)


def test_a_node_that_was_silent_is_named_with_the_times(cell):
    """One that was frozen, say; a single reading that came too late is nothing to tell."""
    cell.keep("evidence", COUNTED)
    cell.keep_metrics([(3.1, "node 1", "silent", 1.0), (3.1, "node 2", "silent", 1.0), (9.2, "node 2", "silent", 1.0)])
    *_, last = balancing.sentences(cell)
    assert last == "node 2 left 2 readings without an answer, the first after 3 s of the load and the last after 9 s."


def test_requests_that_came_to_no_node_are_told_by_when_they_were_sent(tmp_path, plan):
    """And by time window, in which every one of them has its place."""
    cell = CellFolder(tmp_path / "cell", plan.cells[0])
    cell.path.mkdir()
    fill(cell, 0.01, np.random.default_rng(1), error=sample.RESET)
    cell.keep("evidence", {**COUNTED, "refused": 5})
    *_, last = balancing.sentences(cell)
    assert last.startswith(
        "200 requests were answered by no node, those sent from 0.0 s to 1.0 s of the load, which are 1.0 s (5 were "
    )
    windows = ramps.outcomes(cell)
    assert windows["failed"].sum() == windows["offered"].sum() == 200


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [(sample.STALE, 200, 0), (sample.STATUS, 500, 0), (sample.STATUS, 503, 1), (sample.RESET, 0, 1)],
)
def test_answers_that_were_wrong_are_not_those_of_a_lost_node(tmp_path, plan, error, status, told):
    """A node has given them: stale ones, which may come as long as the load lasts, or a status that is its own."""
    cell = CellFolder(tmp_path / "cell", plan.cells[0])
    cell.path.mkdir()
    fill(cell, 0.01, np.random.default_rng(1), error=error, status=status)
    cell.keep("evidence", {**COUNTED, "refused": 5})
    assert len([said for said in balancing.sentences(cell) if "200 requests were answered by no node" in said]) == told


def test_when_a_node_answered_last_is_told_with_what_the_other_answered_since(cell):
    """By what the balancer passed on; where both answer to the end, or one only a reading longer, nothing is."""

    def passed_on(one: tuple[int, ...], two: tuple[int, ...]) -> list[str]:
        totals = {"node 1": one, "node 2": two}
        cell.keep_metrics([(t, of, PASSED_ON, float(n)) for of, all_ in totals.items() for t, n in enumerate(all_)])
        return [said for said in balancing.sentences(cell) if "answered nothing" in said]

    cell.keep("evidence", {**COUNTED, "nodes": {"node 1": 120}})
    since = "answered nothing after {} s of the load, as the balancer was read once a second;"
    (said,) = passed_on((5, 10, 15, 25, 35), (5, 10, 12, 12, 12))
    assert said == f"node 2 {since.format(2)} node 1 answered 20 requests since then."
    (said,) = passed_on((5, 10, 15, 25, 35), (5, 5, 5, 5, 5))
    assert said == f"node 2 {since.format(0)} node 1 answered 30 requests since then."
    assert passed_on((5, 10, 15, 25), (5, 10, 12, 12)) == []
    assert passed_on((5, 10, 15, 25), (5, 10, 10, 14)) == []
    cell.keep("evidence", COUNTED)
    assert passed_on((5, 10, 15, 25, 35), (5, 10, 12, 12, 12)) == []


def test_only_what_happens_to_a_node_is_a_lost_node(cell):
    """That a database has ended is no node's doing; nor are readings that came too late, as long as others follow."""
    assert not balancing.lost_a_node(cell)

    def read(silent: str) -> list[tuple[float, str, str, float]]:
        """Readings of a node once a second, of which an x had no answer."""
        names = ("silent" if each == "x" else GC_PAUSES for each in silent)
        return [(float(t), "node 1", name, 1.0) for t, name in enumerate(names)]

    for errors, nodes, readings, lost in (
        ([], BY_NODE, [], False),
        (["The MySQL of this run was killed by SIGKILL."], BY_NODE, read(".x.."), False),
        (["The service node 2 was killed by SIGKILL during the measurement."], {"node 1": 120}, [], True),
        ([], BY_NODE, read(".x.x.."), False),
        ([], BY_NODE, read("..xx.."), False),
        ([], BY_NODE, read("...x.x"), False),
        ([], BY_NODE, read("....xx"), True),
        ([], BY_NODE, read("xx"), True),
    ):
        cell.keep("evidence", {**COUNTED, "nodes": nodes, "component_errors": errors})
        cell.keep_metrics([*UP, *readings])
        assert balancing.lost_a_node(cell) == lost
    cell.keep("evidence", {**COUNTED, "refused": 1})
    cell.keep_metrics(UP)
    assert balancing.lost_a_node(cell)


def test_missed_scrapes_are_told_beside_our_own_readings(cell):
    """Those that were not made are among the missed ones; without Prometheus nothing is said."""
    assert list(monitoring.sentences(cell)) == []
    of_node = {"due": 10, "missed": 2, "skipped": 1, "late": 3, "longest_s": 1.0004, "samples": 90.0}
    cell.keep("evidence", {"scrapes": {"node 1": of_node}, "gaps": 1})
    (said,) = monitoring.sentences(cell)
    assert "node 1 3 of 10 (1 of these were not made, 3 others late, the longest took 1.000 s)" in said
    own = "1 of the lab's own readings, each of the whole service within 2 s."
    assert said.endswith(f"Beside them {own}")
    cell.keep("evidence", {"scrapes": {"node 1": of_node}, "gaps": 1, "prometheus_lost": "was killed by SIGKILL"})
    lost = "Prometheus was killed by SIGKILL: what it had scraped is not known, and counts as missed."
    assert list(monitoring.sentences(cell)) == [f"{lost} Beside it were missed {own}"]
