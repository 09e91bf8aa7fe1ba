//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/must"
)

// shapeReasons are the reasons that policies/shape also has.
var shapeReasons = []string{
	shape.ReasonNoExpiry, shape.ReasonMatchesEverything, shape.ReasonWildcardPolicy,
	shape.ReasonWildcardRule, shape.ReasonReachesGuard, shape.ReasonMissingReason,
}

// verdictOf has the reasons for which an exception is rejected.
type verdictOf map[string]bool

// TestShapePolicies compares Kyverno's CLI, with both dialects of policies/shape, and polex. For
// each shared reason the verdicts about the same exceptions are equal.
func TestShapePolicies(t *testing.T) {
	exceptions := shapeExceptions(t)
	byPolex := map[string]verdictOf{}
	refusedIn := map[string]int{}
	for name, source := range exceptions {
		byPolex[name] = polexVerdict(t, source)
		group, _, _ := strings.Cut(strings.TrimPrefix(source, "apiVersion: "), "/")
		for reason := range byPolex[name] {
			refusedIn[group+" "+reason]++
		}
		if len(byPolex[name]) == 0 {
			refusedIn[group+" nothing"]++
		}
	}
	for _, group := range []string{exception.KyvernoGroup, exception.PoliciesGroup} {
		for _, reason := range append([]string{"nothing"}, shapeReasons...) {
			if refusedIn[group+" "+reason] == 0 && (group != exception.PoliciesGroup || reason != shape.ReasonWildcardRule) {
				t.Errorf("no exception of %s is refused for %s", group, reason)
			}
		}
	}
	for _, dialect := range []string{"clusterpolicy.yaml", "validatingpolicy.yaml"} {
		t.Run(dialect, func(t *testing.T) {
			byKyverno := kyvernoVerdicts(t, dialect, exceptions)
			for name, want := range byPolex {
				for _, reason := range shapeReasons {
					refused, asked := byKyverno[name][reason]
					if reason == shape.ReasonReachesGuard && asked && !refused && want[shape.ReasonMatchesEverything] {
						continue // a condition such as true also reaches the guard: the policies reject it with the other reason only
					}
					if reason == shape.ReasonNoExpiry && asked && refused && want[shape.ReasonBadLifetime] {
						continue // an empty expiry is none for the policies, and unreadable for polex
					}
					if !asked {
						t.Errorf("%s: Kyverno says nothing of %s", name, reason)
					} else if refused != want[reason] {
						t.Errorf("%s: refused for %s by Kyverno: %v, by polex: %v\n%s", name, reason, refused, want[reason], exceptions[name])
					}
				}
			}
			t.Logf("%d exceptions, %d reasons", len(exceptions), len(shapeReasons))
		})
	}
}

func polexVerdict(t *testing.T, source string) verdictOf {
	t.Helper()
	checker := must.Get(shape.New(shape.Config{Require: []string{shape.RequireReason}}))(t)
	doc, err := exception.Parse([]byte(source), "")
	must.That(t, err == nil, "%v\n%s", err, source)
	verdict := verdictOf{}
	for _, f := range checker.Check(doc, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)) {
		if f.Reason == shape.ReasonMissingKinds || f.Reason == shape.ReasonOpenMatch {
			f.Reason = shape.ReasonMatchesEverything // the policies have one reason for all three
		}
		if f.Severity == shape.Error && (slices.Contains(shapeReasons, f.Reason) || f.Reason == shape.ReasonBadLifetime) {
			verdict[f.Reason] = true
		}
	}
	return verdict
}

// kyvernoVerdicts runs the CLI once over all exceptions. It has a verdict for a reason only if the CLI reports one.
func kyvernoVerdicts(t *testing.T, dialect string, exceptions map[string]string) map[string]verdictOf {
	t.Helper()
	documents := slices.Sorted(maps.Values(exceptions))
	file := folder(t, map[string]string{"exceptions.yaml": strings.Join(documents, "---\n"), "policies.yaml": uncommented(t, dialect)})
	verdicts := map[string]verdictOf{}
	for _, r := range applied(t, file("policies.yaml"), "--resource", file("exceptions.yaml")) {
		name, reason := r.Resources[0].Name, r.Rule
		if reason == "" {
			reason = strings.TrimPrefix(r.Policy, "polex-shape-")
		}
		switch {
		case r.Result != "pass" && r.Result != "fail":
			t.Errorf("%s %s: %s: %s", name, reason, r.Result, r.Message)
		case r.Result == "fail" && !strings.HasSuffix(r.Message, " ["+reason+"]"):
			t.Errorf("%s: the message %q does not end with the reason %s", name, r.Message, reason)
		}
		if verdicts[name] == nil {
			verdicts[name] = verdictOf{}
		}
		verdicts[name][reason] = r.Result == "fail"
	}
	return verdicts
}

// answer is the result of Kyverno's CLI for one policy or rule and one resource.
type answer struct {
	Policy, Rule, Result, Message string
	Resources                     []struct{ Kind, Namespace, Name string }
	Properties                    struct{ Exceptions string }
}

// applied returns the results of Kyverno's CLI. A rejected resource is not an error.
func applied(t *testing.T, arguments ...string) []answer {
	t.Helper()
	said, warned := spoken(t, append([]string{"--policy-report", "--output-format", "json"}, arguments...)...)
	const report = `{"kind":"` // one for the cluster, one for each namespaced policy, after warnings and changed objects
	var results []answer
	for at := strings.Index(said, report); at >= 0; at = strings.Index(said, report) {
		said = said[at:]
		var read struct{ Results []answer }
		decoder := json.NewDecoder(strings.NewReader(said))
		err := decoder.Decode(&read)
		must.That(t, err == nil, "%v\n%s", err, warned)
		results, said = append(results, read.Results...), said[decoder.InputOffset():]
	}
	return results
}

// spoken returns the output of Kyverno's CLI when it applies policies.
func spoken(t *testing.T, arguments ...string) (said, warned string) {
	t.Helper()
	var stdout, stderr strings.Builder
	apply := exec.Command(filepath.Join("..", "..", "bin", "e2e", "kubectl-kyverno"), append([]string{"apply"}, arguments...)...)
	apply.Stdout, apply.Stderr = &stdout, &stderr
	var status *exec.ExitError
	err := apply.Run()
	must.That(t, err == nil || errors.As(err, &status), "run Kyverno's CLI, which `make e2e` builds: %v", err)
	return stdout.String(), stderr.String()
}

// uncommented returns a dialect with its commented-out rule.
func uncommented(t *testing.T, dialect string) string {
	t.Helper()
	raw := must.Get(os.ReadFile(filepath.Join("..", "..", "policies", "shape", dialect)))(t)
	head, commented, found := strings.Cut(string(raw), "# To require a reason, ")
	must.That(t, found, "%s has no rule to take comment signs off", dialect)
	_, commented, _ = strings.Cut(commented, "\n")
	return strings.TrimRight(head, " ") + regexp.MustCompile(`(?m)^( *)# ?`).ReplaceAllString(commented, "$1")
}

const (
	shapeOld = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: NAME
  namespace: team-a
  annotations:
    polex.dev/reason: no health endpoint
    polex.dev/expires-at: "2026-06-08T12:00:00Z"
spec:
  exceptions:
  - policyName: require-probes
    ruleNames: [check]
  match:
    any:
    - resources:
        kinds: [Deployment]
        names: [web]
        namespaces: [team-a]
`
	shapeNew = `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: NAME
  namespace: team-a
spec:
  policyRefs:
  - name: require-probes
    kind: ValidatingPolicy
  matchConditions:
  - name: web
    expression: object.metadata.name == 'web' && object.metadata.namespace == 'team-a'
  expiresAt: "2026-06-08T12:00:00Z"
  properties:
    reason: no health endpoint
`
)

// shapeExceptions returns the two above with one change each, by name.
func shapeExceptions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for base, changes := range shapeChanges {
		for i, change := range append([][2]string{{"NAME", "NAME"}}, changes...) {
			must.That(t, strings.Contains(base, change[0]), "there is no %q to change", change[0])
			name := fmt.Sprintf("new-%d", i)
			if base == shapeOld {
				name = fmt.Sprintf("old-%d", i)
			}
			all[name] = strings.Replace(strings.Replace(base, change[0], change[1], 1), "NAME", name, 1)
		}
	}
	return all
}

const (
	shapeMatch = "    any:\n    - resources:\n        kinds: [Deployment]\n        names: [web]\n        namespaces: [team-a]\n"
	shapeWho   = "        names: [web]\n        namespaces: [team-a]\n"
)

func init() {
	for _, kind := range []string{
		"*", "?*", "**", "*/*", "*/*/*", "*/*/*/*", "v1/*", "apps/v1/*", "*/scale", "*.*", "*/Deployment", "apps/*/Deployment", "apps/v1/Deployment", "*/Pod/*", "Pod/exec", "Deployment.scale",
		"v1/Pod", "Deploy*", "Policy*", "*Exception", "kyverno.io/v2/PolicyException", "policies.kyverno.io/*/PolicyException", "PolicyException/status", "policyexceptions", "polex", "kyverno.io/*/*", "networking.k8s.io/*/Ingress", "*.k8s.io/v1/Ingress", "P?licyException",
	} {
		shapeChanges[shapeOld] = append(shapeChanges[shapeOld], [2]string{"[Deployment]", "['" + kind + "']"})
	}
	for _, name := range []string{"polex-shape", "polex-*", "po*", "validate-polex", "require-*", "*", "?*", "kyverno/anything", "team-a/polex-guard", "team-a/*", "polex", "Polex-Guard"} {
		shapeChanges[shapeOld] = append(shapeChanges[shapeOld], [2]string{"policyName: require-probes", "policyName: '" + name + "'"})
		if !strings.Contains(name, "/") {
			shapeChanges[shapeNew] = append(shapeChanges[shapeNew], [2]string{"name: require-probes", "name: '" + name + "'"})
		}
	}
	for _, namespace := range []string{"kyverno", "kyv*", "*", "polex-system", "polex-*", "?yverno", "team-?", "KYVERNO"} {
		shapeChanges[shapeOld] = append(shapeChanges[shapeOld], [2]string{"namespaces: [team-a]", "namespaces: ['" + namespace + "']"},
			[2]string{"kinds: [Deployment]\n        names: [web]\n", "kinds: [v1/Namespace]\n        names: ['" + namespace + "']\n"})
	}
}

var shapeChanges = map[string][][2]string{
	shapeOld: {
		{"/v2\n", "/v2beta1\n"},
		{"    polex.dev/expires-at: \"2026-06-08T12:00:00Z\"\n", ""},
		{"\"2026-06-08T12:00:00Z\"", `""`},
		{"    polex.dev/reason: no health endpoint\n", ""},
		{"no health endpoint", `"  "`},
		{"[check]", "['*']"}, {"[check]", "[check, '?*']"}, {"[check]", "[check, 'autogen-*']"}, {"[check]", "['??']"},
		{shapeMatch, "    any: []\n"}, {shapeMatch, "    any: [{}]\n"}, {shapeMatch, "    any: [{resources: {}}]\n"},
		{shapeMatch, shapeMatch + "    - {}\n"},
		{shapeMatch, "    any: [{clusterRoles: [cluster-admin]}]\n"},
		{shapeMatch, "    all: [{resources: {kinds: [Deployment]}}, {resources: {names: [web]}}]\n"},
		{shapeMatch, "    all: [{resources: {kinds: [Deployment]}}, {resources: {names: ['*']}}]\n"},
		{shapeMatch, "    all: [{resources: {kinds: [Deployment], names: [web]}}, {}]\n"},
		{shapeMatch, "    all: [{resources: {kinds: [Deployment], names: [web], namespaces: [kyverno]}}]\n"},
		{"        kinds: [Deployment]\n", ""}, {"[Deployment]", "[]"}, {"[Deployment]", "[Deployment, '*']"},
		{"        namespaces: [team-a]\n", ""}, {"        names: [web]\n", ""}, {"[web]", "['*']"},
		{shapeWho, ""}, {shapeWho, "        name: web\n"}, {shapeWho, "        name: '**'\n"}, {shapeWho, "        names: [web, '*']\n"}, {shapeWho, "        names: [web-*]\n"},
		{shapeWho, "        annotations: {exempt: please}\n"}, {shapeWho, "        operations: [CREATE]\n"},
		{shapeWho, "        selector: {}\n"}, {shapeWho, "        selector: {matchLabels: {app: web}}\n"}, {shapeWho, "        selector: {matchLabels: {'*': '*'}}\n"},
		{shapeWho, "        selector: {matchExpressions: [{key: a, operator: Exists}]}\n"}, {shapeWho, "        selector: {matchExpressions: [{key: a, operator: DoesNotExist}]}\n"},
		{shapeWho, "        namespaceSelector: {matchLabels: {team: a}}\n"}, {shapeWho, "        namespaceSelector: {}\n"},
		{"        kinds: [Deployment]\n" + shapeWho, "        kinds: [Namespace]\n        namespaceSelector: {matchLabels: {team: a}}\n"},
		{"        kinds: [Deployment]\n" + shapeWho, "        kinds: ['Name*']\n        name: kyverno\n"},
		{"        kinds: [Deployment]\n" + shapeWho, "        kinds: [Deployment]\n        name: kyverno\n"},
	},
	shapeNew: {
		{"/v1\n", "/v1beta1\n"}, {"/v1\n", "/v1alpha1\n"},
		{"  expiresAt: \"2026-06-08T12:00:00Z\"\n", ""},
		{"  namespace: team-a\nspec:\n", "  namespace: team-a\n  annotations: {polex.dev/reason: again, polex.dev/expires-at: \"2026-06-08T12:00:00Z\"}\nspec:\n"},
		{"  properties:\n    reason: no health endpoint\n", ""}, {"no health endpoint", `""`},
		{"  matchConditions:\n  - name: web\n    expression: object.metadata.name == 'web' && object.metadata.namespace == 'team-a'\n", ""},
		{"  matchConditions:\n  - name: web\n    expression: object.metadata.name == 'web' && object.metadata.namespace == 'team-a'\n", "  matchConditions: []\n"},
		{"object.metadata.name == 'web' &&", "object.metadata.namespace == 'kyverno' ||"},
		{"object.metadata.name == 'web' && object.metadata.namespace == 'team-a'", "'true'"},
		{"object.metadata.name == 'web' && object.metadata.namespace == 'team-a'", "' ( true ) '"},
		{"object.metadata.name == 'web'", "object.kind == 'PolicyException'"},
		{"object.metadata.name == 'web'", "request.resource.resource == \"policyexceptions\""},
		{"object.metadata.name == 'web'", "object.metadata.name == 'kyverno'"},
		{"kind: ValidatingPolicy", "kind: '*'"}, {"kind: ValidatingPolicy", "kind: '?alidatingPolicy'"},
	},
}
