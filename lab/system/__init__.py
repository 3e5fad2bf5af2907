"""What is measured: JDKs, Maven builds, service launches, databases, container images, shaped links, attached services."""
