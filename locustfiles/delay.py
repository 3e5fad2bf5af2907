"""The delay scenario: every request waits on the server and does nothing else.

Alone:          locust -f locustfiles/delay.py --headless -u 100 -H http://127.0.0.1:8080
In the lab:     python -m lab run delay --users 4000
"""

from locust import task

from lab.experiments.delay.scenario import SCENARIO
from lab.generator.locust import LabUser


class DelayUser(LabUser):
    """Asks for the delay, and takes only the exact answer for right."""

    scenario = SCENARIO

    @task
    def wait_for_answer(self) -> None:
        """GET /delay/{delay_ms}."""
        self.client.get(self.path, name="/delay", check=b'{"millis":%d}' % self.parameters["delay_ms"])
