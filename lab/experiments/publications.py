"""The experiments of the documents, as data: what is measured, beside what, and which claims are judged."""

from __future__ import annotations

from lab.errors import LabError
from lab.experiments.delay.claims import DELAY, DELAY_OVERLOAD
from lab.experiments.document.claims import DOCUMENT, DOCUMENT_FIXED, DOCUMENT_LATENCY
from lab.experiments.jwt.claims import JWT
from lab.experiments.reproduction.publication import Experiment
from lab.spec import planning

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (DELAY, DELAY_OVERLOAD, DOCUMENT, DOCUMENT_LATENCY, DOCUMENT_FIXED, JWT)
}


def find_experiment(name: str) -> Experiment:
    """The experiment of that name; LabError offers the nearest."""
    if name not in EXPERIMENTS:
        offer = planning.nearest(name, EXPERIMENTS)
        raise LabError(f"There is no experiment {name!r}{offer}.", f"There is: {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
