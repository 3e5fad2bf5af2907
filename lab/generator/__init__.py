"""The load generator: starting and commanding Locust's processes, their calibration, and what runs inside them."""
