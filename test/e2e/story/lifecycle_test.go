//go:build e2e

package story_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/e2e/story"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// The lifetimes in [lives]. The first is long enough for a renewal before the expiry. The second is
// long enough that the scheduled workflow runs before the expiry of the renewal.
const (
	firstLives   = 90 * time.Second
	renewalLives = firstLives + time.Minute
)

// workflow is the committer of a workflow.
const workflow = "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>"

// atTheEnd is the maximum time in which the guard deletes an expired exception.
const atTheEnd = 2 * time.Second

// life is an exception of one kind with its observed events.
type life struct {
	kind   story.Kind
	name   string
	asked  commit // the request
	merged commit
	signed commit    // added it to signed/
	pruned commit    // removed it
	run    commit    // the merge workflow ran for it
	since  time.Time // creation in the cluster
	lasts  time.Duration
	ends   time.Time
}

// file returns its path below unsigned/ and signed/.
func (l *life) file() string { return l.name + ".yaml" }

// lives tests the whole life of an exception. A Pod violates a policy, and a report shows it. An exception is drafted
// from the report, signed, applied, renewed, expired and removed from Git. The audit report has all of it.
func lives(t *testing.T) {
	var first, second []*life // of each kind: the exception, and its renewal
	step(t, "a Pod that is there breaks a policy, and a report says so", reported)
	step(t, "an exception is requested from the report", func(t *testing.T) { first = requested(t) })
	step(t, "the Pod is made anew, and Kyverno keeps it out", func(t *testing.T) {
		for _, kind := range story.Kinds {
			must.Get(world.Delete(t.Context(), kind.Pod(kind.Elder(), story.First)))(t)
			keptOut(t, kind.Pod(kind.Elder(), story.First))
		}
	})
	step(t, "the request is found well shaped", func(t *testing.T) {
		must.Get(world.Check(t.Context(), "elders"))(t).Ended(t, github.All("validate", "verify"))
	})
	step(t, "it is merged, signed and applied", func(t *testing.T) { signedAndApplied(t, first, "elders") })
	step(t, "exactly that Pod is let in", func(t *testing.T) { exactlyThePod(t, first) })
	step(t, "it is renewed before its end", func(t *testing.T) { second = renewed(t, first) })
	step(t, "it ends, and Argo CD does not bring it back", func(t *testing.T) {
		ended(t, first)
		for _, l := range first {
			sealed := must.Get(world.Exceptions.Git(t.Context(), "show", "main:signed/"+l.file()))(t)
			refused(t, sealed+"\n", "expired")
		}
		must.Do(t, world.Applied(t.Context(), story.Application, func(said *argocd.Application) error {
			got := strings.Count(said.Said(), denied("expired"))
			return expect.Unless(got >= len(first), "it was refused %d times, and not once for each", got)
		}))
		for _, l := range first {
			notThere(t, l.kind, l.name)
		}
	})
	step(t, "the renewal counts on", func(t *testing.T) {
		for _, l := range second {
			there(t, l.kind, l.name)
			letIn(t, l.kind.Pod(l.kind.Elder(), story.First))
		}
	})
	step(t, "the night takes what has ended out of Git", func(t *testing.T) { pruned(t, first) })
	step(t, "the renewal ends, and Kyverno keeps the Pod out", func(t *testing.T) {
		ended(t, second)
		for _, l := range second {
			eventuallyKeptOut(t, l.kind.Pod(l.kind.Elder(), story.First))
		}
	})
	step(t, "the ledger tells all of it, as it was", func(t *testing.T) { told(t, first, second) })
	step(t, "the renewal is taken out of Git by hand, and the ledger tells by whom", func(t *testing.T) {
		for key, value := range map[string]string{"user.name": "dave", "user.email": "dave@example.com"} {
			must.Get(world.Exceptions.Git(t.Context(), "config", key, value))(t)
			t.Cleanup(func() { _, _ = world.Exceptions.Git(context.Background(), "config", "--unset", key) })
		}
		said := must.Get(world.Polex(t.Context(), "polex-prune", "--push"))(t)
		must.That(t, said.Status == 0, "polex-prune: %d\n%s%s", said.Status, said.Out, said.Errors)
		must.Get(world.Exceptions.Git(t.Context(), "pull", "--quiet", "--ff-only"))(t)
		takenOut(t, second, "dave <dave@example.com>")
		told(t, first, second)
	})
}

// reported waits until Kyverno's reports show the violations of the elder Pods.
func reported(t *testing.T) {
	for _, kind := range story.Kinds {
		eventually(t, "a report of "+kind.Elder(), func(ctx context.Context) error {
			out, err := world.Kubectl(ctx, "get", "policyreports", "-n", story.Team, "-o", "json")
			if err != nil {
				return err
			}
			var reports struct {
				Items []struct {
					Scope   struct{ Kind, Name string }
					Results []struct{ Policy, Rule, Result string }
				}
			}
			if err := json.Unmarshal([]byte(out), &reports); err != nil {
				return err
			}
			for _, report := range reports.Items {
				for _, r := range report.Results {
					if report.Scope.Name == kind.Elder() && r.Policy == kind.Policy && r.Result == "fail" {
						return nil
					}
				}
			}
			return errors.New(out)
		})
	}
}

// requested drafts an exception of each kind from the reports, on one branch, as a user who may read them.
func requested(t *testing.T) []*life {
	kubeconfig, err := world.Account(t.Context(), "developer",
		story.Lists{Groups: "wgpolicyk8s.io", Resources: "policyreports, clusterpolicyreports"},
		story.Lists{Groups: "kyverno.io, policies.kyverno.io", Resources: "'*'"},
		story.Lists{Groups: "'', apps, batch", Resources: "pods, replicationcontrollers, deployments, replicasets, statefulsets, daemonsets, jobs, cronjobs"})
	must.Do(t, err)
	drafts := drafted(t, "elders", firstLives, "--from", "cluster", "--kubeconfig", kubeconfig, "--namespace", story.Team, "--exception-namespace", story.Namespace,
		"--reason", "it is older than the policy", "--ticket", "SEC-3", "--owner", "team-a")
	must.That(t, len(drafts) == len(story.Kinds), "%d are drafted", len(drafts))
	var all []*life
	for _, kind := range story.Kinds {
		at := slices.IndexFunc(drafts, func(d draft) bool { return d.of(kind) })
		must.That(t, at >= 0, "none is of the kind %s: %+v", kind.Name, drafts)
		all = append(all, &life{kind: kind, name: drafts[at].name(), lasts: firstLives, asked: commitOf(t, "elders")})
	}
	return all
}

// draft is a result of polex-request.
type draft struct{ File, Object, Reason string }

func (d draft) name() string { return strings.TrimSuffix(path.Base(d.File), ".yaml") }

// of reports whether it is an exception of the kind.
func (d draft) of(kind story.Kind) bool {
	return strings.HasPrefix(d.Object, "PolicyException."+kind.Group()+" ")
}

// drafted runs polex-request as carol, who commits the drafts on a branch and pushes it.
func drafted(t *testing.T, branch string, lasts time.Duration, args ...string) []draft {
	t.Helper()
	said, err := world.Polex(t.Context(), "polex-request", append([]string{"--expires-in", lasts.String(), "-o", "json"}, args...)...)
	must.Do(t, err)
	var report struct{ Results []draft }
	if err := json.Unmarshal([]byte(said.Out), &report); err != nil || said.Status != 0 {
		t.Fatalf("polex-request %q: %d, %v\n%s%s", args, said.Status, err, said.Out, said.Errors)
	}
	for _, args := range [][]string{
		{"switch", "--quiet", "--create", branch}, {"add", "unsigned"},
		{"-c", "user.name=carol", "-c", "user.email=carol@example.com", "commit", "--quiet", "--message", "Request exceptions"},
		{"push", "--quiet", "origin", branch}, {"switch", "--quiet", "main"},
	} {
		must.Get(world.Exceptions.Git(t.Context(), args...))(t)
	}
	return slices.DeleteFunc(report.Results, func(d draft) bool { return d.Reason != "drafted" })
}

// commit has the fields of a Git commit.
type commit struct {
	Hash, Author, Committer string
	Authored, Committed     time.Time
}

// commitOf returns the commit of a ref.
func commitOf(t *testing.T, ref string) commit {
	t.Helper()
	out, err := world.Exceptions.Git(t.Context(), "log", "-1", "--format=%H%n%an <%ae>%n%cn <%ce>%n%aI%n%cI", ref)
	must.Do(t, err)
	lines := strings.Split(out, "\n")
	authored := must.Get(time.Parse(time.RFC3339, lines[3]))(t)
	return commit{lines[0], lines[1], lines[2], authored, must.Get(time.Parse(time.RFC3339, lines[4]))(t)}
}

// signedAndApplied merges pull requests, waits until the cluster has their exceptions, and records the observed events.
func signedAndApplied(t *testing.T, lives []*life, branches ...string) {
	must.Get(world.Merge(t.Context(), branches...))(t).Ended(t, github.All("settings", "sign", "commit", "notify"))
	ran, tip := commitOf(t, "main~1"), commitOf(t, "main")
	must.Do(t, world.ArgoCD.Refresh(t.Context(), story.Application))
	for n, l := range lives {
		l.merged, l.run, l.signed = commitOf(t, fmt.Sprintf("main~%d", len(branches)-min(n, len(branches)-1))), ran, tip
		eventually(t, "the cluster to have "+l.name, func(ctx context.Context) error {
			out, err := world.Kubectl(ctx, "get", l.kind.Resource, "-n", story.Namespace, l.name, "-o", "json")
			if err == nil {
				l.since, l.ends, err = timesOf([]byte(out))
			}
			return err
		})
	}
}

// timesOf returns the creation time and the expiry in an exception.
func timesOf(object []byte) (since, ends time.Time, err error) {
	var stored struct {
		Metadata struct {
			Annotations       map[string]string
			CreationTimestamp time.Time
		}
		Spec struct{ ExpiresAt time.Time }
	}
	if err := json.Unmarshal(object, &stored); err != nil || !stored.Spec.ExpiresAt.IsZero() {
		return stored.Metadata.CreationTimestamp, stored.Spec.ExpiresAt, err
	}
	ends, err = time.Parse(time.RFC3339, stored.Metadata.Annotations["polex.dev/expires-at"])
	return stored.Metadata.CreationTimestamp, ends, err
}

// exactlyThePod: Kyverno admits the Pod of the report, and no other.
func exactlyThePod(t *testing.T, lives []*life) {
	for _, l := range lives {
		letIn(t, l.kind.Pod(l.kind.Elder(), story.First))
		keptOut(t, l.kind.Pod(l.kind.Elder()+"-2", story.First))
		keptOut(t, l.kind.Pod("the-"+l.kind.Elder(), story.First))
		keptOut(t, l.kind.Pod(l.kind.Elder(), story.Both))
		keptOut(t, l.kind.Pod(l.kind.Elder(), story.FirstAndOthers))
	}
}

// renewed requests a renewal of each exception in its own pull request, and waits until the cluster has both.
func renewed(t *testing.T, first []*life) []*life {
	var all []*life
	var branches []string
	for _, l := range first {
		branch := "renew-" + strings.ToLower(l.kind.Name)
		drafts := drafted(t, branch, renewalLives, "--renew", l.name)
		must.That(t, len(drafts) == 1 && drafts[0].of(l.kind), "it drafts %+v", drafts)
		all, branches = append(all, &life{kind: l.kind, name: drafts[0].name(), lasts: renewalLives, asked: commitOf(t, branch)}), append(branches, branch)
	}
	signedAndApplied(t, all, branches...)
	for _, l := range first {
		late := time.Since(l.ends)
		must.That(t, late <= 0, "the renewal came %s after the end: the lifetime is too short for this machine", late)
		there(t, l.kind, l.name)
	}
	return all
}

// ended waits until the guard has deleted expired exceptions, and checks the times.
func ended(t *testing.T, lives []*life) {
	for _, l := range lives {
		var deleted cluster.Deletion
		eventually(t, "the end of "+l.name, func(context.Context) error {
			all, err := world.Cluster.Deletions()
			at := slices.IndexFunc(all, func(d cluster.Deletion) bool { return d.Name == l.name && d.Group == l.kind.Group() })
			if err == nil && at < 0 {
				err = errors.New("the guard has not deleted it")
			}
			if err == nil {
				deleted = all[at]
			}
			return err
		})
		after := deleted.At.Sub(l.ends)
		expect.That(t, after >= 0 && after <= atTheEnd && deleted.By == story.GuardAccount,
			"%s was deleted %s after its end, by %s", l.name, after, deleted.By)
		t.Logf("%s %s: deleted %s after its end", l.kind.Name, l.name, after)
		notThere(t, l.kind, l.name)
	}
}

// pruned runs the scheduled workflow: one commit removes expired exceptions from signed/.
func pruned(t *testing.T, lives []*life) {
	before := commitOf(t, "main")
	must.Get(world.Night(t.Context()))(t).Ended(t, github.All("expire", "notify"))
	if parent := commitOf(t, "main~1"); parent.Hash != before.Hash {
		t.Errorf("it made more than one commit: main~1 is %s, and main was %s", parent.Hash, before.Hash)
	}
	takenOut(t, lives, workflow)
}

// takenOut: the last commit only removes exceptions from signed/, has the right author, and Argo CD is synced.
func takenOut(t *testing.T, lives []*life, by string) {
	t.Helper()
	last := commitOf(t, "main")
	expect.That(t, last.Author == by, "the commit is by %s, and not by %s", last.Author, by)
	changed := must.Get(world.Exceptions.Git(t.Context(), "diff", "--name-status", "main~1", "main"))(t)
	var want []string
	for _, l := range lives {
		l.pruned = last
		want = append(want, "D\tsigned/"+l.file())
	}
	slices.Sort(want)
	expect.Equal(t, "the commit", strings.Join(want, "\n"), changed)
	syncedAt(t, last.Hash)
}
