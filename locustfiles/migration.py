"""The migration scenario: services look up their records, and save some where they are asked to.

Alone:          locust -f locustfiles/migration.py --headless -u 50 -H http://127.0.0.1:8080 --saves 10
In the lab:     python -m lab run migration --users 350 --ramp-up 60 --slo "p99<10s" --slo "errors<10"
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

from locust import task

from lab.experiments.migration import records
from lab.experiments.migration.scenario import BESIDE, LOOK_UP, SAVE, SCENARIO
from lab.generator.locust import LabUser

# Newer than what is seeded, and never again the same, so that of two contents of a record the greater is the newer.
NEWER = count(records.COUNT)


@dataclass
class Saves:
    """The saves of what one look-up finds, as far as the users of this worker know of them: others do not tell.

    Attributes:
        under_way: how many have been sent and not been answered.
        answered: by key of the record, the content that was saved last. Where a save failed, it may come into force
            later, so that nothing is known of that record any more.

    """

    under_way: int = 0
    answered: dict[str, str | None] = field(default_factory=dict)

    def known(self) -> Mapping[str, str]:
        """What whoever begins to look up now must find, or what is newer."""
        return {key: content for key, content in self.answered.items() if content}


class RequesterUser(LabUser):
    """Looks up the records of one requester; of those who save, each has a record that nobody else saves."""

    scenario = SCENARIO

    @task
    def work(self) -> None:
        """Look records up, or save one and look it up at once."""
        requesters = int(self.parameters["requesters"])
        requester, own = self.number % requesters, records.own(self.number, requesters)
        bearer = {"Authorization": f"Bearer {self.token_of(requester)[0]}"}
        if own is None or self.random.uniform(0, 100) >= int(self.parameters["saves"]):
            self.look_up(requester, bearer)
            return
        self.save(own, bearer)
        self.look_up(own, bearer)

    def saves_of(self, number: int) -> Saves:
        """The saves of the records that are found together with one."""
        saves: Saves = self.shared.setdefault(records.lookup(number), Saves())
        return saves

    def look_up(self, number: int, bearer: Mapping[str, str]) -> None:
        """Look up a record, among others: none of them may be older than what was saved before, by whomever."""
        saves = self.saves_of(number)
        known, name = saves.known(), BESIDE if saves.under_way else LOOK_UP
        self.client.get(
            records.path(number),
            name=name,
            headers=bearer,
            check=lambda answer: records.check(answer.status, answer.body, known),
        )

    def save(self, number: int, bearer: Mapping[str, str]) -> None:
        """Save a record."""
        saves, key, content = self.saves_of(number), records.key(number), records.content(next(NEWER))
        how = {"headers": {**bearer, **records.JSON}, "body": records.change(content)}
        saves.under_way += 1
        try:
            right = self.client.put(f"/records/{key}", name=SAVE, check=content, **how).ok
        finally:
            saves.under_way -= 1
        saves.answered[key] = content if right and saves.answered.get(key, content) else None
