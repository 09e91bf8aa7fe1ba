#!/usr/bin/env bash
# commands.sh FOLDER COMMAND... prints the folder of the commands. This is the folder of
# actions/setup in this job (POLEX_BIN), or FOLDER. It builds the commands into FOLDER from the
# exact commit that the workflow names, and go.sum verifies their modules.
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
