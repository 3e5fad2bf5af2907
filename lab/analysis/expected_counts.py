"""What a service and the components behind it must have counted, as the samples of a load hold it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields

import pandas as pd

from lab.spec.prediction import CallsMade
from lab.spec.sample import BY_BREAKER
from lab.spec.scenario import Request
from lab.telemetry.actuator import EndpointStatus
from lab.telemetry.served import Served


@dataclass(frozen=True)
class NameCounts:
    """The samples of a load by the name of their request.

    Attributes:
        sent: all that were sent.
        answered: those that hold an answer.
        succeeded: those of them with a status of 2xx.
        right: those of them whose answer was right.
        right_by_status: the same by name and status.
        kept_back: those of them whose call the service's circuit breaker kept back, since it was open.

    """

    sent: Counter[str]
    answered: Counter[str]
    succeeded: Counter[str]
    right: Counter[str]
    right_by_status: Counter[tuple[str, int]]
    kept_back: Counter[str]

    COLUMNS = ("name", "status", "error")

    @staticmethod
    def of(pieces: Iterable[pd.DataFrame]) -> NameCounts:
        """Count samples that are read in pieces, with :attr:`COLUMNS`."""
        counts = NameCounts(*(Counter() for _ in fields(NameCounts)))
        for piece in pieces:
            kinds = piece.groupby(["name", "status", "error"], observed=True).size().reset_index(name="count")
            for name, status, error, count in kinds.itertuples(index=False):
                counts.sent[name] += count
                if status > 0:
                    counts.answered[name] += count
                if status // 100 == 2:
                    counts.succeeded[name] += count
                if error == "":
                    counts.right[name] += count
                    counts.right_by_status[name, status] += count
                if error in BY_BREAKER:
                    counts.kept_back[name] += count
        return counts


def succeeded_expected(by_name: NameCounts, begun: int) -> tuple[int, int]:
    """The least and the most answers with a status of 2xx that a service must have counted.

    Those of the samples; of a request whose client has no answer it may have counted one.

    Args:
        begun: requests sent, of which some may have left no sample.

    """
    least = by_name.succeeded.total()
    return least, least + begun - by_name.answered.total()


def answers(counts: Served) -> dict[str, int]:
    """The answers that a service has counted, in words, such as ``GET /operations with status 200``."""
    return {_in_words(kind): count for kind, count in counts.by_status.items() if count > 0}


def answers_expected(
    requests: Iterable[Request], by_name: NameCounts, begun: int, counts: Served
) -> dict[str, tuple[int, int]]:
    """The least and the most answers that a service must have counted, by endpoint and status as :func:`answers`.

    The right answers of the samples; of every other request to that endpoint it may have counted one, of any status.

    Args:
        requests: those of the scenario. Several may go to one endpoint, such as with a token and without.
        by_name: the samples by name.
        begun: requests sent, of which some may have left no sample.
        counts: of the service, which names endpoints by their path's pattern.

    """
    endpoint = {request.name: _endpoint(request, counts) for request in requests}
    least: Counter[EndpointStatus] = Counter()
    for (name, status), count in by_name.right_by_status.items():
        if name in endpoint:
            least[EndpointStatus(*endpoint[name], str(status))] += count
    unsure: Counter[tuple[str, str]] = Counter()
    for name, count in (by_name.sent - by_name.right).items():
        if name in endpoint:
            unsure[endpoint[name]] += count
    lost = begun - by_name.sent.total()
    return {_in_words(kind): (count, count + unsure[kind[:2]] + lost) for kind, count in least.items()}


def calls_expected(
    made: Mapping[str, CallsMade],
    by_name: NameCounts,
    begun: int,
    guarded: Collection[str] = (),
    refused: int = 0,
) -> dict[str, tuple[int, int]]:
    """The least and the most calls that must have been counted: those of all answers, and of all requests.

    A wrong answer must have made its calls too: one that did not is another request than the one that is measured. Not
    so of what is behind a circuit breaker: a call that failed may not have come that far, and one that the breaker has
    kept back must have made none.

    Args:
        made: by what is counted, the calls that each request makes, by the request's name; names that it does not have
            make none. Where those of one that was sent are unknown, so is the count.
        by_name: the samples by name.
        begun: requests sent, of which some may have left no sample.
        guarded: of what is counted, that which is behind the service's circuit breaker.
        refused: answers of the balancer's own, which need no call.

    """
    lost = begun - by_name.sent.total()
    expected = {}
    for counted, each in made.items():
        sent = each if lost else {name: calls for name, calls in each.items() if name in by_name.sent}
        known = {name: calls for name, calls in sent.items() if calls is not None}
        if len(known) == len(sent):
            surely, possibly = by_name.answered, by_name.sent
            if counted in guarded:
                surely, possibly = by_name.right, by_name.sent - by_name.kept_back
            least = sum(known[name][0] * count for name, count in surely.items() if name in known)
            most = sum(known[name][1] * count for name, count in possibly.items() if name in known)
            least = max(0, least - refused * max((calls[0] for calls in known.values()), default=0))
            expected[counted] = (least, most + lost * max((calls[1] for calls in known.values()), default=0))
    return expected


def _endpoint(request: Request, counts: Served) -> tuple[str, str]:
    """The method and path's pattern of the endpoint that a request goes to, the most literal of those that fit it."""
    path = request.path.partition("?")[0]
    counted = {kind.path for kind in counts.by_status if kind.method == request.method}
    fitting = sorted((pattern for pattern in counted if _fits(path, pattern)), key=lambda pattern: pattern.count("{"))
    return request.method, fitting[0] if fitting else path


def _fits(path: str, pattern: str) -> bool:
    segments, wanted = path.split("/"), pattern.split("/")
    return len(segments) == len(wanted) and all(
        want == segment or "{" in (want[:1], segment[:1]) for segment, want in zip(segments, wanted, strict=True)
    )


def _in_words(kind: EndpointStatus) -> str:
    return f"{kind.method} {kind.path} with status {kind.status}"
