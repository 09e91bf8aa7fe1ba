# shellcheck shell=bash
# Scripts source this file. It runs polex's commands and reports the results on GitHub.

scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d "${RUNNER_TEMP:-/tmp}/polex.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# commands NAME... makes the commands available. It fails before anything is done if the runner lacks
# a program that the scripts need after it.
commands() {
  local program
  for program in git jq od tr; do
    if ! command -v "$program" >/dev/null; then fail 3 "The program $program is not installed on this runner. Install it, or use a runner image that has it."; fi
  done
  bin=$("$scripts/commands.sh" "$scratch/bin" "$@") || exit 3
}

# fail STATUS MESSAGE ends the step with an annotation.
fail() {
  printf '::error title=polex::%s\n' "$(data "$2")"
  exit "$1"
}

# data escapes a message for the runner.
data() {
  local text=$1
  text=${text//'%'/%25}
  text=${text//$'\r'/%0D}
  text=${text//$'\n'/%0A}
  printf '%s' "$text"
}

# report COMMAND ARGUMENT... runs a command, shows its findings as annotations and returns its
# status. The results are in report.json and summary.md of the scratch folder. If there are none, an
# annotation gives the reason.
report() {
  local command=$1 status=0
  shift
  rm -f "$scratch/report.json" "$scratch/summary.md"
  "$bin/$command" -o github --report "json=$scratch/report.json" --report "markdown=$scratch/summary.md" "$@" 2>"$scratch/stderr" || status=$?
  cat "$scratch/stderr" >&2
  if [ "$status" -ne 0 ] && [ ! -s "$scratch/report.json" ]; then
    printf '::error title=%s::%s\n' "$command" "$(data "$(grep "^$command: " "$scratch/stderr" || echo "ended with status $status")")"
  fi
  return "$status"
}

# summarize adds a file to the summary of the job.
summarize() {
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -s "$1" ]; then cat "$1" >>"$GITHUB_STEP_SUMMARY"; fi
}

# output NAME VALUE sets an output of the step. The delimiter is random, so the value cannot contain
# it.
output() {
  local delimiter
  delimiter=polex-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  printf '%s<<%s\n%s\n%s\n' "$1" "$delimiter" "$2" "$delimiter" >>"${GITHUB_OUTPUT:-/dev/null}"
}

# found ARGUMENT... queries the last report with jq. Without a report, it prints nothing.
found() {
  if [ -s "$scratch/report.json" ]; then jq -r "$@" "$scratch/report.json"; fi
}

# keep_report copies the last report, if any, to the file in the input report.
keep_report() {
  if [ -n "${INPUT_REPORT:-}" ] && [ -s "$scratch/report.json" ]; then cp -- "$scratch/report.json" "$INPUT_REPORT"; fi
}

# only_notes FOLDER succeeds for a folder that contains only notes (*.md) and Git's own files. It
# fails for a missing folder, because its name may be misspelt.
only_notes() {
  case $1 in
    /*) ;;
    *) set -- "./$1" ;;
  esac
  [ -d "$1" ] && [ -z "$(find "$1" ! -type d ! -name .gitkeep ! -name .gitignore ! -name .gitattributes ! -iname '*.md' -print)" ]
}

# lines_of TEXT splits an input of several lines into the array lines.
lines_of() {
  lines=()
  local line
  while IFS= read -r line; do
    if [ -n "$line" ]; then lines+=("$line"); fi
  done <<<"$1"
}

# as_author GIVEN sets the author of the commit: GIVEN, as Name <address>, or the one of Git's
# configuration, or else GitHub's account for workflows.
as_author() {
  local address=${1##*<}
  if [ -n "$1" ]; then
    case $1 in *?' <'?*'>') ;; *) fail 2 'The input author is written as Name <address>.' ;; esac
    export GIT_AUTHOR_NAME="${1% <*}" GIT_AUTHOR_EMAIL="${address%>}"
  fi
  if ! git config user.email >/dev/null; then
    git config user.name 'github-actions[bot]'
    git config user.email '41898282+github-actions[bot]@users.noreply.github.com'
  fi
}
