"""Resumes an interrupted run, if machine, commit and packages are what they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lab.errors import LabError
from lab.running import conductor
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.testbed import Testbed, set_up
from lab.storage.run_folder import RunFolder

# What environment.json records besides that does not decide a result: when, what is set anew for every run, and what
# the generator could do here, by which each cell is judged as it was known then. The jars are not built yet when a run
# is opened again; what they are made from is compared.
INCIDENTAL = {"time", "open_files", "runtime_because", "calibration", "jars"}


def resume(run: RunFolder, invocation: Invocation, anyway: bool = False) -> RunFolder:
    """Measure the cells of an interrupted run that are missing, in the order that its seed decided.

    What was measured stays as it is; what an interruption cut off is set aside and measured anew.

    Args:
        invocation: of which the folder and the runtime are those of the run.
        anyway: go on also where the machine, the commit or the packages are not what they were.

    Raises:
        LabError: the run is complete or going on, or something is not what it was; nothing was started then.

    """
    plan, reporter = run.plan(), invocation.reporter
    invocation = replace(invocation, runs=run.path.parent, runtime=run.environment().get("runtime", "process"))

    def opened(facts: Mapping[str, Any]) -> RunFolder:
        reopen(run, facts, invocation.command, anyway, reporter)
        return run

    with set_up(plan, invocation, conductor.most_users(plan), opened) as testbed:
        missing = run.missing()
        reporter.say(f"  {run.name}: {len(plan.cells) - len(missing)} of {len(plan.cells)} cells are done")
        _recall_contract(testbed)
        for cell in conductor.in_random_order(plan):
            if cell in missing:
                run.cell(cell).set_aside()
                conductor.measure(testbed, cell)
    return run


def _recall_contract(testbed: Testbed) -> None:
    """Have the cells to come answer as the first one that was measured before did."""
    for cell in conductor.in_random_order(testbed.plan):
        folder = testbed.run.cell(cell)
        if folder.settled and (answers := folder.read("contract")):
            testbed.proved["reference"] = (cell.variant, answers)
            return


def reopen(run: RunFolder, facts: Mapping[str, Any], command: Sequence[str], anyway: bool, reporter: Reporter) -> None:
    """Make an incomplete run this process's own, and record where it goes on.

    Args:
        facts: about this machine and checkout, of the form of environment.json.
        anyway: go on although something is not what it was; that is said, and kept in environment-resume-N.json.

    Raises:
        LabError: the run is going on or complete, or (unless ``anyway``) something is not what it was.

    """
    different = changed_conditions(run.environment(), facts)
    if different and not anyway:
        raise LabError(
            f"Run {run.name} was begun under other conditions: {'; '.join(different)}.",
            "Begin a new run, or accept the mixture, which is recorded: add --anyway.",
        )
    run.adopt({**facts, "command": list(command), "different": different})
    for difference in different:
        reporter.say(f"  not as before: {difference}", "not as before", "yellow")


def changed_conditions(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What is not what it was, as parts of a sentence (``commit was 1a2b, is 3c4d``); empty if nothing is."""
    names = [name for name in dict.fromkeys((*before, *now)) if name not in INCIDENTAL]
    found = []
    for name in names:
        was, is_ = before.get(name), now.get(name)
        if isinstance(was, Mapping) and isinstance(is_, Mapping):
            found += [f"{name}: {difference}" for difference in changed_conditions(was, is_)]
        elif was != is_:
            found.append(f"{name.replace('_', ' ')} was {was}, is {is_}")
    return found
