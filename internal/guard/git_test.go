package guard_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	testclock "k8s.io/utils/clock/testing"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
)

// TestGit: a read error is reported once. Nothing is known until the next success, and unchanged
// content is not read again.
func TestGit(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics, err := guard.NewMetrics(registry, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	first, second := &guard.Commit{Hash: "1", State: "a"}, &guard.Commit{Hash: "2", State: "b"}
	clock := testclock.NewFakeClock(now)
	var told []string
	var read func() (*guard.Commit, error)
	asked := ""
	g := &guard.Git{
		Read:  func(_ context.Context, state string) (*guard.Commit, error) { asked = state; return read() },
		Clock: clock, Metrics: metrics,
		Moved: func(c *guard.Commit) { told = append(told, "moved to "+c.Hash) }, Unreadable: func(err error) { told = append(told, err.Error()) },
	}
	reads := func(c *guard.Commit, err error) func() (*guard.Commit, error) {
		return func() (*guard.Commit, error) { return c, err }
	}
	for _, step := range []struct {
		name   string
		read   func() (*guard.Commit, error)
		asked  string // the state in the request
		counts *guard.Commit
		metric float64
		told   []string
	}{
		{"nothing at start", reads(nil, errors.New("nothing")), "", nil, 0, []string{"nothing"}},
		{"nothing still", reads(nil, errors.New("nothing")), "", nil, 0, nil},
		{"the first", reads(first, nil), "", first, 1, []string{"moved to 1"}},
		{"the same", reads(nil, nil), "a", first, 1, nil},
		{"damaged", reads(nil, errors.New("damaged")), "a", nil, 0, []string{"damaged"}},
		{"damaged otherwise", reads(nil, errors.New("otherwise")), "a", nil, 0, []string{"otherwise"}},
		{"mended", reads(nil, nil), "a", first, 1, []string{"moved to 1"}},
		{"damaged anew", reads(nil, errors.New("otherwise")), "a", nil, 0, []string{"otherwise"}},
		{"the second", reads(second, nil), "a", second, 1, []string{"moved to 2"}},
		{"a panic", func() (*guard.Commit, error) { panic("out of range") }, "b", nil, 0, []string{"read the repository: internal error: out of range"}},
	} {
		told, read = nil, step.read
		clock.Step(time.Minute)
		g.Once(t.Context())
		if asked != step.asked {
			t.Errorf("%s: it asks by %q, want %q", step.name, asked, step.asked)
		}
		if g.Commit() != step.counts {
			t.Errorf("%s: %v counts, want %v", step.name, g.Commit(), step.counts)
		}
		if got := measured(t, registry, "polex_guard_git_last_read_successful"); got != step.metric {
			t.Errorf("%s: the metric is %v, want %v", step.name, got, step.metric)
		}
		if diff := cmp.Diff(step.told, told); diff != "" {
			t.Errorf("%s: -want +got:\n%s", step.name, diff)
		}
	}
	if got, want := measured(t, registry, "polex_guard_git_last_read_success_timestamp_seconds"), now.Add(9*time.Minute); got != float64(want.Unix()) {
		t.Errorf("it was read at %v, want %v", got, want.Unix())
	}

	// A cancelled read is not an error of the repository.
	read = reads(first, nil)
	g.Once(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	read = func() (*guard.Commit, error) { cancel(); return nil, ctx.Err() }
	g.Once(ctx)
	if g.Commit() != first {
		t.Error("nothing counts any more")
	}
}

// held is a repository under the control of a test.
type held struct {
	*guard.Git
	commit *guard.Commit
	fail   error
	n      int
}

func newHeld(t *testing.T, objects ...object) *held {
	t.Helper()
	metrics, err := guard.NewMetrics(prometheus.NewRegistry(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	h := &held{}
	h.Git = &guard.Git{
		Read:  func(context.Context, string) (*guard.Commit, error) { return h.commit, h.fail },
		Clock: testclock.NewFakeClock(now), Metrics: metrics, Moved: func(*guard.Commit) {}, Unreadable: func(error) {},
	}
	h.holds(t, objects...)
	return h
}

// holds moves the repository to a commit with these objects only.
func (h *held) holds(t *testing.T, objects ...object) {
	t.Helper()
	h.n++
	h.commit = &guard.Commit{Hash: fmt.Sprint(h.n), State: fmt.Sprint(h.n), Messages: map[string]bool{}}
	for _, o := range objects {
		doc, err := exception.FromObject(o)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := seal.Read(doc)
		if err != nil {
			t.Fatal(err)
		}
		digest := sha256.Sum256(sealed.Message)
		h.commit.Messages["sha256:"+hex.EncodeToString(digest[:])] = true
	}
	h.fails(t, nil)
}

// fails makes the repository unreadable, or readable with nil.
func (h *held) fails(t *testing.T, err error) {
	h.fail = err
	h.Once(t.Context())
}

// TestUnknownToGit: an exception is reported as soon as the repository is known not to contain it.
// Other exceptions are not.
func TestUnknownToGit(t *testing.T) {
	w := inWorld(t)
	early := now.Add(-10 * time.Minute)
	in, out := w.sealed(t, draft("in", "x", hour, ""), early), w.sealed(t, draft("out", "x", hour, ""), early)
	replacedIn := w.sealed(t, draft("replaced", "x", 2*hour, ""), early) // with the same name
	replacedOut := w.sealed(t, draft("replaced", "x", hour, ""), early)
	text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map, namespace: x, annotations: {polex.dev/expires-at: %q}}\n", now.Add(hour).UTC().Format(time.RFC3339))
	rules := w.rules(t, guard.Settings{}, func(c *trust.Config) {
		c.Kinds = []string{"ConfigMap", "PolicyException.kyverno.io"}
	})
	git := newHeld(t, in, replacedIn)
	k := keep(t, func(k *guard.Controller) { k.Git = git.Git }, rules, in, out, replacedOut, w.sealed(t, text, early),
		copied(t, w.sealed(t, draft("altered", "x", hour, ""), early), func(o object) { o["spec"] = object{} }))
	others := "map verified out %s replaced %s"
	report := func(out, replaced string) string {
		return fmt.Sprintf("report [altered altered in verified "+others+"]", out, replaced)
	}
	k.says(t, "found in verified", "found out unknown-to-git", "found replaced unknown-to-git", "found map verified", "found altered altered",
		report("unknown-to-git", "unknown-to-git"))
	k.idle(t)

	// The repository gets the exception, without an event for the object.
	git.holds(t, in, out, replacedIn)
	k.clock.Step(time.Second)
	k.says(t, "found out verified", report("verified", "unknown-to-git"))
	k.idle(t)

	// The content becomes unknown.
	git.fails(t, errors.New("damaged"))
	k.clock.Step(time.Second)
	k.says(t, "found replaced verified", report("verified", "verified"))
	k.idle(t)

	// The repository becomes empty.
	git.holds(t)
	k.clock.Step(time.Second)
	k.says(t, "found in unknown-to-git", "found out unknown-to-git", "found replaced unknown-to-git",
		"report [altered altered in unknown-to-git map verified out unknown-to-git replaced unknown-to-git]")
}

// TestOutsideGit: only the configuration and the signature permit an exception outside of Git.
func TestOutsideGit(t *testing.T) {
	w := inWorld(t)
	o := w.sealed(t, draft("a", "x", hour, ""), now.Add(-time.Minute))
	other := func(c *trust.Config) {
		c.Authorities = append(c.Authorities, trust.AuthorityConfig{Name: "other", Issuer: "https://issuer.example", Subject: "https://issuer.example/x"})
	}
	for authority, want := range map[string]string{"release-key": "verified", "other": "unknown-to-git"} {
		t.Run(authority, func(t *testing.T) {
			k := keep(t, func(k *guard.Controller) { k.Git = newHeld(t).Git }, w.rules(t, guard.Settings{InsecureOutsideGit: []string{authority}}, other), o)
			k.says(t, "found a "+want, "report [a "+want+"]")
		})
	}
}

// TestEnforceGit: with Enforce, an exception that is unknown to Git for a whole interval without a
// gap is deleted. Otherwise it is deleted when it expires.
func TestEnforceGit(t *testing.T) {
	w := inWorld(t)
	early := now.Add(-time.Minute)
	in, out := w.sealed(t, draft("in", "x", 100*hour, ""), early), w.sealed(t, draft("out", "x", 100*hour, ""), early)
	unknown := []string{"found out unknown-to-git", "report [in verified out unknown-to-git]"}
	known := []string{"found out verified", "report [in verified out verified]"}
	for name, tc := range map[string]struct {
		kept  bool // without --enforce-existing
		meets func(*testing.T, *keeping, *held)
		says  []string // expected reports
		then  []string // expected reports after one interval
	}{
		"a whole interval": {then: []string{"removed out unknown-to-git", "report [in verified]"}},
		"not asked for":    {kept: true},
		"known for a moment": {meets: func(t *testing.T, _ *keeping, h *held) { h.holds(t, in, out) },
			says: known, then: unknown},
		"unreadable for a moment": {meets: func(t *testing.T, _ *keeping, h *held) { h.fails(t, errors.New("damaged")) },
			says: known, then: unknown},
		"another that is unknown": {meets: func(t *testing.T, k *keeping, _ *held) {
			k.store.put(t, w.sealed(t, draft("out", "x", 50*hour, ""), early))
		}, says: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			git := newHeld(t, in)
			k := keep(t, func(k *guard.Controller) { k.Enforce, k.Git = !tc.kept, git.Git }, w.rules(t, guard.Settings{}, nil), in, out)
			k.says(t, append([]string{"found in verified"}, unknown...)...)
			k.idle(t)
			k.clock.SetTime(now.Add(every - 2*time.Second))
			k.idle(t)
			if tc.meets != nil {
				tc.meets(t, k, git)
				k.clock.SetTime(now.Add(every - time.Second))
				k.says(t, tc.says...)
				k.idle(t)
				git.holds(t, in)
			}
			k.clock.SetTime(now.Add(every))
			k.says(t, tc.then...)
			k.idle(t)
		})
	}
}

// TestExpiryOfUnknown: an exception that is not in Git expires at its signed time, before the next
// check of all objects.
func TestExpiryOfUnknown(t *testing.T) {
	w := inWorld(t)
	k := keep(t, func(k *guard.Controller) { k.Git = newHeld(t).Git }, w.rules(t, guard.Settings{}, nil),
		w.sealed(t, draft("a", "x", 10*time.Second, ""), now.Add(-time.Minute)))
	k.says(t, "found a unknown-to-git", "report [a unknown-to-git]")
	k.idle(t)
	k.clock.SetTime(now.Add(10 * time.Second))
	k.says(t, "removed a expired", "report []")
}
