"""The user class that the lab's locustfiles derive from."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any, ClassVar, NoReturn

from locust import User, events
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import WorkerRunner

from lab.generator.locust import token_pool
from lab.generator.locust.answer import Response
from lab.generator.locust.http import HttpClient
from lab.generator.locust.phases import PhaseRunner
from lab.generator.locust.recorder import LocustSink
from lab.generator.locust.session import SessionEnd, SessionStop
from lab.runtimes import up_state
from lab.spec.own_load import OneRequest
from lab.spec.scenario import Scenario, Value


class LabUser(User):
    """A user that plays sessions, with a client that records every request.

    A session is one execution of a task: a method that sends one or more requests in order, or all tasks of a
    SequentialTaskSet. In the lab, the lab decides when a user begins a session and when it stops, and ``wait_time`` is
    not used. Under plain ``locust`` it is an ordinary Locust user, and those of the scenario's parameters that its
    users play are options of the command line (``--delay-ms 500``).

    Attributes:
        scenario: the scenario of its requests, set by the locustfile; None for one without parameters and path.
        client: an :class:`~lab.generator.locust.http.HttpClient`; there is none before the first session.
        path: the scenario's path with this user's parameters filled in.
        one_request: what the locustfile ``load`` sends; None for a GET.
        random: seeded for each user and load, so that ``--seed`` repeats what it draws.
        number: which of the load's users it is, from 0.
        shared: what the users of one worker tell each other; empty when a load or a window of it begins, as what
            requests changed is put back before that.
        pace: how long its pauses are, as a multiple of what the locustfile says: ``--pace``.

    """

    abstract = True
    scenario: ClassVar[Scenario | None] = None
    timeout_s: ClassVar[float] = 120.0
    # Under plain Locust, where all is one load.
    _numbers: ClassVar[Iterator[int]] = count()
    _shared: ClassVar[dict[Any, Any]] = {}

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._parameters: Mapping[str, Value] = {}
        self.path = ""
        self.random = random.Random()
        self.number = next(LabUser._numbers)
        self.shared = LabUser._shared
        self.pace = 1.0
        self.one_request: OneRequest | None = None
        self.client: HttpClient

    def run(self) -> None:  # final in Locust for its own loop; the lab's loop replaces that one
        """Run Locust's task loop, or, under ``lab run``, the phases of the lab's :class:`PhaseRunner`."""
        phase_runner = PhaseRunner.current
        if phase_runner is None:
            options = vars(self.environment.parsed_options)
            played = self.scenario.played_parameters if self.scenario else ()
            self.parameters = {p.name: options[p.name] for p in played}
            self.client = HttpClient(self.host or "", LocustSink(self.environment), self.timeout_s)
            super().run()
        else:
            phase_runner.run_user(self)

    def pause(self, low_s: float, high_s: float | None = None) -> None:
        """Think: send nothing for ``low_s`` seconds, or for a time that is drawn evenly from ``low_s`` to ``high_s``.

        No latency contains it. At the end of a closed loop's duration the pause ends at once, and the session with it.
        """
        self.client.pause(self.pace * (low_s if high_s is None else self.random.uniform(low_s, high_s)))

    def end_session(self) -> NoReturn:
        """End the session here, where nothing is left to go on with; that is no error, and it counts as complete.

        In a SequentialTaskSet Locust's own ``self.interrupt()`` does the same under plain ``locust`` too.
        """
        raise SessionEnd

    def stop_session(self) -> NoReturn:
        """Stop the session here, since what has just failed is needed for the rest of it.

        It counts as stopped early, at the request that it has sent last; what it would have sent is missing from the
        load. The user begins another one if the load has one left for it.
        """
        raise SessionStop

    def needs(self, answer: Response) -> Response:
        """The same answer if it is right; else the rest of the session is not possible, and it stops early here."""
        return answer if answer.ok else self.stop_session()

    def pick_token(self) -> tuple[str, bytes]:
        """A random token, all equally likely, and the email of its user."""
        return self.random.choice(token_pool.pairs())

    def token_of(self, number: int) -> tuple[str, bytes]:
        """The token of a seeded user, and the user's email."""
        return token_pool.pairs()[number]

    @property
    def parameters(self) -> Mapping[str, Value]:
        """The scenario's parameters by name."""
        return self._parameters

    @parameters.setter
    def parameters(self, parameters: Mapping[str, Value]) -> None:
        # With the defaults, as who plays one of the lab's locustfiles on a service of its own names none.
        self._parameters = {**self.scenario.defaults(), **parameters} if self.scenario else parameters
        # Formatted once, not for each request.
        self.path = self.scenario.path(self._parameters) if self.scenario else ""


@events.init.add_listener
def _require_host(environment: Environment, **_: Any) -> None:
    """End plain Locust at once if it has no usable host; failing in thousands of users would bury the reason."""
    needs_host = PhaseRunner.current is None and not isinstance(environment.runner, WorkerRunner)
    if needs_host and not environment.host:
        environment.host = _held_stack_host(environment)
    if needs_host and not environment.host and environment.web_ui is None:
        names = [scenario.name for scenario in _scenarios(environment.user_classes)]
        start = f", or start one: python -m lab up {names[0]}" if names else ""
        sys.exit(f"error: There is no host to load: add -H http://127.0.0.1:8080{start}")
    if needs_host and environment.host:
        try:
            HttpClient(environment.host, LocustSink(environment), LabUser.timeout_s)
        except (ValueError, OSError) as error:
            sys.exit(f"error: There is no host to load: {error}. Name one as -H http://127.0.0.1:8080.")


def _held_stack_host(environment: Environment) -> str | None:
    """The address of the stack that ``lab up`` holds, if these users play its scenario."""
    up, names = up_state.running(), {scenario.name for scenario in _scenarios(environment.user_classes)}
    return str(up["url"]) if up and names == {up["locustfile"]} else None


@events.init_command_line_parser.add_listener
def _add_parameter_options(parser: LocustArgumentParser, **_: Any) -> None:
    for scenario in _scenarios(LabUser.__subclasses__()):
        group = parser.add_argument_group(f"parameters of the scenario {scenario.name}")
        for p in scenario.played_parameters:
            unit = f", in {p.unit}" * bool(p.unit)
            kind: dict[str, Any] = {"choices": p.choices} if p.choices else {"type": str if p.span else int}
            group.add_argument(f"--{p.name.replace('_', '-')}", default=p.default, help=f"{p.help}{unit}", **kind)


def _scenarios(users: Iterable[type[User]]) -> list[Scenario]:
    """The scenarios of some user classes, each once."""
    named = {user.scenario.name: user.scenario for user in users if getattr(user, "scenario", None)}
    return list(named.values())
