"""A service that calls another one, which answers after a while."""
