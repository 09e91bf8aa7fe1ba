package shape_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
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
		"limits":             limitCases,
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

// TestHints compares the hint of a case's only finding with a text.
func TestHints(t *testing.T) {
	for _, tc := range []struct {
		of         []change
		name, want string
	}{
		{unknownPolicyCases, "misspelt", `did you mean "require-probe"?`},
		{unknownPolicyCases, "in other letters", `did you mean "Require-probes"?`},
		{unknownPolicyCases, "in a namespace, named bare", `did you mean "team-a/require-probes"?`},
		{unknownPolicyCases, "in a namespace unsaid, named bare", `write its namespace before it`},
		{unknownPolicyCases, "for the cluster, named with a namespace", `"require-probes" is a ClusterPolicy: write its name alone`},
		{unknownPolicyCases, "of the other group", `is a ValidatingPolicy: write an exception of policies.kyverno.io`},
		{unknownPolicyCases, "of another kind", `write kind: MutatingPolicy`},
		{unknownPolicyCases, "no policies at all", "correct the name"},
		{unknownRuleCases, "misspelt", `did you mean "check"?`},
		{unknownRuleCases, "in other letters", `did you mean "check"?`},
		{unknownRuleCases, "made of no rule for Services", `Kyverno generates no such rule from "other"`},
		{unknownRuleCases, "a pattern fits none", "name a rule of the policy"},
		{autogenCases, "a controller and the rule alone", `add "autogen-check" to ruleNames`},
		{autogenCases, "a Pod too, and the form alone", `add "check"`},
		{autogenCases, "a CronJob and the form of the others", `add "autogen-cronjob-check"`},
		{autogenCases, "a controller and its form", `add "check" to ruleNames, "Pod" to kinds, and names such as web-*`},
		{autogenCases, "a CronJob and its form", `add "autogen-check", "check" to ruleNames, "Job", "Pod" to kinds`},
		{autogenCases, "a condition for a controller alone", `compare object.kind with "Pod" too`},
		{autogenCases, "Pods alone and a form", `add the controllers to kinds`},
		{scopeCases, "no namespaces", "namespaces: [team-a]"},
		{scopeCases, "a kind of Kubernetes without its group", "write rbac.authorization.k8s.io/v1/ClusterRole"},
		{scopeCases, "a custom kind that is not listed", "shape.clusterScoped"},
		{neverCases, "a namespace for a kind without one", "remove namespaces"},
		{neverCases, "the sender, in background scans", "background: false"},
		{neverCases, "another version", `write "apps/v1/Deployment"`},
		{mayFailCases, "a group that is gone", `write "apps/v1/Deployment"`},
		{mayFailCases, "a group that is none", "write v1 for core/v1"},
	} {
		i := slices.IndexFunc(tc.of, func(c change) bool { return c.name == tc.name })
		must.That(t, i >= 0, "there is no case %q", tc.name)
		var hints []string
		for _, f := range tc.of[i].findings(t) {
			if f.Reason != shape.ReasonWildcardRule {
				hints = append(hints, f.Hint)
			}
		}
		expect.That(t, len(hints) == 1 && strings.Contains(hints[0], tc.want), "%s: hints %q, want %q", tc.name, hints, tc.want)
	}
}

// TestReasons compares the list of reasons with the findings of the cases. A finding has the severity of its reason. It can
// be a warning too only if the reason permits that, and then it is both.
func TestReasons(t *testing.T) {
	met := map[string]map[shape.Severity]bool{}
	for _, reason := range []string{shape.ReasonDuplicateIdentity, shape.ReasonOverlaps, "superseded"} { // by Set, which has its own tests
		met[reason] = map[shape.Severity]bool{}
	}
	for _, changes := range cases() {
		for _, c := range changes {
			for _, f := range c.findings(t) {
				if met[f.Reason] == nil {
					met[f.Reason] = map[shape.Severity]bool{}
				}
				if c.config.Checks == nil && c.config.Preset == "" {
					met[f.Reason][f.Severity] = true
				}
			}
		}
	}
	for _, r := range shape.Reasons() {
		found, listed := met[r.Name]
		expect.That(t, listed && r.Doc != "", "%s is listed twice, is found in no case or is not described", r.Name)
		delete(met, r.Name)
		for severity := range found {
			expect.That(t, severity == r.Severity || r.Milder && severity == shape.Warning, "%s is a %s", r.Name, severity)
		}
		expect.That(t, !r.Milder || len(found) == 2, "%s is only found as %v", r.Name, found)
		expect.That(t, !r.Fixed || !r.Milder && r.Severity == shape.Error, "%s is fixed, and a warning", r.Name)
	}
	expect.That(t, len(met) == 0, "found and not listed: %v", met)
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

// TestWarningsDoNotHideErrors: an author can cause hundreds of warnings, also disabled ones, to hide the errors.
func TestWarningsDoNotHideErrors(t *testing.T) {
	const end = "    polex.dev/expires-in: 7d\n"
	policies := change{of: legacy, old: "  match:\n", new: strings.Repeat("  - {policyName: 'require-*', ruleNames: [check]}\n", 300) + "  match:\n"}
	patterns := change{of: legacy, old: "[check, autogen-check]", new: "[" + strings.Repeat("'autogen-*',", 5000) + "'*']"}
	off := map[string]shape.Level{shape.ReasonWildcardRule: shape.LevelOff}
	short := policyfile.Rules{Longest: day}
	for _, tc := range []struct {
		many            change
		config          shape.Config
		without, reason string
	}{
		{policies, shape.Config{}, end, "no-expiry"},
		{policies, shape.Config{}, "        names: [web]\n        namespaces: [team-a]\n", shape.ReasonMatchesEverything},
		{patterns, rules(short), "", "lifetime-too-long"},
		{patterns, shape.Config{Rules: short, Checks: off}, "", "lifetime-too-long"},
	} {
		tc.many.of, tc.many.config = strings.Replace(legacy, tc.without, "", 1), tc.config
		is := func(f shape.Finding) bool { return f.Reason == tc.reason && f.Severity == shape.Error }
		expect.That(t, slices.ContainsFunc(tc.many.findings(t), is), "without %q: no %s", tc.without, tc.reason)
	}
}

var update = flag.Bool("update", false, "write the checks in docs/reference/reasons.md anew")

const reasonsPage = "../../docs/reference/reasons.md"

// TestDocs compares the section "Checks" of docs/reference/reasons.md with the checks, and with hints of the tests.
func TestDocs(t *testing.T) {
	want := section(t)
	raw := must.Get(os.ReadFile(reasonsPage))(t)
	before, rest, _ := strings.Cut(string(raw), "\n## Checks\n")
	got, after, found := strings.Cut(rest, "\n## Other reasons\n")
	must.That(t, found, "the page has no section for the checks")
	if *update {
		got = want
		must.Do(t, os.WriteFile(reasonsPage, []byte(before+"\n## Checks\n"+got+"\n## Other reasons\n"+after), 0o644))
	}
	expect.Equal(t, "docs/reference/reasons.md is out of date; make generate", want, got)
}

const intro = `
These are the checks of ` + "`polex-validate` and `polex-sign`" + `. The levels are those of the preset baseline. Change them under ` + "`shape.checks`" + ` in
` + "`.polex.yaml` to `off`, `warning` or `error`" + `. No setting changes a check marked "always": nobody could sign or apply the exception as it is written, or it reaches
the guard. [Configuration](configuration.md#shape) lists the other keys of the section.
`

func section(t *testing.T) string {
	var b strings.Builder
	b.WriteString(intro)
	for _, c := range shape.Checks {
		if alone := c.Title == "" && len(c.Reasons) == 1; alone {
			fmt.Fprintf(&b, "\n### %s\n\n%s Level: %s.\n", c.Reasons[0].Name, c.About, level(c.Reasons[0]))
			continue
		}
		if c.Title == "" {
			t.Errorf("the check of %s has several reasons and no title", c.Reasons[0].Name)
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", c.Title, c.About)
		for _, r := range c.Reasons {
			fmt.Fprintf(&b, "\n#### %s\n\n%s. Level: %s.\n", r.Name, capital(r.Doc), level(r))
		}
	}
	return b.String()
}

// level returns the levels of a reason.
func level(r shape.Reason) string {
	level := r.Severity.String()
	if r.Milder {
		level += " or warning"
	}
	if r.Fixed {
		level += ", always"
	}
	return level
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
