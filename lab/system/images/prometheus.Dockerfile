# Stand-in for prom/prometheus:v3.5.0.
ARG BASE
FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update -qq && apt-get install -qy --no-install-recommends prometheus && rm -rf /var/lib/apt/lists/*
