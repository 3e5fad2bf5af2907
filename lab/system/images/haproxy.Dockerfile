# Stand-in for haproxy:3.0.
ARG BASE
FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update -qq && apt-get install -qy --no-install-recommends haproxy && rm -rf /var/lib/apt/lists/*
