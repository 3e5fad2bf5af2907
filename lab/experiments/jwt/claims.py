"""The claims about a token and one row: whether WebFlux is faster than virtual threads, and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lab.experiments.reproduction.judging import NEAR, decide, ok_rps, ratios, variant_pairs
from lab.experiments.reproduction.publication import VARIANTS, Claim, Part, Publication, ReproducedRow
from lab.spec.options import Options
from lab.spec.plan import WINDOWS

PUBLISHED_RATIO = 1.57


def webflux_is_faster(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether WebFlux answers more a second than virtual threads, by at least the margin, at every load."""
    return decide(ratios(variant_pairs(rows, "webflux", "mvc-virtual"), ok_rps, 1 + NEAR, math.inf))


def by_as_much(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether WebFlux answers 57 % more a second than virtual threads."""
    low, high = (1 - NEAR) * PUBLISHED_RATIO, (1 + NEAR) * PUBLISHED_RATIO
    return decide(ratios(variant_pairs(rows, "webflux", "mvc-virtual"), ok_rps, low, high))


def virtual_beat_platform(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether virtual threads answer more a second than platform threads, by at least the margin, at every load."""
    return decide(ratios(variant_pairs(rows, "mvc-virtual", "mvc"), ok_rps, 1 + NEAR, math.inf))


JWT = Publication(
    name="jwt",
    title="A token and one row of MySQL, 50, 100 and 300 connections, 5,000,000 requests each",
    scenario="jwt",
    parts=(
        Part(
            "",
            "jwt",
            Options(variants=VARIANTS, users=(50, 100, 300), duration=20.0, interleave=WINDOWS),
            instead_of="5,000,000 requests",
        ),
    ),
    claims=(
        Claim("WebFlux is faster than virtual threads.", webflux_is_faster),
        Claim("WebFlux is 57 % faster than virtual threads.", by_as_much),
        Claim("Virtual threads are faster than platform threads.", virtual_beat_platform),
    ),
)

PUBLICATIONS = (JWT,)
