"""The stories: conduct a run cell by cell, warm services up, seed, resume, calibrate, hold a stack up."""
