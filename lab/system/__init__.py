"""What is measured: JDKs, builds, service launches, databases, container images, shaped links, attached services."""
