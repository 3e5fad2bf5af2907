# A service: any JRE, and the jar that Maven built.
ARG BASE
FROM ${BASE}
RUN echo 'lab:x:10001:10001::/tmp:/bin/false' >> /etc/passwd
COPY service.jar /lab/service.jar
WORKDIR /tmp
USER 10001:10001
ENTRYPOINT []
CMD ["java", "-jar", "/lab/service.jar"]
