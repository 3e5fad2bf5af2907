"""Arrays in, numbers out: queueing, laws, percentiles, intervals, tests; numpy and scipy only."""
