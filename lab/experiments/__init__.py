"""The experiments by name: one folder each, with its scenario and the published claims about it.

An experiment is found by its folder: ``scenario.SCENARIO`` is what ``lab run`` measures, and ``claims.PUBLICATIONS``
what ``lab reproduce`` repeats and judges.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lab.errors import LabError, did_you_mean
from lab.spec.scenario import Scenario

if TYPE_CHECKING:
    from lab.experiments.reproduction.publication import Publication


@cache
def scenarios() -> dict[str, Scenario]:
    """Every scenario by its name."""
    found = map(_scenario_in, _with("scenario.py"))
    return {scenario.name: scenario for scenario in found}


def _scenario_in(folder: str) -> Scenario:
    """The scenario of a folder; LabError where it is none, as while it is being written."""
    file = f"lab/experiments/{folder}/scenario.py"
    try:
        scenario: Scenario = importlib.import_module(f"{__name__}.{folder}.scenario").SCENARIO
    except (AttributeError, ImportError, NameError, SyntaxError, TypeError, ValueError) as error:
        raise LabError(f"{file} defines no SCENARIO: {error}.", "Correct it, or move its folder away.") from error
    return scenario


@cache
def publications() -> dict[str, Publication]:
    """Every published experiment that can be reproduced, by its name."""
    found = (importlib.import_module(f"{__name__}.{name}.claims").PUBLICATIONS for name in _with("claims.py"))
    return {publication.name: publication for several in found for publication in several}


def find_scenario(name: str) -> Scenario:
    """The scenario of that name; LabError names the most similar if there is none."""
    known = scenarios()
    if str(name) not in known:
        raise LabError(f"There is no scenario {name!r}{did_you_mean(name, known)}.", f"There is: {', '.join(known)}.")
    return known[name]


def find_publication(name: str) -> Publication:
    """The published experiment of that name; LabError names the most similar if there is none."""
    known = publications()
    if name not in known:
        raise LabError(f"There is no experiment {name!r}{did_you_mean(name, known)}.", f"There is: {', '.join(known)}.")
    return known[name]


def _with(file: str) -> list[str]:
    """The folders here that hold a file of that name, in the order of their names."""
    here = [Path(path) for path in __path__]
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)
    return [name for name in names if any((folder / name / file).exists() for folder in here)]
