# shellcheck shell=bash
# Scripts source this file after report.sh. It sets the target branch.

# target_branch GIVEN adds the target branch to arguments: GIVEN, or on a detached checkout the
# branch of the workflow. Otherwise polex uses the branch of the checkout.
target_branch() {
  local branch=$1
  if [ -z "$branch" ] && ! git symbolic-ref --quiet HEAD >/dev/null; then
    branch=${GITHUB_BASE_REF:-}
    case ${GITHUB_REF:-} in
      refs/heads/*) branch=${branch:-${GITHUB_REF#refs/heads/}} ;;
    esac
    if [ -z "$branch" ]; then fail 2 'HEAD is on no branch. Name the target branch with the input branch.'; fi
  fi
  if [ -n "$branch" ]; then arguments+=(--branch "$branch"); fi
}

# push_by GIVEN adds git or github to arguments. An empty input is git, unless the rules of the branch
# reject it.
push_by() {
  case $1 in
    '') ;;
    git | github) arguments+=(--push-by "$1") ;;
    *) fail 2 'The input push-by is git or github.' ;;
  esac
}

# fetch_with_token lets Git fetch from GitHub with GITHUB_TOKEN if the checkout has stored no
# credentials. A job that signs should not store them.
fetch_with_token() {
  local server=${GITHUB_SERVER_URL:-https://github.com} n=${GIT_CONFIG_COUNT:-0} secret
  if [ -z "${GITHUB_TOKEN:-}" ] || git config --get-urlmatch http.extraheader "$server/" >/dev/null; then return; fi
  secret=$(printf 'x-access-token:%s' "$GITHUB_TOKEN" | base64 | tr -d '\n')
  echo "::add-mask::$secret"
  export "GIT_CONFIG_KEY_$n=http.$server/.extraheader" "GIT_CONFIG_VALUE_$n=AUTHORIZATION: basic $secret" "GIT_CONFIG_COUNT=$((n + 1))"
}
