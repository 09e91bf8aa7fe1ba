//go:build e2e

package story_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/test/e2e/story"
	"github.com/polex-dev/polex/test/must"
)

// ledger has the tested parts of polex-audit's JSON report.
type ledger struct {
	Findings []finding
	Entries  []entry
}

type finding struct{ Kind, Object string }

type entry struct {
	Object, State, File string
	Verified            bool
	Said                map[string]string
	ExpiresAt           time.Time
	InCluster           string
	Signing             struct {
		MessageDigest string
		SignedAt      time.Time
		Signatures    []signature
	}
	RequestByGit  *request
	AppearedByGit event
	LeftByGit     *departure
}

type signature struct {
	Signer, Issuer, Run, Trigger, Commit, Runner string
	WitnessedAt                                  time.Time
	LogIndex                                     int64
}

type event struct {
	Commit, By string
	At         time.Time
}

type request struct {
	event
	File   string
	Merged *event
}

type departure struct {
	event
	How string
}

// audited runs polex-audit on the Git server's repository, and checks its status.
func audited(t *testing.T, status int, args ...string) ledger {
	t.Helper()
	said, err := world.Polex(t.Context(), "polex-audit", append([]string{"--config", world.TrustPolicy, "--git", world.Exceptions.Remote, "-o", "json"}, args...)...)
	must.Do(t, err)
	var l ledger
	if err := json.Unmarshal([]byte(said.Out), &l); err != nil || said.Status != status {
		t.Fatalf("polex-audit %q: %d and not %d, %v\n%s%s", args, said.Status, status, err, said.Out, said.Errors)
	}
	slices.SortFunc(l.Findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Object, b.Object))
	})
	return l
}

// of returns the entry of an exception.
func (l ledger) of(t *testing.T, exception *life) entry {
	t.Helper()
	at := slices.IndexFunc(l.Entries, func(e entry) bool { return e.Object == exception.object() })
	if at < 0 {
		t.Fatalf("the ledger does not know %s", exception.object())
	}
	return l.Entries[at]
}

// auditor returns the path of a kubeconfig that may only list exceptions.
func auditor(t *testing.T) string {
	t.Helper()
	kubeconfig, err := world.Account(t.Context(), "auditor", story.Lists{Groups: "kyverno.io, policies.kyverno.io", Resources: "policyexceptions"})
	must.Do(t, err)
	return kubeconfig
}

// told compares the audit report with the observed events. The first exceptions are removed from
// Git, and their renewals have just expired.
func told(t *testing.T, first, second []*life) {
	l := audited(t, 0, "--kubeconfig", auditor(t))
	ended := []finding{}
	for _, one := range slices.Concat(first, second) {
		got := l.of(t, one)
		if len(got.Signing.Signatures) != 1 {
			t.Fatalf("%s has %d signatures", one.name, len(got.Signing.Signatures))
		}
		log := must.Get(world.Logged(t.Context(), got.Signing.Signatures[0].LogIndex))(t)
		want := one.entry(log)
		if one.pruned.Hash == "" {
			ended = append(ended, finding{"expired", one.object()})
		}
		if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(request{}, departure{})); diff != "" {
			t.Errorf("%s (-seen +told):\n%s", one.name, diff)
		}
		// The observed times are in order, and the lifetime counts from the signing.
		order := []time.Time{one.asked.Authored, one.merged.Committed, one.ends.Add(-one.lasts), log.At, one.signed.Committed, one.since, one.ends}
		if !slices.IsSortedFunc(order, time.Time.Compare) {
			t.Errorf("%s: asked, merged, the start, logged, committed, in the cluster, ended: %s", one.name, order)
		}
		one.judgedAt(t)
	}
	slices.SortFunc(ended, func(a, b finding) int { return cmp.Compare(a.Object, b.Object) })
	if diff := gocmp.Diff(ended, l.Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// object returns the exception's name in the report.
func (l *life) object() string {
	return "PolicyException." + l.kind.Group() + " " + story.Namespace + "/" + l.name
}

// entry returns the expected entry, from the observed events and the log.
func (l *life) entry(log *story.LogEntry) entry {
	e := entry{
		Object: l.object(), State: "expired", File: "signed/" + l.file(), Verified: true, ExpiresAt: l.ends.UTC(), InCluster: "missing",
		Said: map[string]string{
			"reason": "it is older than the policy", "ticket": "SEC-3", "owner": "team-a",
			"requestedBy": "alice", "approvedBy": "bob", "pullRequest": world.PullRequest(l.merged.Hash), "mergeCommit": l.merged.Hash, "recordedFrom": "api",
		},
		RequestByGit:  &request{event{l.asked.Hash, l.asked.Author, l.asked.Authored.UTC()}, "unsigned/" + l.file(), &event{l.merged.Hash, l.merged.Committer, l.merged.Committed.UTC()}},
		AppearedByGit: event{l.signed.Hash, l.signed.Committer, l.signed.Committed.UTC()},
	}
	e.Signing.MessageDigest, e.Signing.SignedAt = "sha256:"+log.Digest, log.At
	e.Signing.Signatures = []signature{{Signer: log.Subject, Issuer: log.Issuer, Run: log.Run, Trigger: "push", Commit: l.run.Hash, Runner: "github-hosted", WitnessedAt: log.At, LogIndex: log.Index}}
	if l.pruned.Hash != "" {
		e.State, e.InCluster = "removed", ""
		e.LeftByGit = &departure{event{l.pruned.Hash, l.pruned.Committer, l.pruned.Committed.UTC()}, "pruned"}
	}
	return e
}

// judgedAt: the exception is valid a second before its expiry, and expired from its expiry on.
func (l *life) judgedAt(t *testing.T) {
	t.Helper()
	for state, at := range map[string]time.Time{"open": l.ends.Add(-time.Second), "expired": l.ends} {
		if got := audited(t, 0, "--at", at.UTC().Format(time.RFC3339)).of(t, l).State; got != state {
			t.Errorf("%s at %s was %s, and not %s", l.name, at, got, state)
		}
	}
}
