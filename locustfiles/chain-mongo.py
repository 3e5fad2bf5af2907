"""The chain-mongo scenario: every request makes the service read an entity, and then call another service, which waits.

Alone:          locust -f locustfiles/chain-mongo.py --headless -u 50 -H http://127.0.0.1:8080
In the lab:     python -m lab run chain-mongo --users 1000 --delay-ms 200
"""

from locust import task

from lab.experiments.chain.outcome import outcome
from lab.experiments.chain_mongo.scenario import ENTITIES, REQUEST, SCENARIO
from lab.generator.locust import LabUser
from lab.generator.locust.answer import Response
from lab.system.databases import entities


class ChainMongoUser(LabUser):
    """Asks for the delay of the service behind, after a read of an entity of its own."""

    scenario = SCENARIO

    @task
    def read_and_call_through(self) -> None:
        """GET /chain/{delay_ms}/after/{key}."""
        (key,) = entities.keys(ENTITIES, self.number, 1)
        self.client.get(f"/chain/{self.parameters['delay_ms']}/after/{key}", name=REQUEST, check=self.outcome)

    def outcome(self, answer: Response) -> bool | str:
        """How a request ended, as in ``chain``."""
        return outcome(answer, int(self.parameters["delay_ms"]))
