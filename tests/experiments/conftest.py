"""What tests of experiments on real databases share: small runs with short warm-ups, and the runtime of a case."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from machines import HERE

from lab.experiments import scenarios
from lab.reporting import run_view
from lab.running.conductor import conduct
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.spec import planning
from lab.spec.options import Options
from lab.system import aot_cache

# Modules whose start-up caches others of `make test` use. It starts each other one once or twice: to make a cache takes
# longer than that saves.
CACHED = {"mvc", "webflux"}


@pytest.fixture
def cold(monkeypatch):
    """One short round of warm-up: here it is about answers, not about time."""
    for name, scenario in scenarios().items():
        duration_s = min(scenario.rehearsal.duration_s, 1.0)
        short = replace(scenario.rehearsal, rounds=1, requests=200, duration_s=duration_s)
        monkeypatch.setitem(scenarios(), name, replace(scenario, rehearsal=short))


@pytest.fixture
def runs_in(request) -> str:
    """The runtime that a case names."""
    if request.param == "docker":
        request.getfixturevalue("engine")
    return request.param


@pytest.fixture
def measured(cold, request, monkeypatch, tmp_path) -> Callable[..., run_view.Run]:
    """A function that makes a small run of a scenario: of one variant, of several with commas between, or of "all"."""

    def make(scenario: str, runtime: str, variant: str, **options) -> run_view.Run:
        variants = [] if variant == "all" else variant.split(",")
        asked = {"seed": 1, "heap_mb": 512, "pool": 20, **options}
        plan = planning.make_plan(scenarios()[scenario], Options(variants=variants, **asked), HERE)
        if not request.node.get_closest_marker("thorough") and not {each.module for each in plan.variants} <= CACHED:
            monkeypatch.setattr(aot_cache, "MINIMUM_JAVA", math.inf)
        run = run_view.Run(conduct(plan, Invocation(["test"], tmp_path, Reporter(quiet=True), runtime)))
        of = scenarios()[scenario]
        all_of_them = of.default_variants or [each.name for each in of.variants]
        assert [row["variant"] for row in run.cells] == (variants or list(all_of_them))
        return run

    return make
