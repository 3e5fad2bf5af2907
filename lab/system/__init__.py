"""The system under test: JDKs, builds, service launches, databases, images, shaped links, attached services."""
