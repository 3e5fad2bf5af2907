# MongoDB, or FerretDB over PostgreSQL where the base has that. No passwords: ports are published on loopback only.
ARG BASE
FROM ${BASE}
RUN echo 'lab:x:10001:10001::/tmp:/bin/false' >> /etc/passwd && mkdir -p /data/lab && chown 10001:10001 /data/lab
COPY start-mongo /usr/local/bin/start-mongo
WORKDIR /tmp
USER 10001:10001
RUN start-mongo prepare
VOLUME /data/lab
ENTRYPOINT []
CMD ["start-mongo"]
