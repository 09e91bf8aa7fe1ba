#!/usr/bin/env bash
# Runs polex-validate on the exceptions of a checkout, with the configuration of the base commit, so
# that a pull request cannot weaken its own rules. The inputs are the INPUT_ variables; the runner
# sets the other variables.
set -euo pipefail

# shellcheck source=../scripts/report.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/report.sh"
# shellcheck source=../scripts/base.sh
. "$scripts/base.sh"

base_of HEAD "${INPUT_BASE:-}"
INPUT_BASE=$base

# Paths in a configuration are relative to the file. The base's configuration is therefore written
# next to the checkout's, under a name that polex does not read as an exception.
folder=$(dirname -- "$INPUT_CONFIG")
if [ ! -d "$folder" ]; then folder=.; fi
config=$(mktemp "$folder/.polex-base.XXXXXX")
trap 'rm -rf "$scratch" "$config"' EXIT

commands polex-validate

# Without --config, polex-validate would use the configuration of the checkout.
printf 'apiVersion: polex.dev/v1alpha1\nkind: Config\n' >"$config"
arguments=(--config "$config")
if [ -n "${INPUT_BASE:-}" ]; then
  if ! git cat-file -e "$INPUT_BASE^{commit}" 2>/dev/null; then
    fail 3 'The base commit is not in this clone. Check out with fetch-depth: 0.'
  fi
  # An unreadable configuration must not count as a missing one.
  listed=$(git ls-tree --full-tree "$INPUT_BASE" -- "$INPUT_CONFIG")
  read -r _ _ hash _ <<<"$listed"
  if [ -n "$hash" ]; then git cat-file -p "$hash" >"$config"; fi
  arguments+=(--changed-since "$INPUT_BASE")
elif [ -f "$INPUT_CONFIG" ]; then
  cp -- "$INPUT_CONFIG" "$config"
fi

# valid CONFIG succeeds if polex-validate can read a configuration and the policies that it names. The
# file to check does not matter.
valid() { "$bin/polex-validate" --config "$1" --skip-other-kinds -- "$INPUT_CONFIG" >/dev/null 2>&1; }

if [ -n "${INPUT_BASE:-}" ] && [ -f "$INPUT_CONFIG" ]; then
  # The configuration of a change does not count yet, but after the merge it does. Then an invalid one
  # would stop every promotion.
  if ! valid "$INPUT_CONFIG"; then
    status=0
    report polex-validate --config "$INPUT_CONFIG" --skip-other-kinds -- "$INPUT_CONFIG" || status=$?
    keep_report
    summarize "$scratch/summary.md"
    exit "$status"
  fi
  status=0
  valid "$config" || status=$?
  if [ "$status" -eq 2 ]; then repair HEAD; fi
fi
if [ -n "${INPUT_PRESET:-}" ]; then
  arguments+=(--preset "$INPUT_PRESET")
fi

lines_of "$INPUT_PATHS"
paths=()
for path in ${lines[@]+"${lines[@]}"}; do
  if ! only_notes "$path"; then paths+=("$path"); fi
done
if [ "${#lines[@]}" -gt 0 ] && [ "${#paths[@]}" -eq 0 ]; then
  printf 'no pending exceptions in %s\n' ${lines[@]+"${lines[@]}"}
  exit 0
fi
status=0
report polex-validate ${arguments[@]+"${arguments[@]}"} -- ${paths[@]+"${paths[@]}"} || status=$?
keep_report
summarize "$scratch/summary.md"
exit "$status"
