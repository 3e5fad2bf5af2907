# A Locust worker: the packages, the lab, and the locustfiles.
ARG BASE
FROM ${BASE}
RUN echo 'lab:x:10001:10001::/tmp:/bin/false' >> /etc/passwd
COPY . /lab
ENV PYTHONPATH=/lab:/lab/packages PYTHONDONTWRITEBYTECODE=1
WORKDIR /lab
USER 10001:10001
ENTRYPOINT []
CMD ["python3", "-m", "locust", "--version"]
