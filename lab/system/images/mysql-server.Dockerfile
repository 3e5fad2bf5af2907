# Stand-in for mysql:8.4.
ARG BASE
FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update -qq && apt-get install -qy --no-install-recommends mysql-server-core && rm -rf /var/lib/apt/lists/*
