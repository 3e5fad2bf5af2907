"""The document scenario: every request fetches the same megabyte.

Alone:          locust -f locustfiles/document.py --headless -u 50 -H http://127.0.0.1:8080
In the lab:     python -m lab run document --users 50
"""

from locust import task

from lab.experiments.document.scenario import SCENARIO, answer
from lab.generator.locust import LabUser

ANSWER = answer()


class DocumentUser(LabUser):
    """Fetches the document, and takes only that, byte for byte, for right."""

    scenario = SCENARIO

    @task
    def fetch(self) -> None:
        """GET /documents/1000."""
        self.client.get(self.path, name="/documents", check=ANSWER)
