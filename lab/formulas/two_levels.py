"""A mean over starts of a service and windows within each: its interval, and what would make it narrower.

Two windows of one start share its compiled code, its heap and its luck, so that a thousand of them say nothing of the
next start. The interval is that of the starts' means; the windows say how much of it more of them could take away.
(T. Kalibera and R. Jones, *Rigorous benchmarking in reasonable time*, ISMM 2013.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from lab.formulas import students_t

MOST_STARTS, MOST_WINDOWS = 200, 500
# With fewer windows their own chance is taken for a disturbance.
FEWEST_TO_ADJUST = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TwoLevels:
    """A mean with the half width of its 95 % interval, and where its variance comes from.

    Attributes:
        means: of each start.
        reach: half the width of the interval, by Student's t with as many degrees of freedom as starts less one; None
            with one start.
        windows: of a start; their harmonic mean where starts have different numbers.
        within: variance of a window within its start; None with one window a start.
        between: variance of the starts beyond what their windows explain; None where either is unknown.

    """

    mean: float
    means: tuple[float, ...]
    reach: float | None
    windows: float
    within: float | None
    between: float | None

    @property
    def starts(self) -> int:
        """How many there are."""
        return len(self.means)


def two_levels(values: Sequence[Floats]) -> TwoLevels | None:
    """The mean of some starts' means.

    Args:
        values: of each start, one a window, shape (windows,); a start without any is left out.

    Returns:
        None without values.

    """
    filled = [start for start in values if len(start)]
    if not filled:
        return None
    means = np.array([start.mean() for start in filled])
    counts = np.array([len(start) for start in filled])
    windows = len(counts) / float((1 / counts).sum())
    free = int((counts - 1).sum())
    within = sum(float(((start - start.mean()) ** 2).sum()) for start in filled) / free if free else None
    of_means = float(means.var(ddof=1)) if len(means) > 1 else None
    reach = None if of_means is None else float(students_t.reach(math.sqrt(of_means / len(means)), len(means) - 1))
    known = within is not None and of_means is not None
    between = max(0.0, of_means - within / windows) if known else None  # type: ignore[operator] # known
    return TwoLevels(float(means.mean()), tuple(map(float, means)), reach, windows, within, between)


def adjusted(
    values: Sequence[Floats], known: Sequence[Floats], least: float, most: float
) -> tuple[list[Floats], float]:
    """Values without what known disturbances explain of them, and which share of their variance that was.

    As an order is random, a disturbance that was measured is zero on average, and taking it out changes no mean in the
    long run, but makes it surer (control variates: Lavenberg and Welch, Management Science 27, 1981). How much a value
    follows a disturbance is found by least squares from what differs within starts, among what is possible: what goes
    another way did not disturb the value, but follows it, and to take that out would hide a difference.

    Args:
        values: of each start, one a window, shape (windows,).
        known: of each start, the disturbances in each window, shape (windows, kinds).
        least, most: by how much a value follows a disturbance by one, at least and at most.

    Returns:
        The values as they are, and 0, with fewer than :data:`FEWEST_TO_ADJUST` windows for each kind.

    """
    kinds = known[0].shape[1] if known else 0
    apart = np.concatenate([start - start.mean() for start in values if len(start)] or [np.zeros(0)])
    if not kinds or len(apart) < FEWEST_TO_ADJUST * kinds:
        return list(values), 0.0
    disturbed = np.concatenate([start - start.mean(axis=0) for start in known if len(start)])
    follows = slopes(apart, disturbed, least, most)
    left, all_ = float(((apart - disturbed @ follows) ** 2).sum()), float((apart**2).sum())
    share = max(0.0, 1 - left / all_) if all_ else 0.0
    return [start - of @ follows for start, of in zip(values, known, strict=True)], share


def slopes(apart: Floats, disturbed: Floats, least: float, most: float) -> Floats:
    """By how much values follow each disturbance by one, by least squares within bounds, shape (kinds,).

    Args:
        apart: values less their mean, shape (n,).
        disturbed: disturbances less their means, shape (n, kinds).

    """
    found: Floats = scipy.optimize.lsq_linear(disturbed, apart, (least, most), method="bvls").x
    return found


@dataclass(frozen=True)
class Effort:
    """How many starts of how many windows each, and the time that takes."""

    starts: int
    windows: int
    elapsed_s: float


def least_effort(
    found: TwoLevels, reach: float, start_s: float, round_s: float, possible: Callable[[int], int]
) -> Effort | None:
    """The quickest way to an interval that reaches so far, by the variances that were found.

    Args:
        reach: half of the wanted interval.
        possible: the number of windows that a start can have, for one that it should have at least.
        start_s: what a start takes before its first window.
        round_s: what a window takes, with its neighbours' in the same round.

    Returns:
        None where variances are not known, or even :data:`MOST_STARTS` would not be enough.

    """
    if found.within is None or found.between is None:
        return None
    efforts = []
    for starts in range(2, MOST_STARTS + 1):
        # The interval reaches t·√((between + within/windows)/starts).
        room = starts * (reach / float(students_t.reach(1.0, starts - 1))) ** 2 - found.between
        windows = math.ceil(found.within / room) if room > 0 else MOST_WINDOWS + 1
        if windows <= MOST_WINDOWS:
            windows = possible(windows)
            efforts.append(Effort(starts, windows, starts * (start_s + windows * round_s)))
    return min(efforts, key=lambda effort: effort.elapsed_s, default=None)
