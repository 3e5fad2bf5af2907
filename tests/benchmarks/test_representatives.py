"""What the benchmark of kills measures stands for all that there is."""

from __future__ import annotations

import kills
import pytest

from lab.experiments import scenarios

OF_SERVICES = [name for name, scenario in scenarios().items() if scenario.entry == "service"]


def test_every_part_of_every_system_is_measured():
    """By a system that has all the parts of it; and none is measured that another stands for."""
    found = kills.representatives(OF_SERVICES)
    measured = [kills.parts(scenarios()[name], scenarios()[name].variant(variant)) for name, variant in found]
    for name in OF_SERVICES:
        for variant in scenarios()[name].variants:
            assert any(kills.parts(scenarios()[name], variant) <= parts for parts in measured)
    assert not [one for one in measured for other in measured if one < other]
    assert len(set(measured)) == len(measured) <= 6  # some ten minutes each


def test_every_scenario_is_measured_or_named():
    """The table says which scenario stands for it."""
    found = kills.representatives(OF_SERVICES)
    said = {name for name, _ in found} | {name for others in found.values() for name in others}
    assert said == set(OF_SERVICES)


@pytest.mark.parametrize("name", OF_SERVICES)
def test_a_scenario_that_is_named_stands_for_itself(name):
    """However small its system is; of `migration` it is the variant with a cache, whose nodes form a cluster."""
    found = kills.representatives([name])
    assert {scenario for scenario, _ in found} == {name}
    assert not any(found.values())
    if any(variant.caches for variant in scenarios()[name].variants):
        assert all(scenarios()[name].variant(variant).caches for _, variant in found)
