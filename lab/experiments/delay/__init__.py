"""The endpoint that only waits."""
