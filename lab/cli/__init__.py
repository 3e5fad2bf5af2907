"""The command line: each command parses its options, calls a room below, and prints the result."""
