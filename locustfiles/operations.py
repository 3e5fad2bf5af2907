"""The operations scenario: a user logs in, looks around, and twice creates an operation, reads it and deletes it.

Alone:          locust -f locustfiles/operations.py --headless -u 50 -H http://127.0.0.1:8080
In the lab:     python -m lab run operations --users 200 --pace 0.2
"""

from http.client import CREATED, NO_CONTENT, UNAUTHORIZED

from locust import task

from lab.experiments.operations.contract import OPERATION
from lab.experiments.operations.scenario import SCENARIO, USERS
from lab.generator.locust import LabUser


class OperationsUser(LabUser):
    """Sends 26 requests, and stops if it is not refused before it logs in, not let in, or cannot create."""

    scenario = SCENARIO

    @task
    def visit(self) -> None:
        """Play a session."""
        get, post, needs, pause = self.client.get, self.client.post, self.needs, self.pause
        needs(get("/api/account", name="unauthenticated account", check=UNAUTHORIZED))
        pause(5)
        login = {"username": USERS[self.parameters["bcrypt"]], "password": "admin", "rememberMe": True}
        entered = needs(post("/api/authenticate", name="authenticate", json=login, check='"id_token"'))
        me = {"Authorization": f"Bearer {entered.json()['id_token']}"}
        pause(1)
        for _ in range(2):
            get("/api/account", name="account", headers=me, check='"login"')
            pause(5)
        for _ in range(2):
            get("/api/operations", name="all operations", headers=me, check='"description"')
            pause(5, 10)
            new = needs(post("/api/operations", name="create operation", json=OPERATION, headers=me, check=CREATED))
            path = f"/api/operations/{new.json()['id']}"
            pause(5)
            for _ in range(8):
                get(path, name="get operation", headers=me, check=OPERATION["description"])
                pause(3)
            self.client.delete(path, name="delete operation", headers=me, check=NO_CONTENT)
            pause(5)
