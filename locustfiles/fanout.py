"""The fan-out scenario: every request makes several independent finds on the server.

Alone:          locust -f locustfiles/fanout.py --headless -u 50 -H http://127.0.0.1:8080
In the lab:     python -m lab run fanout --users 100 --calls 5
"""

from locust import task

from lab.experiments.fanout.scenario import SCENARIO
from lab.generator.locust import LabUser


class FanoutUser(LabUser):
    """Asks for the finds, and takes only an answer for right in which all of them found something."""

    scenario = SCENARIO

    @task
    def find_all(self) -> None:
        """GET /fanout/{calls}."""
        calls = self.parameters["calls"]
        self.client.get(self.path, name="/fanout", check=b'{"calls":%d,"found":%d}' % (calls, calls))
