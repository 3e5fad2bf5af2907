"""The migration scenario: services look up their records, and save one now and then.

Alone:          locust -f locustfiles/migration.py --headless -u 50 -H http://127.0.0.1:8080 --saves 10
In the lab:     python -m lab run migration --users 350 --ramp-up 60 --slo "p99<10s" --slo "errors<10"
"""

from locust import task

from lab.experiments.migration import records
from lab.experiments.migration.scenario import SCENARIO
from lab.generator.locust import LabUser
from lab.generator.locust.answer import Response


def found(answer: Response, saved: str = "") -> bool | str:
    """Whether an answer has all records, success, and what was saved; else how it is wrong."""
    return records.check(answer.status, answer.body, saved)


class RequesterUser(LabUser):
    """Looks up the records of one requester; of those who save, each has a record that nobody else saves."""

    scenario = SCENARIO

    @task
    def work(self) -> None:
        """Look records up, or save one and look it up at once."""
        requester = self.number % int(self.parameters["requesters"])
        token, _ = self.token_of(requester)
        bearer = {"Authorization": f"Bearer {token}"}
        # Of more users than there are records, the others save none: what they read back could be somebody else's.
        if self.number >= records.COUNT or self.random.uniform(0, 100) >= int(self.parameters["saves"]):
            self.client.get(records.path(requester), name="look-up", headers=bearer, check=found)
            return
        own, content = self.number, records.new_content()
        change = {"body": records.change(content), "headers": {**bearer, **records.JSON}}
        done = self.client.put(f"/records/{records.key(own)}", name="save", check=content, **change)
        # What was not saved is no reason to call the look-up stale.
        saved = content if done.ok else ""
        self.client.get(records.path(own), name="look-up", headers=bearer, check=lambda answer: found(answer, saved))
