#!/usr/bin/env bash
# commands.sh FOLDER COMMAND... prints the folder that holds the commands: the one
# that actions/setup has filled in this job (POLEX_BIN), or FOLDER, into which they
# are built from the very commit that the workflow names. Their modules are checked
# against go.sum, so that there is nothing to download that could be another.
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
CGO_ENABLED=0 go -C "$root" build -tags grpcnotrace -trimpath -o "$folder/" "${@/#/./cmd/}" >&2 || exit 3
echo "$folder"
