#!/bin/sh
# Signs what main has under unsigned/, moves it to signed/ and pushes that, from any
# machine: by hand, as the person who signs in with their browser, or in any CI that
# gives its jobs an identity. Run it in a clone of the repository.
#
#   promote.sh [flags of polex-sign, such as --identity-token FILE]
set -eu

author=$(git var GIT_AUTHOR_IDENT | sed 's/>.*/>/')
remote=$(git remote get-url origin)

# A checkout of its own: what was merged is signed, by the configuration that was
# merged, and not what lies in the work tree.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git clone --quiet --no-local --branch main "$remote" "$scratch/clone"
cd "$scratch/clone"

polex-sign promote --dry-run "$@"
polex-sign promote --push --author "$author" "$@"
polex-verify --config .polex.yaml --only-exceptions --git . --ref HEAD --path signed
