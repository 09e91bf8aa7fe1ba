#!/usr/bin/env bash
# commands.sh FOLDER COMMAND... prints the folder of the commands. This is the folder of
# actions/setup in this job (POLEX_BIN), or FOLDER. If the action belongs to a release
# (actions/version), it downloads the commands of that release, and requires a signature at the
# commit that the workflow names (ACTION_REF). Otherwise, or with POLEX_SOURCE=source, it builds them
# from that commit, and go.sum verifies their modules. POLEX_SOURCE cannot name another release.
set -euo pipefail

folder=$1
shift
if [ -n "${POLEX_BIN:-}" ]; then
  for command in "$@"; do
    if [ ! -x "$POLEX_BIN/$command" ]; then
      echo "::error title=polex::actions/setup has not put $command into $POLEX_BIN: name it in its input commands." >&2
      exit 3
    fi
  done
  echo "$POLEX_BIN"
  exit
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$folder"
version=$(cat "$root/actions/version")
if [ "$version" = source ] || [ "${POLEX_SOURCE:-}" = source ]; then
  CGO_ENABLED=0 go -C "$root" build -tags grpcnotrace -trimpath -o "$folder/" "${@/#/./cmd/}" >&2 || exit 3
else
  commit=
  if [[ ${ACTION_REF:-} =~ ^[0-9a-f]{40}$ ]]; then commit=$ACTION_REF; fi
  RELEASE_SHA256='' RELEASE_COMMIT=$commit "$root/actions/scripts/release.sh" "$folder" "$version" "$@" >&2
fi
echo "$folder"
