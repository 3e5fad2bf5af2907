"""The claims about a service that calls another one: whether platform threads limit it, and the others do not.

The published figures belong to a ramp over a quarter of an hour; here are the shapes that theory predicts for a closed
loop and a burst.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lab.experiments.reproduction.judging import (
    NEAR,
    at_most,
    decide,
    error_percent,
    mean_s,
    near,
    ok_rps,
    ratios,
    rows_of_variant,
    variant_pairs,
)
from lab.experiments.reproduction.publication import VARIANTS, Claim, Part, Publication, ReproducedRow
from lab.spec.options import Options

DELAY_MS, USERS = 200, 1000
# More than are ever in use: threads are what is compared.
CONNECTIONS = 4000
BURST = "burst"
FEW_FAILED_PERCENT = 0.1


def _loop(threads: int) -> str:
    return f"closed loop, {threads} threads"


# T/t is near what one core's CPU allows with so many threads, and far below it with so few.
MANY, FEW = 200, 50
LOOPS = (_loop(MANY), _loop(FEW))


def plateau(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether T platform threads answer T/t requests a second, and no more, where more users wait for them."""
    of_loops = [row for part in LOOPS for row in rows_of_variant(rows, "mvc", part)]
    return decide(near(of_loops, ok_rps, lambda row: (row.servers or 0.0) / (row.service_s or 1.0), "/s"))


def beyond_the_plateau(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether the others answer more than few platform threads do."""
    pairs = [pair for other in ("mvc-virtual", "webflux") for pair in variant_pairs(rows, other, "mvc")]
    return decide(ratios([pair for pair in pairs if pair[0].part == _loop(FEW)], ok_rps, 1 + NEAR, math.inf))


def wave_model(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether the mean of a burst on platform threads is that of its waves."""
    return decide(near(rows_of_variant(rows, "mvc", BURST), mean_s, lambda row: row.model_mean_s or 0.0))


def nobody_fails(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether all requests are answered; the document reports 43 % failures for MVC and 18 % for WebFlux."""
    return decide(at_most(rows, error_percent, lambda _: FEW_FAILED_PERCENT, " % failed"))


CHAIN = Publication(
    name="chain",
    title="A calls B, which answers after 200 ms; 1000 users, 200 and 50 threads",
    scenario="chain",
    parts=(
        *(
            Part(
                _loop(threads),
                "chain",
                Options(
                    variants=VARIANTS,
                    users=(USERS,),
                    threads=threads,
                    pool=CONNECTIONS,
                    duration=10.0,
                    parameters={"delay_ms": DELAY_MS},
                ),
            )
            for threads in (MANY, FEW)
        ),
        Part(
            BURST,
            "chain",
            Options(
                variants=VARIANTS, users=(USERS,), threads=MANY, pool=CONNECTIONS, parameters={"delay_ms": DELAY_MS}
            ),
        ),
    ),
    claims=(
        Claim("T platform threads answer T/t requests a second, and no more.", plateau),
        Claim(f"Virtual threads and WebFlux answer more than {FEW} platform threads.", beyond_the_plateau),
        Claim("The mean of a burst on platform threads follows the wave model.", wave_model),
        Claim("All requests are answered.", nobody_fails),
    ),
)

PUBLICATIONS = (CHAIN,)
