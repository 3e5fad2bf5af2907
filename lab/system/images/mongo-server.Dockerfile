# Stand-in for mongo:8: FerretDB speaks MongoDB's protocol and keeps its documents in PostgreSQL.
ARG BASE
FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update -qq \
 && apt-get install -qy --no-install-recommends postgresql-18 postgresql-18-documentdb \
 && rm -rf /var/lib/apt/lists/* /var/lib/postgresql/18
COPY ferretdb /usr/local/bin/ferretdb
