"""The chain scenario: every request makes the service call another one, which waits.

Alone:          locust -f locustfiles/chain.py --headless -u 50 -H http://127.0.0.1:8080
In the lab:     python -m lab run chain --users 1000 --delay-ms 200
"""

from locust import task

from lab.experiments.chain.outcome import outcome
from lab.experiments.chain.scenario import SCENARIO
from lab.generator.locust import LabUser
from lab.generator.locust.answer import Response


class ChainUser(LabUser):
    """Asks for the delay of the service behind, and takes only its exact answer for right."""

    scenario = SCENARIO

    @task
    def call_through(self) -> None:
        """GET /chain/{delay_ms}."""
        self.client.get(self.path, name="/chain", check=self.outcome)

    def outcome(self, answer: Response) -> bool | str:
        """How a request ended: what a circuit breaker answers by itself is a failure by name, however fast it came."""
        return outcome(answer, int(self.parameters["delay_ms"]))
