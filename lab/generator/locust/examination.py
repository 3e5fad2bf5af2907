"""Prints what is in a locustfile, as one JSON object: a process of its own, as importing Locust patches the process.

``users``: classes that derive from LabUser; ``others``: any other user classes; ``waiting``: users and task sets of the
first that have a ``wait_time``; ``idle``: users without a task; ``fixed``: those with a ``fixed_count``; ``endless``:
task sets that have no end. The object stands on a line of its own, after a mark. A file that raises ends the process
with its traceback.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from locust import SequentialTaskSet, TaskSet, User
from locust.util.load_locustfile import load_locustfile

from lab.generator.locust import LabUser
from lab.spec.own_load import MARK


def main() -> None:
    """Examine the locustfile that is the only argument."""
    classes = load_locustfile(sys.argv[1])[0].values()
    users = [user for user in classes if issubclass(user, LabUser)]
    sets = list(dict.fromkeys(part for user in users for part in _task_sets(user.tasks)))
    found = {
        "users": [user.__name__ for user in users],
        "others": [user.__name__ for user in classes if user not in users],
        "waiting": [
            *(user.__name__ for user in users if user.wait_time is not User.wait_time),
            *(part.__name__ for part in sets if part.wait_time is not TaskSet.wait_time),
        ],
        "idle": [user.__name__ for user in users if not user.tasks],
        "fixed": [user.__name__ for user in users if user.fixed_count],
        "endless": [part.__name__ for part in sets if not issubclass(part, SequentialTaskSet)],
    }
    print(f"\n{MARK}{json.dumps(found)}", flush=True)


def _task_sets(tasks: Iterable[Any]) -> Iterator[type[TaskSet]]:
    """The task sets among some tasks, and those within them."""
    sets: list[Any] = [task for task in tasks if isinstance(task, type) and issubclass(task, TaskSet)]
    for part in sets:
        yield part
        yield from _task_sets(part.tasks)


if __name__ == "__main__":
    main()
