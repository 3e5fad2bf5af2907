"""The jwt-ablations scenario: the requests of jwt, each with the token of a user picked at random.

Alone:          locust -f locustfiles/jwt-ablations.py --headless -u 50 -H http://127.0.0.1:8080
In the lab:     python -m lab run jwt-ablations --users 50 --duration 20
"""

from locust import task

from lab.experiments.jwt_ablations.scenario import SCENARIO
from lab.generator.locust import LabUser


class JwtAblationsUser(LabUser):
    """Asks who it is, with a token of its own choosing, and takes only that user's record for right."""

    scenario = SCENARIO

    @task
    def who_am_i(self) -> None:
        """GET /users/me."""
        token, email = self.pick_token()
        record_begin = b'{"email":"%b",' % email
        self.client.get(
            self.path,
            name="/users/me",
            headers={"Authorization": f"Bearer {token}"},
            check=lambda answer: answer.status == 200 and answer.body.startswith(record_begin),
        )
