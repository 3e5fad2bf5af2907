"""The command that repeats a run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from lab.errors import LabError
from lab.runtimes import DOCKER, host
from lab.spec import attached, in_turns, planning
from lab.spec.machine import Machine
from lab.spec.options import LIMITS, OF_SERVICES, Options
from lab.spec.plan import CAPACITY, USERS, Plan
from lab.spec.scenario import Value
from lab.spec.workload import Burst, Closed, Load, Open, Ramp, Total, WaitingUsers
from lab.storage.run_folder import RunFolder


def was_typed(run: RunFolder) -> bool:
    """Whether a run was made by a command, and not from Python."""
    return _typed(run)[:1] == ["python"]


def command(run: RunFolder) -> str:
    """The command that made a run, with the seed that it drew; of one made from Python, a command that calls it."""
    words = _typed(run)
    if not was_typed(run):
        return shlex.join(["python", "-c", f"import lab; {_call(run)}"])
    if not any(word.partition("=")[0] == "--seed" for word in words):
        words += ["--seed", str(run.plan().seed)]
    if (bind := run.plan().bind) and not any(word.partition("=")[0] == "--bind" for word in words):
        words += ["--bind", bind]  # which had a default once
    return shlex.join(words)


def _typed(run: RunFolder) -> list[str]:
    return [str(word) for word in run.read().get("command", [])]


def _call(run: RunFolder) -> str:
    plan = run.plan()
    urls = {variant.name: variant.url for variant in plan.variants if variant.url}
    what: str | dict[str, str] = urls or plan.scenario.name
    if list(urls) == [attached.NAME]:
        what = urls[attached.NAME]
    given = asked(plan)
    given |= given.pop("parameters", {})
    if len(given.get("users", ())) == 1:
        (given["users"],) = given["users"]
    if plan.header_names:
        given["headers"] = dict.fromkeys(plan.header_names, "…")
    if plan.one_request:
        given |= {name: value for name, value in asdict(plan.one_request).items() if value}
    if plan.locustfile:
        given["locustfile"] = plan.locustfile.path
    if run.environment().get("runtime") == DOCKER:
        given["runtime"] = DOCKER
    arguments = ", ".join([_python(what), *(f"{name}={_python(value)}" for name, value in given.items())])
    return f"lab.{'load' if urls else 'run'}({arguments})"


def _python(value: Any) -> str:
    """A value as Python has it, with the quotes that a shell leaves alone within its own."""
    return repr(value) if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)


def asked(plan: Plan) -> dict[str, Any]:
    """The :class:`lab.spec.options.Options` that give a plan again: users, seed, and what is not the default."""
    options, machine = _everything(plan), host.machine()
    for name in [name for name in options if name not in ("users", "seed")]:
        fewer = {key: value for key, value in options.items() if key != name}
        if _planned(plan, fewer, machine) == plan:
            options = fewer
    return options


def _planned(plan: Plan, options: dict[str, Any], machine: Machine) -> Plan | None:
    """The plan from these options on a machine; None if they are not possible."""
    try:
        if plan.scenario.entry == "attached":
            headers = dict.fromkeys(plan.header_names, "")
            urls, names = [variant.url for variant in plan.variants], [variant.name for variant in plan.variants]
            own = plan.one_request, plan.locustfile
            return attached.make_plan(urls, names, headers, Options(**options), machine, *own)
        return planning.make_plan(plan.scenario, Options(**options), machine)
    except LabError:
        return None


def _everything(plan: Plan) -> dict[str, Any]:
    """All options of a plan, defaults included."""
    loads = {plan.position(cell): cell.load for cell in plan.cells}
    load, timeouts = plan.cells[0].load, {load.timeout_s for load in loads.values()}
    users = list(dict.fromkeys(load.users for load in loads.values()))
    everything = {
        "users": users if plan.axis == USERS or len(users) == 1 else [],  # or else they follow from the rate
        **({} if plan.scenario.entry == "attached" else _started(plan)),
        **_shape(list(loads.values())),
        **_of_capacity(plan),
        "arrivals": load.arrivals,
        "pace": load.pace if load.pace != 1 else None,
        "timeout": load.timeout_s if len(timeouts) == 1 else None,  # or else it follows from the users
        "workers": load.workers,
        "remote_workers": load.remote_workers,
        "bind": plan.bind or None,
        "repeat": max(cell.repeat for cell in plan.cells) // in_turns.batch_count(plan),
        "interleave": plan.interleave,
        "pin": plan.pin,
        "seed": plan.seed,
    }
    not_of_it = ("users", *OF_SERVICES) if plan.scenario.entry == "program" else ()
    return {name: value for name, value in everything.items() if value is not None and name not in not_of_it}


def _shape(loads: Sequence[Load]) -> dict[str, Any]:
    """The options of the shape that all loads of a plan have."""
    match loads[0]:
        case Burst() as load:
            return {"ramp_up": _ramp_up(load), "loops": load.loops}
        case Closed() as load:
            return {"ramp_up": _ramp_up(load), "duration": load.duration_s}
        case Total() as load:
            return {"ramp_up": _ramp_up(load), "requests": load.requests}
        case Ramp() as load:
            return {"ramp": [load.from_rps, load.to_rps, load.duration_s]}
        case Open() as load:
            rates = [of_rate.rate_rps for of_rate in loads if isinstance(of_rate, Open)]
            return {"rate": rates, "duration": load.duration_s}


def _ramp_up(load: WaitingUsers) -> float:
    """The ramp as it was asked for, before it was multiplied by the pace."""
    return round(load.ramp_s / load.pace, 9)


def _of_capacity(plan: Plan) -> dict[str, Any]:
    """The options of rates that are percentages of what each variant can do."""
    of_cells = [cell for cell in plan.cells if plan.axis == CAPACITY and isinstance(cell.load, Open)]
    if not of_cells:
        return {}
    known = {cell.variant: 100 / cell.percent * cell.load.rate_rps for cell in of_cells if isinstance(cell.load, Open)}
    return {"rate": [f"{percent:.12g}%" for percent in plan.positions], "capacity": known}


def _varied(plan: Plan) -> dict[str, list[Value]]:
    """The values of the parameter that is varied, if one is."""
    values: dict[str, list[Value]] = {}
    for cell in plan.cells:
        for name, value in cell.parameters.items():
            values[name] = list(dict.fromkeys([*values.get(name, []), value]))
    return values


def _started(plan: Plan) -> dict[str, Any]:
    """A plan's options of limits, link, nodes and Prometheus."""
    return {
        "variants": list(dict.fromkeys(cell.variant for cell in plan.cells)),
        "parameters": {**plan.parameters, **_varied(plan)},
        "limits": plan.stance,
        **{name: getattr(plan.limits, name) for name in LIMITS},
        **{f"link_{name}": value for name, value in asdict(plan.link).items()},
        "nodes": plan.nodes,
        "prometheus": plan.prometheus,
    }
