# A virtual environment, built in one stage and copied into another, which has neither pip nor sources:
# make image
# Raise the version with each of Python's releases; where your registry mirrors it, add the digest: 3.13.7-…@sha256:…
ARG PYTHON=3.13.7-slim-bookworm

FROM python:${PYTHON} AS build
WORKDIR /src
COPY setup.cfg pyproject.toml LICENSE ./
COPY certs certs
COPY webhook webhook
# Compiled here, for where it runs nothing can be written; kubernetes.aio is large, and nobody imports it.
RUN python -m venv --without-pip /opt/evenkeel \
 && python -m pip --python /opt/evenkeel/bin/python install --no-cache-dir --no-compile --disable-pip-version-check . \
 && python -m compileall -q -x /kubernetes/aio/ /opt/evenkeel/lib

FROM python:${PYTHON}
ARG REVISION=unknown
LABEL org.opencontainers.image.title="evenkeel" \
      org.opencontainers.image.description="An admission webhook for spec.topologySpreadConstraints" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}"
RUN python -m pip uninstall --yes --quiet --root-user-action=ignore pip
COPY --from=build /opt/evenkeel /opt/evenkeel
# Two arenas: with one for each thread, each keeps what the largest review took in it. Blocks from 1 MiB on stand in none,
# and go back to the kernel once they are free.
ENV PATH=/opt/evenkeel/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=1048576
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["evenkeel"]
CMD ["--help"]
