"""The large-data scenario: every session is one operation on one, a thousand or all of 10,000 entities.

Alone:          locust -f locustfiles/large-data.py --headless -u 1 -H http://127.0.0.1:8080 --operation query-1k
In the lab:     python -m lab run large-data --operation get-all --way streamed --batch-size 1000
"""

from locust import task

from lab.experiments.large_data.scenario import ENTITIES, OF_AN_INTEGER, SCENARIO
from lab.generator.locust import LabUser
from lab.system.databases import entities


class LargeDataUser(LabUser):
    """Takes an answer for right that is as long as all of its entities are."""

    scenario = SCENARIO

    @task
    def operate(self) -> None:
        """Do what is asked for."""
        name, way, batch = (str(self.parameters[of]) for of in ("operation", "way", "batch_size"))
        (key,) = entities.keys(ENTITIES, self.number, 1)
        of_integer = f"/entities/by-integer/{entities.integer(ENTITIES, self.number)}"
        fetched, text = name + "-paged" * (way == "paged"), entities.new_text()
        match name:
            case "insert-one":
                self.client.post("/entities", name=name, body=entities.new(ENTITIES, text), headers=entities.JSON)
            case "get-one":
                self.client.get(f"/entities/{key}", name=name, check=entities.answer_bytes(ENTITIES))
            case "update-one" | "update-many-1k":
                several = name == "update-many-1k"
                path, said = (of_integer, entities.matched(OF_AN_INTEGER)) if several else (f"/entities/{key}", b"")
                body = entities.content(ENTITIES, text)
                self.client.put(path, name=name, body=body, headers=entities.JSON, check=said)
            case _:
                path, count = ("/entities", ENTITIES.count) if name == "get-all" else (of_integer, OF_AN_INTEGER)
                size = entities.answer_bytes(ENTITIES, count)
                self.client.get(f"{path}?way={way}&batch={batch}", name=fetched, check=size)
