"""The printed formulas for R requests at once, each against measurements on a grid of R, T, N, x and t.

T is the number of threads, N that of connections, x how many independent calls a request makes, and t how long each
of them takes. Every cell is within 10 % of its formula, or is named with what the formula leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import fmean, median

from lab.experiments.reproduction.judging import ClaimCheck, Measure, decide, near, time_for_all_s
from lab.experiments.reproduction.publication import CONFIRMED, Claim, Part, Publication, ReproducedRow
from lab.formulas import laws, queueing
from lab.spec.options import Options

WITHIN = 0.10
# CPU time that a formula leaves out may explain a deviation, if it is at least this share of it, and at most so many
# times as much: it is that of all cores, and also of the time in which other requests waited.
EXPLAINS, AT_MOST = 0.5, 3.0
SYNC, REACTIVE = "mvc", "webflux"


@dataclass(frozen=True)
class Setting:
    """One run of the grid: the limits and the time of a call, at several R.

    Attributes:
        limits: which of the printed rows it is: what limits requests, in the document's order.
        connections: N; 0 where nothing is called.
        calls: x; 0 where the scenario has no such parameter.

    """

    limits: str
    scenario: str
    users: tuple[int, ...]
    threads: int
    t_ms: int
    connections: int = 0
    calls: int = 0

    @property
    def name(self) -> str:
        """What its part is called, such as ``delay: T 10, t 1000 ms``."""
        known = {"T": self.threads, "N": self.connections, "x": self.calls}
        limits = ", ".join(f"{letter} {value}" for letter, value in known.items() if value)
        return f"{self.scenario}: {limits}, t {self.t_ms} ms"

    @property
    def part(self) -> Part:
        """Its part of the publication."""
        calls = {"calls": self.calls} if self.calls else {}
        parameters = {"delay_ms": self.t_ms} if self.scenario == "delay" else calls
        options = Options(
            variants=(SYNC, REACTIVE),
            users=self.users,
            ramp_up=0.0,
            threads=self.threads,
            pool=self.connections or None,
            link_latency_ms=self.t_ms if self.connections else None,
            parameters=parameters,
        )
        return Part(self.name, "formulas", options, scenario=self.scenario)

    def printed_s(self, variant: str, users: int) -> float:
        """The time for R requests by the printed formula of a synchronous or a reactive service."""
        t_s, calls, connections = self.t_ms / 1000, self.calls or 1, self.connections or None
        if variant == SYNC:
            return laws.total_synchronous(users, t_s, self.threads, connections, calls)
        return laws.total_reactive(users, t_s, connections, calls)

    def by_call_s(self, users: int) -> float:
        """The same for a synchronous service whose requests give their connection back after each call.

        0 where threads limit them, so that nobody waits for a connection.
        """
        if not 0 < self.connections < min(self.threads, users):
            return 0.0
        return queueing.wave_count(users * (self.calls or 1), self.connections) * self.t_ms / 1000


NONE, THREADS, CONNECTIONS, CALLS = "one thread", "T threads", "T threads, N connections", "and x calls a request"
GRID = (
    Setting(NONE, "delay", (1, 5, 25), threads=1, t_ms=200),
    Setting(THREADS, "delay", (10, 25, 100), threads=10, t_ms=1000),
    Setting(CONNECTIONS, "fanout", (20, 50, 200), threads=20, t_ms=200, connections=100, calls=1),
    Setting(CONNECTIONS, "fanout", (20, 50, 200), threads=200, t_ms=200, connections=20, calls=1),
    Setting(CONNECTIONS, "document", (10, 40), threads=10, t_ms=500, connections=20),
    Setting(CALLS, "fanout", (10, 40, 100), threads=20, t_ms=200, connections=100, calls=5),
    Setting(CALLS, "fanout", (10, 30, 100), threads=200, t_ms=200, connections=20, calls=5),
)
BY_NAME = {setting.name: setting for setting in GRID}
# As the document prints them, by what limits requests.
PRINTED = {
    (NONE, SYNC): "R·t",
    (NONE, REACTIVE): "t",
    (THREADS, SYNC): "⌈R/T⌉·t",
    (THREADS, REACTIVE): "t",
    (CONNECTIONS, SYNC): "⌈R/min(N,T)⌉·t",
    (CONNECTIONS, REACTIVE): "⌈R/N⌉·t",
    (CALLS, SYNC): "⌈R/min(N,T)⌉·t·x",
    (CALLS, REACTIVE): "⌈R·x/N⌉·t",
}


def printed_s(row: ReproducedRow) -> float:
    """The time for all requests of a row by the formula that is printed for it."""
    return BY_NAME[row.part].printed_s(row.variant, row.users)


def formula_of(row: ReproducedRow) -> str:
    """The formula that is printed for a row, with its limits."""
    limits = BY_NAME[row.part].limits
    return f"{'synchronous' if row.variant == SYNC else 'reactive'}, {limits}: {PRINTED[limits, row.variant]}"


def measured_s(row: ReproducedRow) -> float | None:
    """The time for all requests of a row, a mean over its repeats; None where nothing was measured to judge it by."""
    times = [time for repeat in row.usable if (time := _answered_s(row)(repeat)) is not None]
    return fmean(times) if times else None


def _answered_s(row: ReproducedRow) -> Measure:
    """The time in which all requests of a row were answered; None where one failed, as a failure may come early."""
    for_all_s = time_for_all_s(row)
    return lambda repeat: None if repeat.error_share else for_all_s(repeat)


def reason(row: ReproducedRow, rows: Sequence[ReproducedRow]) -> str:
    """Why a row is more than 10 % off its formula, in words; empty if it is not, or was not measured.

    Tried in this order: that calls wait, and not requests; that a wave takes longer than t, by the smallest load of the
    same setting; and the CPU time of the requests that are more than there, or of all that are sent at once there.
    Where the measurement is suspect, which may be the reason too, the row's label says so.

    Args:
        rows: the others of its setting among them.

    """
    took_s, asked_s = measured_s(row), printed_s(row)
    if took_s is None or not _is_off(took_s, asked_s):
        return ""
    by_call_s = BY_NAME[row.part].by_call_s(row.users)
    if row.variant == SYNC and by_call_s and not _is_off(took_s, by_call_s) and _is_off(asked_s, by_call_s):
        return f"waves: connections are given back after each call, so all calls together take {by_call_s:.3g} s"
    smallest = min(
        (each for each in rows if (each.part, each.variant) == (row.part, row.variant)), key=attrgetter("users")
    )
    first_s, off_s = measured_s(smallest), took_s - asked_s
    more, cpu_s = row.users, _cpu_s(row)
    if smallest.users < row.users and first_s:
        longer = first_s / printed_s(smallest)
        if not _is_off(took_s, asked_s * longer):
            return f"a wave takes {longer:.2f} t with {smallest.users} requests already, of which it knows nothing"
        more, cpu_s = more - smallest.users, cpu_s - _cpu_s(smallest)
    if off_s > 0 and EXPLAINS * off_s <= cpu_s <= AT_MOST * off_s:
        return f"CPU may explain it: {cpu_s:.2g} s of {more} requests, which the formula takes to be nothing"
    return "not explained by waves or CPU"


def _is_off(took_s: float, asked_s: float) -> bool:
    return abs(took_s / asked_s - 1) > WITHIN


def _cpu_s(row: ReproducedRow) -> float:
    """CPU seconds of the service for all requests of a row, the median of its repeats; 0 where it is not known.

    The mean would be that of a compiler that was at work in one of them.
    """
    known = [repeat.figures.get("cpu_s_per_1000_requests") for repeat in row.usable]
    return median([row.measured_users / 1000 * cost for cost in known if cost is not None] or [0.0])


def deviations(rows: Sequence[ReproducedRow]) -> list[str]:
    """What is said of each row that is more than 10 % off its formula, with the reason, or that was not measured."""
    said = []
    for row in rows:
        took_s = measured_s(row)
        if took_s is None:
            said.append(f"{row.label}: nothing was measured to judge it by")
        elif why := reason(row, rows):
            said.append(f"{row.label}: {took_s:.3g} s, not {printed_s(row):.3g} s ({why})")
    return said


def formula(limits: str, variant: str) -> Claim:
    """That R requests take as long as the formula for these limits says."""
    parts = {(setting.name, variant) for setting in GRID if setting.limits == limits}

    def judge(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
        mine = [row for row in rows if (row.part, row.variant) in parts]
        checks: list[ClaimCheck] = [
            check for row in mine for check in near([row], _answered_s(row), printed_s, share=WITHIN)
        ]
        word, evidence = decide(checks)
        if word == CONFIRMED:
            return word, evidence
        return word, " ".join([evidence, *(f"{sentence}." for sentence in deviations(mine))])

    who = "synchronous" if variant == SYNC else "reactive"
    return Claim(f"{limits[0].upper()}{limits[1:]}, {who}: R requests take {PRINTED[limits, variant]}.", judge)


FORMULAS = Publication(
    name="formulas",
    title="R requests at once: eight printed formulas, on a grid of R, T, N, x and t",
    scenario="delay",
    parts=tuple(setting.part for setting in GRID),
    formula_s=printed_s,
    claims=tuple(formula(limits, variant) for limits, variant in PRINTED),
    # Three repeats: the interval of two is wider than the tenth that is claimed. In containers it is one.
    repeated_within_s=1800.0,
)

PUBLICATIONS = (FORMULAS,)
