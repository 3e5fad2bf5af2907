"""An application with JPA, with and without a clustered cache, migrated to WebFlux and R2DBC."""
