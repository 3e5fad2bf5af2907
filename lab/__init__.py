"""Platform threads, virtual threads or WebFlux: measured for your endpoint, at your load, with the doubt stated.

>>> import lab
>>> run = lab.run("delay", users=400)      # builds, starts, warms up, measures; shows progress
>>> run.table()                            # one row a variant, as a pandas DataFrame
>>> run.samples()                          # one row a request
>>> run.with_failures()                    # where requests failed: latencies of all of them, not of right answers alone
>>> lab.open_run("20261121T101500Z-delay") # an older run; the newest without a name
>>> lab.compare(run).verdict               # its variants side by side: ratios, intervals, a sentence
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.experiments.reproduction.results import Reproduction
    from lab.reporting.comparison_view import ComparisonView
    from lab.reporting.run_view import Run
    from lab.running.invocation import Invocation
    from lab.spec.plan import Interleave, Plan
    from lab.spec.scenario import Scenario
    from lab.system.backends import Endpoints

__version__ = "0.1.0"
__all__ = ["choose", "compare", "load", "open_run", "reproduce", "run", "runs"]


def run(
    scenario: str,
    users: int | list[int] | None = None,
    *,
    variants: str | list[str] | None = None,
    runtime: str = "process",
    mysql_url: str = "",
    mongo_url: str = "",
    join: str = "",
    data: str | Path | None = None,
    quiet: bool = False,
    **options: Any,
) -> Run:
    """Measure a scenario, and return the finished run.

    Args:
        scenario: its name, such as ``"delay"``.
        users: number of users; a list for a sweep.
        variants: names of variants, as a list or with commas; if None all, or those that the scenario takes by itself.
        runtime: where services, databases and workers run: ``"process"``, ``"docker"`` or ``"auto"``.
        mysql_url: your own server, of which only the database ``lab`` is used; the same for ``mongo_url``. Not stored.
        join: the token of workers on other machines (``remote_workers``). Not stored. If empty, one is drawn, and shown
            with the progress.
        data: the folder to store the run in; ``data/runs`` of the checkout if None.
        quiet: show no progress.
        options: any other field of :class:`lab.spec.options.Options` (``ramp_up``, ``loops``, ``duration``, ``rate``,
            ``ramp``, ``repeat``, ``threads``, ``seed``, …), and the scenario's parameters by name (``delay_ms=500``).
            ``capacity`` may also be a run whose closed loops show it, or the name of one.

    Raises:
        LabError: the run is not possible as specified; with the reason and the next step. A cell that fails during its
            measurement raises nothing: it is in the run, with a verdict.

    """
    from lab.experiments import find_scenario
    from lab.reporting import run_view
    from lab.running import conductor
    from lab.runtimes import host
    from lab.spec import planning
    from lab.spec.options import OF_A_RUN, Options, names

    found = find_scenario(scenario)
    own = _own_endpoints(found, mysql_url, mongo_url, join)
    fields = _with_capacity({key: options.pop(key) for key in OF_A_RUN if key in options}, found.name, data)
    asked = Options(users=_counts(users), variants=names(variants), parameters=options, **fields)
    plan = planning.make_plan(found, asked, host.machine())
    _check_join(plan, join, quiet)
    invocation = _invocation(["lab.run", scenario], data, quiet, runtime=runtime, endpoints=own)
    done = run_view.Run(conductor.conduct(plan, invocation))
    done.draw()
    return done


def load(
    url: str | dict[str, str],
    users: int | list[int] | None = None,
    *,
    headers: dict[str, str] | None = None,
    method: str = "GET",
    body: str = "",
    check: str = "",
    locustfile: str | Path | None = None,
    join: str = "",
    data: str | Path | None = None,
    quiet: bool = False,
    **options: Any,
) -> Run:
    """Load a service of your own, which the lab does not start, and return the finished run.

    Args:
        url: its address; several by label, which take turns: ``{"old": "http://…", "new": "http://…"}``.
        users: number of users; a list for a sweep.
        headers: additional headers of every request. Only their names are stored.
        method: of the one request that is sent again and again; the same for ``body``. Both are stored.
        check: a text that a right answer contains.
        locustfile: the path of a locustfile whose sessions are played instead; its users derive from LabUser.
        join: the token of workers on other machines, as in :func:`run`.
        data: the folder to store the run in; ``data/runs`` of the checkout if None.
        quiet: show no progress.
        options: of the load, as in :func:`run`: ``duration``, ``rate``, ``ramp``, ``arrivals``, ``repeat``, ….

    Raises:
        LabError: the service does not answer with a status of 200 to 299, or the run is not possible as specified.

    """
    from lab.errors import LabError, did_you_mean
    from lab.generator import own_locustfile
    from lab.reporting import run_view
    from lab.running import conductor
    from lab.runtimes import host
    from lab.spec import attached, own_load
    from lab.spec.options import Options
    from lab.system.backends import Endpoints

    if not isinstance(headers, Mapping | None):
        raise LabError("headers is not a dictionary.", 'Write headers={"Name": "value"}.')
    if unset := [name for name, value in (headers or {}).items() if not isinstance(value, str)]:
        raise LabError(f"The header {unset[0]} is no text.", "Write its value as a text, or leave it out.")
    if unknown := [name for name in options if name not in attached.OF_A_LOAD]:
        raise LabError(f"A load has no {unknown[0]!r}{did_you_mean(unknown[0], attached.OF_A_LOAD)}.", attached.OFFER)
    of = dict(url) if isinstance(url, dict) else {attached.NAME: url}
    fields = attached.headers([f"{name}: {value}" for name, value in (headers or {}).items()])
    asked = Options(users=_counts(users), **_with_capacity(options, attached.LOAD.name, data))
    sent = own_load.one_request(method, body, check)
    own = own_locustfile.examined(_path("locustfile", locustfile)) if locustfile else None
    plan = attached.make_plan([str(each) for each in of.values()], list(of), fields, asked, host.machine(), sent, own)
    _check_join(plan, join, quiet)
    invocation = _invocation(["lab.load"], data, quiet, endpoints=Endpoints(headers=fields, join=join))
    done = run_view.Run(conductor.conduct(plan, invocation))
    done.draw()
    return done


def _folder(data: str | Path | None) -> Path:
    """The folder of runs that is meant; that of the checkout if none is named. LabError if it cannot be one."""
    from lab.errors import LabError
    from lab.storage import run_folder

    if data is None or data == "":
        return run_folder.RUNS
    text = _path("data", data)
    folder = run_folder.expanded(Path(text))
    try:
        is_something_else = folder.exists() and not folder.is_dir()
    except OSError as error:  # a name that is too long
        raise LabError(f"data {text!r} is not possible: {error.strerror}.", "Name another folder.") from None
    if is_something_else:
        raise LabError(f"data is a file: {folder}.", "Name a folder, which need not exist yet.")
    return folder


def _path(name: str, value: str | Path) -> str:
    """An argument that is a path; LabError if it is none."""
    from lab.errors import LabError
    from lab.spec import numbers

    if not isinstance(value, str | PathLike) or "\0" in str(value):
        raise LabError(f"{name} {numbers.shown(value)} is not a path.", "Write it as a text, or as a pathlib.Path.")
    return str(value)


def _invocation(command: list[str], data: str | Path | None, quiet: bool, **how: Any) -> Invocation:
    """The invocation of a run from Python: command, folder, progress display, and further fields in ``how``."""
    from lab.running.invocation import Invocation
    from lab.running.progress import Reporter

    return Invocation(command, _folder(data), Reporter(quiet=quiet), **how)


def _check_join(plan: Plan, join: str, quiet: bool) -> None:
    """LabError if a plan has workers on other machines that could not learn their token, or others could guess it."""
    from lab.errors import LabError
    from lab.generator.fleet import check_join_token
    from lab.spec.own_load import check_text

    check_text("join", join)
    if join:
        check_join_token(join)
    elif plan.bind and quiet:
        raise LabError(
            "Workers on other machines join with a token, and quiet=True does not show the one that is drawn.",
            "Choose one, join=..., and start them with it (lab worker --join); or leave quiet out.",
        )


def _own_endpoints(scenario: Scenario, mysql_url: str, mongo_url: str, join: str) -> Endpoints:
    """The user's own servers, and the token of workers; LabError if a scenario uses no server of that kind."""
    from lab.errors import LabError
    from lab.spec.own_load import check_text
    from lab.system.backends import Endpoints
    from lab.system.databases import TITLES

    urls = {"mysql": mysql_url, "mongo": mongo_url}
    for kind, url in urls.items():
        check_text(f"{kind}_url", url)
    if unused := [kind for kind, url in urls.items() if url and kind not in scenario.databases]:
        raise LabError(f"{scenario.name} uses no {TITLES[unused[0]]}.", f"Leave {unused[0]}_url out.")
    return Endpoints(mysql_url, mongo_url, join=join)


def _with_capacity(options: dict[str, Any], scenario: str, data: str | Path | None) -> dict[str, Any]:
    """The options with a ``capacity`` that is or names a run of this scenario replaced by what the run shows."""
    from lab.analysis import capacity

    asked: Any = options.get("capacity")
    known = capacity.given(_name(asked) if hasattr(asked, "path") else asked, scenario, _folder(data))
    return {**options, "capacity": known} if known else options


def _counts(users: int | list[int] | None) -> list[int]:
    return list(users) if isinstance(users, list | tuple) else [] if users is None else [users]


def open_run(name: str | Path | Run | None = None, data: str | Path | None = None) -> Run:
    """Open an earlier run by name or path, or the newest. LabError if there is none, or if it is damaged."""
    from lab.reporting import run_view

    return run_view.open_run(None if name is None else _name(name), _folder(data))


def compare(
    a: str | Path | Run | list[str | Path | Run] | None = None,
    b: str | Path | Run | list[str | Path | Run] | None = None,
    *,
    although_different: bool = False,
    allow_suspect: bool = False,
    margin: float = 0.05,
    data: str | Path | None = None,
) -> ComparisonView:
    """Compare two runs, two variants (``"RUN:mvc"``), or all variants of one run; the newest run if none is named.

    The result has ``table()``, ``figure()``, ``shift_figure()``, ``verdict`` and ``scoring``.

    Args:
        a, b: a run, a variant, or a list of several runs of the same, of which each counts once.
        although_different: compare also where machine, lab, limits or load differ.
        allow_suspect: let suspect measurements take part too.
        margin: sides whose ratio is surely within this margin are alike.
        data: the folder of your runs.

    Raises:
        LabError: there is nothing to compare, or machine, lab, limits or load differ and ``although_different`` is
            False.

    """
    from lab.analysis.pairing import Terms
    from lab.reporting import comparison_view

    terms = Terms(although_different, allow_suspect, margin)
    return comparison_view.compare(_side(a), _side(b), terms, _folder(data))


def _side(of: str | Path | Run | Collection[str | Path | Run] | None) -> str | None:
    """The name of a side of a comparison, of one run or of several."""
    return None if of is None else ",".join(_names(of))


def _names(of: str | Path | Run | Collection[str | Path | Run]) -> list[str]:
    """The names or paths of one run or of several; LabError if there is none."""
    from lab.errors import LabError

    if isinstance(of, str) or not isinstance(of, Collection):
        return [_name(of)]
    if not of:
        raise LabError("A list of runs is empty.", "Name one, or leave the list out.")
    return list(map(_name, of))


def _name(of: str | Path | Run) -> str:
    """The name or path of a run, which finds it again; LabError if it is no run."""
    from lab.errors import LabError
    from lab.spec import numbers

    path = getattr(of, "path", of)
    if not isinstance(path, str | Path):
        raise LabError(
            f"{numbers.shown(of)} is not a run.", "Write its name or its path, or pass what lab.run returned."
        )
    return str(path)


def choose(
    source: str, *, example: str, now: Callable[[], Run], alike: bool = False, data: str | Path | None = None
) -> Run:
    """Select the run that a notebook shows: an example, the latest, a new one, or one by name.

    Args:
        source: ``"example"``, the run that ships with the lab; ``"latest"``, your newest run of the same scenario;
            ``"run now"``; or the name of any run.
        example: the name of the run that ships with the lab.
        now: function that measures a new run, for ``"run now"``.
        alike: ``"latest"`` only considers runs with the limits, the link and the kind of load of the example.
        data: the folder of your runs.

    Raises:
        LabError: there is no such run.

    """
    from lab.errors import LabError

    if source == "run now":
        if not callable(now):
            raise LabError(f"now={now!r} is not a function.", 'Write now=lambda: lab.run("delay").')
        return now()
    if source != "latest":
        return open_run(example if source == "example" else source, data)
    wanted = open_run(example).plan
    mine = [name for name in runs(data) if name.partition("-")[2].rstrip("-0123456789") == wanted.scenario.name]
    mine = [name for name in mine if _is_like(wanted, name, data, alike)]
    if not mine:
        like = f" like {example}" if alike else ""
        raise LabError(
            f"There is no run of {wanted.scenario.name}{like} in {_folder(data)} yet.",
            'Set SOURCE to "run now" or "example".',
        )
    return open_run(mine[-1], data)


def _is_like(wanted: Plan, name: str, data: str | Path | None, alike: bool) -> bool:
    """Whether a run varies what a plan does, and is alike, if asked: see :func:`choose`; False if unreadable."""
    from lab.errors import LabError
    from lab.storage import run_folder

    try:
        plan = run_folder.find_run(name, _folder(data)).plan()
    except LabError:
        return False
    return plan.axis == wanted.axis and (not alike or _made_as(plan) == _made_as(wanted))


def _made_as(plan: Plan) -> tuple[object, ...]:
    return plan.limits, plan.link, plan.cells[0].load.kind


def runs(data: str | Path | None = None) -> list[str]:
    """The names of all runs, oldest first."""
    from lab.storage import run_folder

    return [folder.name for folder in run_folder.all_runs(_folder(data))]


def reproduce(
    name: str,
    from_run: str | Path | Run | list[str | Path | Run] | None = None,
    *,
    scale: float | None = None,
    pace: float | None = None,
    repeat: int | None = None,
    interleave: Interleave | None = None,
    seed: int | None = None,
    runtime: str = "process",
    data: str | Path | None = None,
    quiet: bool = False,
) -> Reproduction:
    """Repeat a published experiment, and judge what its document claims.

    Args:
        name: name of the experiment, such as ``"delay"``; ``lab reproduce`` lists them.
        from_run: an existing run or its name, or a list of them, to judge instead of measuring, so that ``scale``,
            ``pace``, ``repeat``, ``interleave``, ``seed`` and ``runtime`` are refused.
        scale: the part of the document's size, 1 for all of it; the largest that fits this machine if None.
        pace: how long pauses, ramp and timeout take, as a multiple of the document's; users are as many times more, or
            fewer, so that they offer as many requests a second.
        repeat: number of interleaved repeats of every cell; as many as fit into the time that
            the experiment is given, at most five, if None.
        interleave: ``"cells"``, one variant after the other, or ``"windows"``, all up and in turns of a second; if None
            as the experiment has it.
        seed: of arrivals and order; drawn if None.
        runtime: where services, databases and workers run, as in :func:`run`.
        data: the folder of runs; ``data/runs`` of the checkout if None.
        quiet: show no progress.

    Returns:
        An object with ``table()``, one row a load and variant, and ``claims``, each confirmed, refuted, undecided or
        not judged.

    Raises:
        LabError: there is no such experiment or run, or it is not possible at this scale.

    """
    from lab.errors import LabError
    from lab.experiments import find_publication
    from lab.experiments.reproduction import results
    from lab.running import estimate
    from lab.runtimes import PROCESS

    wanted, folder = find_publication(name), _folder(data)
    if from_run is not None:
        given: dict[str, Any] = {"scale": scale, "pace": pace, "repeat": repeat, "interleave": interleave}
        given |= {"seed": seed, "runtime": None if runtime == PROCESS else runtime}
        results.check_measures_nothing(name for name, value in given.items() if value is not None)
        if isinstance(from_run, Collection) and not from_run:
            raise LabError("from_run names no run.", "Name one, or leave from_run out to measure.")
        return results.from_runs(wanted, results.open_runs(_names(from_run), folder), folder)
    known = PROCESS if wanted.of_programs else estimate.resolved(runtime)
    to_measure = results.intended(
        wanted, folder, scale=scale, pace=pace, repeat=repeat, interleave=interleave, runtime=known
    )
    invocation = _invocation(["lab.reproduce", name], data, quiet, runtime=runtime)
    return results.carry_out(to_measure.experiment, to_measure.scale, invocation, seed=seed, repeat=to_measure.repeat)
