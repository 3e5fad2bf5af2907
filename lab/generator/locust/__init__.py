"""What runs inside Locust: the HTTP client, the recorder, the arrivals and the user class.

Importing Locust monkey-patches the process, so nothing else in the lab imports this package: it runs in processes of
its own, started by :mod:`lab.generator.fleet`.
"""

from __future__ import annotations

import os

from lab.generator.locust import admission
from lab.generator.locust.user import LabUser
from lab.runtimes.checkout import JOIN_TOKEN

__all__ = ["LabUser"]

if JOIN_TOKEN in os.environ:  # in a master or worker of the lab's, before Locust makes a runner, which connects at once
    admission.require(os.environ.pop(JOIN_TOKEN))
