#!/usr/bin/env bash
# Runs polex-prune and pushes the removal. The inputs are the INPUT_ variables; the runner sets the
# other variables.
set -euo pipefail

# shellcheck source=../scripts/report.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/report.sh"
# shellcheck source=../scripts/target.sh
. "$scripts/target.sh"

arguments=(--push)
target_branch "${INPUT_BRANCH:-}"
push_by "${INPUT_PUSH_BY:-}"
if [ "${INPUT_PUSH_BY:-}" = github ]; then fetch_with_token; else unset GITHUB_TOKEN; fi
as_bot
if [ -n "$INPUT_AUTHOR" ]; then arguments+=(--author "$INPUT_AUTHOR"); fi
if [ -n "$INPUT_WARN_BEFORE" ]; then arguments+=(--expires-within "$INPUT_WARN_BEFORE"); fi

commands polex-prune
status=0
report polex-prune "${arguments[@]}" || status=$?
summarize "$scratch/summary.md"
count=$(found '[.results[] | select(.outcome == "passed")] | length')
output count "${count:-0}"
output commit "$(found '[.results[].details.commit // empty][0] // ""')"
output files "$(found '[.results[] | select(.outcome == "passed").file] | unique[]')"
exit "$status"
