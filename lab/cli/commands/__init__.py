"""The commands, one file each or a few that belong together; :mod:`lab.cli.main` gathers them."""
