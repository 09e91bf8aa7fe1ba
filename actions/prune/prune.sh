#!/usr/bin/env bash
# Runs polex-prune and pushes the removal. The inputs are the INPUT_ variables; the runner sets the
# other variables.
set -euo pipefail

# shellcheck source=../scripts/report.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/report.sh"
# shellcheck source=../scripts/target.sh
. "$scripts/target.sh"

# still_pending sets waiting to the number of exceptions that have been pending for a day, and first to
# the file of one. polex-validate counts no files of other kinds.
still_pending() {
  local before name files=()
  waiting=0 first=
  before=$(git rev-list --first-parent --max-count=1 --before='1 day ago' HEAD)
  if [ -z "$before" ]; then return; fi
  git -c core.quotePath=false ls-tree -r --full-tree "$before" -- "$INPUT_PENDING" | LC_ALL=C sort >"$scratch/before"
  git -c core.quotePath=false ls-tree -r --full-tree HEAD -- "$INPUT_PENDING" | LC_ALL=C sort >"$scratch/now"
  LC_ALL=C comm -12 "$scratch/before" "$scratch/now" >"$scratch/both"
  while IFS=$'\t' read -r _ name; do
    if [[ $name =~ \.(yaml|yml|json)$ ]] && [ "${#files[@]}" -lt 1000 ]; then files+=("$name"); fi
  done <"$scratch/both"
  if [ "${#files[@]}" -eq 0 ]; then return; fi
  "$bin/polex-validate" --skip-other-kinds --report "json=$scratch/pending.json" -- ${files[@]+"${files[@]}"} >/dev/null 2>&1 || true
  if [ ! -s "$scratch/pending.json" ]; then fail 3 "polex-validate cannot tell which files in $INPUT_PENDING are pending."; fi
  waiting=$(jq '.summary.documents' "$scratch/pending.json")
  first=$(jq -r '.results[0].file // ""' "$scratch/pending.json")
}

arguments=(--push)
target_branch "${INPUT_BRANCH:-}"
push_by "${INPUT_PUSH_BY:-}"
if [ "${INPUT_PUSH_BY:-}" = github ]; then fetch_with_token; else unset GITHUB_TOKEN; fi
as_author "$INPUT_AUTHOR"
if [ -n "$INPUT_WARN_BEFORE" ]; then arguments+=(--expires-within "$INPUT_WARN_BEFORE"); fi

names=(polex-prune)
if [ -n "${INPUT_PENDING:-}" ]; then names+=(polex-validate); fi
commands ${names[@]+"${names[@]}"}
status=0
report polex-prune ${arguments[@]+"${arguments[@]}"} || status=$?
summarize "$scratch/summary.md"
count=$(found '[.results[] | select(.outcome == "passed")] | length')
output count "${count:-0}"
output commit "$(found '[.results[].details.commit // empty][0] // ""')"
output files "$(found '[.results[] | select(.outcome == "passed").file] | unique[]')"
if [ "$status" -eq 0 ] && [ -n "${INPUT_PENDING:-}" ]; then
  still_pending
  if [ "$waiting" -gt 0 ]; then
    fail 1 "$waiting exceptions have been pending for a day, such as $first. Look at the last run of the workflow that signs, and start it again."
  fi
fi
exit "$status"
