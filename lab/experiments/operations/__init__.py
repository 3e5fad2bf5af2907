"""A user's session of 26 requests: five generations of Spring, and styles of programming on the current one."""
