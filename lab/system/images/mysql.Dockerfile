# MySQL, official or Debian's, with an empty data directory made beforehand: a container starts in a second.
ARG BASE
FROM ${BASE}
RUN echo 'lab:x:10001:10001::/tmp:/bin/false' >> /etc/passwd \
 && mkdir -p /data /var/lib/mysql-files /var/run/mysqld \
 && chown 10001:10001 /data /var/lib/mysql-files /var/run/mysqld
COPY start-mysql /usr/local/bin/start-mysql
WORKDIR /tmp
USER 10001:10001
RUN mysqld --no-defaults --initialize-insecure --innodb-redo-log-capacity=8M --datadir=/data/mysql
VOLUME /data
ENTRYPOINT []
CMD ["start-mysql"]
