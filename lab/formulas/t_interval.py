"""Student's t interval at 95 %: the one confidence interval of all figures and sentences."""

from __future__ import annotations

from typing import Any

import scipy

CONFIDENCE = 0.95


def reach(error: Any, freedom: float) -> Any:
    """Half the width of the interval that covers the truth in 95 % of cases (Student, Biometrika 6, 1908).

    Args:
        error: the standard error of the estimate; a number, or an array of them.
        freedom: its degrees of freedom, n − 1 for a mean of n values.

    """
    return scipy.stats.t.ppf((1 + CONFIDENCE) / 2, freedom) * error
