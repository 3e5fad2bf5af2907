"""Where the time of a ``lab run`` goes that is not load: ``python benchmarks/overhead.py [--users 4000] [--json]``.

Runs the command as a user would, twice if the services were not built yet, and adds up what each phase took. The
phases of load are the warm-up and the measured load; everything else is overhead.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time

from lab.runtimes.checkout import OWN_MODULES

PHASE = re.compile(r"^  (?:(?P<cell>\S+): )?(?P<phase>.+?) \((?P<seconds>[\d.]+) s\)")
LOAD_PHASES = ("warm up", "measure")


def main() -> None:
    """Measure one run and print its phases, largest first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=4000)
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args()
    command = [sys.executable, "-m", "lab", "run", "delay", "--users", str(options.users), "--allow-suspect"]
    began = time.monotonic()
    around = {**os.environ, **OWN_MODULES}
    run = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, check=False, env=around)
    total_s = time.monotonic() - began
    if run.returncode:
        sys.exit(f"the run ended with status {run.returncode}:\n{run.stderr}")
    spent: dict[str, float] = {}
    for line in run.stderr.splitlines():
        if found := PHASE.match(line):
            phase = re.sub(r" [\d,]+ users", "", found["phase"])
            spent[phase] = spent.get(phase, 0.0) + float(found["seconds"])
    spent["everything else (stopping, judging, drawing, Python itself)"] = total_s - sum(spent.values())
    load_s = sum(seconds for phase, seconds in spent.items() if phase.startswith(LOAD_PHASES))
    result = {"phases_s": spent, "total_s": total_s, "load_s": load_s, "overhead_s": total_s - load_s}
    if options.json:
        print(json.dumps(result, indent=2))
        return
    for phase, seconds in sorted(spent.items(), key=lambda item: -item[1]):
        print(f"{seconds:7.1f} s  {phase}")
    print(f"{total_s:7.1f} s  in all: {load_s:.1f} s load, {total_s - load_s:.1f} s overhead")


if __name__ == "__main__":
    main()
