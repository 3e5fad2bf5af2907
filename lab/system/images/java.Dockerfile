# Java of a release that a variant names, copied from this machine; whatever Java the base has comes after it.
ARG BASE
FROM ${BASE}
COPY java /lab/java
ENV PATH=/lab/java/bin:${PATH}
