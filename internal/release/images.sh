#!/usr/bin/env bash
# images.sh VERSION [IMAGE...] builds the images of a release with buildah, from the files of
# `make dist`. Each is a list of all platforms in buildah's storage, and an OCI layout in
# dist/images/IMAGE. The same files give the same images of polex-guard and polex-verify.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$1
shift
if [ $# -eq 0 ]; then set -- polex-guard polex-verify polex; fi

declare -A descriptions=(
  [polex-guard]='Admission webhook that rejects unsigned Kyverno PolicyExceptions'
  [polex-verify]='Verifies signed Kyverno PolicyExceptions'
  [polex]='Signs and verifies Kyverno PolicyExceptions in CI'
)
time=$(git show --no-patch --format=%ct HEAD)
for image in "$@"; do
  rm -rf "dist/images/$image"
  mkdir -p dist/images
  buildah manifest rm "$image" >/dev/null 2>&1 || true # of an earlier run
  for arch in amd64 arm64; do
    buildah build --isolation "${ISOLATION:-oci}" --platform "linux/$arch" --build-arg "TARGETARCH=$arch" ${BASE:+--build-arg "BASE=$BASE"} \
      --target "$image" --manifest "$image" --timestamp "$time" --identity-label=false \
      --label "org.opencontainers.image.title=$image" \
      --label "org.opencontainers.image.description=${descriptions[$image]}" \
      --label org.opencontainers.image.source=https://github.com/polex-dev/polex \
      --label org.opencontainers.image.documentation=https://github.com/polex-dev/polex/blob/main/docs/how-to/install.md \
      --label org.opencontainers.image.licenses=Apache-2.0 \
      --label "org.opencontainers.image.version=${version#v}" \
      --label "org.opencontainers.image.revision=$(git rev-parse HEAD)" \
      --label "org.opencontainers.image.created=$(TZ=UTC git show --no-patch --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd HEAD)" \
      .
  done
  buildah manifest push --quiet --all "$image" "oci:dist/images/$image"
done
