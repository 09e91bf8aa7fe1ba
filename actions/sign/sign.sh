#!/usr/bin/env bash
# Runs polex-sign promote for the pending exceptions of a commit, in one job or split into two.
# The inputs are the INPUT_ variables; the runner sets the other variables.
set -euo pipefail

# shellcheck source=../scripts/report.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/report.sh"
# shellcheck source=../scripts/target.sh
. "$scripts/target.sh"

arguments=(promote --ref "$INPUT_SOURCE")
case $INPUT_STEP in
  settings)
    # polex reads the trust policy, in every form of YAML. It puts a name that is not one word in quotes.
    commands polex
    explained=$("$bin/polex" trust explain --config .polex.yaml 2>"$scratch/stderr") || fail 2 "$(cat "$scratch/stderr")"
    environment=$(printf '%s\n' "$explained" | sed -n 's/^  the job is in the environment //p' | sed -n 1p)
    case $environment in
      *\\*) fail 2 "The trust policy requires the environment $environment, which is not a name that GitHub has." ;;
      '"'*) environment=${environment#'"'} environment=${environment%%'"'*} ;;
      *) environment=${environment%% *} ;; # the first of several
    esac
    output environment "$environment"
    exit
    ;;
  sign)
    if [ -z "$INPUT_PROMOTION" ]; then fail 2 'step: sign needs the input promotion, the folder to write to.'; fi
    arguments+=(--signed-output "$INPUT_PROMOTION")
    ;;
  commit)
    if [ -z "$INPUT_PROMOTION" ]; then fail 2 'step: commit needs the input promotion, the folder that step: sign wrote.'; fi
    arguments+=(--signed-input "$INPUT_PROMOTION")
    ;;
  sign-and-commit) ;;
  *) fail 2 "The input step is settings, sign, commit or sign-and-commit, not $INPUT_STEP." ;;
esac
case ${INPUT_KEEP_GOING:=false} in
  true) arguments+=(--keep-going) ;;
  false) ;;
  *) fail 2 'The input keep-going is true or false.' ;;
esac
# With Git, the job that commits sends no requests to GitHub's API.
if [ "$INPUT_STEP" = commit ] && [ "${INPUT_PUSH_BY:-}" != github ]; then unset GITHUB_TOKEN; fi
target_branch "${INPUT_BRANCH:-}"
fetch_with_token
branch=
if [ "$INPUT_STEP" != sign ]; then
  case $INPUT_PULL_REQUEST in
    true)
      branch=polex/signed-${INPUT_SOURCE:0:12}
      arguments+=(--pull-request --pull-request-branch "$branch")
      ;;
    false) arguments+=(--push) ;;
    *) fail 2 'The input pull-request is true or false.' ;;
  esac
  push_by "${INPUT_PUSH_BY:-}"
  as_author "$INPUT_AUTHOR"
fi

# polex reads the configuration from the work tree, so the work tree must be equal to the source. A
# newer branch tip or a file of an earlier step was not approved with that merge.
if [ "$(git rev-parse --verify HEAD)" != "$INPUT_SOURCE" ]; then
  fail 3 "The checkout is not of $INPUT_SOURCE. Check out the commit that started the workflow."
fi
if [ -n "$(git status --porcelain)" ]; then
  fail 3 'The checkout has changes. Run this action before what changes it, or in a job of its own.'
fi

commands polex-sign

status=0
report polex-sign ${arguments[@]+"${arguments[@]}"} || status=$?
keep_report
# The job that commits rejects the refused exceptions too, and fails after it has committed the
# others. The job that signs must therefore succeed.
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
