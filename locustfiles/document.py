"""The document scenario: every request fetches the same megabyte.

Alone:          locust -f locustfiles/document.py --headless -u 50 -H http://127.0.0.1:8080
In the lab:     python -m lab run document --users 50
"""

from locust import task

from lab.experiments.document.scenario import ALREADY_THERE, SCENARIO, TEXT_BYTES
from lab.generator.locust import LabUser

# The seeded text, and what is around it in the answer.
ANSWER_BYTES = TEXT_BYTES + len(ALREADY_THERE)


class DocumentUser(LabUser):
    """Fetches the document, and takes only all of it for right."""

    scenario = SCENARIO

    @task
    def fetch(self) -> None:
        """GET /documents/1000."""
        self.client.get(self.path, name="/documents", check=ANSWER_BYTES)
