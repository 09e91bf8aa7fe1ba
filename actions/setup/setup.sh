#!/usr/bin/env bash
# Adds polex's commands to the path of the job. It downloads a release and verifies it, or builds
# them from the commit that the workflow names. The inputs are the INPUT_ variables; the runner sets
# the other variables.
set -euo pipefail

# shellcheck source=../scripts/report.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/report.sh"

wanted=${INPUT_COMMANDS// /$'\n'}
lines_of "$wanted"
names=(${lines[@]+"${lines[@]}"})
if [ "${#names[@]}" -eq 0 ]; then fail 2 'The input commands names none.'; fi
for command in ${names[@]+"${names[@]}"}; do
  if [[ ! $command =~ ^polex(-[a-z]+)?$ ]]; then fail 2 "There is no command $command."; fi
done

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/polex-bin.XXXXXX")
export RELEASE_VERIFIER=$INPUT_VERIFY_WITH
case $INPUT_VERSION in
  "" | source)
    if [ -n "$INPUT_SHA256" ]; then fail 2 'There is a sha256 and no version that it is the checksum of.'; fi
    # With no version, commands.sh downloads the release that the action belongs to, if any.
    POLEX_BIN='' POLEX_SOURCE=${INPUT_VERSION:-${POLEX_SOURCE:-}} "$scripts/commands.sh" "$folder" ${names[@]+"${names[@]}"} >/dev/null
    ;;
  *)
    # Nothing but the checksum links a version that the workflow names to a release that somebody has
    # inspected: a tag can be moved.
    if [[ ! $INPUT_SHA256 =~ ^[0-9a-f]{64}$ ]]; then
      fail 2 "A version needs the checksum of its checksums.txt in the input sha256, 64 hexadecimal digits."
    fi
    RELEASE_SHA256=$INPUT_SHA256 RELEASE_COMMIT='' "$scripts/release.sh" "$folder" "$INPUT_VERSION" ${names[@]+"${names[@]}"}
    ;;
esac

echo "POLEX_BIN=$folder" >>"$GITHUB_ENV"
echo "$folder" >>"$GITHUB_PATH"
