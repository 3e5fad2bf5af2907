"""Readings of services, processes and cores while a load lasts, and series of them."""
