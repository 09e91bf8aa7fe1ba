#!/usr/bin/env bash
# The script of the demo, which run.sh starts in an empty folder. The folder becomes the repository.
# The exceptions are in ../drafts, and POLEX_SANDBOX is the folder of the sandbox.
set -euo pipefail

if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi
say() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; }

# run EXPECTED COMMAND... prints and runs the command. It stops the demo if the exit status is
# unexpected.
run() {
	local expected=$1 status=0
	shift
	printf '\n$'
	local word
	for word; do
		if [[ $word == *[[:space:]]* ]]; then word="'$word'"; fi
		printf ' %s' "$word"
	done
	echo
	"$@" || status=$?
	if [ "$status" -ne 0 ]; then printf '(exit status %d)\n' "$status"; fi
	if [ "$status" -ne "$expected" ]; then
		echo "demo: expected exit status $expected" >&2
		exit 1
	fi
}

git init --quiet --initial-branch=main .
git config user.name 'Exceptions workflow'
git config user.email workflow@example.com
mkdir unsigned signed
touch unsigned/.gitkeep signed/.gitkeep
# The sandbox's configuration replaces the repository's .polex.yaml. It contains the sandbox's
# addresses, its root, and the only workflow that may sign.
cp "$POLEX_SANDBOX/polex.yaml" "$POLEX_SANDBOX/trusted_root.json" .
mv polex.yaml .polex.yaml
printf 'directories:\n  policies: policies\nshape:\n  require: [reason]\n' >>.polex.yaml
git add --all
git commit --quiet --message 'Begin'

say 'A policy has denied a database. Its owner asks for the narrowest exception that answers that.'
git switch --quiet --create mongo
run 0 cat ../drafts/denial.txt
run 0 polex-request --from denial --resources apps --reason 'the image cannot run as another user before 7.1' --ticket SEC-1234 --owner team-data \
	--expires-in 30d --exception-namespace platform --output-file unsigned/mongo.yaml ../drafts/denial.txt
run 0 cat unsigned/mongo.yaml
cp unsigned/mongo.yaml ../drafts/

say 'In the pull request, a check reads it.'
run 0 polex-validate unsigned/

say 'A sloppy one does not get that far.'
cp ../drafts/sloppy.yaml unsigned/
run 1 polex-validate unsigned/sloppy.yaml
rm unsigned/sloppy.yaml

say 'People review the good one and merge it.'
git add --all
git commit --quiet --message 'Let mongo run as root until 7.1'
git switch --quiet main
run 0 git merge --no-ff --quiet --no-edit mongo

say 'The workflow on main signs it with its own identity: one commit.'
run 0 polex-sign promote --commit
run 0 git show --stat --format='%s%n%n%b' HEAD

say 'Anyone can tell who signed it, when, and until when: no network needed.'
run 0 polex-verify --config .polex.yaml signed/

say 'The same file with one field widened is refused.'
sed 's/names: \[mongo\]/names: ["*"]/' signed/mongo.yaml >../drafts/widened.yaml
run 1 polex-verify --config .polex.yaml ../drafts/widened.yaml

say 'Signed by another workflow of the same repository, it is refused.'
cd ../drafts
echo "workflow_ref: acme/exceptions/.github/workflows/other.yaml@refs/heads/main" >other.claims
polex-sandbox token --claims other.claims >other.token
fulcio=$(sed -n 's/^  fulcioURL: *//p' "$POLEX_SANDBOX/polex.yaml" | tr -d '"')
rekor=$(sed -n 's/^  rekorURL: *//p' "$POLEX_SANDBOX/polex.yaml" | tr -d '"')
# Outside the repository, because its own policy would already stop the signing here.
run 0 polex-sign mongo.yaml --output-file other.yaml --identity-token other.token \
	--fulcio-url "$fulcio" --rekor-url "$rekor" --trusted-root ../repository/trusted_root.json
cd ../repository
run 1 polex-verify --config .polex.yaml ../drafts/other.yaml

say 'Unsigned, it is refused.'
run 1 polex-verify --config .polex.yaml ../drafts/mongo.yaml

say 'And once it has expired, it is refused.'
sed 's/expires-in: .*/expires-in: 2s/; s/^  name: .*/  name: short/' ../drafts/mongo.yaml >../drafts/short.yaml
run 0 polex-sign ../drafts/short.yaml --output-file ../drafts/expired.yaml
sleep 3
run 1 polex-verify --config .polex.yaml ../drafts/expired.yaml

say 'A nightly run takes what has expired out of Git, so that nothing deploys it again.'
mv ../drafts/expired.yaml signed/short.yaml
git add --all
git commit --quiet --message 'What was signed for two seconds'
run 0 polex-prune --commit

say 'What has become of every exception is on record: from Git and from what the signatures prove.'
run 0 polex-audit --config .polex.yaml --all

say 'That was the whole path. The README says what a signature proves, and what it does not.'
