# A program of the base, which is started by its name and is given its configuration.
ARG BASE
FROM ${BASE}
USER 0
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
RUN echo 'lab:x:10001:10001::/tmp:/bin/false' >> /etc/passwd
WORKDIR /tmp
USER 10001:10001
ENTRYPOINT []
