"""A ramp by its time windows, and its knee: the rate from which on right answers no longer keep pace with what is sent.

A ramp plans sessions, which are requests unless they have several: its knee is one of sessions, see :func:`by_session`.

Up to the knee answers come at the rate at which requests were sent one latency before. Beyond it their rate no longer
grows with what is offered, or falls. So a line that is known up to the knee, and is straight after it, is fitted to the
answers of each window by least squares (segmented regression with one break; Muggeo, Statistics in Medicine 22, 2003).
Where a service collapses later, since it works for those who have gone, only what was before that is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from lab.formulas import students_t
from lab.formulas.queueing import Floats

# The columns that outcomes are counted from.
COLUMNS = ("planned_us", "sent_us", "latency_us", "user", "session", "step", "error", "fallback")
# Into how many windows of time a ramp is cut to show its course, and to fit its knee.
SHOWN_WINDOWS, FITTED_WINDOWS = 30, 60
# Windows at both ends of a ramp in which no break is looked for: a line needs some.
MARGIN = 3
CANDIDATES, RESAMPLES = 400, 200
# Answers whose rate still grows by so much of what is offered keep pace: there is no knee.
STILL_GROWING = 0.5
FEWEST_ANSWERS = 200
# A service has collapsed when it answers less than this part of the most, by the median of so many windows.
COLLAPSED, SMOOTHED = 0.5, 5
# Gatling's default bound of its fastest group of requests, which reports of ramps are published with.
PROMPT_S = 0.8


def by_session(samples: pd.DataFrame) -> pd.DataFrame:
    """One row a session, as if it were one request: from its planned start to its last answer, right if all were.

    Args:
        samples: of the measured load, with :data:`COLUMNS`.

    Returns:
        ``planned_us``, ``sent_us``, ``latency_us``, ``error`` (of the first request that failed) and ``fallback``; the
        samples themselves where no session has several requests.

    """
    if not (samples["step"] > 0).any():
        return samples
    ended_us = samples["sent_us"] + samples["latency_us"]
    failed = samples["error"].astype(object).where(samples["error"] != "")
    sessions = samples.assign(ended_us=ended_us, failed=failed).sort_values("step").groupby(["user", "session"])
    found = sessions.agg(
        planned_us=("planned_us", "first"),
        sent_us=("sent_us", "first"),
        ended_us=("ended_us", "max"),
        error=("failed", "first"),
        fallback=("fallback", "any"),
    ).reset_index(drop=True)
    latency_us = found.pop("ended_us") - found["sent_us"]
    return found.assign(latency_us=latency_us, error=found["error"].astype(object).fillna(""))


def outcomes(
    samples: pd.DataFrame, duration_s: float, by_breaker: tuple[str, str], windows: int = SHOWN_WINDOWS
) -> pd.DataFrame:
    """How the requests of each time window ended, by their planned sends, so that every send is in one window.

    Args:
        samples: of the measured load, with :data:`COLUMNS`.
        duration_s: of the ramp. Windows go on to the last planned send: what follows in a session may come later.
        by_breaker: the errors of answers that a circuit breaker gave: refusals, and substitutes.

    Returns:
        One row a window: ``from_s``, ``to_s``, ``offered`` = ``right`` + ``fallback`` + ``refused`` + ``failed``
        (requests), ``mean_s`` (mean latency of the right ones from their planned sends; NaN without any), and
        ``answered_rps`` (right answers a second that arrived in the window, whenever they were sent).

    """
    (refusal, substitute), (planned_s, ended_s, error) = by_breaker, _times(samples)
    edges = np.linspace(0.0, max(duration_s, float(planned_s.max(initial=0.0))), windows + 1)
    fallback = samples["fallback"].to_numpy(dtype=bool) | (error == substitute)
    right = (error == "") & ~fallback
    window = np.clip(np.searchsorted(edges, planned_s, side="right") - 1, 0, windows - 1)

    def counted(which: np.ndarray) -> np.ndarray:
        return np.bincount(window[which], minlength=windows)

    offered, refused = counted(np.ones_like(right)), counted(error == refusal)
    good, substituted = counted(right), counted(fallback)
    took_s = np.bincount(window[right], weights=(ended_s - planned_s)[right], minlength=windows)
    return pd.DataFrame(
        {
            "from_s": edges[:-1],
            "to_s": edges[1:],
            "offered": offered,
            "right": good,
            "fallback": substituted,
            "refused": refused,
            "failed": offered - good - substituted - refused,
            "mean_s": np.divide(took_s, good, out=np.full(windows, np.nan), where=good > 0),
            "answered_rps": np.histogram(ended_s[right], bins=edges)[0] / np.diff(edges),
        }
    )


def prompt_share(samples: pd.DataFrame) -> float | None:
    """The share of all requests that were answered right within :data:`PROMPT_S` of their planned sends; None of none.

    Args:
        samples: of the measured load, with :data:`COLUMNS`.

    """
    planned_s, ended_s, error = _times(samples)
    right = (error == "") & ~samples["fallback"].to_numpy(dtype=bool)
    return float((right & (ended_s - planned_s <= PROMPT_S)).mean()) if len(samples) else None


def kept_pace_share(samples: pd.DataFrame, duration_s: float) -> float | None:
    """The share of all sessions that were answered right while the ramp lasted, and a latency longer; None of none.

    The latency is that of the first answers. Where answers keep pace it is 1. Where they never did, most may be
    answered right in the end, and long after that.

    Args:
        samples: one row a session: :func:`by_session`.
        duration_s: of the ramp.

    """
    planned_s, ended_s, error = _times(samples)
    right = (error == "") & ~samples["fallback"].to_numpy(dtype=bool)
    if not right.any():
        return 0.0 if len(samples) else None
    return float((right & (ended_s <= duration_s + _alone_s(planned_s[right], ended_s[right]))).mean())


@dataclass(frozen=True)
class Knee:
    """The rate of a ramp from which on answers no longer keep pace, with the interval of its noise within the ramp.

    Attributes:
        rate: sessions a second, each of which may be one request.
        at_s: when the ramp had that rate.
        beyond: by how much the rate of answers changes with each session a second that is offered beyond the knee:
            0 on a plateau, negative where they become fewer.
        collapse_rps: the rate of the ramp when fewer than half of the most were answered; None where that never was.

    """

    rate: float
    low: float
    high: float
    at_s: float
    beyond: float
    collapse_rps: float | None = None

    def in_words(self, unit: str = "") -> str:
        """The end of a sentence for people, with the unit of its rates where that is to be said: ``" sessions"``."""
        after = "then answers stay at about that rate" if self.beyond > -0.1 else "then answers become fewer"
        end = "" if self.collapse_rps is None else f", and collapse at {self.collapse_rps:,.0f}{unit}/s"
        return f"knee at {self.rate:,.0f}{unit}/s ({self.low:,.0f} to {self.high:,.0f}), {after}{end}"


def knee(samples: pd.DataFrame, from_rps: float, to_rps: float, duration_s: float) -> Knee | None:
    """The knee of a ramp whose rate grows from ``from_rps`` to ``to_rps`` within ``duration_s``.

    None where answers kept pace to the end, where there were too few to say, or where they never kept pace. The
    interval is that of 95 %, by resampling blocks of the residuals; what differs from run to run is not in it.

    Args:
        samples: one row a session: :func:`by_session`.

    """
    planned_s, ended_s, error = _times(samples)
    right = (error == "") & ~samples["fallback"].to_numpy(dtype=bool)
    if int(right.sum()) < FEWEST_ANSWERS:
        return None
    alone_s = _alone_s(planned_s[right], ended_s[right])
    if alone_s >= duration_s / 2:
        return None
    slope = (to_rps - from_rps) / duration_s
    collapsed_s = _collapse_s(*_answered(ended_s[right], alone_s, duration_s))
    # Without the windows in which answers were becoming fewer.
    before_s = duration_s if collapsed_s is None else collapsed_s - SMOOTHED * (duration_s - alone_s) / FITTED_WINDOWS
    middle_s, answered = _answered(ended_s[right], alone_s, max(before_s, 2 * alone_s))
    offered = from_rps + slope * (middle_s - alone_s)
    breaks_s = np.linspace(middle_s[MARGIN], middle_s[-MARGIN - 1], CANDIDATES)
    fit = _Fit(middle_s, offered, slope, breaks_s)
    (best,), (beyond,) = fit.best(answered[None, :])
    if beyond > STILL_GROWING * slope or best == 0:
        return None
    line = fit.line(best, beyond)
    resampled, _ = fit.best(line + _blocks(answered - line))
    rates = from_rps + slope * (breaks_s - alone_s)
    low, high = np.quantile(rates[resampled], [(1 - students_t.CONFIDENCE) / 2, (1 + students_t.CONFIDENCE) / 2])
    return Knee(
        rate=float(rates[best]),
        low=float(low),
        high=float(high),
        at_s=float(breaks_s[best] - alone_s),
        beyond=float(beyond / slope),
        collapse_rps=None if collapsed_s is None else from_rps + slope * collapsed_s,
    )


def _alone_s(planned_s: Floats, ended_s: Floats) -> float:
    """The median latency of the first answers, of which a fiftieth is taken, and twenty at least."""
    first = np.argsort(planned_s)[: max(20, len(planned_s) // 50)]
    return float(np.median((ended_s - planned_s)[first]))


def _answered(ended_s: Floats, from_s: float, to_s: float) -> tuple[Floats, Floats]:
    """The middles of windows of equal length, and how many answers a second came in each."""
    edges = np.linspace(from_s, to_s, FITTED_WINDOWS + 1)
    return (edges[:-1] + edges[1:]) / 2, np.histogram(ended_s, bins=edges)[0] / (edges[1] - edges[0])


def _collapse_s(at_s: Floats, answered: Floats) -> float | None:
    """When answers fell below half of the most, for longer than a moment; None if they never did."""
    smooth = pd.Series(answered).rolling(SMOOTHED, center=True, min_periods=1).median().to_numpy()
    most = int(smooth.argmax())
    fallen = np.flatnonzero(smooth[most:] < COLLAPSED * smooth[most])
    return float(at_s[most + fallen[0]]) if len(fallen) else None


class _Fit:
    """Fits the rate of answers over time with each of some breaks: what is offered before it, a straight line after."""

    def __init__(self, at_s: Floats, offered: Floats, slope: float, breaks_s: Floats) -> None:
        self._slope = slope
        self._after_s = np.maximum(at_s[None, :] - breaks_s[:, None], 0.0)  # shape (breaks, windows)
        self._before = offered[None, :] - slope * self._after_s  # what is offered until the break, and its rate then
        self._squares = (self._after_s**2).sum(axis=1)

    def best(self, answered: Floats) -> tuple[np.ndarray, np.ndarray]:
        """The index of the best break for each row of ``answered``, and the slope after it, shapes (rows,)."""
        products = answered @ self._after_s.T - (self._before * self._after_s).sum(axis=1)
        slopes = np.minimum(products / self._squares, self._slope)
        of_before = (answered**2).sum(axis=1)[:, None] - 2 * answered @ self._before.T + (self._before**2).sum(axis=1)
        errors = of_before - 2 * slopes * products + slopes**2 * self._squares
        best = errors.argmin(axis=1)
        return best, slopes[np.arange(len(best)), best]

    def line(self, best: int, slope: float) -> Floats:
        """The fitted rate of answers in each window."""
        fitted: Floats = self._before[best] + slope * self._after_s[best]
        return fitted


def _blocks(residuals: Floats) -> Floats:
    """Residuals in random order by blocks, so that what follows one another stays together; one row a resample."""
    chance, count = np.random.default_rng(0), len(residuals)
    length = max(1, round(count**0.5 / 2))
    starts = chance.integers(0, count - length + 1, size=(RESAMPLES, -(-count // length)))
    picked = (starts[:, :, None] + np.arange(length)).reshape(RESAMPLES, -1)[:, :count]
    centred: Floats = (residuals - residuals.mean())[picked]
    return centred


def _times(samples: pd.DataFrame) -> tuple[Floats, Floats, np.ndarray]:
    """When each request was planned and when it ended, in seconds, and its error."""
    ended_us = samples["sent_us"] + samples["latency_us"]
    return samples["planned_us"].to_numpy() / 1e6, ended_us.to_numpy() / 1e6, samples["error"].to_numpy(dtype=object)
