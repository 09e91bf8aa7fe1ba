package shape_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// Two exceptions without findings. A case makes one change in one of them.
const (
	legacy = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: web-probes
  namespace: team-a
  annotations:
    polex.dev/reason: the vendor's image has no health endpoint
    polex.dev/expires-in: 7d
spec:
  exceptions:
  - policyName: require-probes
    ruleNames: [check, autogen-check]
  match:
    any:
    - resources:
        kinds: [Deployment]
        names: [web]
        namespaces: [team-a]
`
	policies = `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: web-probes
  namespace: team-a
spec:
  policyRefs:
  - name: require-probes
    kind: ValidatingPolicy
  matchConditions:
  - name: web
    expression: object.metadata.name == 'web' && object.metadata.namespace == 'team-a'
  expiresAt: "2026-06-08T12:00:00Z"
  properties: {reason: the vendor's image has no health endpoint}
`
)

// change is one case: a document with one replacement, and its findings as "line reason path", with
// "(warning)" behind a warning.
type change struct {
	name         string
	config       shape.Config
	of, old, new string
	want         []string
}

// cases returns the cases of every check, by the file of the check. It is a function because some
// are complete only after init.
func cases() map[string][]change {
	return map[string][]change{
		"alreadysealed":      sealedCases,
		"schema":             schemaCases,
		"ignoredapi":         ignoredCases,
		"namesnothing":       nothingCases,
		"matcheseverything":  matchCases,
		"conditions":         conditionCases,
		"expressionbad":      badExpressionCases,
		"wildcardpolicy":     wildcardPolicyCases,
		"wildcardrule":       wildcardRuleCases,
		"reachesguard":       guardCases,
		"reachesguardpolicy": guardPolicyCases,
		"lifetime":           lifetimeCases,
		"renewal":            renewalCases,
		"statements":         statementCases,
		"unknownannotation":  unknownAnnotationCases,
		"toolmetadata":       toolMetadataCases,
		"directive":          directiveCases,
		"claimsreview":       claimsCases,
		"hiddencharacter":    hiddenCases,
		"lookalike":          lookAlikeCases,
		"scope":              scopeCases,
		"wildcardimage":      wildcardImageCases,
		"wildcardmatch":      wildcardMatchCases,
		"exemptsnothing":     exemptsNothingCases,
		"unknownpolicy":      unknownPolicyCases,
		"unknownrule":        unknownRuleCases,
		"autogenrules":       autogenCases,
		"nevermatches":       neverCases,
		"mayfail":            mayFailCases,
		"uselesspodsecurity": uselessPodSecurityCases,
		"engineuserinfo":     userInfoCases,
		"engineselector":     selectorCases,
		"enginepodsecurity":  podSecurityCases,
		"enginepolicykind":   policyKindCases,
		"notanexception":     kindCases,
	}
}

func (c change) document(t testing.TB) *exception.Document {
	t.Helper()
	must.That(t, c.old == "" || strings.Contains(c.of, c.old), "there is no %q to replace", c.old)
	source := strings.NewReader(strings.Replace(c.of, c.old, c.new, 1))
	return must.Get(exception.NewReader(source, "file.yaml").Large().Next())(t)
}

func (c change) findings(t testing.TB) []shape.Finding {
	t.Helper()
	checker := must.Get(shape.New(c.config))(t)
	return checker.Check(c.document(t), now)
}

// TestChecks writes the documents of all cases as artifacts. test/e2e sends them to the servers.
func TestChecks(t *testing.T) {
	artifacts := t.ArtifactDir()
	for file, changes := range cases() {
		for i, c := range changes {
			artifact := filepath.Join(artifacts, fmt.Sprintf("%s-%d.yaml", file, i))
			must.Do(t, os.WriteFile(artifact, c.document(t).Source(), 0o600))
			t.Run(file+"/"+c.name, func(t *testing.T) {
				var got []string
				for _, f := range c.findings(t) {
					line := fmt.Sprintf("%d %s %s", f.Position.Line, f.Reason, f.Path)
					if f.Severity == shape.Warning {
						line += " (warning)"
					}
					got = append(got, line)
					expect.That(t, f.Message != "" && f.Position.File == "file.yaml", "incomplete: %+v", f)
				}
				expect.Equal(t, "findings", c.want, got)
			})
		}
	}
}

func TestNothingWrong(t *testing.T) {
	for _, source := range []string{legacy, policies} {
		expect.Equal(t, "findings", []shape.Finding(nil), change{of: source}.findings(t))
	}
}

// TestEveryReasonHasACase compares the list of reasons with the findings of the cases.
func TestEveryReasonHasACase(t *testing.T) {
	found := map[string]bool{shape.ReasonDuplicateIdentity: true, shape.ReasonOverlaps: true, "superseded": true} // by Set, which has its own tests
	for _, changes := range cases() {
		for _, c := range changes {
			for _, f := range c.findings(t) {
				found[f.Reason] = true
			}
		}
	}
	var listed []string
	for _, r := range shape.Reasons() {
		expect.That(t, !slices.Contains(listed, r.Name), "%s is listed twice", r.Name)
		listed = append(listed, r.Name)
		expect.That(t, r.Doc != "", "%s is not described", r.Name)
		expect.That(t, found[r.Name], "%s is found in no case", r.Name)
	}
	for name := range found {
		expect.That(t, slices.Contains(listed, name), "%s is found and not listed", name)
	}
}

func TestFindingsAreSortedAndBounded(t *testing.T) {
	c := change{of: legacy, old: "[check, autogen-check]", new: "[" + strings.Repeat("'*',", 5000) + "'*']"}
	found := c.findings(t)
	expect.Is(t, "findings", 200, len(found))
	if !slices.IsSortedFunc(found, func(a, b shape.Finding) int { return a.Position.Column - b.Position.Column }) {
		t.Error("findings are not sorted")
	}
}

// TestErrorsDoNotHideWhatReachesTheGuard: many other errors do not remove that finding.
func TestErrorsDoNotHideWhatReachesTheGuard(t *testing.T) {
	for _, n := range []int{199, 200, 201, 5000} {
		stars := "[" + strings.Repeat("'*', ", n) + "check]"
		for _, of := range []string{
			strings.Replace(strings.Replace(legacy, "require-probes", "polex-verify", 1), "[check, autogen-check]", stars, 1),
			strings.Replace(legacy, "  match:\n", "  - {policyName: other, ruleNames: "+stars+"}\n  - {policyName: polex-verify, ruleNames: [check]}\n  match:\n", 1),
			strings.Replace(legacy, "[check, autogen-check]\n", stars+"\n"+strings.Repeat("  - {policyName: '*', ruleNames: []}\n", n), 1),
		} {
			found := change{of: of}.findings(t)
			if !slices.ContainsFunc(found, func(f shape.Finding) bool { return f.Reason == shape.ReasonReachesGuard && f.Severity == shape.Error }) {
				t.Errorf("%d others: it is not among %d findings", n, len(found))
			}
			expect.That(t, len(found) <= 600, "%d findings", len(found))
		}
	}
}

// TestWarningsDoNotHideErrors: an author can cause two hundred warnings to hide the errors.
func TestWarningsDoNotHideErrors(t *testing.T) {
	warnings := strings.Repeat("  - {policyName: 'require-*', ruleNames: [check]}\n", 300)
	c := change{of: legacy, old: "  match:\n", new: warnings + "  match:\n"}
	for _, old := range []string{"    polex.dev/expires-in: 7d\n", "        names: [web]\n        namespaces: [team-a]\n"} {
		c.of = strings.Replace(legacy, old, "", 1)
		warning := func(f shape.Finding) bool { return f.Severity != shape.Error }
		expect.Is(t, "errors without "+old, 1, len(slices.DeleteFunc(c.findings(t), warning)))
	}
}
