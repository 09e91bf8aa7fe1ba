# shellcheck shell=bash
# Scripts source this file after report.sh. It finds the commit with the valid configuration.

# Replacement objects exist only in this clone, and polex ignores them.
export GIT_NO_REPLACE_OBJECTS=1

# base_of COMMIT GIVEN sets base to the commit whose configuration applies to COMMIT. This is GIVEN,
# or in a pull request the first parent of GitHub's merge commit, which is the tip of the target
# branch. The event's base.sha is older and may trust a revoked signer. If GIVEN is not the commit
# that a merge was made on, base_of fails.
base_of() {
  local merge=$1 proposed=false parents
  base=$2
  case ${GITHUB_EVENT_NAME:-} in
    pull_request | pull_request_review | pull_request_review_comment) merge=$GITHUB_SHA proposed=true ;;
    pull_request_target) base=${base:-$GITHUB_SHA} ;;
    merge_group) # GIVEN is the commit before the group, which may contain several merges
      if [ -n "$base" ]; then return; fi
      # An expression about pull requests is empty here, and the group would define its own rules.
      fail 2 'The input base is empty in a merge group. Leave the input out, or set it to github.event.merge_group.base_sha.'
      ;;
  esac
  read -r -a parents < <(git rev-list --parents --max-count=1 --end-of-options "$merge" -- 2>/dev/null) || true
  if [ "${#parents[@]}" -ne 3 ]; then
    if [ "$proposed" = false ]; then return; fi
    fail 3 "This clone does not have commit $merge with two parents, the merge of the pull request into its target branch. Check out with fetch-depth: 0 and without the input ref."
  fi
  if [ -z "$base" ]; then
    if [ "$proposed" = true ]; then base=${parents[1]}; fi
    return
  fi
  base=$(git rev-parse --verify --quiet --end-of-options "$base^{commit}") || fail 3 "The base commit $2 is not in this clone. Check out with fetch-depth: 0."
  if [ "$base" != "${parents[1]}" ] && { [ "$proposed" = true ] || [ "$base" != "${parents[0]}" ]; }; then
    fail 2 "The input base is $base, and the merge $merge was made on ${parents[1]}. Leave the input base empty: a pull request is judged by what it is merged into."
  fi
}

# repair COMMIT decides about a change on a base without a valid configuration, which has no rules to
# judge by. It ends the step: with success if the change touches only files that can hold no
# exception, and otherwise with status 2. The caller has checked that the configuration of COMMIT is
# valid.
repair() {
  if git diff-tree -r --quiet --no-renames --ignore-submodules=none "$base" "$1" -- . ":(exclude,literal)$INPUT_CONFIG" \
    ":(exclude,literal)$(dirname -- "$INPUT_CONFIG")/trusted_root.json" ':(exclude)*.pub' ':(exclude)*.pem' \
    ':(exclude)policies' ':(exclude).github' ':(exclude,glob)**/CODEOWNERS' ':(exclude)*.md' ':(exclude,glob)**/.gitkeep'; then
    echo "::warning title=polex::The commit $base has no valid $INPUT_CONFIG. This change repairs it and holds no exceptions, so it passes."
    exit 0
  fi
  fail 2 "The commit $base has no valid $INPUT_CONFIG, so it has no rules for this change. First merge a change that repairs only the configuration, with its trusted_root.json, *.pub and *.pem."
}
