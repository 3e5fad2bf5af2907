"""The order in which the cells of a run are measured: random, so that drift of the machine favours none."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TypeVar

from lab.spec.plan import Cell, Plan

T = TypeVar("T")


def in_random_order(plan: Plan) -> list[list[list[Cell]]]:
    """The groups of each start, shuffled within each repeat, so that drift of the machine favours no variant and load.

    So are the cells of a group: which is started, and warm, first.
    """
    chance = random.Random(plan.seed)
    repeats = sorted({groups[0][0].repeat for groups in plan.starts})
    rounds = [[groups for groups in plan.starts if groups[0][0].repeat == repeat] for repeat in repeats]
    starts = [groups for of_repeat in rounds for groups in chance.sample(of_repeat, len(of_repeat))]
    return [[_shuffled(group, chance) for group in _shuffled(groups, chance)] for groups in starts]


def shared_starts(plans: Sequence[Plan]) -> Iterator[list[tuple[int, Cell]]]:
    """The cells that each start serves, one after the other, with the place of their plan; by the first plan's seed.

    A repeat has a start of each variant, in random order. Its loads are in one order for all variants, since each load
    finds the service as the one before has left it; in the next repeat another plan is the first. Those that lack
    variants come last, or what all have would be measured after them in some variants only.
    """
    chance = random.Random(plans[0].seed)
    order = deque(_shuffled([*range(len(plans))], chance))
    for repeat in sorted({cell.repeat for plan in plans for cell in plan.cells}):
        places = sorted(order, key=lambda place: -len(plans[place].variants))
        of_repeat = [(place, cell) for place in places for cell in plans[place].cells if cell.repeat == repeat]
        for variant in _shuffled(sorted({cell.variant for _, cell in of_repeat}), chance):
            yield [(place, cell) for place, cell in of_repeat if cell.variant == variant]
        order.rotate(-1)


def _shuffled(members: list[T], chance: random.Random) -> list[T]:
    return chance.sample(members, len(members)) if len(members) > 1 else members
