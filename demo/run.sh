#!/usr/bin/env bash
# Shows the whole path of an exception in a scratch repository, with a Sigstore on loopback:
# request, check, merge, sign, verify, reject, expire and audit. Each line after a "$" is a command,
# and its output follows.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=${1:-$(cd "$here/.." && pwd)/bin}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

export PATH="$bin:$PATH"
# The scratch repository must not depend on the user's Git configuration.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

mkdir "$scratch/drafts" "$scratch/repository"
cp "$here/sloppy.yaml" "$here/denial.txt" "$scratch/drafts/"
cp -r "$here/policies" "$here/apps" "$scratch/repository/"
cd "$scratch/repository"
# polex-sandbox run starts the sandbox, runs the story with its variables, stops the sandbox and
# removes its files.
polex-sandbox run -- bash "$here/story.sh"
