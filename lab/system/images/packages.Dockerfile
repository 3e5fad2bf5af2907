# Python and the packages of a Locust worker, as pip on the host chose them for this Python.
ARG BASE
FROM ${BASE}
COPY packages /lab/packages
RUN python3 -m compileall -q -j 0 /lab/packages || true
