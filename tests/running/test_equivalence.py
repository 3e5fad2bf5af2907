"""Equal before fast: what a variant answers is compared before its speed is."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import ClassVar

import pytest
from patience import PATIENCE_S

from lab.errors import ComponentError
from lab.experiments import scenarios
from lab.running import conductor, equivalence
from lab.running.starts import Start
from lab.spec.scenario import Exchange
from lab.storage.cell_folder import CellFolder
from lab.system import contract
from lab.telemetry.actuator import Service

ANSWERS: dict[str, tuple[int, str, bytes]] = {
    "/good": (200, "application/json", b'{"millis":5}'),
    "/same": (200, "application/json; charset=utf-8", b'{"millis":5}'),
    "/other": (200, "application/json", b'{"millis":6}'),
    "/long": (200, "text/plain", b"x" * 100_000),
    "/long-too": (200, "text/plain", b"x" * 99_999 + b"y"),
    "/bad": (400, "application/problem+json", b"{}"),
    **{f"/list/{n}": (200, "application/json", b"[%b%d]" % (b"0" * 4000, n)) for n in (1, 2)},
    **{f"/longer/{n}": (200, "application/json", b"[%b%d]" % (b"0" * 20_000, n)) for n in (1, 2)},
    "/list/refused": (400, "application/json", b"[%b1]" % (b"0" * 4000)),
}


JSON = "Content-Type: application/json\r\n"
SIZED = JSON + "Content-Length: 12\r\n"
BODY = '{"millis":5}'
# Whole answers with the same body, and what is said of each where the first one is the other variant's.
FRAMED = {
    "/sized": ("200 OK", SIZED, BODY),
    "/dated": ("200 ", SIZED + "Date: Sun, 22 Nov 2026 09:13:36 GMT\r\n", BODY),
    "/lower-case": ("200 OK", SIZED.lower(), BODY),
    "/chunked": ("200 OK", JSON + "Transfer-Encoding: chunked\r\n", f"c\r\n{BODY}\r\n0\r\n\r\n"),
    "/until-closed": ("200 OK", JSON + "Connection: close\r\n", BODY),
    "/closing": ("200 OK", SIZED + "Connection: close\r\n", BODY),
    "/not-stored": ("200 OK", SIZED + "Cache-Control: no-store\r\n", BODY),
    "/varying": ("200 OK", SIZED + "Vary: Origin\r\n", BODY),
    "/tagged": ("200 OK", SIZED + 'ETag: "1"\r\n', BODY),
    "/tagged-too": ("200 OK", SIZED + 'ETag: "2"\r\n', BODY),
    "/allowing": ("405 ", SIZED + "Allow: GET\r\n", BODY),
    "/allowing-more": ("405 ", SIZED + "Allow: GET, POST\r\n", BODY),
    "/allowing-as-much": ("405 ", SIZED + "Allow: POST,GET\r\n", BODY),
    "/several": ("200 ", JSON + "Content-Length: 17\r\n", '[{"a":1},{"b":2}]'),
    "/other-way-round": ("200 ", JSON + "Content-Length: 17\r\n", '[{"b":2},{"a":1}]'),
    "/others": ("200 ", JSON + "Content-Length: 17\r\n", '[{"b":2},{"a":2}]'),
    "/long-winded": ("200 OK", SIZED + f"Server: {'x' * 100}\r\n", BODY),
    "/refused": ("400 Bad Request", SIZED, BODY),
    "/refused-and-closed": ("400 Bad Request", SIZED + "Connection: close\r\n", BODY),
    "/refused-in-chunks": ("400 ", JSON + "Transfer-Encoding: chunked\r\n", f"c\r\n{BODY}\r\n0\r\n\r\n"),
}

# What is made here has another key and another token at each server.
FRAMED |= {
    f"/{server}/{what}": ("201 Created", f"{JSON}Location: /things/{key}\r\nContent-Length: {len(body)}\r\n", body)
    for server, key, token in (("one", "200", "a.b.c"), ("another", "6a02c0ffee", "d.e.f"))
    for what, body in (("made", f'{{"id":"{key}","size":1200,"token":"{token}"}}'),)
}

# In a process of its own, which it monkey-patches.
GENERATOR = f"""
import sys
from unittest.mock import Mock
from lab.generator.locust.http import HttpClient, Sink
client = HttpClient(sys.argv[1], Mock(spec=Sink), {PATIENCE_S})
client.get(client.target)
client.close()
"""


class Handler(BaseHTTPRequestHandler):
    """Answers what the tables say, byte by byte where a whole answer is given."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """One row of a table."""
        self.asked.append(str(self.headers))
        if self.path in FRAMED:
            status, head, body = FRAMED[self.path]
            self.wfile.write(f"HTTP/1.1 {status}\r\n{head}\r\n{body}".encode())
            self.close_connection = True
            return
        status, kind, body = ANSWERS[self.path]
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    """A server that is no Java at all, seen as a service."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    yield Service(None, url, url)
    server.shutdown()
    server.server_close()
    thread.join()


def answers(service: Service, path: str, status: int = 200) -> dict:
    """What one exchange gives."""
    return equivalence.prove(service, [Exchange("it", path, status)])


@pytest.mark.parametrize(("path", "differs"), [("/good", False), ("/same", False), ("/other", True), ("/bad", True)])
def test_answers_differ_by_status_type_or_body(service, path, differs):
    """Two variants are equal if status, type and body are; how the type names its charset does not matter."""
    found = equivalence.unequal_answers(answers(service, path, ANSWERS[path][0]), answers(service, "/good"))
    assert bool(found) == differs
    assert all(line.startswith("it: ") for line in found)


def test_bodies_of_one_beginning_are_shown_where_they_differ(service):
    """Of a long list the first elements tell nothing; answers without a difference in what is kept tell their sizes."""
    (told,) = equivalence.unequal_answers(answers(service, "/list/1"), answers(service, "/list/2"))
    assert told == (
        "it: status 200, application/json, 4,003 bytes, from character 3941 on "
        f"'{'0' * 60}1]' here, status 200, application/json, 4,003 bytes, from character 3941 on '{'0' * 60}2]' there"
    )
    (told,) = equivalence.unequal_answers(answers(service, "/longer/1"), answers(service, "/longer/2"))
    assert told.count("20,003 bytes, of which the first 8192 characters are alike, '[000") == 2
    (told,) = equivalence.unequal_answers(answers(service, "/list/1"), answers(service, "/list/refused", 400))
    assert told.count("application/json, '[000") == 2, "what is the same from beginning to end is shown from there"


def test_of_many_differences_the_first_ones_are_told_and_how_many_there_are(service):
    """One cause may be in every answer."""
    one, other = (
        {f"request {n}": answers(service, path, ANSWERS[path][0])["it"] for n in range(5)} for path in ("/good", "/bad")
    )
    proved = {}
    equivalence.check_equal(proved, "mvc", one)
    with pytest.raises(ComponentError, match=r"webflux and mvc are not equal: request 0: .* and 2 more\.") as caught:
        equivalence.check_equal(proved, "webflux", other)
    assert caught.value.problem.count("status 400") == 3
    assert "contract.json in the folder of a cell has all that its variant answered" in caught.value.next_step


@pytest.mark.parametrize(
    ("other", "before", "named"),
    [
        ("/longer", {}, "mvc, node 2 and mvc"),
        ("/list", {"it": "/longer/1"}, "mvc and webflux"),
    ],
)
def test_the_answers_of_a_variant_are_kept_although_others_differ(service, tmp_path, other, before, named):
    """They are what one is told to look at: those of its first node, whether that one differs or the next."""
    folder = CellFolder(tmp_path, None)
    testbed = SimpleNamespace(
        proved={name: ("webflux", answers(service, path)[name]) for name, path in before.items()},
        backing=SimpleNamespace(contract=(Exchange("it", "/1", 200),)),
    )
    nodes = {f"node {n}": Service(None, service.url + path, "") for n, path in enumerate(("/list", other), 1)}
    measurement = SimpleNamespace(
        start=Start(),
        cell=SimpleNamespace(variant="mvc"),
        deployment=SimpleNamespace(nodes=nodes),
        folder=folder,
    )
    with pytest.raises(ComponentError, match=f"{named} are not equal"):
        conductor._prove(testbed, measurement)
    assert folder.read("contract")["it"]["body_sha256"] == answers(service, "/list/1")["it"]["body_sha256"]


def test_a_difference_beyond_what_is_shown_counts(service):
    """Long bodies are compared whole, though only their beginning is kept."""
    assert equivalence.unequal_answers(answers(service, "/long"), answers(service, "/long-too"))


def difference(service: Service, here: str, there: str, status: int = 200) -> list[str]:
    """What is said of the answers at two paths, which stand for two variants."""
    return equivalence.unequal_answers(answers(service, here, status), answers(service, there, status))


@pytest.mark.parametrize("path", ["/sized", "/dated", "/lower-case"])
def test_a_date_or_the_case_of_a_name_is_no_difference(service, path):
    """These are habits of the servers, which have no setting for them."""
    assert difference(service, path, "/sized") == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/chunked", ["the answer comes in chunks here, with its length there"]),
        ("/closing", ["the connection is closed here, stays open there"]),
        (
            "/until-closed",
            [
                "the answer comes until the connection closes here, with its length there",
                "the connection is closed here, stays open there",
            ],
        ),
        ("/not-stored", ["the header cache-control is 'no-store' here, missing there"]),
        ("/varying", ["the header vary is 'Origin' here, missing there"]),
        ("/tagged", ["the header etag is '\"1\"' here, missing there"]),
        ("/long-winded", ["the headers have 162 bytes here, 52 there"]),
    ],
)
def test_variants_that_frame_an_answer_differently_are_not_equal(service, path, said):
    """The same body costs a client more in chunks, on a connection that is opened anew, or below more headers."""
    assert difference(service, path, "/sized") == [f"it: {words}" for words in said]
    assert len(difference(service, "/sized", path)) == len(said)


def test_the_value_of_a_header_that_changes_nothing_may_differ(service):
    """Such as an id that is drawn for each answer: that both send it is what costs."""
    assert difference(service, "/tagged", "/tagged-too") == []


def test_what_a_refusal_allows_instead_is_compared(service):
    """A method that one variant says it has, and the other does not, is a difference of what they offer."""
    found = difference(service, "/allowing", "/allowing-more", 405)
    assert found == ["it: the header allow is 'GET' here, 'GET, POST' there"]
    assert difference(service, "/allowing-as-much", "/allowing-more", 405) == []


def test_the_order_of_a_list_is_compared_unless_nobody_asked_for_one(service):
    """A database gives what it finds in the order it likes; what is in the list is compared all the same."""

    def differs(path: str, unordered: bool) -> bool:
        both = (
            equivalence.prove(service, [Exchange("it", each, 200, unordered=unordered)]) for each in ("/several", path)
        )
        return bool(equivalence.unequal_answers(*both))

    assert differs("/other-way-round", unordered=False)
    assert not differs("/other-way-round", unordered=True)
    assert differs("/others", unordered=True)


def test_a_header_can_be_sent_several_times(service):
    """As several fields of one name, not as one with a comma."""
    Handler.asked.clear()
    exchange = Exchange("it", "/good", 200, headers={"Authorization": ("Bearer a", "Bearer b")})
    equivalence.prove(service, [exchange])
    assert [line for line in Handler.asked[0].splitlines() if line.startswith("Auth")] == [
        "Authorization: Bearer a",
        "Authorization: Bearer b",
    ]


def test_after_a_refusal_a_server_may_close_the_connection(service):
    """As Tomcat does after some; how a refusal is framed counts all the same."""
    assert difference(service, "/refused-and-closed", "/refused", 400) == []
    assert difference(service, "/refused-in-chunks", "/refused", 400)


def test_the_contract_asks_as_the_generator_does(service):
    """A server may answer otherwise to who says what he can decode, or that the connection be kept."""
    Handler.asked.clear()
    answers(service, "/sized")
    subprocess.run([sys.executable, "-c", GENERATOR, f"{service.url}/sized"], check=True, timeout=PATIENCE_S)
    by_contract, by_generator = Handler.asked
    assert by_contract == by_generator


def test_answers_of_a_run_from_before_heads_were_kept_are_compared_without(service):
    """Such a run can be resumed: status, type and body are all that is known of its first cells."""
    now = answers(service, "/list/1")
    before = {"it": {field: now["it"][field] for field in equivalence.ProvedAnswer.__dataclass_fields__}}
    before["it"]["body_begin"] = before["it"]["body_begin"][:120]  # less was kept then
    assert equivalence.unequal_answers(now, before) == []
    assert equivalence.unequal_answers(now, {"it": {**before["it"], "body_bytes": 13}})


def test_a_wrong_status_is_a_component_error(service):
    """A status that the contract does not name ends the cell, with what was answered."""
    with pytest.raises(ComponentError) as caught:
        answers(service, "/bad", 200)
    for words in ("/bad", "status 400", "instead of 200"):
        assert words in caught.value.problem


def test_a_silent_service_is_a_component_error(service):
    """A service that does not answer ends the cell, in one sentence."""
    with pytest.raises(ComponentError) as caught:
        answers(Service(None, "http://127.0.0.1:1", ""), "/good")
    assert "/good" in caught.value.problem


def test_every_scenario_has_a_contract_of_good_and_bad():
    """Each scenario of services proves right answers and refusals."""
    for scenario in (each for each in scenarios().values() if each.entry == "service"):
        statuses = {exchange.status for exchange in scenario.contract}
        assert (
            200 in statuses or scenario.sends_tokens
        )  # whose good answers need tokens, which lab.system.backends adds
        assert any(status >= 400 for status in statuses)
        assert len({exchange.name for exchange in scenario.contract}) == len(scenario.contract)


@pytest.mark.parametrize("name", [name for name, scenario in scenarios().items() if scenario.entry == "service"])
def test_every_service_is_asked_by_a_wrong_method_and_with_too_large_heads(name):
    """Each of its endpoints, whatever the scenario's own contract says; under names that are not taken."""
    scenario = scenarios()[name]
    shared, own = contract.common(scenario), {exchange.name for exchange in scenario.contract}
    wrong = {exchange.path for exchange in shared if exchange.status == 405}
    assert wrong == {request.path.format(**scenario.defaults()) for request in scenario.requests}
    assert {exchange.status for exchange in shared} == {405, 414, 431}
    assert own.isdisjoint(exchange.name for exchange in shared)


@pytest.mark.parametrize("others", ["another", "one"])
def test_what_a_server_chooses_by_itself_is_compared_by_its_name(service, others):
    """A key that was saved stands for itself, wherever it is a whole word; what is no key is compared as it is."""
    saves = {"key": r"Location: /things/(\w+)", "token": r'"token":"([^"]+)"'}
    one, other = (
        equivalence.prove(service, [Exchange("made", f"/{server}/made", 201, saves=saves)])
        for server in ("one", others)
    )
    assert one["made"]["body_begin"] == '{"id":"{key}","size":1200,"token":"{token}"}'
    assert one["made"]["headers"]["location"] == "/things/{key}"
    assert equivalence.unequal_answers(one, other) == []


def test_what_was_saved_is_asked_for(service):
    """Its name in braces stands for it in the paths, headers and bodies after it."""
    Handler.asked.clear()
    saves = {"key": r"Location: /things/(\w+)"}
    made = Exchange("made", "/one/made", 201, saves=saves)
    equivalence.prove(service, [made, Exchange("asked for", "/good", 200, headers={"X-Key": "of {key}"})])
    assert "X-Key: of 200" in Handler.asked[-1]


def test_an_answer_without_what_is_to_be_saved_is_named(service):
    """The requests after it could not be made."""
    with pytest.raises(ComponentError, match="has no key"):
        equivalence.prove(service, [Exchange("it", "/good", 200, saves={"key": r"Location: (\w+)"})])
