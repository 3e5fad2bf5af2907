"""The procedures behind the commands: conduct a run, warm up, seed, resume, calibrate, hold a stack up."""
