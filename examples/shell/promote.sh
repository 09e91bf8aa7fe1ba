#!/bin/sh
# Signs the pending exceptions of main, moves them to signed/ and pushes the result, on any machine. A
# person signs in with a browser; a CI job uses its own identity. Run it in a clone of the repository.
#
#   promote.sh [flags of polex-sign, such as --identity-token FILE]
set -eu

author=$(git var GIT_AUTHOR_IDENT)
remote=$(git remote get-url origin)

# A separate clone, so that the merged files and the merged configuration are used, and not those of
# the work tree.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git clone --quiet --no-local --branch main "$remote" "$scratch/clone"
cd "$scratch/clone"

GIT_AUTHOR_NAME=${author%% <*}
GIT_AUTHOR_EMAIL=${author#* <}
GIT_AUTHOR_EMAIL=${GIT_AUTHOR_EMAIL%%>*}
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL
polex-sign promote "$@"
polex-sign promote --push "$@"
polex-verify --config .polex.yaml --only-exceptions --git . --ref HEAD
