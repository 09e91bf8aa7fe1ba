#!/usr/bin/env bash
# Runs polex-audit notify: informs people about added, removed, expiring and rejected exceptions.
# The inputs are the INPUT_ variables; the runner sets the other variables. Secrets are passed to
# the command by the names of their variables, never as arguments.
set -euo pipefail

# shellcheck source=../scripts/report.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/report.sh"

arguments=(--config "$INPUT_CONFIG")
asked=
if [ -n "$INPUT_COMMIT" ]; then
  if ! [[ $INPUT_COMMIT =~ ^([0-9a-f]{40}|[0-9a-f]{64})$ ]]; then fail 2 'The input commit is not a whole hash.'; fi
  # The commit is younger than the run and may be missing in the checkout.
  if ! git cat-file -e "$INPUT_COMMIT^{commit}" 2>/dev/null && ! git fetch --quiet origin "$INPUT_COMMIT"; then
    fail 3 'The commit is not in this clone. Check out with fetch-depth: 0, which fetches every branch.'
  fi
  arguments+=(--changes --ref "$INPUT_COMMIT")
  asked=yes
fi
if [ -n "$INPUT_ENDING" ]; then
  arguments+=(--expires-within "$INPUT_ENDING")
  asked=yes
fi
# A job that failed early leaves no report.
if [ -n "$INPUT_REPORT" ] && [ -s "$INPUT_REPORT" ]; then
  arguments+=(--refused "$INPUT_REPORT")
  if [ -n "$INPUT_PULL_REQUEST" ]; then
    arguments+=(--pull-request "$INPUT_PULL_REQUEST")
  elif [ -n "$INPUT_MERGED" ]; then
    arguments+=(--merged "$INPUT_MERGED")
  fi
  asked=yes
fi
if [ -z "$asked" ]; then
  echo 'no message to send'
  output count 0
  exit 0
fi
if [ -n "$INPUT_TOKEN" ]; then arguments+=(--to github=env:INPUT_TOKEN); fi
if [ -n "$INPUT_JSON_URL" ]; then arguments+=(--to json=env:INPUT_JSON_URL); fi
if [ -n "$INPUT_SLACK_URL" ]; then arguments+=(--to slack=env:INPUT_SLACK_URL); fi

commands polex-audit
status=0
report polex-audit notify ${arguments[@]+"${arguments[@]}"} || status=$?
summarize "$scratch/summary.md"
output count "$(found '[.results[] | select(.outcome == "passed")] | length')"
exit "$status"
