# An image with polex-guard only: no shell, no packages, no downloads. The program comes from
# `make dist`, for each requested platform:
#
#   make dist && docker buildx build --platform linux/amd64,linux/arm64 .
FROM scratch
ARG TARGETARCH
COPY dist/linux_${TARGETARCH}/polex-guard /polex-guard
USER 65532:65532
ENTRYPOINT ["/polex-guard"]
