//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/polex-dev/polex/internal/kyverno/schema"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// verdicts has the verdicts of the servers and of polex about a sample.
type verdicts struct {
	sample
	real string // the rejection by the API server or a webhook, or ""
	kept []byte // the object that the API server would store, unless it rejects
	ours []shape.Finding
}

// TestAgreement compares polex with the servers over the whole corpus. If the servers admit a
// sample that polex rejects, the reason must be in the list strictness. If they reject one that
// polex admits, the test fails.
func TestAgreement(t *testing.T) {
	samples := corpus(t)
	if len(samples) < 200 {
		t.Fatalf("%d samples are too few", len(samples))
	}
	agreed := agreement{stricter: map[string]int{}, used: map[string]bool{}, sources: map[string]*source{}}
	for _, v := range judge(t, samples) {
		agreed.count(t, v)
		keptAsWritten(t, v)
	}
	for i := range strictness {
		if key := strictness[i].key(); !agreed.used[key] {
			t.Errorf("polex is nowhere stricter by %s: take it off the list", key)
		}
	}
	page, err := os.ReadFile("../../docs/explanation/interop.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range strictness {
		if !strings.Contains(string(page), "| "+s.why+" |") {
			t.Errorf("docs/explanation/interop.md does not say: %s", s.why)
		}
	}
	t.Log(agreed.String())
}

// judge sends every sample to both.
func judge(t *testing.T, samples []sample) []verdicts {
	t.Helper()
	namespaces := map[string]bool{}
	for _, s := range samples {
		namespaces[s.target(exception.KyvernoGroup, "v2").Namespace] = true
	}
	for namespace := range namespaces {
		// If a namespace cannot be created, the sample is rejected too.
		_ = live.CreateNamespace(t.Context(), namespace)
	}
	checker, err := shape.New(shape.Config{Rules: policyfile.Rules{Unbounded: true}})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]verdicts, len(samples))
	asking, ctx := errgroup.WithContext(t.Context())
	asking.SetLimit(4)
	for i, s := range samples {
		asking.Go(func() error {
			// A changed document without a readable type is sent to the address of the original.
			group, version := exception.KyvernoGroup, "v2"
			if strings.Contains(string(s.text), "policyRefs") {
				group, version = exception.PoliciesGroup, "v1"
			}
			answer, err := live.DryRun(ctx, s.target(group, version), s.text)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			all[i] = verdicts{sample: s, ours: refusals(checker, s), kept: answer.Body}
			if !answer.OK() {
				if !answer.Refusal() {
					return fmt.Errorf("%s: no verdict: %d: %s", s.name, answer.Code, answer.Message())
				}
				all[i].real = answer.Message()
			}
			return nil
		})
	}
	if err := asking.Wait(); err != nil {
		t.Fatal(err)
	}
	return all
}

// refusals returns polex's findings about properties that the servers check too.
func refusals(checker *shape.Checker, s sample) []shape.Finding {
	doc, err := exception.Parse(s.text, s.name)
	if err != nil {
		return []shape.Finding{{Reason: reasonSyntax, Message: err.Error()}}
	}
	var found []shape.Finding
	for _, p := range schema.Check(doc) {
		found = append(found, shape.Finding{Reason: p.Reason, Path: p.Path, Message: p.Message})
	}
	for _, f := range checker.Check(doc, time.Unix(0, 0)) {
		if slices.Contains(mirrored, f.Reason) && f.Severity == shape.Error {
			found = append(found, f)
		}
	}
	return found
}

// TestDocumented: the servers and polex admit the examples in Kyverno's guide. Both reject its
// misprints.
func TestDocumented(t *testing.T) {
	for _, v := range judge(t, fixtures(t, "documented")) {
		if v.real != "" || len(v.ours) > 0 {
			t.Errorf("%s: refused by the servers (%s) or by polex (%v)", v.name, v.real, v.ours)
		}
	}
	for _, v := range judge(t, fixtures(t, "misprinted")) {
		if v.real == "" || len(v.ours) == 0 {
			t.Errorf("%s: admitted by the servers or by polex: %q, %v", v.name, v.real, v.ours)
		}
	}
}
