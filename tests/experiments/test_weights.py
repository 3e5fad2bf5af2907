"""What a request costs the generator, by which its ceiling is chosen, is that of the answers that a load asks for."""

from __future__ import annotations

import pytest

from lab.experiments import scenarios
from lab.generator.known_delay_server import LARGE_BYTES


@pytest.mark.parametrize(
    ("name", "parameters", "kind", "body_bytes"),
    [
        ("delay", {}, "small", 0),
        ("jwt", {}, "token", 0),
        ("document", {}, "large", LARGE_BYTES),
        ("large-data", {}, "chunked", 2_500_000),
        ("large-data", {"operation": "query-1k"}, "chunked", 250_000),
        ("large-data", {"operation": "get-one"}, "small", 0),
        ("mongo-access", {"operation": "get-one", "elements": 100}, "small", 0),
        ("mongo-access", {"operation": "get-many", "elements": 100}, "large", 5_900_000),
        ("mongo-access", {"operation": "add-many", "elements": 10}, "large", 590_000),
        ("grep", {}, "small", 0),
    ],
)
def test_a_load_weighs_what_its_heaviest_answer_does(name, parameters, kind, body_bytes):
    """Of the chosen operation, and not of the others that the scenario has."""
    scenario = scenarios()[name]
    found = scenario.weight({**scenario.defaults(), **parameters})
    assert found.kind == kind
    assert found.body_bytes == pytest.approx(body_bytes, rel=0.02)
