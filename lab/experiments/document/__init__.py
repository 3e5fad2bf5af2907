"""One document of a megabyte from MongoDB."""
