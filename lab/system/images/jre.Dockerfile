# Stand-in for eclipse-temurin:25-jre.
ARG BASE
FROM ${BASE}
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update -qq \
 && { apt-get install -qy --no-install-recommends openjdk-25-jre-headless \
   || apt-get install -qy --no-install-recommends openjdk-21-jre-headless; } \
 && rm -rf /var/lib/apt/lists/*
