# shellcheck shell=bash
# For the actions' scripts to source: running polex's commands, and saying on GitHub
# what came of it.

scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d "${RUNNER_TEMP:-/tmp}/polex.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# commands NAME... makes sure that the commands are there to run.
commands() { bin=$("$scripts/commands.sh" "$scratch/bin" "$@") || exit 3; }

# fail STATUS MESSAGE ends the step with an annotation.
fail() {
  printf '::error title=polex::%s\n' "$(data "$2")"
  exit "$1"
}

# data escapes a message as the runner unescapes it.
data() {
  local text=$1
  text=${text//'%'/%25}
  text=${text//$'\r'/%0D}
  printf '%s' "${text//$'\n'/%0A}"
}

# report COMMAND ARGUMENT... runs a command, shows what it finds as annotations and
# returns its status. What it found is in report.json and summary.md of the scratch
# folder, if it got that far; where it did not, an annotation says why.
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

# output NAME VALUE sets an output of the step. The delimiter is one that nobody
# could have put into the value.
output() {
  local delimiter
  delimiter=polex-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  printf '%s<<%s\n%s\n%s\n' "$1" "$delimiter" "$2" "$delimiter" >>"${GITHUB_OUTPUT:-/dev/null}"
}

# found ARGUMENT... asks the last report with jq. Where there is none, nothing was
# found.
found() {
  if [ -s "$scratch/report.json" ]; then jq -r "$@" "$scratch/report.json"; fi
}

# keep_report leaves the last report where the input report says, if there is one.
keep_report() {
  if [ -n "${INPUT_REPORT:-}" ] && [ -s "$scratch/report.json" ]; then cp -- "$scratch/report.json" "$INPUT_REPORT"; fi
}

# only_notes FOLDER tells a folder that is there and in which nothing waits, nothing
# but notes (*.md) and Git's own files, from one that is missing: that may be misspelt.
only_notes() {
  case $1 in
    /*) ;;
    *) set -- "./$1" ;;
  esac
  [ -d "$1" ] && [ -z "$(find "$1" ! -type d ! -name .gitkeep ! -name .gitignore ! -name .gitattributes ! -iname '*.md' -print -quit)" ]
}

# lines_of TEXT splits an input of several lines into the array lines.
lines_of() {
  lines=()
  local line
  while IFS= read -r line; do
    if [ -n "$line" ]; then lines+=("$line"); fi
  done <<<"$1"
}

# as_bot has Git commit as GitHub's own account for workflows, where nobody else is
# named.
as_bot() {
  if ! git config user.email >/dev/null; then
    git config user.name 'github-actions[bot]'
    git config user.email '41898282+github-actions[bot]@users.noreply.github.com'
  fi
}
