"""Where the time of a ``lab run`` goes that is not load: ``python benchmarks/overhead.py [--scenario jwt] [--json]``.

Runs the command as a user would, and adds up what each phase took: run it once before where the services are not built
yet. The phases of load are the warm-up and the measured load; everything else is overhead. Ends with status 1 if
``delay``, of three variants with 4000 users, has more than 12 s of overhead, or if a variant of ``jwt``, with 50 users,
is warmed up for more than 20 s before all take turns.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import goals

from lab.errors import LabError
from lab.runtimes.checkout import OWN_MODULES

PHASE = re.compile(r"^  (?:(?P<cell>\S+(?:, \S+)*): )?(?P<phase>.+?) \((?P<seconds>[\d.]+) s\)")
WARM_UP, LOAD_PHASES = "warm up", ("warm up", "measure")
USERS = {"delay": 4000, "jwt": 50}
MOST_OVERHEAD_S, MOST_WARM_UP_S = 12.0, 20.0


def main() -> int:
    """Measure one run and print its phases, largest first."""
    parser = goals.parser(__doc__)
    parser.add_argument("--scenario", choices=list(USERS), default="delay")
    options = parser.parse_args()
    return goals.concluded(lambda: measured(options.scenario), as_table, options.json)


def measured(scenario: str) -> dict:
    """What each phase of one run took; LabError if it failed."""
    command = [sys.executable, "-m", "lab", "run", scenario, "--users", str(USERS[scenario]), "--allow-suspect"]
    began = time.monotonic()
    around = {**os.environ, **OWN_MODULES}
    run = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, check=False, env=around)
    total_s = time.monotonic() - began
    if run.returncode:
        raise LabError(f"The run ended with status {run.returncode}.", "Mend what it says.", run.stderr)
    spent, warm_up_s = dict[str, float](), dict[str, float]()
    for line in run.stderr.splitlines():
        if found := PHASE.match(line):
            phase, seconds = re.sub(r" [\d,]+ users", "", found["phase"]), float(found["seconds"])
            spent[phase] = spent.get(phase, 0.0) + seconds
            if phase == WARM_UP:
                warm_up_s[found["cell"]] = seconds
    spent["everything else (stopping, judging, drawing, Python itself)"] = total_s - sum(spent.values())
    load_s = sum(seconds for phase, seconds in spent.items() if phase.startswith(LOAD_PHASES))
    result = {"phases_s": spent, "total_s": total_s, "load_s": load_s, "overhead_s": total_s - load_s}
    return {**result, "warm_up_s": warm_up_s, "missed": missed(scenario, result["overhead_s"], warm_up_s)}


def missed(scenario: str, overhead_s: float, warm_up_s: dict[str, float]) -> list[str]:
    """The goal that a scenario's run misses."""
    if scenario == "delay":
        return [f"{overhead_s:.1f} s of overhead are more than {MOST_OVERHEAD_S:g}."] * (overhead_s > MOST_OVERHEAD_S)
    return [
        f"{cell} was warmed up for {seconds:.1f} s, more than {MOST_WARM_UP_S:g}."
        for cell, seconds in warm_up_s.items()
        if seconds > MOST_WARM_UP_S
    ]


def as_table(result: dict) -> str:
    """The phases, largest first, and the warm-up of each cell."""
    lines = [
        f"{seconds:7.1f} s  {phase}" for phase, seconds in sorted(result["phases_s"].items(), key=lambda of: -of[1])
    ]
    load_s, overhead_s = result["load_s"], result["overhead_s"]
    lines.append(f"{result['total_s']:7.1f} s  in all: {load_s:.1f} s load, {overhead_s:.1f} s overhead")
    lines += [f"{seconds:7.1f} s  to warm up {cell}" for cell, seconds in result["warm_up_s"].items()]
    return "\n".join(lines + [f"Goal missed: {text}" for text in result["missed"]])


if __name__ == "__main__":
    sys.exit(main())
