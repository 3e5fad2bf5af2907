"""The scorecard of the JWT comparison of 2023: the better side of a measurement gets points by its margin."""

from __future__ import annotations

BOUNDARIES = "margin below 5 %: 0 points, from 5 %: 1, from 20 %: 2, above 50 %: 3"


def points(ratio: float) -> int:
    """Points of the better side, from the ratio of the two values.

    The document says "less than 5 %", "5 to 20 %", "20 to 50 %" and "more"; at a boundary this gives the higher, except
    at 50 %, which is not more than itself. The margin is that of the larger value over the smaller.

    Args:
        ratio: positive; which side is the numerator does not matter.

    """
    margin = round(max(ratio, 1 / ratio) - 1, 9)
    if margin > 0.50:
        return 3
    return (margin >= 0.05) + (margin >= 0.20)
