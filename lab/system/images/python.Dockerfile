# Stand-in for python:3.11-slim.
ARG BASE
FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update -qq && apt-get install -qy --no-install-recommends python3 && rm -rf /var/lib/apt/lists/*
