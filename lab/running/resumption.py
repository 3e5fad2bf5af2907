"""Resumes an interrupted run, if machine, commit and packages have not changed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from lab.errors import LabError
from lab.running import conductor
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.setup import set_up
from lab.running.testbed import Testbed
from lab.runtimes import PROCESS
from lab.spec.ordering import in_random_order
from lab.spec.plan import Plan
from lab.storage.run_folder import RunFolder

# What environment.json records besides that does not decide a result: when, what is set anew for every run, and what
# the generator could do here, by which each cell is judged as it was known then. The jars are not built yet when a run
# is opened again; what they are made from is compared. Other releases of Java are compared once they are installed.
# What is measured later has starts of its own, whatever runs it was together with.
INCIDENTAL = {"time", "open_files", "runtime_because", "calibration", "jars", "javas", "together"}


def resume(run: RunFolder, invocation: Invocation, anyway: bool = False, theirs: bool = False) -> RunFolder:
    """Measure the cells of an interrupted run that are missing, in the order that its seed decided.

    Complete cells stay as they are; a cell that was cut off is set aside and measured again. In windows so are the
    cells of that load in the same start: what is compared must have been up together, and a service that was started
    anew is another.

    Args:
        invocation: its folder and runtime are replaced by those of the run.
        anyway: resume even if the machine, the commit or the packages have changed.
        theirs: resume even if this checkout has not planned the run: it executes what its run.json says; or if another
            machine was at it last, where it may go on.

    Raises:
        LabError: the run is complete, in progress or somebody else's, or conditions or its locustfile have changed, or
            its folder has symbolic links; nothing was started then.

    """
    check_no_links(run)
    if not theirs:
        check_planned_here(run)
    plan, reporter = run.plan(), invocation.reporter
    if plan.locustfile:
        run.check_locustfile(plan.locustfile)
    invocation = replace(invocation, runs=run.path.parent, runtime=run.environment().get("runtime", PROCESS))

    def opened(facts: Mapping[str, Any]) -> RunFolder:
        reopen(run, facts, invocation.command, anyway, reporter)
        return run

    with set_up(plan, invocation, plan.peak_users, opened) as testbed:
        missing = run.missing()
        reporter.say(f"  {run.name}: {len(plan.cells) - len(missing)} of {len(plan.cells)} cells are done")
        _recall_contract(testbed)
        for groups in in_random_order(plan):
            wanted = [group for group in groups if any(cell in missing for cell in group)]
            for cell in chain.from_iterable(wanted):
                run.cell(cell).set_aside()
            conductor.measure_start(testbed, wanted)
    return run


def check_no_links(run: RunFolder) -> None:
    """LabError if a symbolic link is anywhere in a run's folder, though the folder itself may be on another disk.

    The lab puts none there. Whoever has sent the run could choose by one which file of ours is written or emptied.
    """
    for folder, folders, files in os.walk(f"{run.path}{os.sep}"):
        for path in (Path(folder, name) for name in sorted((*folders, *files))):
            if path.is_symlink():
                raise LabError(
                    f"Run {run.name} has a symbolic link, {str(path.relative_to(run.path))!r}, through which it would "
                    "write elsewhere.",
                    "Put what it leads to in its place, or begin a run of your own.",
                )


def check_planned_here(run: RunFolder) -> None:
    """LabError unless this checkout has made a run's plan, with all that it would execute, and was at it last, here."""
    if not run.is_planned_here:
        raise LabError(
            f"Run {run.name} was not planned by this checkout, or was changed since: it would execute what is above.",
            "Begin a run of your own; or, if you trust all of that, add --theirs.",
            "\n".join(line.encode("unicode_escape").decode() for line in _executed(run.plan())),
        )
    if run.is_of_another_machine:
        raise LabError(
            f"Run {run.name} was begun or resumed on another machine, or in another container: it may go on there.",
            "Resume it there; or, if you know that it has ended, add --theirs.",
        )


def _executed(plan: Plan) -> Iterator[str]:
    """What a plan starts, executes or loads, a line each."""
    for component in plan.components:
        if component.command:
            yield shlex.join(component.command)
        elif component.module:
            yield f"java -jar {component.module}"
    for variant in plan.variants:
        if variant.url:
            yield f"load on {variant.url}"
        elif variant.command:
            yield shlex.join((*(f"{name}={value}" for name, value in variant.environment.items()), *variant.command))
        else:
            settings = (f"--{name}={value}" for name, value in variant.properties.items())
            yield shlex.join(("java", *variant.jvm_arguments, "-jar", variant.module, *settings))
    if plan.locustfile:
        yield plan.locustfile.path


def _recall_contract(testbed: Testbed) -> None:
    """Make the answers of the measured cells in which nothing failed the reference for the missing ones."""
    for groups in in_random_order(testbed.plan):
        for cell in chain.from_iterable(groups):
            folder = testbed.run.cell(cell)
            # What was refuted has its answers there too, to be looked at.
            if folder.settled and not folder.read("evidence").get("component_errors"):
                for name, answer in folder.read("contract").items():
                    testbed.proved.setdefault(name, (cell.variant, answer))


def reopen(run: RunFolder, facts: Mapping[str, Any], command: Sequence[str], anyway: bool, reporter: Reporter) -> None:
    """Take over an incomplete run in this process, and record the conditions of its resumption.

    Args:
        facts: about this machine and checkout, as in environment.json.
        anyway: resume under changed conditions, which are shown and stored in environment-resume-N.json.

    Raises:
        LabError: the run is in progress or complete, or has symbolic links, or (unless ``anyway``) conditions have
            changed.

    """
    check_no_links(run)  # again: what it starts on took its time to be built
    before = run.environment()
    different = changed_conditions(before, facts)
    if different and not anyway:
        raise LabError(
            f"Run {run.name} began under other conditions: {'; '.join(different)}.",
            "Begin a new run, or accept the mixture, which is recorded: add --anyway.",
        )
    if others := before.get("together"):
        different.append(f"starts served the loads of {' and '.join(others)} too, and serve this run alone now")
    run.adopt({**facts, "command": list(command), "different": different})
    for difference in different:
        reporter.say(f"  not as before: {difference}", "not as before", "yellow")


def changed_conditions(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The changes between two environments, as sentence parts (``commit was 1a2b, is 3c4d``)."""
    names = [name for name in dict.fromkeys((*before, *now)) if name not in INCIDENTAL]
    found = []
    for name in names:
        was, is_ = before.get(name), now.get(name)
        if isinstance(was, Mapping) and isinstance(is_, Mapping):
            found += [f"{name}: {difference}" for difference in changed_conditions(was, is_)]
        elif was != is_:
            found.append(f"{name.replace('_', ' ')} was {was}, is {is_}")
    return found
