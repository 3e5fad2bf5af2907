"""The commands, by what they are for: parse, call, print. :mod:`lab.cli` gathers them."""
