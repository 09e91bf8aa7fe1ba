#!/usr/bin/env bash
# release.sh FOLDER VERSION COMMAND... downloads the commands of a release into FOLDER. It verifies
# who signed the checksums of the release before it downloads an archive, and unpacks an archive only
# with the right checksum. RELEASE_SHA256 is the checksum of checksums.txt, if the caller knows it,
# RELEASE_COMMIT the commit of the release, if the caller knows it, and RELEASE_VERIFIER is gh or
# cosign.
set -euo pipefail

# shellcheck source=report.sh
. "$(dirname "${BASH_SOURCE[0]}")/report.sh"

repository=polex-dev/polex
most=$((200 << 20)) # maximum size of a file in bytes
folder=$1
version=$2
shift 2

# fetch URL FILE downloads a file, and prints the status and the target of a redirect. It follows no
# redirects and reads no configuration.
fetch() {
  curl --disable --proto '=https' --tlsv1.2 --silent --show-error --retry 3 --max-time 300 --max-filesize "$most" \
    --output "$2" --write-out '%{http_code} %{redirect_url}' -- "$1"
}

# download NAME downloads a file of the release into the scratch folder. It follows only GitHub's one
# redirect to the storage of releases.
download() {
  local answer status target url=https://github.com/$repository/releases/download/$version/$1 file=$scratch/$1
  answer=$(fetch "$url" "$file") || fail 3 "$url cannot be fetched."
  read -r status target <<<"$answer"
  if [ -n "$target" ]; then
    if [[ ! $target =~ ^https://(release-assets|objects)\.githubusercontent\.com/ ]]; then
      fail 1 "$url leads to ${target%%\?*}, which is not where GitHub keeps releases."
    fi
    answer=$(fetch "$target" "$file") || fail 3 "${target%%\?*} cannot be fetched."
    read -r status target <<<"$answer"
  fi
  if [ "$status" != 200 ]; then fail 3 "$url was answered with status $status."; fi
}

# checksum FILE prints the checksum of a file. macOS has no sha256sum.
checksum() {
  if command -v sha256sum >/dev/null; then sha256sum <"$1"; else shasum -a 256 <"$1"; fi | cut -d ' ' -f 1
}

# signed FILE succeeds if the release workflow of this repository signed the file, at exactly this
# tag (and commit, if it is known). gh requires a runner of GitHub too; cosign has no flag for it.
signed() {
  local identity=https://github.com/$repository/.github/workflows/release.yaml@refs/tags/$version
  local issuer=https://token.actions.githubusercontent.com arguments=()
  case ${RELEASE_VERIFIER:-gh} in
    gh)
      if [ -n "${RELEASE_COMMIT:-}" ]; then arguments=(--source-digest "$RELEASE_COMMIT"); fi
      GH_HOST=github.com gh attestation verify "$1" --repo "$repository" --cert-identity "$identity" --cert-oidc-issuer "$issuer" \
        --deny-self-hosted-runners ${arguments[@]+"${arguments[@]}"} >&2
      ;;
    cosign)
      download checksums.txt.sigstore.json
      if [ -n "${RELEASE_COMMIT:-}" ]; then arguments=(--certificate-github-workflow-sha "$RELEASE_COMMIT"); fi
      cosign verify-blob --bundle "$1.sigstore.json" --certificate-identity "$identity" --certificate-oidc-issuer "$issuer" \
        ${arguments[@]+"${arguments[@]}"} "$1" >&2
      ;;
    *) fail 2 "The input verify-with is gh or cosign, not $RELEASE_VERIFIER." ;;
  esac
}

if [[ ! $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]]; then
  fail 2 "$version is not a version: write a whole one, such as v1.2.3. There is no latest."
fi
case ${RUNNER_OS:-}/${RUNNER_ARCH:-} in
  Linux/X64) platform=linux_amd64 ;;
  Linux/ARM64) platform=linux_arm64 ;;
  macOS/X64) platform=darwin_amd64 ;;
  macOS/ARM64) platform=darwin_arm64 ;;
  *) fail 2 "The actions download releases on Linux and macOS. Set version: source in actions/setup to build the commands." ;;
esac
checksums=$scratch/checksums.txt
download checksums.txt
if [ -n "${RELEASE_SHA256:-}" ] && [ "$(checksum "$checksums")" != "$RELEASE_SHA256" ]; then
  fail 1 "checksums.txt has the checksum $(checksum "$checksums"), not $RELEASE_SHA256."
fi
signed "$checksums" || fail 1 "There is no proof that checksums.txt was made by the release workflow of $repository."
for command in "$@"; do
  archive=${command}_${version#v}_$platform.tar.gz
  want=$(awk -v name="$archive" '$2 == name { print $1 }' "$checksums")
  if [[ ! $want =~ ^[0-9a-f]{64}$ ]]; then fail 3 "The release $version does not have $archive."; fi
  download "$archive"
  got=$(checksum "$scratch/$archive")
  if [ "$got" != "$want" ]; then fail 1 "$archive has the checksum $got, not $want."; fi
  tar -xzf "$scratch/$archive" -C "$folder" -- "$command" || fail 3 "$archive does not hold $command."
done
