"""Runs, samples and published tables on disk: the only room that knows the file names of a run."""
