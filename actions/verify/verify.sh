#!/usr/bin/env bash
# Runs polex-verify on the signed exceptions of a commit, with the trust policy of a base commit, so
# that a pull request cannot trust its own signers. The inputs are the INPUT_ variables; the runner
# sets the other variables.
set -euo pipefail

# shellcheck source=../scripts/report.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/report.sh"
# shellcheck source=../scripts/base.sh
. "$scripts/base.sh"

base_of "$INPUT_REF" "${INPUT_BASE:-}"
INPUT_BASE=${base:-${GITHUB_SHA:-}}
for commit in "$INPUT_BASE" "$INPUT_REF"; do
  if ! git cat-file -e "$commit^{commit}" 2>/dev/null; then
    fail 3 "The commit $commit is not in this clone. Check out with fetch-depth: 0."
  fi
done
base=$(git rev-parse --verify --quiet --end-of-options "$INPUT_BASE^{commit}")
ref=$(git rev-parse --verify --quiet --end-of-options "$INPUT_REF^{commit}")

# read_file HASH FILE writes a file of a commit.
read_file() {
  mkdir -p -- "$(dirname -- "$2")"
  git cat-file blob "$1" >"$2"
}

# read_policy COMMIT FOLDER writes the configuration of a commit to a folder, with the files that it
# names: the trusted root and keys. They are read as Git objects, because an archive or a checkout
# would apply .gitattributes (export-ignore, line ends, filters). Without a configuration, it writes
# nothing.
read_policy() {
  local hash config entry name
  mkdir "$2"
  hash=$(git rev-parse --verify --quiet --end-of-options "$1:$INPUT_CONFIG") || return 0
  if [ "$(git cat-file -t "$hash")" != blob ]; then return 0; fi
  read_file "$hash" "$2/$INPUT_CONFIG"
  config=$(cat "$2/$INPUT_CONFIG")
  git ls-tree -r -z --full-tree "$1" >"$scratch/listed" || fail 3 "The files of the commit $1 are not all in this clone. Check out with fetch-depth: 0."
  while IFS=$'\t' read -r -d '' entry name; do
    # Only files that the policy names, because a repository may be large.
    case $entry in
      100???\ *) if [[ $config == *"${name##*/}"* ]]; then read_file "${entry##* }" "$2/$name"; fi ;;
    esac
  done <"$scratch/listed"
}

# check_policy COMMIT FOLDER sets problem to the reason why the policy in a folder cannot be used, or
# to nothing. The file to verify does not matter.
check_policy() {
  local status=0
  problem="The commit $1 has no $INPUT_CONFIG, so that nobody is trusted."
  if [ ! -f "$2/$INPUT_CONFIG" ]; then return; fi
  "$bin/polex-verify" --config "$2/$INPUT_CONFIG" --git . --ref "$ref" --path "$INPUT_CONFIG" >/dev/null 2>"$scratch/stderr" || status=$?
  problem=
  if [ "$status" -eq 2 ]; then problem="The configuration of the commit $1 is invalid: $(sed "s|$2/||g" "$scratch/stderr")"; fi
}

case ${INPUT_ANY_TIME:-false} in
  true) arguments=(--any-time) ;;
  false) arguments=() ;;
  *) fail 2 'The input any-time is neither true nor false.' ;;
esac
if [ -n "${INPUT_PATH:-}" ]; then arguments+=(--path "$INPUT_PATH"); fi
commands polex-verify

read_policy "$base" "$scratch/base"
if [ "$base" != "$ref" ]; then
  # The configuration of a change does not count yet, but after the merge it does. Then an invalid one
  # would stop every promotion.
  read_policy "$ref" "$scratch/head"
  check_policy "$ref" "$scratch/head"
  if [ -n "$problem" ]; then fail 2 "$problem"; fi
fi
check_policy "$base" "$scratch/base"
if [ -n "$problem" ] && [ "$base" != "$ref" ]; then
  output count 0
  repair "$ref"
fi
if [ ! -f "$scratch/base/$INPUT_CONFIG" ]; then fail 2 "$problem"; fi

status=0
report polex-verify --config "$scratch/base/$INPUT_CONFIG" --only-exceptions ${arguments[@]+"${arguments[@]}"} --git . --ref "$ref" || status=$?
summarize "$scratch/summary.md"
count=$(found '.summary.passed')
output count "${count:-0}"
exit "$status"
