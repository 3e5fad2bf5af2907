"""The load generator: Locust's processes seen from this side, what they can send at most, and what runs inside them."""
