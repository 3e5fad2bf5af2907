"""Six ways to MongoDB: driver, template and repository, blocking and reactive."""
