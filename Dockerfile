# The images of a release, for each requested platform. The programs come from `make dist`, and
# internal/release/images.sh builds every image with buildah, which needs no container engine:
#
#   make dist images
#
# The images of polex-guard and polex-verify have a program and the certificate authorities: no
# shell, no packages, no downloads.
ARG BASE=docker.io/library/debian:13-slim@sha256:d7e12182ce18b85b93007c1dedf31f2d29e01ccf3182cc4017c709b6259bc132

FROM scratch AS polex-guard
ARG TARGETARCH
COPY dist/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY dist/linux_${TARGETARCH}/polex-guard /polex-guard
USER 65532:65532
ENTRYPOINT ["/polex-guard"]

FROM scratch AS polex-verify
ARG TARGETARCH
COPY dist/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY dist/linux_${TARGETARCH}/polex-verify /usr/local/bin/polex-verify
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/polex-verify"]

# For CI: a shell and git. It has no entry point, because runners start a shell.
FROM ${BASE} AS polex
RUN apt-get update && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates git && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log
# GitLab clones as root and runs the job as the user of the image. Git accepts the other owner in the
# folder of these clones only.
RUN git config --system --add safe.directory '/builds/*'
ARG TARGETARCH
COPY dist/linux_${TARGETARCH}/polex /usr/local/bin/polex
# The root file system can be read-only. Mount a writable /tmp then.
ENV HOME=/tmp
USER 65532:65532
CMD ["polex", "--help"]
