"""What became of requests between the nodes of a service and the balancer in front of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from http import HTTPStatus

import pandas as pd

from lab.spec.nodes import is_node
from lab.spec.sample import UNANSWERED
from lab.spec.system import BALANCER
from lab.storage.cell_folder import CellFolder
from lab.system.balancer import UNLIMITED
from lab.telemetry.actuator import GC_PAUSES
from lab.telemetry.sampler import PASSED_ON, SILENT
from lab.telemetry.series import targets

# The status with which the balancer itself answers: it could reach no node, or the node did not answer.
BY_BALANCER = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)


def lost_a_node(folder: CellFolder) -> bool:
    """Whether requests of a cell came to no node, or one of several has ended, or was silent until the load's end."""
    evidence = folder.read("evidence")
    if not (passed_on := evidence.get("passed_on")):
        return False
    ended = passed_on.keys() - evidence.get("nodes", {}).keys()  # which have counted nothing that is known
    return bool(evidence.get("refused") or ended or _silent_to_the_end(folder.metrics()))


def sentences(folder: CellFolder) -> Iterator[str]:
    """Requests by node, where they wait, and for how long they came to no node; none where there is one."""
    evidence = folder.read("evidence")
    if not (passed_on := evidence.get("passed_on")):
        return
    metrics = folder.metrics()
    answered = " and ".join(f"{name} ({count:,})" for name, count in passed_on.items())
    if (received := evidence.get("received")) is not None:
        yield f"The balancer received {received:,} requests, and passed on the answers of {answered}."
    if folder.read("limits").get("balancer_node_connections") == UNLIMITED:
        yield "It limits the connections to no node, so that no queue can form in it: what waits does so in the nodes."
    if again := evidence.get("sent_again"):
        why = "as their connection had ended without an answer: they may have come to another node, or to two"
        yield f"{again:,} requests were sent once more by their client, {why}."
    silent = _silent_s(metrics)
    for name in filter(lambda target: is_node(target) or target == BALANCER, targets(metrics)):
        if (silent_s := silent.get(name)) is not None:
            span = f"the first after {silent_s.min():.0f} s of the load and the last after {silent_s.max():.0f} s"
            yield f"{'The ' * (name == BALANCER)}{name} left {len(silent_s)} readings without an answer, {span}."
        if out := _out_s(metrics, name):
            yield f"The balancer was seen to have taken {name} out after {out[0]:.0f} s{out[1]}."
    if not lost_a_node(folder):
        return
    yield from _taken_over(metrics, list(passed_on))
    if failed := _unanswered_s(folder):
        first_s, last_s, count = failed
        refused = evidence.get("refused", 0)
        yield (
            f"{count:,} requests were answered by no node, those sent from {first_s:.1f} s to {last_s:.1f} s of the "
            f"load, which are {last_s - first_s:.1f} s ({refused:,} were answered by the balancer itself); "
            "nodes answered all others."
        )


def _silent_s(metrics: pd.DataFrame) -> dict[str, pd.Series]:
    """By node, or the balancer, when it did not answer readings, in seconds of the load; a single time is left out."""
    silent = metrics[metrics["name"] == SILENT]
    return {str(name): t_s for name, t_s in silent.groupby("target")["t_s"] if len(t_s) > 1}


def _silent_to_the_end(metrics: pd.DataFrame) -> list[str]:
    """The nodes that answered none of the last readings, of which one alone is nobody's loss: it may come late."""
    answered_s = metrics[metrics["name"] == GC_PAUSES].groupby("target")["t_s"].max()  # which is in every answer
    silent_s = {name: t_s for name, t_s in _silent_s(metrics).items() if is_node(name)}
    return [name for name, t_s in silent_s.items() if (t_s > answered_s.get(name, -math.inf)).sum() > 1]


def _out_s(metrics: pd.DataFrame, node: str) -> tuple[float, str] | None:
    """When a node was first read to get no requests, in seconds of the load, and what came of that; None if never."""
    up = metrics[(metrics["target"] == node) & (metrics["name"] == "up")].sort_values("t_s")
    out = up.loc[up["value"] == 0, "t_s"]
    if out.empty:
        return None
    back = up.loc[(up["t_s"] > out.min()) & (up["value"] == 1), "t_s"]
    return float(out.min()), f", and back in after {back.min():.0f} s" if len(back) else ""


def _taken_over(metrics: pd.DataFrame, nodes: list[str]) -> Iterator[str]:
    """Since when a node has answered nothing while others have, by what the balancer passed on; nothing if all have."""
    counted = metrics[(metrics["name"] == PASSED_ON) & metrics["target"].isin(nodes)]
    totals = counted.astype({"target": str}).pivot_table(index="t_s", columns="target", values="value")
    answers = totals.diff()
    for name in answers.columns:
        others = answers.drop(columns=name).sum(axis="columns")
        since_s = answers.index[answers[name] > 0].max() if (answers[name] > 0).any() else answers.index[0]
        others_since = others[others.index > since_s]
        if (others_since > 0).sum() > 1:  # once is how any load ends
            told = " and ".join(other for other in answers.columns if other != name)
            yield (
                f"{name} answered nothing after {since_s:.0f} s of the load, as the balancer was read once a second; "
                f"{told} answered {others_since.sum():,.0f} requests since then."
            )


def _unanswered_s(folder: CellFolder) -> tuple[float, float, int] | None:
    """When the first and the last request was sent that no node answered, in seconds of the load, and how many were."""
    pieces = [
        piece[piece["error"].isin(UNANSWERED) | ((piece["error"] == "status") & piece["status"].isin(BY_BALANCER))]
        for piece in folder.measured_pieces(["sent_us", "error", "status"])
    ]
    sent_s = pd.concat([piece["sent_us"] for piece in pieces]) / 1e6 if pieces else pd.Series(dtype=float)
    return (float(sent_s.min()), float(sent_s.max()), len(sent_s)) if len(sent_s) else None
