"""Units of what is counted."""

MIB = 1 << 20
