"""Any address: every request asks for the same, and every answer with a status of 200 to 299 is right.

Alone:          locust -f locustfiles/load.py --headless -u 10 -H http://127.0.0.1:8080/path
In the lab:     python -m lab load http://127.0.0.1:8080/path --users 10
"""

from locust import task

from lab.generator.locust import LabUser


class LoadUser(LabUser):
    """Asks for what the address names."""

    @task
    def ask(self) -> None:
        """GET the path and query of the address."""
        self.client.get(self.client.target)
