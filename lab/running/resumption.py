"""Going on with a run that was interrupted: on which conditions, and what is written down about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lab.errors import LabError
from lab.running import conductor
from lab.running.prerequisites import Stage, set_up
from lab.running.progress import Reporter
from lab.storage.run_folder import RunFolder
from lab.system.backends import NO_ADDRESSES, Addresses

# What environment.json records besides that does not decide a result: when, what is set anew for every run, and what
# the generator could do here, by which each cell is judged as it was known then. The jars are not built yet when a run
# is opened again; what they are made from is compared.
INCIDENTAL = {"time", "open_files", "runtime_because", "calibration", "jars"}


def resume(
    run: RunFolder,
    command: Sequence[str],
    reporter: Reporter,
    anyway: bool = False,
    addresses: Addresses = NO_ADDRESSES,
) -> RunFolder:
    """Measure the cells of an interrupted run that are missing, in the order that its seed decided.

    What was measured stays as it is; what an interruption cut off is set aside and measured anew.

    Args:
        anyway: go on also where the machine, the commit or the packages are not what they were.

    Raises:
        LabError: the run is complete or going on, or something is not what it was; nothing was started then.

    """
    plan, runtime = run.plan(), run.environment().get("runtime", "process")

    def opened(facts: Mapping[str, Any]) -> RunFolder:
        reopen(run, facts, command, anyway, reporter)
        return run

    with set_up(
        plan, command, run.path.parent, reporter, conductor.most_users(plan), runtime, addresses, opened
    ) as stage:
        missing = run.missing()
        reporter.say(f"  {run.name}: {len(plan.cells) - len(missing)} of {len(plan.cells)} cells are done")
        _recall_contract(stage)
        for cell in conductor.in_random_order(plan):
            if cell in missing:
                run.cell(cell).set_aside()
                conductor.measure(stage, cell)
    return run


def _recall_contract(stage: Stage) -> None:
    """Have the cells to come answer as the first one that was measured before did."""
    for cell in conductor.in_random_order(stage.plan):
        folder = stage.run.cell(cell)
        if folder.settled and (answers := folder.read("contract")):
            stage.proved["reference"] = (cell.variant, answers)
            return


def reopen(run: RunFolder, facts: Mapping[str, Any], command: Sequence[str], anyway: bool, reporter: Reporter) -> None:
    """Make an incomplete run this process's own, and record where it goes on.

    Args:
        facts: about this machine and checkout, of the form of environment.json.
        anyway: go on although something is not what it was; that is said, and kept in environment-resume-N.json.

    Raises:
        LabError: the run is going on or complete, or (unless ``anyway``) something is not what it was.

    """
    different = differences(run.environment(), facts)
    if different and not anyway:
        raise LabError(
            f"Run {run.name} was begun under other conditions: {'; '.join(different)}.",
            "Begin a new run, or accept the mixture, which is recorded: add --anyway.",
        )
    run.adopt({**facts, "command": list(command), "different": different})
    for difference in different:
        reporter.say(f"  not as before: {difference}", "not as before", "yellow")


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What is not what it was, as parts of a sentence (``commit was 1a2b, is 3c4d``); empty if nothing is."""
    names = [name for name in dict.fromkeys((*before, *now)) if name not in INCIDENTAL]
    found = []
    for name in names:
        was, is_ = before.get(name), now.get(name)
        if isinstance(was, Mapping) and isinstance(is_, Mapping):
            found += [f"{name}: {difference}" for difference in differences(was, is_)]
        elif was != is_:
            found.append(f"{name.replace('_', ' ')} was {was}, is {is_}")
    return found
