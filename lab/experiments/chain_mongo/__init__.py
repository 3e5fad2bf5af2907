"""The same chain of calls, where the service reads from MongoDB before each call."""
