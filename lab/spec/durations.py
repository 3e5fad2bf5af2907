"""How long a load takes by theory: pure functions of its plan, times in seconds.

Requests go in waves: with R users and room for N requests at once, ⌈R/N⌉ waves follow one another. A wave of n takes
t and what the link needs for it, max(bytes / rate of a connection, n · bytes / rate of all): equal shares end together.
"""

from __future__ import annotations

from lab.spec import prediction
from lab.spec.scenario import Cell, Link, Load, Plan, Scenario

# Where theory knows no time, the CPU's counts: what a request with a query, and each byte of an answer, took a core.
WORK_S, WORK_S_PER_BYTE = 0.0003, 1e-8


def waves(users: int, servers: int | None) -> list[int]:
    """How many requests each wave has: full ones, and what is left."""
    room = servers or users
    full, rest = divmod(users, room)
    return [room] * full + [rest] * bool(rest)


def wave_s(requests: int, service_s: float, answer_bytes: int, link: Link) -> float:
    """How long a wave takes whose requests start together."""
    on_connection = answer_bytes / link.connection_rate if link.connection_rate else 0.0
    on_line = requests * answer_bytes / link.rate if link.rate else 0.0
    return service_s + max(on_connection, on_line)


def mean_over_link_s(users: int, servers: int | None, service_s: float, answer_bytes: int, link: Link) -> float:
    """The mean latency of a burst over a shaped link: the k-th wave waits for those before it. Ignores the ramp."""
    waited, total = 0.0, 0.0
    for requests in waves(users, servers):
        waited += wave_s(requests, service_s, answer_bytes, link)
        total += requests * waited
    return total / users


def load_s(scenario: Scenario, plan: Plan, cell: Cell) -> float:
    """How long the measured load of a cell takes, from the first request to the last answer."""
    load, time_s = cell.load, prediction.service_s(scenario, plan)
    shaped = bool(plan.link.rate or plan.link.connection_rate)
    if load.duration_s:
        return load.duration_s + (time_s or 0.0)
    if time_s is None and not shaped:
        work_s = WORK_S + WORK_S_PER_BYTE * scenario.answer_bytes
        return load.ramp_s + work_s * (load.planned_requests or 0)
    servers = prediction.servers(scenario, plan, scenario.variant(cell.variant))
    moved = scenario.answer_bytes if shaped else 0
    wave = [wave_s(requests, time_s or 0.0, moved, plan.link) for requests in waves(load.users, servers)]
    return max(load.ramp_s, last_start_s(load, servers) + sum(wave) * _rounds(load))


def last_start_s(load: Load, servers: int | None) -> float:
    """When the first request of the one that ends last starts: its server's turn in the ramp."""
    return load.ramp_s * ((load.users - 1) % (servers or load.users)) / load.users


def _rounds(load: Load) -> float:
    return load.requests / load.users if load.requests else load.loops
