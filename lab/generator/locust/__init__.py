"""What runs inside Locust: the HTTP client, the recorder, the arrivals and the user class.

Importing Locust monkey-patches the process, so nothing else in the lab imports this package: it runs in processes of
its own, started by :mod:`lab.generator.fleet`.
"""

from __future__ import annotations

from lab.generator.locust.user import LabUser

__all__ = ["LabUser"]
