# A virtual environment, and the base without pip. All is put together on the machine that builds, and copied into the last
# stage, in which nothing runs: so images for other machines need no emulator. make image, make images
# Raise version and digest with each of Python's releases: the digest is that of the index, which names one image for each
# machine. `--build-arg BASE=` takes a base of yours, such as a mirror's.
# Two targets: `webhook`, the one that is built where none is named, has what runs in the cluster; `tools` has every command.
ARG BASE=docker.io/library/python:3.13.15-slim-bookworm@sha256:ed86c82274b3c69b52fb5820f358f0bd7df0b603332063cb5c6e32bd220c3e6e

FROM ${BASE} AS base

FROM --platform=${BUILDPLATFORM} ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
COPY --from=base / /image
RUN find /image \( -path "*-packages/pip*" -o -path "*/bin/pip*" -o -name ensurepip \) -prune -exec rm -r {} +
WORKDIR /src
COPY requirements.lock requirements-build.lock ./
ARG TARGETARCH
# Wheels for the platforms of this Python, but of the machine that the image is for.
RUN python -m venv --without-pip /opt/evenkeel \
 && locked="--no-compile --require-hashes --only-binary :all: --requirement" \
 && machine=$(echo "$TARGETARCH" | sed "s/amd64/x86_64/; s/arm64/aarch64/") \
 && platforms=$(python -c "from pip._vendor.packaging.tags import platform_tags as tags; print(*tags(), sep='\n')" \
    | sed "s/^/--platform /; s/$(uname -m)$/$machine/") \
 && python -m pip install --target /opt/evenkeel/lib/python3*/site-packages $platforms $locked requirements.lock \
 && rm -r /opt/evenkeel/lib/python3*/site-packages/bin \
 && python -m pip install --target /opt/build $locked requirements-build.lock
COPY setup.cfg pyproject.toml LICENSE ./
COPY certs certs
COPY webhook webhook
# Compiled here, for where it runs nothing can be written; kubernetes.aio is large, and nobody imports it.
RUN PYTHONPATH=/opt/build python -m pip --python /opt/evenkeel/bin/python install --no-compile --no-deps \
    --no-build-isolation . \
 && python -m compileall -q -x /kubernetes/aio/ /opt/evenkeel/lib

FROM build AS build-tools
COPY evenkeel evenkeel
RUN PYTHONPATH=/opt/build python -m pip --python /opt/evenkeel/bin/python install --no-compile --no-deps \
    --no-build-isolation --force-reinstall . \
 && python -m compileall -q -x /kubernetes/aio/ /opt/evenkeel/lib

FROM scratch AS image
ARG BASE REVISION=unknown
LABEL org.opencontainers.image.title="evenkeel" \
      org.opencontainers.image.description="An admission webhook for spec.topologySpreadConstraints" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${BASE}"
COPY --from=build /image /
# Two arenas: with one for each thread, each keeps what the largest review took in it. Blocks from 1 MiB on stand in none,
# and go back to the kernel once they are free.
ENV PATH=/opt/evenkeel/bin:/usr/local/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=1048576
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["evenkeel"]
CMD ["--help"]

FROM image AS tools
COPY --from=build-tools /opt/evenkeel /opt/evenkeel

FROM image AS webhook
COPY --from=build /opt/evenkeel /opt/evenkeel
