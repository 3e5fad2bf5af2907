"""The requests of ``lab calibrate``, one kind for each that scenarios make; the lab starts it, against its own server.

By hand:        python -m lab calibrate
"""

from locust import task

from lab.generator.known_delay_server import body
from lab.generator.locust import LabUser
from lab.spec.scenario import KINDS

LARGE = body("large", 0)


class CalibrationUser(LabUser):
    """Sends and checks what the scenarios do, so that it costs what theirs cost."""

    @task
    def ask(self) -> None:
        """GET /KIND/{delay_ms}."""
        kind, delay_ms = KINDS[self.parameters["kind"]], self.parameters["delay_ms"]
        path = f"/{kind}/{delay_ms}"
        if kind == "small":
            self.client.get(path, name="/small", check=lambda a: a.body.startswith(b'{"millis":'))
        elif kind == "token":
            token, _ = self.pick_token()
            headers = {"Authorization": f"Bearer {token}"}
            self.client.get(path, name="/token", headers=headers, check=lambda a: a.body.startswith(b'{"email":"'))
        else:
            self.client.get(path, name=f"/{kind}", check=LARGE if kind == "large" else len(LARGE))
