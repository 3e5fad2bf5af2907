"""One session of a user: one execution of its task, be it a function or a SequentialTaskSet."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from locust import SequentialTaskSet, TaskSet
from locust.exception import InterruptTaskSet, RescheduleTask, RescheduleTaskImmediately

# What a locustfile raises to end a session early, in Locust's words; it is no error.
SESSION_ENDS = (RescheduleTask, RescheduleTaskImmediately, InterruptTaskSet)
Session = Callable[[Any], object]


class SessionEnd(RescheduleTask):
    """Ends a session: what ``LabUser.end_session`` raises. Locust itself goes on with the next task."""


class SessionStop(SessionEnd):
    """Stops a session early, for what has just failed: what ``LabUser.stop_session`` raises."""


def session_of(task: Any) -> Session:
    """What executes a task once: a function as it is, all tasks of a SequentialTaskSet in order.

    TypeError for any other TaskSet, which has no end: Locust picks its tasks at random, again and again.
    """
    if not (isinstance(task, type) and issubclass(task, TaskSet)):
        return task
    if not issubclass(task, SequentialTaskSet):
        raise TypeError(f"{task.__name__} has no end that a session could have: derive it from SequentialTaskSet.")
    return partial(_play_in_order, task)


def _play_in_order(kind: type[SequentialTaskSet], parent: Any) -> None:
    """Play all tasks of a SequentialTaskSet once; as in Locust, one that is rescheduled is left for the next."""
    tasks = kind(parent)
    tasks.on_start()
    for task in tasks.tasks:
        try:
            session_of(task)(tasks)
        except SessionEnd:
            tasks.on_stop()
            raise
        except (RescheduleTask, RescheduleTaskImmediately):
            continue
        except InterruptTaskSet:
            break
    tasks.on_stop()
