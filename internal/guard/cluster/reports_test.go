package cluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/guard/cluster"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestReports: reports have the newer kind if it is served, otherwise the older one if that is
// served. Reports of the older kind by another guard are deleted.
func TestReports(t *testing.T) {
	const newer, older = "openreports.io/namespaces/x/reports/polex-guard", "wgpolicyk8s.io/namespaces/x/policyreports/polex-guard"
	found := []*guard.Finding{{Decision: guard.Decision{Object: id("a"), Reason: "unsigned", UID: "u-a"}, Version: "v2"}}
	more := append(slices.Clone(found), &guard.Finding{Decision: guard.Decision{Object: id("b"), Reason: guard.ReasonVerified, UID: "u-b"}, Version: "v2"})
	for name, tc := range map[string]struct {
		served map[string][]string
		there  string // before
		want   string // "": none
	}{
		"neither":                 {nil, "", ""},
		"the older":               {map[string][]string{"wgpolicyk8s.io": {"v1alpha2"}}, "", older},
		"the older, from another": {map[string][]string{"wgpolicyk8s.io": {"v1beta1", "v1alpha2"}}, older, older},
		"the older, too new":      {map[string][]string{"wgpolicyk8s.io": {"v1beta1"}}, "", ""},
		"both":                    {map[string][]string{"wgpolicyk8s.io": {"v1alpha2"}, "openreports.io": {"v1alpha1"}}, older, newer},
	} {
		t.Run(name, func(t *testing.T) {
			s, api := serve(t)
			s.versions = tc.served
			if tc.there != "" {
				s.set(tc.there, object{"apiVersion": "v1", "kind": "Report", "metadata": object{"name": "polex-guard", "namespace": "x", "labels": object{"app.kubernetes.io/managed-by": "polex-guard"}}})
			}
			has := func(results int) {
				t.Helper()
				for _, path := range []string{newer, older} {
					if o := s.objects[path]; (o != nil) != (path == tc.want && results > 0) {
						t.Fatalf("%s: %v", path, o)
					} else if o != nil && len(o["results"].([]any)) != results {
						t.Errorf("%s has %v", path, o["results"])
					}
				}
			}
			r := &cluster.Reports{API: api}
			for _, step := range [][]*guard.Finding{found, found, more} {
				must.Do(t, r.Write(t.Context(), step))
				has(len(step))
			}
			if tc.want != "" && s.requests("PUT")+s.requests("POST") != 2 {
				t.Errorf("it wrote what had not changed: %q", s.asked)
			}
			if tc.want != "" { // another client writes in between
				s.set(tc.want, s.objects[tc.want])
			}
			must.Do(t, r.Write(t.Context(), found))
			has(1)
			must.Do(t, r.Write(t.Context(), nil))
			has(0)
		})
	}
}

// TestReportsAreIndependent: a namespace whose report is rejected, for example by a quota, does not hold up others, and
// its report is written once it is accepted. If the API server does not answer, the others are not tried.
func TestReportsAreIndependent(t *testing.T) {
	for _, tc := range []struct {
		code    int // 0: no answer
		written int
		want    string
	}{{http.StatusForbidden, 8, `(one of 2)`}, {0, 0, `report on "n`}} {
		s, api := serve(t)
		s.versions = map[string][]string{"wgpolicyk8s.io": {"v1alpha2"}}
		var found []*guard.Finding
		for i := range 10 {
			f := &guard.Finding{Decision: guard.Decision{Object: id("a"), Reason: "unsigned"}, Version: "v2"}
			f.Object.Namespace = fmt.Sprintf("n%d", i)
			found = append(found, f)
		}
		broken := true
		s.refuse = func(r *http.Request) (int, <-chan struct{}) {
			mine := strings.Contains(r.URL.Path, "/n3/") || strings.Contains(r.URL.Path, "/n7/")
			if !broken || r.Method == http.MethodGet || tc.code != 0 && !mine {
				return 0, nil
			}
			if tc.code == 0 {
				panic(http.ErrAbortHandler)
			}
			return tc.code, nil
		}
		r := &cluster.Reports{API: api}
		expect.Error(t, r.Write(t.Context(), found), tc.want)
		expect.Is(t, "reports written", tc.written, s.count("policyreports/"))
		n := s.requests("POST")
		expect.That(t, tc.code != 0 || n == 1, "it tried %d times", n)
		broken = false
		expect.NoError(t, r.Write(t.Context(), found))
		expect.Is(t, "reports written afterwards", len(found), s.count("policyreports/"))
		broken = true
		expect.That(t, r.Write(t.Context(), nil) != nil, "nobody hears that reports stay")
		expect.Is(t, "reports stay", len(found)-tc.written, s.count("policyreports/"))
	}
}

// count returns the number of objects with a path.
func (s *server) count(part string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path := range s.objects {
		if strings.Contains(path, part) {
			n++
		}
	}
	return n
}

// TestEventsAreBounded: while Events cannot be written, few wait. Warnings come first, and repeated Events are counted.
func TestEventsAreBounded(t *testing.T) {
	s, api := serve(t)
	s.versions["events.k8s.io"] = []string{"v1"}
	s.hold = make(chan struct{})
	var said strings.Builder
	events := cluster.NewEvents(api, "me", slog.New(slog.NewTextHandler(&said, nil)))
	about := &corev1.ObjectReference{APIVersion: "kyverno.io/v2", Kind: "PolicyException", Namespace: "x", Name: "a"}
	const many = 5000
	for n := range many {
		events.Add(about, corev1.EventTypeNormal, "Deleted", "Delete", fmt.Sprint("other ", n))
	}
	for range 3 {
		events.Add(about, corev1.EventTypeWarning, "Refused", "Recheck", "it is not signed")
	}
	close(s.hold)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- events.Run(ctx) }()
	eventually(t, "the last Event", func() bool { return s.requests("POST") >= 513 })
	cancel()
	<-ended
	if posted, patched := s.requests("POST"), s.requests("PATCH"); posted != 1+512 || patched != 2 {
		t.Errorf("%d were written, and %d counted", posted, patched)
	}
	if !strings.Contains(s.bodies[0], "it is not signed") || !strings.Contains(s.bodies[2], `"count":3`) {
		t.Errorf("first come %q", s.bodies[:3])
	}
	want := fmt.Sprintf("dropped=%d", many-512)
	expect.That(t, strings.Contains(said.String(), want), "it does not say %s: %.500s", want, said.String())
}

const leasePath = "coordination.k8s.io/namespaces/default/leases/polex-guard"

// lease returns the spec of the Lease.
func (s *server) lease() object {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec, _ := s.objects[leasePath]["spec"].(object)
	return spec
}

// lead runs Lead with one piece of work after the other, and returns the function that ends it.
func (s *server) lead(t *testing.T, work func(context.Context)) (end func()) {
	t.Helper()
	s.versions["coordination.k8s.io"] = []string{"v1"}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- cluster.Lead(ctx, &rest.Config{Host: s.url, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
			cluster.Lease{Namespace: "default", Name: "polex-guard", Identity: "me"}, work)
	}()
	return func() {
		t.Helper()
		cancel()
		expect.NoError(t, <-ended)
	}
}

// TestLeaseOutlivesTheWork: the Lease is renewed until the work has returned, and released then.
// Otherwise another guard would work beside this one.
func TestLeaseOutlivesTheWork(t *testing.T) {
	s, _ := serve(t)
	working, returned := make(chan struct{}), make(chan struct{})
	end := s.lead(t, func(ctx context.Context) {
		close(working)
		<-ctx.Done()
		before := s.requests("PUT")
		eventually(t, "a renewal after the end", func() bool { return s.requests("PUT") > before })
		expect.Is(t, "Lease during the work", "me", s.lease()["holderIdentity"].(string))
		close(returned)
	})
	<-working
	end()
	<-returned
	expect.That(t, s.lease()["holderIdentity"] == "", "the Lease: %v", s.lease())
}

// TestLeaseOfAnother: work ends as soon as the Lease names another holder, and is not released.
func TestLeaseOfAnother(t *testing.T) {
	s, _ := serve(t)
	reads := 0
	done := make(chan struct{})
	end := s.lead(t, func(ctx context.Context) {
		before := s.requests("GET")
		s.mu.Lock()
		other := maps.Clone(s.objects[leasePath])
		other["spec"] = maps.Clone(other["spec"].(object))
		other["spec"].(object)["holderIdentity"] = "other"
		s.set(leasePath, other)
		s.mu.Unlock()
		<-ctx.Done()
		reads = s.requests("GET") - before
		close(done)
	})
	<-done
	end()
	expect.That(t, reads == 1, "the work ends after %d reads of the Lease", reads)
	expect.Is(t, "the Lease", "other", s.lease()["holderIdentity"].(string))
}

// TestLeaseOfManyTransitions: a guard can take a Lease with the largest number of transitions. The API
// server would reject a negative one.
func TestLeaseOfManyTransitions(t *testing.T) {
	s, _ := serve(t)
	s.set(leasePath, object{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": object{"namespace": "default", "name": "polex-guard"},
		"spec": object{"leaseTransitions": math.MaxInt32}})
	leads := make(chan struct{})
	end := s.lead(t, func(ctx context.Context) {
		close(leads)
		<-ctx.Done()
	})
	<-leads
	expect.Is(t, "transitions", math.MaxInt32, s.lease()["leaseTransitions"].(float64))
	end()
}
