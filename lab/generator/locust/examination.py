"""Prints what is in a locustfile, as one JSON object: a process of its own, as importing Locust patches the process.

``users``: classes that derive from LabUser; ``others``: any other user classes; ``waiting``: those of the first that
have a ``wait_time``; ``idle``: those without a task. A file that raises ends the process with its traceback.
"""

from __future__ import annotations

import json
import sys

from locust import User
from locust.util.load_locustfile import load_locustfile

from lab.generator.locust import LabUser


def main() -> None:
    """Examine the locustfile that is the only argument."""
    classes = load_locustfile(sys.argv[1])[0].values()
    users = [user for user in classes if issubclass(user, LabUser)]
    found = {
        "users": [user.__name__ for user in users],
        "others": [user.__name__ for user in classes if user not in users],
        "waiting": [user.__name__ for user in users if user.wait_time is not User.wait_time],
        "idle": [user.__name__ for user in users if not user.tasks],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
