#!/usr/bin/env bash
# Runs polex-validate over the exceptions of a checkout, by the configuration of
# the base commit, so that a pull request cannot loosen its own rules. The inputs
# are the INPUT_ variables; the rest is what the runner sets.
set -euo pipefail

scratch=$(mktemp -d "${RUNNER_TEMP:-/tmp}/polex.XXXXXX")
# Paths in a configuration are relative to it, so that the base's lies where the
# checkout's does, under a name that holds no documents.
folder=$(dirname -- "$INPUT_CONFIG")
if [ ! -d "$folder" ]; then folder=.; fi
config=$(mktemp "$folder/.polex-base.XXXXXX")
trap 'rm -rf "$scratch" "$config"' EXIT

# Built from the very commit that the workflow names, its modules checked against
# go.sum: there is nothing to download that could be another.
go -C "$GITHUB_ACTION_PATH/../.." build -trimpath -o "$scratch/polex-validate" ./cmd/polex-validate || exit 3

# Without a file of its own, polex-validate would take up the one of the checkout.
printf 'apiVersion: polex.dev/v1alpha1\nkind: Config\n' >"$config"
arguments=(--config "$config")
if [ -n "${INPUT_BASE:-}" ]; then
  if ! git cat-file -e "$INPUT_BASE^{commit}" 2>/dev/null; then
    echo "::error title=polex-validate::The base commit is not in this clone. Check out with fetch-depth: 0."
    exit 3
  fi
  # A configuration that is there and cannot be read must not count as none.
  listed=$(git ls-tree --full-tree --name-only "$INPUT_BASE" -- "$INPUT_CONFIG")
  if [ -n "$listed" ]; then git show "$INPUT_BASE:$listed" >"$config"; fi
  arguments+=(--changed-since "$INPUT_BASE")
elif [ -f "$INPUT_CONFIG" ]; then
  cp -- "$INPUT_CONFIG" "$config"
fi
if [ -n "${INPUT_PRESET:-}" ]; then
  arguments+=(--preset "$INPUT_PRESET")
fi

paths=()
while IFS= read -r path; do
  if [ -n "$path" ]; then paths+=("$path"); fi
done <<<"$INPUT_PATHS"

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  "$scratch/polex-validate" "${arguments[@]}" -o markdown -- "${paths[@]}" >>"$GITHUB_STEP_SUMMARY" || true # the next run says it
fi
"$scratch/polex-validate" "${arguments[@]}" -o github -- "${paths[@]}"
