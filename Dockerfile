# polex-guard, and nothing else: no shell, no package, nothing that was fetched. It
# takes what `make dist` has built, for whichever platform is asked for:
#
#   make dist && docker buildx build --platform linux/amd64,linux/arm64 .
FROM scratch
ARG TARGETARCH
COPY dist/linux_${TARGETARCH}/polex-guard /polex-guard
USER 65532:65532
ENTRYPOINT ["/polex-guard"]
