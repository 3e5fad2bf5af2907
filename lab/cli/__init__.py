"""What people type: one file a command parses the options, calls a room below, and prints what it says."""
