"""Are bad runs called bad? ``python benchmarks/sensitivity.py [--times 3] [--only NAME] [--data FOLDER] [--json]``.

Plants each fault of :data:`FAULTS` in real runs, at the size that stands beside it, and sees whether the verdict names
it: a reason that anything else could have caused does not count. Runs of the same settings in which nothing is wrong
are judged beside them, on a quiet machine. Ends with status 1 if a fault was missed, with 2 if this machine did not let
one be planted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import faults
from faults import Moment, Planted, beside, relayed, thief
from rich.console import Console

from lab.analysis.verdict import VALID
from lab.errors import LabError
from lab.experiments import find_scenario
from lab.running import conductor
from lab.running.invocation import Invocation
from lab.running.measurement import Measurement
from lab.running.progress import Reporter
from lab.running.testbed import Testbed
from lab.runtimes import host
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.own_load import Locustfile
from lab.spec.plan import WINDOWS, Plan
from lab.spec.scenario import Scenario

FAULTY_USER = Path(__file__).with_name("faulty_user.py")
DELAY_S, LOAD_S = 0.5, 11.0
DELAYED: dict[str, Any] = {"users": [200], "variants": ["mvc-virtual"], "duration": LOAD_S}
OF_DELAY: dict[str, Any] = {**DELAYED, "parameters": {"delay_ms": round(DELAY_S * 1000)}}

SLOWER = (
    "Latency rose by|Throughput fell by|CPU time a request rose by|The CPU that the service used fell by|"
    "The cores of service and generator together became less busy"
)


@dataclass(frozen=True)
class Setting:
    """What is measured where nothing is wrong; of several variants the first is the one that faults are planted in."""

    name: str
    scenario: str
    options: Mapping[str, Any]


CLOSED = Setting("closed", "delay", OF_DELAY)
OPEN = Setting("open", "delay", {**OF_DELAY, "users": [1000], "rate": 400})
# 200 threads that are held for 2 s each answer 100 requests a second.
QUEUE = Setting(
    "queue",
    "delay",
    {
        "users": [5000],
        "variants": ["mvc"],
        "duration": 20,
        "rate": 90,
        "threads": 200,
        "parameters": {"delay_ms": 2000},
    },
)
BURST = Setting("burst", "delay", {**OF_DELAY, "users": [400], "ramp_up": 0, "duration": None, "loops": 2})
FANOUT = Setting(
    "fanout", "fanout", {**DELAYED, "users": [60], "link_latency_ms": 300, "parameters": {"calls": 1}, "ramp_up": 1}
)
# As ``lab run jwt`` measures: each variant for a second at a time, in turns.
JWT = Setting("jwt", "jwt", {"users": [50], "variants": ["mvc", "mvc-virtual", "webflux"], "duration": 20})
JWT_ALONE = Setting("jwt-alone", "jwt", {**JWT.options, "variants": ["mvc"]})
SETTINGS = (CLOSED, OPEN, QUEUE, BURST, FANOUT, JWT, JWT_ALONE)


def _as_it_is(scenario: Scenario) -> Scenario:
    return scenario


def _hardly_rehearsed(**less: int) -> Callable[[Scenario], Scenario]:
    """Services that are warmed up for fewer rounds, or by fewer requests in each."""
    return lambda scenario: replace(scenario, rehearsal=replace(scenario.rehearsal, **less))


def _deaf(scenario: Scenario) -> Scenario:
    """Services that are not told how many threads they may have."""
    told = [{k: v for k, v in variant.properties.items() if "threads.max" not in k} for variant in scenario.variants]
    variants = tuple(replace(v, properties=heard) for v, heard in zip(scenario.variants, told, strict=True))
    return replace(scenario, variants=variants)


@dataclass(frozen=True)
class Fault:
    """Something that is wrong with a run.

    Attributes:
        size: how much of it there is.
        alarm: what the reason that names it contains, a regular expression.
        options: those of the setting that are different.
        scenario: makes of the scenario the one that is measured.
        habit: of the users, as :mod:`faulty_user` has them; none if empty.
        planted: what is done while the load is measured.
        of_throughput: the rate of an open loop, as a share of what the setting's closed loop answers where nothing is
            wrong; as in ``options`` if 0.

    """

    name: str
    size: str
    setting: Setting
    alarm: str
    options: Mapping[str, Any] = field(default_factory=dict)
    scenario: Callable[[Scenario], Scenario] = _as_it_is
    habit: str = ""
    planted: Planted = faults.undisturbed
    of_throughput: float = 0.0


FAULTS = (
    Fault(
        "service-core-stolen",
        "another program takes 10 % of the service's core, in slices of 10 ms",
        CLOSED,
        r"Other programs used \d+% of the service's cores",
        planted=thief("service", 0.001, 0.01),
    ),
    Fault(
        "generator-core-stolen",
        "another program takes 10 % of the generator's core, in slices of 10 ms",
        CLOSED,
        r"Other programs used \d+% of the generator's cores",
        planted=thief("generator", 0.001, 0.01),
    ),
    Fault(
        "neighbour-in-bursts",
        "another program takes the service's core for 1 s of 10 s",
        CLOSED,
        r"Other programs used \d+% of the service's cores",
        planted=thief("service", 1.0, 10.0, first_s=faults.INTO_LOAD_S),
    ),
    Fault(
        "generator-saturated",
        "users' work keeps the worker's core busy for 77 %: 10 % more than the 70 % that are allowed",
        CLOSED,
        "A Locust worker used",
        habit="busy 0.0019",
    ),
    Fault("late-sends", "users send 3 % of the latency late", CLOSED, "The generator was late", habit="late 0.015"),
    Fault("late-sends-open", "3 % of the latency, open loop", OPEN, "The generator was late", habit="late 0.015"),
    Fault(
        "parked-users",
        "5 % of the users never send again after their first answer",
        CLOSED,
        "Users were idle",
        habit=f"parked {LOAD_S}",
    ),
    Fault(
        "parked-users-who-pause",
        "the same of users who pause for half a second after each answer",
        CLOSED,
        "of the users never began, or stopped sending",
        habit=f"pausing-parked {LOAD_S}",
    ),
    Fault("growing-queue", "110 requests/s where 100 are answered", QUEUE, "Latency rose by", {"rate": 110}),
    Fault("growing-queue-slowly", "105 requests/s where 100 are answered", QUEUE, "Latency rose by", {"rate": 105}),
    Fault(
        "cold-jvm",
        "three rounds of warm-up, of one request a user",  # with fewer rounds none can be compared
        CLOSED,
        "The service was not warm after 3 rounds",
        scenario=_hardly_rehearsed(rounds=3, requests=200),
    ),
    Fault(
        "cold-jvm-in-a-burst",
        "three rounds of warm-up before a burst that keeps the core busy",
        BURST,
        "The service was not warm after 3 rounds",
        scenario=_hardly_rehearsed(rounds=3),
    ),
    Fault(
        "slow-leak",
        "every answer takes longer, by 10 % at the end of the load",
        CLOSED,
        "Latency rose by",
        planted=relayed(faults.later(0.1 * DELAY_S)),
    ),
    Fault(
        "kept-by-one",
        "one answer at the end takes 2 s longer, so that the load lasts 10 % longer",
        CLOSED,
        "Its last request ended",
        planted=relayed(faults.kept(2.0)),
    ),
    Fault(
        "truncated-bodies",
        "the last byte of 1 answer in 1000 is missing",
        CLOSED,
        r"answers were bad \(truncated\)",
        planted=relayed(faults.truncated),
    ),
    Fault(
        "wrong-bodies",
        "1 answer in 1000 is that to another request",
        CLOSED,
        r"answers were bad \(wrong body\)",
        planted=relayed(faults.wrong),
    ),
    Fault(
        "limit-not-taken",
        "Tomcat has 200 threads where 220 were asked for",
        CLOSED,
        "A limit is not in force: request_threads_max is 200 instead of 220",
        {"variants": ["mvc"], "threads": 220},
        scenario=_deaf,
    ),
    Fault(
        "killed-worker",
        "the one worker is killed",
        CLOSED,
        "Locust worker.* killed",
        planted=beside(faults.kill_worker),
    ),
    Fault(
        "clock-step",
        "the clock is set by 100 ms, and back a second later",
        CLOSED,
        "The clock was set by",
        planted=beside(faults.step_clock(0.1)),
    ),
    Fault(
        "paused-service",
        "the service is stopped for 0.5 s",
        CLOSED,
        "The service answered nobody for",
        planted=beside(faults.pause_service(0.5)),
    ),
    Fault(
        "paused-service-in-a-burst",
        "the same, of 6 s, which no answers can tell from a queue",
        BURST,
        "The service's process did not run for",
        {"loops": 12},
        planted=beside(faults.pause_service(0.5)),
    ),
    Fault(
        "paused-machine",
        "everything that runs is stopped for 0.1 s, every 3 s",
        CLOSED,
        "The machine itself stood still for",
        planted=beside(faults.pause_machine(0.1, 3.0)),
    ),
    Fault(
        "paused-machine-once",
        "everything that runs is stopped for 0.16 s, once: by that 1 % of the answers are 10 % later",
        CLOSED,
        "The machine itself stood still for .* makes up .* of p99",
        planted=beside(faults.pause_machine(0.16, 8.0)),
    ),
    Fault(
        "slower-cores",
        "cores are 10 % slower from half of 44 s on: earlier readings repeated, as a guest cannot slow its cores",
        JWT_ALONE,
        r"cores themselves became \d+% slower",
        {"duration": 44},  # readings scatter by 15 % where guests share cores, so that they find less in 11 s
        planted=faults.slower_reading(0.1),
    ),
    Fault(
        "lost-samples", "1 record in 1000 is lost in the worker", CLOSED, r"but [\d,]+ samples arrived", habit="lost"
    ),
    Fault(
        "retransmitted-connects",
        "400 connects at once to a listen backlog of 50",
        BURST,
        "connections took a second or more",
        {"accept_count": 50},
    ),
    Fault(
        "slowing-database",
        "from half of the load on the database is stopped for 55 of 65 ms: 55²/65/2, some 23 ms more of 300",
        FANOUT,
        "Latency rose by|Throughput fell by",
        planted=beside(faults.hold_component("mongo", 0.055, 0.065)),
    ),
    Fault(
        "service-core-stolen-cpu-bound",
        "another program takes 10 % of a core that the service fills, in slices of 10 ms",
        JWT_ALONE,
        r"Other programs used \d+% of the service's cores",
        planted=thief("service", 0.001, 0.01),
    ),
    Fault(
        "generator-core-stolen-cpu-bound",
        "the same of the core that worker and database share",
        JWT_ALONE,
        r"Other programs used \d+% of the generator's cores",
        planted=thief("generator", 0.001, 0.01),
    ),
    Fault(
        "cold-jvm-cpu-bound",
        "three rounds of warm-up a stage",
        JWT_ALONE,
        "its compilers were still at work",
        scenario=_hardly_rehearsed(rounds=3),
    ),
    Fault(
        "measured-too-short",
        "18 s of a service that the CPU decides, of 20 s",
        JWT_ALONE,
        "It was measured for",
        {"duration": 18},
    ),
    Fault(
        "slow-leak-cpu-bound",
        "the service is held by SIGSTOP for 10 ms at a time, for 10 % of the time at the end of the load",
        JWT_ALONE,
        SLOWER,
        planted=beside(faults.hold_service(0.1)),
    ),
    Fault(
        "slow-leak-in-turns",
        "the same of one of three that take turns, at the end of a minute of each",
        JWT,
        SLOWER,
        {"duration": 60},  # windows of a second scatter too much for a shorter load
        planted=beside(faults.hold_service(0.1)),
    ),
    Fault(
        "growing-queue-in-turns",
        "10 % more requests/s than the service answers in a closed loop, each window beginning without a queue",
        JWT,
        "within the windows",
        {"variants": ["mvc", "mvc-virtual"], "users": [2000], "interleave": WINDOWS},
        of_throughput=1.1,
    ),
)
NOTHING = "nothing"


def clean(setting: Setting) -> Fault:
    """Nothing wrong: any reason is a false alarm."""
    return Fault(f"{NOTHING}-{setting.name}", "", setting, "")


# Something that must change no verdict: cores that are slower, and wait for the delay nearly all the time.
HARMLESS = Fault(
    f"{NOTHING}-slower-cores",
    "35 % slower from half of the load on, where they wait nearly all the time",
    CLOSED,
    "",
    planted=faults.slower_reading(0.35),
)
# Pauses are no idle time.
PAUSING = Fault(f"{NOTHING}-pausing", "users pause for half a second after each answer", CLOSED, "", habit="pausing")
ALL = (
    *(each for setting in SETTINGS for each in (clean(setting), *(f for f in FAULTS if f.setting == setting))),
    HARMLESS,
    PAUSING,
)


@dataclass(frozen=True)
class Found:
    """One measurement with a fault, or with none.

    Attributes:
        variant: the one that was measured; empty if none was.
        throughput_rps: right answers a second; None if nothing was measured.
        planted: whether the machine let the fault be planted; if not, ``reasons`` says why.

    """

    fault: Fault
    verdict: str
    reasons: tuple[str, ...]
    evidence: Mapping[str, Any]
    variant: str = ""
    throughput_rps: float | None = None
    planted: bool = True

    @property
    def alarmed(self) -> bool:
        """Whether the run is not valid, for this fault; for anything where nothing is wrong."""
        return self.verdict != VALID and any(re.search(self.fault.alarm, reason) for reason in self.reasons)

    @property
    def word(self) -> str:
        """What became of the fault."""
        if not self.planted:
            return "not planted"
        if not self.fault.alarm:
            return "FALSE ALARM" if self.verdict != VALID else "quiet"
        return "found" if self.alarmed else "MISSED"


def locustfile_of(habit: str, folder: Path) -> Locustfile:
    """A copy of :mod:`faulty_user` whose users have a habit: workers inherit no variable that could tell them."""
    text, none = FAULTY_USER.read_text(), 'HABIT = ""'
    if text.count(f"{none}\n") != 1:
        raise LabError(f"{FAULTY_USER} has no habit that could be set.", "Mend benchmarks/sensitivity.py.")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FAULTY_USER.name
    path.write_text(text.replace(none, f"HABIT = {habit!r}"))
    return Locustfile(str(path), hashlib.sha256(path.read_bytes()).hexdigest())


def plan_of(fault: Fault, folder: Path, throughput_rps: float) -> Plan:
    """The plan of a run with a fault; what its users' habits need is written to the folder.

    Args:
        throughput_rps: of the fault's setting, where nothing is wrong.

    """
    options = Options(**{**fault.setting.options, **fault.options})
    if fault.of_throughput:
        if math.isnan(throughput_rps):
            raise faults.NotPlantedError("Nothing was answered where nothing is wrong, so that its rate is not known.")
        options = replace(options, rate=round(fault.of_throughput * throughput_rps))
    plan = planning.make_plan(fault.scenario(find_scenario(fault.setting.scenario)), options, host.machine())
    if not fault.habit:
        return plan
    return replace(plan, locustfile=locustfile_of(fault.habit, folder))


@contextmanager
def disturbing(planted: Planted, variant: str) -> Iterator[None]:
    """Plant a fault in every load of a variant within the context, between warm-up and the end of the load."""
    take_turns = conductor.take_turns

    def disturbed(testbed: Testbed, measurements: list[Measurement]) -> None:
        (measurement,) = (each for each in measurements if each.cell.variant == variant)
        if not measurement.goes_on:
            return
        deployment = measurement.deployment
        with planted(Moment(testbed, measurement)) as url:
            measurement.start.deployment = replace(deployment, url=url or deployment.url)
            take_turns(testbed, measurements)
        if measurement.goes_on:
            measurement.start.deployment = deployment

    conductor.take_turns = disturbed
    try:
        yield
    finally:
        conductor.take_turns = take_turns


def measured(fault: Fault, data: Path, throughput_rps: float = math.nan) -> list[Found]:
    """Measure one run with a fault, and see what the verdict of its variant says; all verdicts, if nothing is wrong."""
    invocation = Invocation(["benchmarks/sensitivity.py"], data, Reporter(Console(quiet=True)))
    variant = {**fault.setting.options, **fault.options}["variants"][0]
    with disturbing(fault.planted, variant):
        try:
            run = conductor.conduct(plan_of(fault, data, throughput_rps), invocation)
        except faults.NotPlantedError as error:
            return [Found(fault, "", (str(error),), {}, planted=False)]
    found = []
    for cell in run.cells():
        if cell.cell.variant == variant or not fault.alarm:
            summary, evidence = cell.read("summary"), cell.read("evidence")
            said = (summary["verdict"], tuple(summary["reasons"]), evidence)
            found.append(Found(fault, *said, cell.cell.variant, summary["ok_throughput_rps"]))
    return found


def chosen(names: Sequence[str]) -> list[Fault]:
    """The faults of these names, or all; what shows the throughput that one is sized by comes before it."""
    sized_by = [clean(f.setting) for f in FAULTS if f.name in names and f.of_throughput]
    return [f for f in ALL if not names or f.name in names or f in sized_by]


def throughput_of(setting: Setting, results: Sequence[Found]) -> float:
    """What the first variant of a setting answered where nothing was wrong, the last time; else NaN."""
    first = setting.options["variants"][0]
    shown = (f.throughput_rps for f in reversed(results) if f.fault == clean(setting) and f.variant == first)
    return next((rps for rps in shown if rps), math.nan)


def tables(results: list[Found]) -> Iterator[str]:
    """Missed alarms and false alarms, a line each."""
    for fault in ALL:
        if not (mine := [found for found in results if found.fault is fault]):
            continue
        planted, alarmed = sum(found.planted for found in mine), sum(found.alarmed for found in mine)
        if fault.alarm:
            yield f"{fault.name:24} found in {alarmed} of {planted}: {fault.size}"
        else:
            yield f"{fault.name:24} false alarm in {alarmed} of {planted}"


def main() -> None:
    """Plant the faults, print what became of each, and fail if one was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3)
    names = [fault.name for fault in ALL]
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--data", type=Path, help="where the runs are kept, to look into; nowhere if left out")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that what was stopped or set is put right again
    results = []
    with nullcontext(options.data) if options.data else tempfile.TemporaryDirectory() as data:
        for _ in range(options.times):
            for fault in chosen(options.only or ()):
                found = measured(fault, Path(data), throughput_of(fault.setting, results))
                results += found
                for each in found if not options.json else ():
                    what = f"{fault.name:24} {each.variant:12} {each.word:12} {each.verdict}"
                    print(what, *each.reasons, flush=True)
    missed = sum(found.word == "MISSED" for found in results)
    false = sum(found.word == "FALSE ALARM" for found in results)
    not_planted = sum(not found.planted for found in results)
    if options.json:
        rows = [
            {
                **{"name": f.fault.name, "size": f.fault.size, "setting": f.fault.setting.name, "variant": f.variant},
                **{"result": f.word, "verdict": f.verdict, "reasons": f.reasons, "evidence": f.evidence},
            }
            for f in results
        ]
        print(json.dumps({"missed": missed, "false_alarms": false, "not_planted": not_planted, "runs": rows}, indent=2))
    else:
        print("", *tables(results), sep="\n")
        print(f"{missed} missed alarms, {false} false alarms, {not_planted} not planted; {len(results)} measurements")
    sys.exit(1 if missed else 2 if not_planted else 0)


if __name__ == "__main__":
    main()
