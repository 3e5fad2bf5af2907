"""The sentence on a sweep: what it is judged by, and which of its loads are left out."""

from __future__ import annotations

from made_runs import judge

from lab.reporting.run_view import Run


def cells_at(run, variant: str, users: int):
    """The cells of a load of a variant."""
    return [each for each in run.cells() if (each.cell.variant, each.cell.load.users) == (variant, users)]


def test_a_load_at_which_all_requests_fail_is_where_errors_begin(made):
    """It is invalid for nothing else: left out, the sweep would have no errors."""
    run = made({"mvc": 0.1, "webflux": 0.1}, users=(10, 20, 40), repeat=1)
    (failed,) = cells_at(run, "webflux", 40)
    reason = "400 of 400 requests failed (HTTP 503 400): latencies are of others."
    judge(failed, "invalid", reason)
    none = {"errors": {"HTTP 503": 400}, "requests": 400, "ok_throughput_rps": 0.0, "mean_s": None}
    failed.keep("summary", {**failed.read("summary"), **none})
    shape = Run(run).shape()
    assert "errors from 40 users (100.0%)" in shape["webflux"]
    assert "no errors" in shape["mvc"]
    assert "no cell" not in shape["webflux"] + shape["mvc"]


def test_loads_without_a_cell_that_can_be_used_are_named(made):
    """As where the generator was late, or nothing was measured: who grows until there may have ended there."""
    run = made({"mvc": 0.1, "webflux": 0.1}, users=(10, 20, 40), repeat=2)
    for folder in cells_at(run, "mvc", 40):
        judge(folder, "invalid", "The generator was late.")
    late, _ = cells_at(run, "webflux", 40)
    judge(late, "invalid", "The generator was late.")
    shape = Run(run).shape()
    assert shape["mvc"].endswith("; no cell can be used at 40 users")
    assert "no cell" not in shape["webflux"], "its other repeat can be"
