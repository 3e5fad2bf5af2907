"""How settings and figures are written, wherever they are shown: in a terminal, in a report, in a figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import pandas as pd

from lab.analysis.verdict import INCOMPLETE, INVALID, SUSPECT, VALID
from lab.spec.attached import warm_up
from lab.spec.plan import CAPACITY, RAMP, RATE, USERS, Plan
from lab.spec.scenario import Value
from lab.spec.system import Variant
from lab.spec.workload import EVEN, Burst, Closed, Load, Open, Ramp, Total

MOST_IN_A_TITLE = 55
# Of verdicts, as Rich calls them.
COLOURS = {VALID: "green", SUSPECT: "yellow", INVALID: "red", INCOMPLETE: "magenta"}
# By the end of a figure's name, its unit in a heading.
UNITS = {"s": "s", "rps": "/s", "share": "%", "bytes": "MB"}
# What marks figures of those who went on, where others were stopped early.
SURVIVORS = "†"
CLOSED_LOOP = (
    "What the tail of a closed loop cannot show: while the service stalls, its users wait and send nothing, so that a "
    "stall counts once per user, not once per request that would have come (coordinated omission). For tails, load it "
    "with --rate."
)


def settings(plan: Plan) -> str:
    """The settings of all cells in one line."""
    load = plan.cells[0].load
    attached = {variant.name: variant.url for variant in plan.variants if variant.url}
    addresses = attached if len(attached) > 1 else {}  # a single one is the title
    users = {"users": load.users} if plan.unit != "execution" else {}
    varied = {} if plan.axis in (USERS, RATE, RAMP, CAPACITY) else {plan.axis: positions(plan), **users}
    parameters = ", ".join(f"{key} {value}" for key, value in {**_in_use(plan), **varied, **addresses}.items())
    sent = f"headers {', '.join(plan.header_names)}" * bool(plan.header_names)
    before = warm_up_in_words(load, plan.unit) if attached else ""
    rates = _listed({cell.load.rate_rps for cell in plan.cells if isinstance(cell.load, Open)})
    shape, limits = _shape(load, plan.unit, rates) + windows(load), _asked_limits(plan)
    java = releases(plan.variants)
    return "; ".join(filter(None, (parameters, shape, _sent(plan), sent, before, limits, java, f"seed {plan.seed}")))


def releases(variants: Iterable[Variant]) -> str:
    """The releases of Java that variants name, such as ``Java 11 (boot-1.5, boot-2.0), Java 25 (mvc)``; else empty."""
    names: dict[int, list[str]] = {}
    for variant in variants:
        if variant.jdk:
            names.setdefault(variant.jdk, []).append(variant.name)
    return ", ".join(f"Java {release} ({', '.join(of)})" for release, of in sorted(names.items()))


def _in_use(plan: Plan) -> dict[str, Value]:
    """The parameters of all cells, without those that services are told and that are at their defaults."""
    scenario = plan.scenario
    parts = [component.settings for component in scenario.components] + [each.settings for each in scenario.variants]
    told = {name for told_to_part in parts for name in told_to_part.values()}
    defaults = {name: value for name, value in scenario.defaults().items() if name in told}
    return {name: value for name, value in plan.parameters.items() if defaults.get(name) != value}


def positions(plan: Plan) -> str:
    """The values of what is varied, with commas."""
    choices = plan.scenario.choices(plan.axis)
    return ", ".join(choices[int(at)] for at in plan.positions) if choices else _listed(plan.positions)


def _sent(plan: Plan) -> str:
    """What is sent to attached services, unless it is a GET."""
    if plan.locustfile:
        return f"locustfile {PurePath(plan.locustfile.path).name} (sha256 {plan.locustfile.sha256[:12]})"
    if not (asked := plan.one_request):
        return ""
    body = f" of {len(asked.body.encode()):,} bytes" * bool(asked.body)
    return f"{asked.method}{body}" + f", checked for {asked.check!r}" * bool(asked.check)


def _asked_limits(plan: Plan) -> str:
    """The limits set by options; the table of limits in force has the others."""
    names = {"threads": "threads {}", "accept_count": "accept count {}", "heap_mb": "heap {} MiB"}
    asked = [text.format(limit) for name, text in names.items() if (limit := getattr(plan.limits, name)) is not None]
    stances = {"default": "limits of each stack's own", "tuned": "limits tuned for each"}
    return ", ".join([*filter(None, [stances.get(plan.stance)]), *asked])


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:,.10g}" for value in sorted(values))


def _shape(load: Load, unit: str, rates: str) -> str:
    arrivals = f", {load.arrivals} arrivals" * (load.arrivals != EVEN)
    from_planned = f"{paced(load)}{arrivals}, latency from planned and service time from actual sends"
    match load:
        case Open():
            return f"open loop of {rates} {unit}s/s for {load.duration_s:g} s{from_planned}"
        case Ramp():
            return f"open loop that grows from {load.volume(unit)} within {load.duration_s:g} s{from_planned}"
        case Burst():
            sent = f"{load.loops} {unit}{'s' * (load.loops > 1)} each"
        case Closed() if load.is_ramp:
            return f"closed loop of more and more users for {load.duration_s:g} s{arrivals}"
        case Closed():
            sent = f"closed loop for {load.duration_s:g} s"
        case Total():
            sent = f"closed loop of {load.requests:,} {unit}s"
    return f"ramp {load.ramp_s:g} s{paced(load)}{arrivals}, {sent}"


def paced(load: Load) -> str:
    """The pace of a load's users, as the end of a title or of a part of it; empty where pauses are as written."""
    return f", pace {load.pace:g}" * (load.pace != 1)


def limit_text(value: Any) -> str:
    """A limit as text."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if pd.isna(value):
        return "–"
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else str(value)


def seconds_text(value: float | None) -> str:
    """A latency in seconds: to the millisecond, or to 10 µs below a tenth of a second."""
    if pd.isna(value):
        return "–"
    return f"{value:.3f}" if value >= 0.1 else f"{value:.5f}"


def rate_text(value: float | None) -> str:
    """A rate a second, to a tenth."""
    return "–" if pd.isna(value) else f"{value:,.1f}"


def share_text(value: float | None) -> str:
    """A share in whole percent."""
    return "–" if pd.isna(value) else f"{value:.0%}"


def count_text(value: float | None) -> str:
    """A count; a dash where it is not known."""
    return "–" if pd.isna(value) else f"{value:,.0f}"


def figure_heading(name: str) -> str:
    """The heading of a column of a figure, with its unit: ``mongo find``, ``before knee s``, ``prompt %``."""
    stem, unit = _unit(name)
    return " ".join(filter(None, (stem.replace("_", " "), UNITS.get(unit))))


def figure_text(name: str, value: float | None) -> str:
    """A figure as its name says what it is: seconds, a rate, a share in percent, bytes in MB, or a count."""
    if pd.isna(value):
        return "–"
    match _unit(name)[1]:
        case "s":
            return seconds_text(value)
        case "rps":
            return rate_text(value)
        case "share":
            return f"{100 * value:.3g}"
        case "bytes":
            return f"{value / 1e6:,.1f}"
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def _unit(name: str) -> tuple[str, str]:
    """The name of a figure without its unit, and that unit, one of :data:`UNITS`; empty for a count."""
    stem, _, unit = name.rpartition("_")
    return (stem, unit) if unit in UNITS else (name, "")


def kilobytes(value: float | None) -> str:
    """A number of bytes in kB, to a tenth."""
    return "–" if pd.isna(value) else f"{value / 1000:,.1f}"


def hundredths(value: float | None) -> str:
    """A number to a hundredth."""
    return "–" if pd.isna(value) else f"{value:.2f}"


def errors_text(errors: Mapping[str, int]) -> str:
    """How many requests failed, by class."""
    return ", ".join(f"{name} {count:,}" for name, count in errors.items()) or "none"


def with_failures(row: Mapping[str, Any]) -> str:
    """The latencies of all requests of a cell in which some failed, in words; empty where none did.

    Args:
        row: with the fields of :class:`lab.formulas.stats.Summary`.

    """
    failed = sum(row["errors"].values())
    if not failed or row["all_mean_s"] is None:
        return ""
    figures = {"mean": "all_mean_s", "p50": "all_p50_s", "p99": "all_p99_s", "p99.9": "all_p999_s"}
    text = ", ".join(f"{name} {seconds_text(row[key])}" for name, key in figures.items() if row[key] is not None)
    return f"with failures and timeouts ({failed:,} of {row['requests']:,}), in seconds: {text}"


def survivors(row: Mapping[str, Any]) -> str:
    """What the figures of a cell are of whose sessions were stopped early, in words; empty where none was.

    Args:
        row: a cell, with ``sessions`` of :class:`lab.formulas.breakdown.SessionSummary` where it has any.

    """
    sessions = row.get("sessions") or {}
    if not sessions.get("stopped"):
        return ""
    where = ", ".join(f"{name} {count:,}" for name, count in sessions["stopped_at"].items())
    missing = sessions["never_sent"]
    unsent = "so requests were never sent" if missing is None else f"so {missing:,} requests were never sent"
    return (
        f"{SURVIVORS} {sessions['stopped']:,} of {sessions['begun']:,} sessions were stopped early ({where}), "
        f"{unsent}: latencies and rates are those of the users who went on, under less load than was planned"
    )


def survivors_mark(row: Mapping[str, Any]) -> str:
    """The mark of figures that :func:`survivors` has something to say about; empty where it has not."""
    return SURVIVORS if survivors(row) else ""


def survivors_marks(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[Any, Any, Any], str]:
    """That mark of each cell, by its variant, the value of what is varied, and its repeat."""
    return {(row["variant"], row["at"], row["repeat"]): survivors_mark(row) for row in rows}


def closed_loop(plan: Plan) -> str:
    """What the tail of a closed loop cannot show, as a sentence; empty for any other load."""
    return CLOSED_LOOP * plan.is_closed_loop


def attached_title(variants: Sequence[Variant]) -> str:
    """The title of attached services: the address, shortened if long, or the labels of several."""
    text = variants[0].url if len(variants) == 1 else " and ".join(variant.name for variant in variants)
    return text if len(text) <= MOST_IN_A_TITLE else f"{text[: MOST_IN_A_TITLE - 1]}…"


def warm_up_in_words(load: Load, unit: str = "request") -> str:
    """The warm-up of an attached service in words: see :func:`lab.spec.attached.warm_up`."""
    before = warm_up(load)
    what = f"one {unit} of each user" if isinstance(before, Burst) else f"{before.duration_s:g} s of the same load"
    return f"{what} before, not counted"


def windows(load: Load) -> str:
    """In how many windows a load is measured, as the end of a line; empty for one in one piece."""
    if not isinstance(load, Closed | Open) or load.windows == 1:
        return ""
    return f" in {load.windows} windows of {load.window().duration_s:.3g} s each"
