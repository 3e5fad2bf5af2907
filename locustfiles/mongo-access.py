"""The mongo-access scenario: every session does one operation on entities, and removes only what it has added.

Alone:          locust -f locustfiles/mongo-access.py --headless -u 50 -H http://127.0.0.1:8080 --operation update-one
In the lab:     python -m lab run mongo-access --operation update-one --contention same
"""

from locust import task

from lab.experiments.mongo_access.scenario import ENTITIES, SCENARIO
from lab.generator.locust import LabUser
from lab.system.databases import entities
from lab.system.databases.entities import JSON


class EntityUser(LabUser):
    """Works on entities of its own, or on the same as all others, and takes only whole ones for right."""

    scenario = SCENARIO

    @task
    def operate(self) -> None:
        """Do what is asked for."""
        name, text = str(self.parameters["operation"]), entities.new_text()
        listed = int(self.parameters["elements"]) if name.endswith("many") else 0
        first = 0 if self.parameters["contention"] == "same" else self.number * (listed or 1)
        keys = ",".join(entities.keys(ENTITIES, first, listed or 1))
        path, said = (f"/entities/by-ids/{keys}", entities.matched(listed)) if listed else (f"/entities/{keys}", b"")
        match name:
            case "get-one" | "get-many":
                self.client.get(path, name=name, check=entities.answer_bytes(ENTITIES, listed))
            case "get-by-query":
                path = f"/entities/by-integer/{entities.integer(ENTITIES, first)}?way=collected&batch=default"
                self.client.get(path, name=name, check=entities.answer_bytes(ENTITIES, 1))
            case "update-one" | "update-many":
                self.client.put(path, name=name, body=entities.content(ENTITIES, text), headers=JSON, check=said)
            case "add-many":
                self.client.post("/entities/many", name=name, body=entities.several(ENTITIES, listed), headers=JSON)
            case _:
                self.client.post("/entities", name="add-one", body=entities.new(ENTITIES, text), headers=JSON)
                if name == "remove-one":
                    self.client.delete(f"/entities/{text}", name=name)
