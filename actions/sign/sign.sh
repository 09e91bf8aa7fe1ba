#!/usr/bin/env bash
# Runs polex-sign promote over what a commit has under unsigned/, in one of two
# jobs or in one alone. The inputs are the INPUT_ variables; the rest is what the
# runner sets.
set -euo pipefail

# shellcheck source=../scripts/report.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/report.sh"
# shellcheck source=../scripts/target.sh
. "$scripts/target.sh"

arguments=(promote --ref "$INPUT_SOURCE")
case $INPUT_STEP in
  sign)
    if [ -z "$INPUT_PROMOTION" ]; then fail 2 'step: sign needs the input promotion, the folder to write to.'; fi
    arguments+=(--signed-output "$INPUT_PROMOTION")
    ;;
  commit)
    if [ -z "$INPUT_PROMOTION" ]; then fail 2 'step: commit needs the input promotion, the folder that step: sign wrote.'; fi
    arguments+=(--signed-input "$INPUT_PROMOTION")
    ;;
  sign-and-commit) ;;
  *) fail 2 "The input step is sign, commit or sign-and-commit, not $INPUT_STEP." ;;
esac
case ${INPUT_KEEP_GOING:=false} in
  true) arguments+=(--keep-going) ;;
  false) ;;
  *) fail 2 'The input keep-going is true or false.' ;;
esac
# The job that commits asks GitHub nothing.
if [ "$INPUT_STEP" = commit ]; then unset GITHUB_TOKEN; fi
target_branch "${INPUT_BRANCH:-}"
fetch_with_token
branch=
if [ "$INPUT_STEP" != sign ]; then
  case $INPUT_PULL_REQUEST in
    true)
      branch=polex/signed-${INPUT_SOURCE:0:12}
      arguments+=(--pull-request-mode --pull-request-branch "$branch")
      ;;
    false) arguments+=(--push) ;;
    *) fail 2 'The input pull-request is true or false.' ;;
  esac
  as_bot
  if [ -n "$INPUT_AUTHOR" ]; then arguments+=(--author "$INPUT_AUTHOR"); fi
fi

# The configuration is taken from the work tree, so that this has to be the source
# and nothing else: a branch that has moved on, or a file that a step before this
# one has left, was not approved by that merge.
if [ "$(git rev-parse --verify HEAD)" != "$INPUT_SOURCE" ]; then
  fail 3 "The checkout is not of $INPUT_SOURCE. Check out the commit that started the workflow."
fi
if [ -n "$(git status --porcelain)" ]; then
  fail 3 'The checkout has changes. Run this action before what changes it, or in a job of its own.'
fi

scratch=$(mktemp -d "${RUNNER_TEMP:-/tmp}/polex.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
commands polex-sign

status=0
report polex-sign "${arguments[@]}" || status=$?
keep_report
# What was left out is refused by the job that commits as well, which fails once the
# others are there. The job that signs must not keep them from it.
going=false
if [ "$INPUT_KEEP_GOING" = true ] && [ "$status" -eq 1 ]; then
  going=true
  if [ "$INPUT_STEP" = sign ] && [ -d "$INPUT_PROMOTION" ]; then status=0; fi
fi
count=$(found '[.results[] | select(.outcome == "passed")] | length')
if [ "$status" -eq 0 ] && [ "${count:-0}" -gt 0 ]; then
  found -f "$(dirname "${BASH_SOURCE[0]}")/signed.jq" >"$scratch/signed.md"
  summarize "$scratch/signed.md"
else
  summarize "$scratch/summary.md"
fi
if [ "$status" -ne 0 ] && [ "$going" = false ]; then exit "$status"; fi

output count "${count:-0}"
output branch "$branch"
output commit "$(found '[.results[].details.commit // empty][0] // ""')"
output files "$(found '[.results[] | select(.outcome == "passed").file] | unique[]')"
exit "$status"
