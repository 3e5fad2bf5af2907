"""Several independent finds in one request, one after the other or all at once."""
