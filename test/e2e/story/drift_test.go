//go:build e2e

package story_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/test/e2e/story"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// drifts: while the guard is off, an exception that is not in Git is created in the cluster, and a
// signed one is changed. The audit report has these two findings only.
func drifts(t *testing.T) {
	kubeconfig := auditor(t)
	drift := []string{"--kubeconfig", kubeconfig, "--fail-on", "drift"}
	calm := audited(t, 0, drift...).Findings
	byHand, signed := story.Kinds[0], story.Kinds[1]
	stray := byHand.Exception(story.Ask{Name: "stray", Namespace: story.Team})

	must.Do(t, world.GuardOff(t.Context()))
	t.Cleanup(func() { must.Do(t, world.GuardOn(context.Background())) })
	admitted(t, stray)
	// Argo CD does not remove a label that Git does not have.
	label := func(change string) {
		must.Get(world.Kubectl(t.Context(), "label", signed.Resource, "-n", story.Namespace, "web", change))(t)
	}
	label("team=b")
	object := "PolicyException." + byHand.Group() + " " + story.Team + "/stray"
	want := append([]finding{
		{"cluster-altered", "PolicyException." + signed.Group() + " " + story.Namespace + "/web"},
		{"cluster-not-in-git", object},
		{"cluster-unsigned", object},
	}, calm...)
	expect.Equal(t, "findings", want, audited(t, 1, drift...).Findings)
	label("team-")
	must.Get(world.Delete(t.Context(), stray))(t)
	expect.Equal(t, "findings without a change", calm, audited(t, 0, drift...).Findings)

	stranger := must.Get(world.Account(t.Context(), "stranger"))(t)
	text := must.Get(os.ReadFile(kubeconfig))(t)
	elsewhere := func(name, from, to string) string {
		path := filepath.Join(t.TempDir(), name)
		must.Do(t, os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
		return path
	}
	for _, failing := range []struct {
		what, kubeconfig string
		status           int
		says             []string
	}{
		{"an account without rights", stranger, 3, []string{"read the cluster: kyverno.io: ", `cannot list resource "policyexceptions" in API group "kyverno.io" at the cluster scope`, "hint: it requires the permission list on policyexceptions of both groups, in all namespaces"}},
		{"a token that nobody has given out", elsewhere("token", `user: {token: "`, `user: {token: "no`), 3, []string{"read the cluster: kyverno.io: ", "the server has asked for the client to provide credentials", "hint: does kubectl reach it"}},
		{"a cluster that cannot be reached", elsewhere("server", world.Cluster.Server(), "https://127.0.0.1:1"), 3, []string{"read the cluster: kyverno.io: ", "connection refused", "hint: does kubectl reach it"}},
		{"a kubeconfig that is not there", filepath.Join(t.TempDir(), "none"), 2, []string{"read kubeconfig: ", "no such file"}},
	} {
		said, err := world.Polex(t.Context(), "polex-audit", "--config", world.TrustPolicy, "--git", world.Exceptions.Remote, "--kubeconfig", failing.kubeconfig)
		must.Do(t, err)
		for _, part := range failing.says {
			if said.Status != failing.status || said.Out != "" || !strings.Contains(said.Errors, part) {
				t.Errorf("%s: %d and not %d, and it has to say %q\n%s%s", failing.what, said.Status, failing.status, part, said.Out, said.Errors)
			}
		}
		t.Logf("%s: %s", failing.what, said.Errors)
	}
}

// checkedByKyverno: without the guard and with Kyverno's verification, exceptions signed by the
// merge workflow are admitted, and no others.
func checkedByKyverno(t *testing.T) {
	must.Do(t, world.GuardOff(t.Context()))
	t.Cleanup(func() { must.Do(t, world.GuardOn(context.Background())) })
	must.Do(t, world.KyvernoOn(t.Context()))
	t.Cleanup(func() { must.Do(t, world.KyvernoOff(context.Background())) })
	for _, kind := range story.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			draft := kind.Exception(story.Ask{Name: "by-kyverno"})
			honest := sealed(t, story.Signer{}, draft)
			step(t, "unsigned, it is refused", func(t *testing.T) { refusedByKyverno(t, draft, "message not found") })
			step(t, "altered after signing, it is refused", func(t *testing.T) {
				refusedByKyverno(t, strings.Replace(honest, "team-a", "team-b", 1), "diff found")
			})
			step(t, "signed on another branch, it is refused", func(t *testing.T) {
				refusedByKyverno(t, sealed(t, otherBranch, draft), "does not match")
			})
			step(t, "signed by the merge workflow, it is admitted", func(t *testing.T) { admitted(t, honest) })
			step(t, "and lets the Pod in", func(t *testing.T) { letIn(t, kind.Pod("by-kyverno", story.First)) })
		})
	}
}

// refusedByKyverno checks that Kyverno's policy rejects a document.
func refusedByKyverno(t *testing.T, document, why string) {
	t.Helper()
	said, err := world.Apply(t.Context(), document)
	must.That(t, err != nil, "it was admitted: %s", said)
	expect.Contains(t, err.Error(), "kyverno.svc", "polex-verify", why)
	t.Log(err)
}

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
		must.That(t, len(got.Signing.Signatures) == 1, "%s has %d signatures", one.name, len(got.Signing.Signatures))
		log := must.Get(world.Logged(t.Context(), got.Signing.Signatures[0].LogIndex))(t)
		want := one.entry(log)
		if one.pruned.Hash == "" {
			ended = append(ended, finding{"expired", one.object()})
		}
		expect.Equal(t, one.name+" (-seen +told)", want, got, gocmp.AllowUnexported(request{}, departure{}))
		// The observed times are in order, and the lifetime counts from the signing.
		order := []time.Time{one.asked.Authored, one.merged.Committed, one.ends.Add(-one.lasts), log.At, one.signed.Committed, one.since, one.ends}
		if !slices.IsSortedFunc(order, time.Time.Compare) {
			t.Errorf("%s: asked, merged, the start, logged, committed, in the cluster, ended: %s", one.name, order)
		}
		one.judgedAt(t)
	}
	slices.SortFunc(ended, func(a, b finding) int { return cmp.Compare(a.Object, b.Object) })
	expect.Equal(t, "findings", ended, l.Findings)
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
		expect.Is(t, fmt.Sprintf("%s at %s", l.name, at),
			state, audited(t, 0, "--at", at.UTC().Format(time.RFC3339)).of(t, l).State)
	}
}
