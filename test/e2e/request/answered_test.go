//go:build e2e

package request

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/must"
)

var said = request.Statements{Reason: "this is a test", Ticket: "SEC-1", Owner: "team-a", ExpiresIn: "7d"}

// drafts returns the drafts from the report of Kyverno's CLI, for the resources of the sample and
// not for their siblings.
func drafts(t *testing.T, s sample, printed string) []request.Draft {
	t.Helper()
	var violations []request.Violation
	for part := range strings.SplitSeq(printed[max(0, strings.IndexByte(printed, '{')):], "\n---\n") {
		for _, doc := range documents(part) {
			report, problem := request.FromReport(doc)
			if problem != nil {
				t.Fatalf("%+v", problem)
			}
			violations = append(violations, report.Violations...)
		}
	}
	violations = slices.DeleteFunc(violations, func(v request.Violation) bool {
		return strings.HasSuffix(v.Resource.Name, sibling) || v.Resource.Namespace == elsewhere
	})
	found, problems, err := request.New(violations, request.Options{
		Policies: shape.ReadPolicies(documents(s.policies)), Objects: documents(s.resources), Namespace: "exceptions", Statements: said,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if p.Reason == request.ReasonSubresource {
			continue // the missing data is unknown
		}
		t.Errorf("no draft for %s %s, %s: %s [%s]", p.Violation.Policy, p.Violation.Rule, p.Violation.Resource, p.Message, p.Reason)
	}
	return found
}

// TestKyvernosPolicies: for each policy of Kyverno's tests with a violation, the drafts exempt
// exactly these violations. All others still fail, such as siblings of the resources and other
// rules.
func TestKyvernosPolicies(t *testing.T) {
	policies, exempt, kinds := map[string]bool{}, 0, map[string]int{}
	for _, s := range samples(t) {
		t.Run(s.name, func(t *testing.T) {
			s.resources = withSiblings(t, s.resources)
			printed, before := s.ask(t)
			found := drafts(t, s, printed)
			if len(found) == 0 {
				t.Skip("nothing is violated that Kyverno's CLI knows of by itself")
			}
			answered := map[string]bool{}
			for _, d := range found {
				// One StatefulSet of these tests has a name that no API server accepts: never-matches is right.
				if name := d.Answers[0].Resource.Name; name == strings.ToLower(name) {
					strict(t, s, d)
				}
				s.exceptions += string(d.Source) + "---\n"
				for _, v := range d.Answers {
					answered[v.Policy+" "+v.Resource.Kind+" "+v.Resource.Namespace+"/"+v.Resource.Name+" "+v.Rule] = true
				}
			}
			_, after := s.ask(t)
			for _, key := range slices.Sorted(maps.Keys(before)) {
				parts := strings.SplitN(key, " ", 3)
				policy, rule, resource := parts[0], parts[1], parts[2]
				asked := before[key] == "fail" && (answered[policy+" "+resource+" "+rule] || answered[policy+" "+resource+" "])
				switch {
				case asked && after[key] != "skip":
					t.Errorf("%s is %q, and a draft was to exempt it", key, after[key])
				case !asked && after[key] != before[key]:
					t.Errorf("%s is %q, and was %q before anything was exempt", key, after[key], before[key])
				case asked:
					exempt++
					policies[s.name+" "+policy] = true
				}
			}
			for _, d := range found {
				ref := kyverno.Read(d.Document).Refs[0]
				kinds[ref.Group+" "+ref.Kind.Text]++
			}
		})
	}
	t.Logf("%d violations of %d policies, drafts by kind of policy: %v", exempt, len(policies), kinds)
	if len(policies) < 30 || len(kinds) < 2 {
		t.Errorf("only %d policies were violated, of %d kinds", len(policies), len(kinds))
	}
}

// strict checks a draft with the strictest settings.
func strict(t *testing.T, s sample, d request.Draft) {
	t.Helper()
	for _, f := range findings(t, s, d.Document) {
		// A policy about resources of any kind also protects exceptions, so no exception from it is
		// allowed.
		if f.Severity == shape.Error && f.Reason != shape.ReasonReachesGuard {
			t.Errorf("%s: %s\n%s", f.Reason, f.Message, d.Source)
		}
	}
}

func findings(t *testing.T, s sample, doc *exception.Document) []shape.Finding {
	t.Helper()
	config := shape.Config{Preset: "strict", Policies: shape.ReadPolicies(documents(s.policies))}
	return must.Get(shape.New(config))(t).Check(doc, time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
}

// TestOtherControls: an exception from a control of Pod security does not change the other
// controls, nor the same control for other images.
func TestOtherControls(t *testing.T) {
	const policies = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: standards}\nspec:\n  validationFailureAction: Enforce\n  rules:\n  - name: baseline\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {podSecurity: {level: baseline, version: latest}}\n"
	with := func(spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: team-a}\nspec: {" + spec + "}\n"
	}
	const privileged = "{name: a, image: registry.example/a, securityContext: {privileged: true}}"
	asked := sample{question: question{policies: policies, resources: with("containers: [" + privileged + "]")}}
	printed, _ := asked.ask(t)
	found := drafts(t, asked, printed)
	if len(found) != 1 {
		t.Fatalf("%d drafts", len(found))
	}
	for spec, want := range map[string]string{
		"containers: [" + privileged + "]":                    "skip",
		"hostNetwork: true, containers: [" + privileged + "]": "fail",
		"containers: [" + privileged + ", {name: b, image: registry.example/b, securityContext: {privileged: true}}]":                 "fail",
		"containers: [" + privileged + ", {name: b, image: registry.example/a, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]": "fail",
	} {
		q := question{policies: policies, resources: with(spec), exceptions: string(found[0].Source)}
		if _, after := q.ask(t); after["standards baseline Pod team-a/web"] != want {
			t.Errorf("%s: %v, want %s\n%s", spec, after, want, found[0].Source)
		}
	}
}
