"""Student's t distribution: its quantiles and tails, and the one confidence interval, at 95 %, of all figures.

Of :mod:`scipy.special`, as a distribution of :mod:`scipy.stats` takes a tenth of a millisecond to look at its
arguments, and a verdict asks hundreds of times.
"""

from __future__ import annotations

from typing import Any

import scipy

CONFIDENCE = 0.95


def quantile(level: float, freedom: Any) -> Any:
    """What t is below with a probability.

    Args:
        level: the probability, 0 to 1.
        freedom: degrees of freedom; a number, or an array of them.

    """
    return scipy.special.stdtrit(freedom, level)


def upper_tail(t: Any, freedom: Any) -> Any:
    """The probability of more than t: a one-sided p value. Numbers or arrays."""
    return scipy.special.stdtr(freedom, -t)


def reach(error: Any, freedom: float) -> Any:
    """Half the width of the interval that covers the truth in 95 % of cases (Student, Biometrika 6, 1908).

    Args:
        error: the standard error of the estimate; a number, or an array of them.
        freedom: its degrees of freedom, n − 1 for a mean of n values.

    """
    return quantile((1 + CONFIDENCE) / 2, freedom) * error
