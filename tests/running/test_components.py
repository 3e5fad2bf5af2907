"""What the service calls: started before it, found by it, ended with the run; here small programs."""

from __future__ import annotations

import sys
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from machines import HERE

from lab.errors import LabError
from lab.experiments import scenarios
from lab.running.components import calls_counted, running_components
from lab.runtimes import waiting
from lab.runtimes.process import ProcessRuntime
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.plan import Plan
from lab.spec.system import Component
from lab.system.backends import Backends
from lab.system.databases import Site

ANSWERS = """
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(204)
        self.end_headers()

server = HTTPServer((os.environ["LAB_HOST"], 0), Handler)
open(os.environ["LAB_PORT_FILE"], "w").write(str(server.server_port))
server.serve_forever()
"""


def no_service(*_: object) -> None:
    """Stands for the launch of a service of ours, which a program does not need."""
    pytest.fail("launched a service")


@pytest.fixture
def planned(tmp_path) -> Callable[..., Plan]:
    """A function that plans a scenario whose only component, ``side-car``, is a Python program of this text."""

    def plan(text: str, **options) -> Plan:
        program = tmp_path / "program.py"
        program.write_text(text)
        component = Component("side-car", command=(sys.executable, str(program)))
        chain = scenarios()["chain"]
        variants = tuple(replace(variant, demands={}) for variant in chain.variants)
        changed = replace(chain, components=(component,), variants=variants)
        return planning.make_plan(changed, Options(users=[1], **options), HERE)

    return plan


@pytest.fixture
def site(tmp_path) -> Site:
    """A place for programs to run in, which ends what is left."""
    with ProcessRuntime() as runtime:
        yield Site(runtime, tmp_path / "data", tmp_path / "logs")


def status(url: str) -> int:
    """The status that an address answers with."""
    with urllib.request.urlopen(url) as answer:
        return int(answer.status)


def test_it_is_told_nothing_by_the_shell(planned, site, tmp_path, monkeypatch):
    """What a shell has set for a service, or for another component, would set this one too, and nobody would see it."""
    for name in ("SERVER_PORT", "SPRING_APPLICATION_JSON", "LAB_POOL", "LAB_CLOCK_URL", "JAVA_TOOL_OPTIONS"):
        monkeypatch.setenv(name, "7")
    saying = f"import os; open({str(tmp_path / 'told')!r}, 'w').write(' '.join(os.environ))\n{ANSWERS}"
    with running_components(planned(saying), Backends(), site, no_service):
        told = (tmp_path / "told").read_text().split()
    assert {name for name in told if name.startswith(("SERVER_", "SPRING_", "LAB_", "JAVA_"))} == {
        "LAB_HOST",
        "LAB_PORT_FILE",
    }


@pytest.mark.parametrize("link", [{}, {"link_latency_ms": 1}])
def test_the_service_is_told_where_it_is(planned, site, link):
    """By a variable with its name; through the link, if there is one, and the program answers there."""
    with running_components(planned(ANSWERS, **link), Backends(), site, no_service) as backing:
        url, service = backing.environment()["LAB_SIDE_CAR_URL"], backing.services["side-car"]
        assert status(url) == 204
        assert (url == service.url) == (not link)
        assert set(backing.running()) == {"side-car", *(["link to side-car"] if link else [])}
        assert calls_counted(backing) == {}
    assert all(running.exit_reason() for running in backing.running().values())


def test_one_that_ends_at_once_is_named(planned, site):
    """With how it ended, and the last of what it said."""
    with (
        pytest.raises(LabError) as caught,
        running_components(planned("raise SystemExit('no luck')"), Backends(), site, no_service),
    ):
        pass
    assert "side-car" in caught.value.problem
    assert "status 1" in caught.value.problem
    assert "no luck" in caught.value.detail


def test_one_that_says_no_port_is_told_how(planned, site, monkeypatch):
    """It is ended, and the sentence names the file that it should have written."""
    monkeypatch.setattr(waiting, "READY_WITHIN_S", 0.5)
    with (
        pytest.raises(LabError) as caught,
        running_components(planned("import time; time.sleep(60)"), Backends(), site, no_service),
    ):
        pass
    assert "did not write its port" in caught.value.problem
    assert "LAB_PORT_FILE" in caught.value.next_step


def test_one_that_is_missing_is_a_sentence(planned, site):
    """A command that is not there is no traceback."""
    plan = planned(ANSWERS)
    missing = replace(plan.scenario.components[0], command=(str(Path("/nowhere/program")),))
    plan = replace(plan, scenario=replace(plan.scenario, components=(missing,)))
    with pytest.raises(LabError) as caught, running_components(plan, Backends(), site, no_service):
        pass
    assert "side-car" in str(caught.value)
