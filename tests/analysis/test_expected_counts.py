"""What services and the components behind them must have counted, by the samples of a load."""

from __future__ import annotations

from lab.analysis.expected_counts import NameCounts, answers, answers_expected, calls_expected, succeeded_expected
from lab.experiments import scenarios
from lab.spec.scenario import Request
from lab.telemetry.actuator import EndpointStatus
from lab.telemetry.served import Served

OPERATIONS = (
    Request("refused", "/account"),
    Request("account", "/account"),
    Request("get", "/operations/KEY?as=text"),
    Request("all", "/operations/all"),
    Request("delete", "/operations/KEY", "DELETE"),
)


def counted(**by_path: int) -> Served:
    """What a service counts: ``GET /operations/{id}`` as ``get``, and so on."""
    kinds = {
        "refused": EndpointStatus("GET", "/account", "401"),
        "account": EndpointStatus("GET", "/account", "200"),
        "get": EndpointStatus("GET", "/operations/{id}", "200"),
        "all": EndpointStatus("GET", "/operations/all", "200"),
        "delete": EndpointStatus("DELETE", "/operations/{id}", "204"),
        "unknown": EndpointStatus("GET", "UNKNOWN", "404"),
    }
    return Served(by_status={kinds[name]: count for name, count in by_path.items()})


def test_each_kind_of_answers_is_expected_as_often_as_the_samples_hold_it(samples_of):
    """Those with a token and without go to one endpoint; of two patterns that fit, the literal one is the endpoint."""
    names = ["refused", "account", "account", "get", "all", "delete"]
    samples = samples_of([0.1] * 6, name=names, status=[401, 200, 200, 200, 200, 204], error="")
    served = counted(refused=1, account=2, get=1, all=1, delete=1, unknown=3)
    expected = answers_expected(OPERATIONS, NameCounts.of([samples]), begun=6, counts=served)
    assert expected == {
        "GET /account with status 401": (1, 1),
        "GET /account with status 200": (2, 2),
        "GET /operations/{id} with status 200": (1, 1),
        "GET /operations/all with status 200": (1, 1),
        "DELETE /operations/{id} with status 204": (1, 1),
    }
    assert {kind: count for kind, count in answers(served).items() if "UNKNOWN" not in kind} == {
        kind: least for kind, (least, _) in expected.items()
    }


def test_what_has_no_right_answer_may_have_been_counted_at_its_endpoint(samples_of):
    """With any status; what has left no sample may have been anything. An endpoint that counted nothing is expected."""
    samples = samples_of([0.1] * 3, name=["get", "get", "account"], status=[200, 0, 200], error=["", "timeout", ""])
    expected = answers_expected(OPERATIONS, NameCounts.of([samples]), begun=4, counts=counted(get=1))
    assert expected == {"GET /operations/{id} with status 200": (1, 3), "GET /account with status 200": (1, 2)}


def test_a_placeholder_of_the_scenario_s_fits_any_segment(samples_of):
    """The service may have an endpoint for each of its values, or a variable by another name."""
    requests, samples = (
        (Request("get", "/{style}/operations/KEY"),),
        samples_of([0.1], name="get", status=200, error=""),
    )
    for pattern in ("/reactive/operations/{id}", "/{how}/operations/{id}"):
        served = Served(by_status={EndpointStatus("GET", pattern, "200"): 1})
        found = answers_expected(requests, NameCounts.of([samples]), begun=1, counts=served)
        assert found == {f"GET {pattern} with status 200": (1, 1)}


def test_names_that_the_scenario_does_not_have_are_expected_nowhere(samples_of):
    """They are a reason of their own."""
    samples = samples_of([0.1], name="/other", status=200, error="")
    assert answers_expected(OPERATIONS, NameCounts.of([samples]), begun=1, counts=counted(get=1)) == {}


def test_a_load_s_answers_are_those_since_before_it():
    """By endpoint and status; without those that were none."""
    since = counted(get=5, account=2).since(counted(get=3, account=2))
    assert answers(since) == {"GET /operations/{id} with status 200": 2}


def test_calls_are_expected_of_what_was_sent_and_answered(samples_of):
    """By the name of each request; one that left no sample may have made as many as any."""
    made = {"mysql": {"/list": (2, 2), "/create": (3, 3)}, "mongo": {"/list": (0, 0), "/create": (1, 1)}}
    samples = samples_of([0.1] * 4, name=["/list", "/list", "/create", "/create"], status=[200, 500, 200, 0])
    by_name = NameCounts.of([samples[:2], samples[2:]])
    assert calls_expected(made, by_name, begun=4) == {"mysql": (7, 10), "mongo": (1, 2)}
    assert calls_expected(made, by_name, begun=5) == {"mysql": (7, 13), "mongo": (1, 3)}
    assert calls_expected(made, NameCounts.of([samples.assign(name="/other")]), begun=4)["mysql"] == (0, 0)
    assert calls_expected({}, by_name, begun=4) == {}
    assert calls_expected(made, by_name, begun=4, refused=1) == {"mysql": (4, 10), "mongo": (0, 2)}


def test_a_service_counts_as_success_what_samples_hold_and_maybe_what_has_no_answer(samples_of):
    """One of four has none, and a fifth has left no sample; a wrong answer of status 200 is counted as well."""
    errors = ["", "status", "timeout", "body"]
    by_name = NameCounts.of([samples_of([0.1] * 4, status=[201, 404, 0, 200], error=errors)])
    assert succeeded_expected(by_name, begun=4) == (2, 3)
    assert succeeded_expected(by_name, begun=5) == (2, 4)


def test_calls_that_a_breaker_kept_back_are_not_expected(samples_of):
    """One kept back was not made, and one that failed may not have come there; what is before the breaker was done."""
    errors = ["", "status", "breaker open", "breaker fallback"]
    by_name = NameCounts.of([samples_of([0.1] * 4, name="/chain", status=[200, 502, 503, 200], error=errors)])
    made = {"backend": {"/chain": (1, 1)}, "mongo find": {"/chain": (1, 1)}}
    expected = calls_expected(made, by_name, begun=4, guarded={"backend"})
    assert expected == {"backend": (1, 2), "mongo find": (4, 4)}
    (variant,) = [each for each in scenarios()["chain-mongo"].variants if each.name == "webflux"]
    assert variant.guarded == {"backend"}


def test_nothing_is_expected_where_the_calls_of_a_request_that_was_sent_are_unknown(samples_of):
    """Of one that was not sent it does not matter, unless a sample is missing, which may be of that one."""
    made = {"mongo find": {"/list": (1, 1), "/all": (1, 1)}, "mongo getMore": {"/list": (0, 1), "/all": None}}
    by_name = NameCounts.of([samples_of([0.1] * 2, name=["/list", "/list"], status=[200, 200])])
    assert calls_expected(made, by_name, begun=2) == {"mongo find": (2, 2), "mongo getMore": (0, 2)}
    assert calls_expected(made, by_name, begun=3) == {"mongo find": (2, 3)}
    both = NameCounts.of([samples_of([0.1] * 2, name=["/list", "/all"], status=[200, 200])])
    assert calls_expected(made, both, begun=2) == {"mongo find": (2, 2)}
