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
# A policy names other files: the trusted root and keys. All come from the base. They are read as
# Git objects, because an archive or a checkout would apply .gitattributes (export-ignore, line
# ends, filters).
base=$(git rev-parse --verify --quiet --end-of-options "$INPUT_BASE^{commit}")
config=
# read_base HASH PATH writes a file of the base.
read_base() {
  mkdir -p -- "$scratch/base/$(dirname -- "$2")"
  git cat-file blob "$1" >"$scratch/base/$2"
}
mkdir "$scratch/base"
if hash=$(git rev-parse --verify --quiet --end-of-options "$base:$INPUT_CONFIG"); then
  if [ "$(git cat-file -t "$hash")" = blob ]; then
    read_base "$hash" "$INPUT_CONFIG"
    config=$(cat "$scratch/base/$INPUT_CONFIG")
  fi
fi
while IFS=$'\t' read -r -d '' entry name; do
  # Only files that the policy names, because a repository may be large.
  case $entry in
    100???\ *) if [[ $config == *"${name##*/}"* ]]; then read_base "${entry##* }" "$name"; fi ;;
  esac
done < <(if [ -n "$config" ]; then git ls-tree -r -z --full-tree "$base"; fi)
if [ ! -f "$scratch/base/$INPUT_CONFIG" ]; then
  fail 2 "The commit $INPUT_BASE has no $INPUT_CONFIG, so that nobody is trusted."
fi

# A folder without signed exceptions is valid. A missing folder is not, because its name may be
# misspelt.
ref=$(git rev-parse --verify --quiet --end-of-options "$INPUT_REF^{commit}")
empty=false
if [ "$(git cat-file -t "$ref:$INPUT_PATH" 2>/dev/null)" = tree ]; then
  # The same notes as for polex-verify --only-exceptions, but no links. A folder that Git cannot
  # list is not empty.
  if git ls-tree -r -z "$ref:$INPUT_PATH" >"$scratch/listed"; then empty=true; fi
  while IFS= read -r -d '' entry; do
    name=${entry#*$'\t'}
    case "${entry%% *} ${name##*/}" in
      '100'???' .gitkeep' | '100'???' README.md' | '100'???' CODEOWNERS') ;;
      *) empty=false ;;
    esac
  done <"$scratch/listed"
fi
if [ "$empty" = true ]; then
  echo "nothing is signed in commit $ref"
  output count 0
  exit 0
fi

case ${INPUT_ANY_TIME:-false} in
  true) when=(--any-time) ;;
  false) when=() ;;
  *) fail 2 'The input any-time is neither true nor false.' ;;
esac
commands polex-verify
status=0
report polex-verify --config "$scratch/base/$INPUT_CONFIG" --only-exceptions "${when[@]}" --git . --ref "$ref" --path "$INPUT_PATH" || status=$?
summarize "$scratch/summary.md"
count=$(found '.summary.passed')
output count "${count:-0}"
exit "$status"
