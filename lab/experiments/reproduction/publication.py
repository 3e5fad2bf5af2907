"""A published experiment as data: its parts, the rows of its table, and its claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lab.analysis.verdict import SUSPECT
from lab.errors import LabError
from lab.experiments import find_scenario
from lab.reporting.formatting import SURVIVORS
from lab.runtimes import host
from lab.spec import numbers, planning
from lab.spec.limits import Limits
from lab.spec.options import LEAST_PACE, Options, several
from lab.spec.plan import Interleave, Plan
from lab.spec.scenario import Scenario
from lab.storage import published

# The variants of most reproductions; one whose scenario has others names them itself.
VARIANTS = ("mvc", "mvc-virtual", "webflux")
CONFIRMED, REFUTED, UNDECIDED, NOT_JUDGED = "confirmed", "refuted", "undecided", "not judged"
# Settings in words, for claims that were made for one of them only.
SETTINGS = {"accept_count": "listen backlog"}


@dataclass(frozen=True)
class Repeat:
    """One measurement of a row; rates are scaled back to the document's size.

    Attributes:
        mean_s: mean latency of the right answers; None if there were none.
        rps: answers and failures a second, as JMeter counts.
        error_share: failed requests over all, 0 to 1.
        usable: whether it may decide a claim: it is complete, not invalid, and not empty.
        figures: by name, such as ``p99_s``, latencies of the right answers, ``all_mean_s`` and ``all_p90_s``, latencies
            of all, failed ones too, and what the load cost the service (see
            :func:`lab.analysis.service_cost.service_cost`); by what is counted, such as ``mongo find``, how many of
            these a request made; of a ramp what :func:`lab.experiments.reproduction.rows.ramp_figures` returns; and of
            programs what an execution used (see :func:`lab.analysis.program_use.program_use`).
        sums_s: by name, what the requests of a session take together, where a scenario says how many these are.
        failed_shares: by name of the requests, failed ones over all, 0 to 1, where there are several names.
        requests: how many there were of each of these names.
        requests_each: requests over users.
        errors: how many requests failed, by class.
        stopped: how many sessions were stopped early, so that all its other figures are of the users who went on.
        batches: in how many batches variants took turns that memory did not hold at once; each has repeats of its own.
        beside: the variants that took turns with it in some batch, by the plan, itself among them.

    """

    number: int
    mean_s: float | None
    rps: float
    ok_rps: float
    error_share: float
    verdict: str
    usable: bool
    figures: Mapping[str, float] = field(default_factory=dict)
    sums_s: Mapping[str, float] = field(default_factory=dict)
    failed_shares: Mapping[str, float] = field(default_factory=dict)
    requests: Mapping[str, int] = field(default_factory=dict)
    requests_each: float = 1.0
    errors: Mapping[str, int] = field(default_factory=dict)
    stopped: int = 0
    batches: int = 1
    beside: frozenset[str] = frozenset()

    @property
    def start(self) -> int:
        """The number, from 0, of the start that it shares with those of other batches."""
        return (self.number - 1) // self.batches


@dataclass(frozen=True)
class ReproducedRow:
    """One load of one variant: published, predicted and measured figures.

    Attributes:
        part: the part of the experiment it belongs to.
        users: R of the document.
        measured_users: the number of users in the scaled run.
        servers: T or N, scaled back to the document's size; None where nothing limits the variant.
        service_s: t; None where it is not known beforehand.
        last_start_s: when the waves began that end last: the start of the first user in them.
        answer_bytes: bytes that one request moves over a link of limited rate; 0 without such a link.
        link_rate: bandwidth of the link in bytes/s, scaled back; 0 where it is not limited.
        earlier: by run, the repeats of the very same cell in earlier runs on this machine, if there were several: they
            show how far one measurement lies from the next.
        stand_in: the title of what stood in for a database, if anything did.
        of_programs: whether it is of a program, which is executed by one user at a time.
        at: the load in words where that is a rate, of which the users are but a reserve; else empty.
        in_turns: by another variant and a field of ``summary.json``, this one over that one in each start, where both
            took turns in windows: see :mod:`lab.analysis.window_ratios`.
        repeat_s: how long one repeat of the whole publication took; 0 if that is not known.
        session_times: by name, how often a session that comes to its end sends a request; empty where that is unknown.
        runs: the names of the runs that were measured in turns with it, its own among them.

    """

    part: str
    users: int
    measured_users: int
    variant: str
    published: published.PublishedRow | None
    model_mean_s: float | None
    servers: float | None
    service_s: float | None
    last_start_s: float
    answer_bytes: int
    link_rate: float
    repeats: tuple[Repeat, ...]
    earlier: Mapping[str, tuple[Repeat, ...]] = field(default_factory=dict)
    stand_in: str = ""
    of_programs: bool = False
    at: str = ""
    in_turns: Mapping[tuple[str, str], Sequence[float]] = field(default_factory=dict)
    repeat_s: float = 0.0
    session_times: Mapping[str, int] = field(default_factory=dict)
    runs: frozenset[str] = frozenset()

    @property
    def usable(self) -> tuple[Repeat, ...]:
        """The repeats that may decide a claim."""
        return tuple(repeat for repeat in self.repeats if repeat.usable)

    def took_turns_with(self, other: ReproducedRow) -> bool:
        """Whether repeats of the same number were measured near each other; parts are measured one after the other."""
        return self.part == other.part or bool(self.runs & other.runs)

    @property
    def marked(self) -> str:
        """Its variant, marked where sessions were stopped early: then its figures are of the users who went on."""
        return self.variant + SURVIVORS * any(repeat.stopped for repeat in self.usable)

    @property
    def label(self) -> str:
        """Its name in sentences, such as ``mvc at R = 4,000 (pool 50, suspect)``."""
        suspect = SUSPECT if any(repeat.verdict == SUSPECT for repeat in self.usable) else ""
        about = ", ".join(filter(None, (self.part, suspect)))
        at = "" if self.of_programs else f" at {self.at or f'R = {self.users:,}'}"
        return f"{self.marked}{at}" + (f" ({about})" if about else "")


Judge = Callable[[Sequence[ReproducedRow]], tuple[str, str]]


@dataclass(frozen=True)
class Claim:
    """A claim of a document or of theory.

    Attributes:
        judge: returns a verdict and its evidence from rows.
        made_for: the settings that it was made for, by name; any if empty.
        elsewhere: the publication that measures these, if this one does not.
        by_ramp_of: the part whose ramp should be the document's, of a claim that is no comparison, and that a heavier
            load makes true rather than false: under a steeper ramp it can be refuted, and not confirmed. It is not
            judged by fewer users, whose load may be a lighter one. Any if empty.
        of_database: whether it is about the speed of the database itself, of which a stand-in says nothing.

    """

    text: str
    judge: Judge
    made_for: Mapping[str, int] = field(default_factory=dict)
    elsewhere: str = ""
    by_ramp_of: str = ""
    of_database: bool = False


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict, confirmed, refuted, undecided or not judged, and the evidence."""

    claim: str
    word: str
    evidence: str


@dataclass(frozen=True)
class Part:
    """One run of an experiment, at the document's size.

    Attributes:
        name: distinguishes it from the other parts; empty if it is the only one.
        table: the published table its rows are in.
        instead_of: what the document sent, such as ``5,000,000 requests``, or how long its ramp lasted, where this
            measures for a time; else empty.
        request: the name of the request whose latency its rows show, where sessions have several; else that of all.
        scenario: what it measures, where that is not what the other parts of its publication measure.
        most_repeats: how often each of its cells is measured at most, however often the others are; 0 for no limit.
        pace: how long pauses, ramp and timeout take, as a multiple of the document's. With fewer users in the same
            proportion, they offer as many requests a second. A queue that overload builds up has fewer seconds to
            grow, in the same proportion; so has the timeout that it is held against.
        together: whether the same starts of the services serve it and the other parts of which this is said: see
            :func:`lab.running.conductor.conduct_together`. They differ in their loads alone.
        ramp_instead_of_s: how long the document's ramp lasts, where this one is another; 0 where it is the same.

    """

    name: str
    table: str
    options: Options
    instead_of: str = ""
    request: str = ""
    scenario: str = ""
    most_repeats: int = 0
    pace: float = 1.0
    together: bool = False
    ramp_instead_of_s: float = 0.0

    @property
    def of_programs(self) -> bool:
        """Whether it executes programs, which have neither users to scale nor limits; it names its scenario then."""
        return bool(self.scenario) and find_scenario(self.scenario).entry == "program"

    @property
    def unscaled(self) -> str:
        """Why it is measured at no other scale than 1; empty if it can be."""
        if self.of_programs:
            return "programs have no users"
        return f"this is measured for a time, at the document's {self.kept}" if self.instead_of else ""

    @property
    def kept(self) -> str:
        """What is the document's where it measures for a time: connections, or the rates of a ramp."""
        return "rates" if self.options.ramp else "connections"

    @property
    def lasting_s(self) -> float | None:
        """For how many seconds it sends requests; None where something else ends its load."""
        ramp = several(self.options.ramp)
        return ramp[-1] if ramp else self.options.duration

    def limit(self, name: str) -> int:
        """A limit at the document's size: the part's option, or the default of the stance ``equal``."""
        return int(getattr(self.options, name) or getattr(Limits(), name))

    @property
    def scales(self) -> list[float]:
        """The scales, ascending, at which threads, connections, and users where there is more than one, are whole.

        At any other, rounding would change R/T or R/N. Only 1 where it measures for a time instead, or programs.
        """
        if self.unscaled:
            return [1.0]
        steps = math.gcd(self.limit("threads"), self.limit("pool"))
        scales = (step / steps for step in range(1, steps + 1))
        return [scale for scale in scales if all(_is_whole(users * scale * self.pace) for users in self.options.users)]

    def scaled(self, scale: float) -> Options:
        """The options at a scale and pace, with R/T, R/N, ramp/t and bytes a second for each user unchanged.

        At another pace R, ramp and timeout are as much smaller as pauses are shorter: then the requests a second for
        each thread and connection are unchanged, and R/T, R/N and ramp/t are not. A row of fewer than one user has one.

        Raises:
            LabError: the scale is above 1, would change R/T or R/N of a row, or there is only one scale.

        """
        options = self.options
        if self.unscaled:
            if scale != 1:
                raise LabError(f"--scale {scale:g} is not possible: {self.unscaled}.", "Leave --scale out.")
            return options
        if not self.scales:
            raise LabError(
                f"At --pace {self.pace:g} no scale keeps threads, connections and users whole numbers.",
                "Choose another pace, such as 0.5.",
            )
        if not any(math.isclose(scale, possible) for possible in self.scales):
            nearest = min(self.scales, key=lambda possible: abs(possible - scale))
            raise LabError(
                f"--scale {scale:g} is not possible.",
                f"Choose from {self.scales[0]:g} to 1 what keeps threads, connections and users whole numbers; the "
                f"nearest is {nearest:g}.",
            )
        return replace(
            options,
            users=list(dict.fromkeys(self.users_at(users, scale) for users in options.users)),
            pace=None if self.pace == 1 else self.pace,
            timeout=None if options.timeout is None else self.pace * options.timeout,
            threads=round(self.limit("threads") * scale),
            pool=round(self.limit("pool") * scale),
            accept_count=max(1, round(self.limit("accept_count") * scale)),
            link_rate=None if options.link_rate is None else round(options.link_rate * scale),
        )

    def users_at(self, users: int, scale: float) -> int:
        """The number of users at a scale for R of the document: at least one."""
        return max(1, round(users * scale * self.pace))


@dataclass(frozen=True)
class Publication:
    """An experiment of a document, as data.

    Attributes:
        scenario: what its parts measure, unless they name another one.
        parts: its runs; several where they differ in more than users and variants.
        cores: the cores that the document's size needs, with ``memory_gb`` of memory.
        formula_s: the time for all requests of a row by the formula that is tried on it, where one is.
        repeated_within_s: cells are measured as often as fits into this time, unless somebody says how often.
        figures: the names of those in :attr:`Repeat.figures` that have a column of their own, beside it the published
            ones (:attr:`lab.storage.published.PublishedRow.figures`). The end of a name, such as ``_s``, is its unit:
            see :func:`lab.reporting.formatting.figure_text`.

    """

    name: str
    title: str
    scenario: str
    parts: tuple[Part, ...]
    claims: tuple[Claim, ...]
    cores: int = 2
    memory_gb: float = 8.0
    formula_s: Callable[[ReproducedRow], float] | None = None
    repeated_within_s: float = 1500.0
    figures: tuple[str, ...] = ()

    @property
    def of_programs(self) -> bool:
        """Whether its parts execute programs, which have neither users nor a size of the document's."""
        return all(part.of_programs for part in self.parts)

    @property
    def batches(self) -> list[list[int]]:
        """The places of the parts that the same starts of the services serve; of any other part its own alone."""
        together = [place for place, part in enumerate(self.parts) if part.together]
        alone = [[place] for place, part in enumerate(self.parts) if not part.together]
        return sorted([*alone, *([together] if together else [])])

    @property
    def document(self) -> str:
        """The document that published it."""
        return str(published.table(self.parts[0].table)["source"])

    @property
    def slips(self) -> list[str]:
        """Errors and gaps in the document's own numbers."""
        return list(dict.fromkeys(note for part in self.parts for note in published.table(part.table)["notes"]))

    def plan(self, part: Part, scale: float, seed: int | None = None, repeat: int = 1) -> Plan:
        """The plan of one part at a scale on this machine; LabError if that is not possible."""
        times = min(repeat, part.most_repeats or repeat)
        options = replace(part.scaled(scale), seed=seed, repeat=times)
        return planning.make_plan(self.scenario_of(part), options, host.machine())

    def scenario_of(self, part: Part) -> Scenario:
        """The scenario that a part measures."""
        return find_scenario(part.scenario or self.scenario)

    def taking_turns(self, interleave: Interleave) -> Publication:
        """The same experiment with variants that take turns by cells, or by windows; LabError if a load has none."""
        parts = (replace(part, options=replace(part.options, interleave=interleave)) for part in self.parts)
        turning = replace(self, parts=tuple(parts))
        for part in turning.parts:
            turning.plan(part, 1.0)
        return turning

    @property
    def pace(self) -> float:
        """How long pauses, ramps and timeouts take, as a multiple of the document's."""
        return self.parts[0].pace

    def at_pace(self, pace: float) -> Publication:
        """The same experiment at another pace; LabError if that is not possible, as where users do not pause."""
        pace = numbers.at_least("--pace", numbers.real("--pace", pace), LEAST_PACE)
        paced = replace(self, parts=tuple(replace(part, pace=pace) for part in self.parts))
        for part in paced.parts:
            paced.plan(part, part.scales[-1] if part.scales else 1.0)
        return paced

    def judge(self, rows: Sequence[ReproducedRow]) -> tuple[JudgedClaim, ...]:
        """Judge every claim by the measured rows."""
        return tuple(
            JudgedClaim(
                claim.text,
                *(
                    self._not_judged(claim, rows)
                    or _by_stand_in(claim, rows)
                    or self._by_ramp(claim, *claim.judge(rows))
                ),
            )
            for claim in self.claims
        )

    def _not_judged(self, claim: Claim, rows: Sequence[ReproducedRow]) -> tuple[str, str] | None:
        """Why a claim is not judged by these measurements: it was made for other settings. None if it is judged."""
        for name, value in claim.made_for.items():
            here = {part.limit(name) for part in self.parts}
            if value not in here:
                measured = " and ".join(f"{each:,}" for each in sorted(here))
                return NOT_JUDGED, (
                    f"It was made for a {SETTINGS[name]} of {value:,}, and this is measured with {measured}: "
                    f"python -m lab reproduce {claim.elsewhere}"
                )
        return of_other_users([row for row in rows if claim.by_ramp_of and row.part == claim.by_ramp_of], self.name)

    def _by_ramp(self, claim: Claim, word: str, evidence: str) -> tuple[str, str]:
        """What is left of a verdict on a claim, with its evidence, where the ramp is not the document's."""
        part = next((part for part in self.parts if part.ramp_instead_of_s and part.name == claim.by_ramp_of), None)
        if not part or word == UNDECIDED:
            return word, evidence
        ramp_s, published_s = part.options.ramp_up or 0.0, part.ramp_instead_of_s
        said = f"It was made for a ramp of {published_s:g} s, and that of {part.name} lasts {ramp_s:g} s"
        # What is not seen while users come faster would not be seen while they come more slowly.
        if word == REFUTED and ramp_s < published_s:
            return word, f"{evidence} {said}, which is a heavier load."
        return NOT_JUDGED, f"{said}."


def of_other_users(rows: Sequence[ReproducedRow], name: str) -> tuple[str, str] | None:
    """Why a claim that depends on how many users there are is not judged; None if these are the document's.

    A scale keeps R/T, and not how many requests come in a second.

    Args:
        rows: those that the claim is about.
        name: of the publication, which measures the document's users at scale 1.

    """
    other = [row for row in rows if row.measured_users != row.users]
    if not other:
        return None
    numbers = ({row.users for row in other}, {row.measured_users for row in other})
    users, measured = (" and ".join(f"{each:,}" for each in sorted(of)) for of in numbers)
    return NOT_JUDGED, (
        f"It was made for {users} users, and this was measured with {measured}: "
        f"python -m lab reproduce {name} --scale 1"
    )


def _by_stand_in(claim: Claim, rows: Sequence[ReproducedRow]) -> tuple[str, str] | None:
    """Why a claim about a database is undecided: something else stood in for it. None if that is not so."""
    stand_ins = dict.fromkeys(row.stand_in for row in rows if row.stand_in)
    if not claim.of_database or not stand_ins:
        return None
    return UNDECIDED, f"This was measured on {' and '.join(stand_ins)}, whose speed is its own."


def _is_whole(users: float) -> bool:
    """Whether so many users are a whole number, or fewer than one, which stand for one."""
    return users < 1 or math.isclose(users, round(users))
