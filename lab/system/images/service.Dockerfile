# A service: any JRE, and the application of the jar that Maven built, with its libraries beside it.
ARG BASE
FROM ${BASE}
RUN echo 'lab:x:10001:10001::/tmp:/bin/false' >> /etc/passwd
COPY service /lab
WORKDIR /tmp
USER 10001:10001
ENTRYPOINT []
CMD ["java", "-jar", "/lab/service.jar"]
