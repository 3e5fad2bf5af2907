"""Any address: every session sends one request, and every answer with a status of 200 to 299 is right.

Alone:          locust -f locustfiles/load.py --headless -u 10 -H http://127.0.0.1:8080/path
In the lab:     python -m lab load http://127.0.0.1:8080/path --users 10
"""

from locust import task

from lab.generator.locust import LabUser


class LoadUser(LabUser):
    """Asks for what the address names."""

    @task
    def ask(self) -> None:
        """GET the path and query of the address, or send what the lab's command line says."""
        if not (asked := self.one_request):
            self.client.get(self.client.target)
            return
        self.client.request(asked.method, self.client.target, body=asked.body, check=asked.check or None)
