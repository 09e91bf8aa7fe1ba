#!/usr/bin/env bash
# Adds polex's commands to the path of the job. It builds them from the commit that the workflow
# names, or downloads a release and verifies its checksum and provenance. The inputs are the INPUT_
# variables; the runner sets the other variables.
set -euo pipefail

# shellcheck source=../scripts/report.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/report.sh"

repository=polex-dev/polex
most=$((200 << 20)) # maximum size of an archive in bytes

lines_of "${INPUT_COMMANDS// /$'\n'}"
names=("${lines[@]}")
if [ "${#names[@]}" -eq 0 ]; then fail 2 'The input commands names none.'; fi
for command in "${names[@]}"; do
  if [[ ! $command =~ ^polex-[a-z]+$ ]]; then fail 2 "There is no command $command."; fi
done

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/polex-bin.XXXXXX")

# fetch URL FILE downloads a file, and prints the status and the target of a redirect. It follows no
# redirects and reads no configuration.
fetch() {
  curl --disable --proto '=https' --tlsv1.2 --silent --show-error --retry 3 --max-time 300 --max-filesize "$most" \
    --output "$2" --write-out '%{http_code} %{redirect_url}' -- "$1"
}

# download URL FILE downloads a file of a release. It follows only GitHub's one redirect to the
# storage of releases.
download() {
  local answer status target
  answer=$(fetch "$1" "$2") || fail 3 "$1 cannot be fetched."
  read -r status target <<<"$answer"
  if [ -n "$target" ]; then
    if [[ ! $target =~ ^https://(release-assets|objects)\.githubusercontent\.com/ ]]; then
      fail 1 "$1 leads to ${target%%\?*}, which is not where GitHub keeps releases."
    fi
    answer=$(fetch "$target" "$2") || fail 3 "${target%%\?*} cannot be fetched."
    read -r status target <<<"$answer"
  fi
  if [ "$status" != 200 ]; then fail 3 "$1 was answered with status $status."; fi
}

# release extracts the commands of a release into the folder.
release() {
  local version=$1 sha256=$2 platform archive
  if [[ ! $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]]; then
    fail 2 "$version is not a version: write a whole one, such as v1.2.3. There is no latest."
  fi
  if [[ ! $sha256 =~ ^[0-9a-f]{64}$ ]]; then
    fail 2 "A version needs the checksum of its archive in the input sha256, 64 hexadecimal digits."
  fi
  case ${RUNNER_OS:-}/${RUNNER_ARCH:-} in
    Linux/X64) platform=linux_amd64 ;;
    Linux/ARM64) platform=linux_arm64 ;;
    *) fail 2 "Releases are fetched on Linux. Leave the input version away, and the commands are built." ;;
  esac
  archive=$scratch/polex_${version#v}_$platform.tar.gz
  download "https://github.com/$repository/releases/download/$version/${archive##*/}" "$archive"
  if ! printf '%s  %s\n' "$sha256" "$archive" | sha256sum --check --status; then
    fail 1 "${archive##*/} has the checksum $(sha256sum <"$archive" | cut -d ' ' -f 1), not $sha256."
  fi
  # The signer must be the release workflow of this repository, at exactly this tag, on a runner of
  # GitHub.
  GH_HOST=github.com gh attestation verify "$archive" --repo "$repository" \
    --cert-identity "https://github.com/$repository/.github/workflows/release.yaml@refs/tags/$version" \
    --cert-oidc-issuer https://token.actions.githubusercontent.com --deny-self-hosted-runners >&2 ||
    fail 1 "There is no proof that ${archive##*/} was made by the release workflow of $repository."
  tar -xzf "$archive" -C "$folder" --no-same-owner -- "${names[@]}" || fail 3 "${archive##*/} does not hold ${names[*]}."
}

if [ -n "$INPUT_VERSION" ]; then
  release "$INPUT_VERSION" "$INPUT_SHA256"
else
  if [ -n "$INPUT_SHA256" ]; then fail 2 'There is a sha256 and no version that it is the checksum of.'; fi
  POLEX_BIN='' "$scripts/commands.sh" "$folder" "${names[@]}" >/dev/null
fi

echo "POLEX_BIN=$folder" >>"$GITHUB_ENV"
echo "$folder" >>"$GITHUB_PATH"
