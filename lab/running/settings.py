"""Puts what parameters ask of services in force before a load, and compares it with what they say is in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.analysis import verdict
from lab.running.measurement import Measurement
from lab.running.testbed import Testbed
from lab.spec.scenario import Value
from lab.spec.system import Variant
from lab.system.deployment import Deployment
from lab.system.service import Service
from lab.telemetry import actuator

Named = dict[str, Any]


def put_in_force(
    testbed: Testbed, variant: Variant, deployment: Deployment, parameters: Mapping[str, Value]
) -> tuple[Named, Named]:
    """Tell the nodes of a variant's service, and what they call, their settings.

    Returns:
        What was asked for, and what they say is in force, by names such as ``backend threads``.

    Raises:
        ComponentError: one does not accept its settings.

    """
    asked, in_force = Named(), Named()
    for name, told, settings in _told(testbed, variant, deployment):
        values = {setting: parameters[parameter] for setting, parameter in settings.items()}
        asked |= {f"{name} {setting}": value for setting, value in values.items()}
        in_force |= {f"{name} {setting}": value for setting, value in actuator.settle(told, values).items()}
    return asked, in_force


def put_in_force_for(testbed: Testbed, measurement: Measurement, parameters: Mapping[str, Value]) -> None:
    """The same for a cell: keep what is in force beside the limits. What is not makes it invalid, as a limit does."""
    variant, observed = testbed.plan.scenario.variant(measurement.cell.variant), measurement.observed
    asked, in_force = put_in_force(testbed, variant, measurement.deployment, parameters)
    if not asked:
        return
    measurement.folder.keep("limits", {**measurement.folder.read("limits"), **in_force})
    broken = verdict.broken_limits(asked, in_force)
    observed.limits_broken += [each for each in broken if each not in observed.limits_broken]


def _told(
    testbed: Testbed, variant: Variant, deployment: Deployment
) -> Iterator[tuple[str, Service, Mapping[str, str]]]:
    """The services that have settings, by name, with these."""
    for component in testbed.plan.components:
        if component.settings:
            yield component.name, testbed.backing.services[component.name], component.settings
    for name, node in deployment.nodes.items() if variant.settings else ():
        yield name, node, variant.settings
