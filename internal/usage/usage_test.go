package usage_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const (
	match     = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, namespace: ns}\nspec: {exceptions: [{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [Pod]}}]}}"
	condition = "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: a, namespace: ns}\nspec: {policyRefs: [{name: p, kind: ValidatingPolicy}], matchConditions: [{name: a, expression: \"object.kind == 'Pod'\"}]}"
	// scanned is the second of the results, and from that of the exceptions.
	scanned, from = 1000, 900
)

var pods = usage.Scope{Namespaces: []string{"team-*"}, Kinds: []string{"Pod", "Deployment"}, Names: []string{"*"}}

func of(t *testing.T, text string, scopes ...usage.Scope) usage.Exception {
	t.Helper()
	doc := must.Get(exception.Parse([]byte(text), "exception"))(t)
	return usage.Exception{Identity: doc.Identity(), Read: kyverno.Read(doc), Scopes: scopes, From: time.Unix(from, 0)}
}

// result returns a result of a background scan about a resource as Kyverno writes it.
func result(source, policy, rule, outcome, exceptions, about string) string {
	kind, name, _ := strings.Cut(about, " ")
	version := map[string]string{"Deployment": "apps/v1"}[kind]
	if version == "" {
		version = "v1"
	}
	namespace, bare, _ := strings.Cut(name, "/")
	return fmt.Sprintf(`{"source": %q, "policy": %q, "rule": %q, "result": %q, "timestamp": {"seconds": %d}, "properties": {"exceptions": %q, "process": "background scan"}, "resources": [{"apiVersion": %q, "kind": %q, "namespace": %q, "name": %q}]}`,
		source, policy, rule, outcome, scanned, exceptions, version, kind, namespace, bare)
}

func kyvernoResult(rule, outcome, exceptions, about string) string {
	return result("kyverno", "p", rule, outcome, exceptions, about)
}

func celResult(outcome, exceptions, about string) string {
	return result("KyvernoValidatingPolicy", "p", "exception", outcome, exceptions, about)
}

func report(t *testing.T, results ...string) (r usage.Report) {
	t.Helper()
	must.Do(t, json.Unmarshal([]byte(`{"results": [`+strings.Join(results, ",")+`]}`), &r))
	return r
}

func policySet(t *testing.T, rules string) *kyverno.PolicySet {
	doc, err := exception.Parse([]byte("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {rules: ["+rules+"]}"), "policy")
	must.Do(t, err)
	return kyverno.ReadPolicies([]*exception.Document{doc})
}

func TestUsages(t *testing.T) {
	const (
		rule  = "{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {deny: {}}}"
		other = "{name: rr, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {deny: {}}}"
	)
	for name, tc := range map[string]struct {
		edit     [2]string // of the exception
		text     string    // match, unless it says another
		results  []string
		policies string
		scope    string // another kind
		missing  string
		want     usage.State
		why      string
	}{
		"exempts":                       {results: []string{kyvernoResult("r", "skip", "a", "Pod team-a/x")}, want: usage.InUse},
		"among others":                  {results: []string{kyvernoResult("r", "skip", "b,a", "Pod team-a/x")}, want: usage.InUse},
		"counts as passed":              {text: condition, results: []string{celResult("pass", "a", "Pod team-a/x")}, want: usage.InUse},
		"of a generated rule":           {edit: [2]string{"[r]", "[r, autogen-r]"}, results: []string{kyvernoResult("autogen-r", "skip", "a", "Deployment team-a/x")}, want: usage.InUse},
		"a request alone":               {results: []string{strings.Replace(kyvernoResult("r", "skip", "a", "Pod team-a/x"), "background scan", "admission review", 1)}, want: usage.InUse},
		"idle":                          {results: []string{kyvernoResult("r", "fail", "", "Pod team-a/x")}, want: usage.Idle},
		"idle of the new API":           {text: condition, results: []string{celResult("fail", "", "Pod team-a/x")}, want: usage.Idle},
		"idle by a pattern":             {edit: [2]string{"[r]", "['r*']"}, results: []string{kyvernoResult("r", "fail", "", "Pod other/x")}, policies: rule, want: usage.Idle},
		"another name":                  {results: []string{kyvernoResult("r", "skip", "aa", "Pod team-a/x")}, want: usage.Idle},
		"another place":                 {results: []string{kyvernoResult("r", "skip", "a", "Pod other/x")}, want: usage.Idle},
		"another rule":                  {edit: [2]string{"[r]", "[r, s]"}, results: []string{kyvernoResult("r", "fail", "", "Pod team-a/x"), kyvernoResult("t", "skip", "a", "Pod team-a/x")}, want: usage.Unknown, why: "rule s of p"},
		"another policy":                {results: []string{result("kyverno", "q", "r", "skip", "a", "Pod team-a/x")}, want: usage.Unknown, why: "no report has a result of p"},
		"a Policy of the same name":     {results: []string{result("kyverno", "ns/p", "r", "skip", "a", "Pod team-a/x")}, want: usage.Unknown, why: "no report"},
		"the other API":                 {results: []string{celResult("skip", "a", "Pod team-a/x")}, want: usage.Unknown, why: "no report"},
		"another tool":                  {results: []string{result("trivy", "p", "r", "skip", "a", "Pod team-a/x")}, want: usage.Unknown, why: "no report"},
		"other kinds":                   {results: []string{kyvernoResult("r", "fail", "", "Service team-a/x")}, want: usage.Unknown, why: "for a resource of its kinds"},
		"a pattern without policies":    {edit: [2]string{"[r]", "['r*']"}, results: []string{kyvernoResult("r", "fail", "", "Pod team-a/x")}, want: usage.Unknown, why: "--policies"},
		"a pattern with a silent rule":  {edit: [2]string{"[r]", "['r*']"}, results: []string{kyvernoResult("r", "fail", "", "Pod team-a/x")}, policies: rule + ", " + other, want: usage.Unknown, why: "rule rr of p"},
		"one of two policies is silent": {edit: [2]string{"[{policyName: p, ruleNames: [r]}]", "[{policyName: p, ruleNames: [r]}, {policyName: q, ruleNames: [r]}]"}, results: []string{kyvernoResult("r", "fail", "", "Pod team-a/x")}, want: usage.Unknown, why: "result of q"},
		"older than the exception":      {results: []string{strings.Replace(kyvernoResult("r", "fail", "", "Pod team-a/x"), "1000", "899", 1)}, want: usage.Unknown, why: "older than the exception"},
		"scans elsewhere beside requests": {results: []string{strings.Replace(kyvernoResult("r", "fail", "", "Pod team-a/x"), "background scan", "admission review", 1),
			kyvernoResult("r", "pass", "", "Pod team-b/x")}, want: usage.Unknown, why: "requests only in team-a"},
		"scans beside requests": {results: []string{strings.Replace(kyvernoResult("r", "fail", "", "Pod team-a/x"), "background scan", "admission review", 1),
			kyvernoResult("r", "pass", "", "Pod team-a/y")}, want: usage.Idle},
		"requests alone":                   {results: []string{strings.Replace(kyvernoResult("r", "fail", "", "Pod team-a/x"), "background scan", "admission review", 1)}, want: usage.Unknown, why: "requests only"},
		"background: false":                {edit: [2]string{"spec: {", "spec: {background: false, "}, results: []string{kyvernoResult("r", "fail", "", "Pod team-a/x")}, want: usage.Unknown, why: "background is false"},
		"of users":                         {edit: [2]string{"[{resources", "[{subjects: [{kind: User, name: u}], resources"}, results: []string{kyvernoResult("r", "fail", "", "Pod team-a/x")}, want: usage.Unknown, why: "operations or users"},
		"of operations":                    {edit: [2]string{"kinds: [Pod]", "kinds: [Pod], operations: [CREATE]"}, results: []string{kyvernoResult("r", "fail", "", "Pod team-a/x")}, want: usage.Unknown, why: "operations or users"},
		"preconditions of users":           {edit: [2]string{"spec: {", "spec: {conditions: {any: [{key: '{{ request.userInfo.username }}', operator: Equals, value: a}]}, "}, results: []string{kyvernoResult("r", "fail", "", "Pod team-a/x")}, want: usage.Unknown, why: "operations or users"},
		"a condition about the old object": {text: condition, edit: [2]string{"object.kind", "oldObject.kind"}, results: []string{celResult("fail", "", "Pod team-a/x")}, want: usage.Unknown, why: "operations or users"},
		"of images":                        {text: condition, edit: [2]string{"spec: {", "spec: {images: [a], "}, results: []string{celResult("fail", "", "Pod team-a/x")}, want: usage.Unknown, why: "images or values"},
		"skipped before the exceptions":    {results: []string{kyvernoResult("r", "skip", "", "Pod team-a/x")}, want: usage.Unknown, why: "end before the exceptions"},
		"failed before the exceptions":     {results: []string{kyvernoResult("r", "error", "", "Pod team-a/x")}, want: usage.Unknown, why: "end before the exceptions"},
		"one of its scans is older":        {results: []string{strings.Replace(kyvernoResult("r", "fail", "", "Pod team-a/x"), "1000", "10", 1), kyvernoResult("r", "pass", "", "Pod other/y")}, want: usage.Unknown, why: "older than the exception"},
		"a scan elsewhere is older":        {results: []string{strings.Replace(kyvernoResult("r", "fail", "", "Pod other/x"), "1000", "10", 1), kyvernoResult("r", "pass", "", "Pod team-a/y")}, want: usage.Idle},
		"a subresource":                    {edit: [2]string{"kinds: [Pod]", "kinds: [Pod, Pod/exec]"}, scope: "Pod/exec", results: []string{kyvernoResult("r", "fail", "", "Pod team-a/x")}, want: usage.Unknown, why: "subresource"},
		"of the template of a controller":  {text: condition, results: []string{celResult("skip", "a", "Rollout team-a/x")}, want: usage.InUse},
		"a policy of its namespace":        {text: strings.Replace(condition, "ValidatingPolicy", "NamespacedValidatingPolicy", 1), results: []string{result("KyvernoValidatingPolicy", "team-a/p", "", "fail", "", "Pod team-a/x")}, want: usage.Idle},
		"a policy of another namespace":    {text: strings.Replace(condition, "ValidatingPolicy", "NamespacedValidatingPolicy", 1), results: []string{result("KyvernoValidatingPolicy", "other/p", "", "fail", "", "Pod other/x")}, want: usage.Unknown, why: "of its kinds"},
		"patterns of generated rules":      {edit: [2]string{"[r]", "['autogen-*']"}, results: []string{kyvernoResult("autogen-r", "fail", "", "Deployment team-a/x")}, policies: rule, want: usage.Idle},
		"a pattern of no rule":             {edit: [2]string{"[r]", "['x*']"}, results: []string{kyvernoResult("r", "fail", "", "Pod team-a/x")}, policies: rule, want: usage.Unknown, why: "names no rule"},
		"no reports":                       {missing: "the cluster has no policy reports", want: usage.Unknown, why: "the cluster has no policy reports"},
	} {
		t.Run(name, func(t *testing.T) {
			text := tc.text
			if text == "" {
				text = match
			}
			edited := strings.Replace(text, tc.edit[0], tc.edit[1], 1)
			must.That(t, tc.edit[0] == "" || edited != text, "the edit has no effect")
			scope := pods
			if tc.scope != "" {
				scope.Kinds = append(slices.Clone(scope.Kinds), tc.scope)
			}
			r := usage.NewReports([]usage.Exception{of(t, edited, scope)})
			r.Missing = tc.missing
			if tc.policies != "" {
				r.Policies = policySet(t, tc.policies)
			}
			must.Do(t, r.Add(report(t, append(tc.results, result("kyverno", "of-others", "x", "pass", "", "ConfigMap other/x"))...)))
			u := r.Usages()[0]
			expect.That(t, u.State == tc.want && strings.Contains(u.Why, tc.why) && (tc.why == "") == (u.Why == ""), "%+v", u)
			if known := u.State != usage.Unknown; known != u.KnownSince.Equal(time.Unix(scanned, 0)) || (u.Resources > 0) != (u.State == usage.InUse) {
				t.Errorf("%+v", u)
			}
		})
	}
}

// TestFailuresOnly: Kyverno can be told to report failures only. Then no report shows its skipped resources.
func TestFailuresOnly(t *testing.T) {
	r := usage.NewReports([]usage.Exception{of(t, match, pods)})
	must.Do(t, r.Add(report(t, kyvernoResult("r", "fail", "", "Pod team-a/x"))))
	u := r.Usages()[0]
	expect.That(t, u.State == usage.Unknown && strings.Contains(u.Why, "failures only"), "%+v", u)
}

// TestOneName: a result names no namespace. It counts for each exception of that name that can be meant.
func TestOneName(t *testing.T) {
	scope := func(namespace string) usage.Scope {
		return usage.Scope{Namespaces: []string{namespace}, Kinds: []string{"*"}, Names: []string{"*"}}
	}
	one := of(t, match, scope("team-a"))
	r := usage.NewReports([]usage.Exception{one, of(t, strings.Replace(match, "namespace: ns", "namespace: m", 1), scope("team-b")), of(t, strings.Replace(match, "namespace: ns", "namespace: o", 1), scope("team-?"))})
	must.Do(t, r.Add(report(t, kyvernoResult("r", "skip", "a", "Pod team-a/x"), kyvernoResult("r", "skip", "a", "Pod team-a/y"), kyvernoResult("r", "fail", "", "Pod team-a/x"))))
	var got []string
	for _, u := range r.Usages() {
		got = append(got, fmt.Sprint(u.State, u.First))
	}
	expect.Equal(t, "result",
		[]string{"in-use[Pod team-a/x Pod team-a/y]", "idle[]", "in-use[Pod team-a/x Pod team-a/y]"}, got)
}

// TestScope: the scope of a report counts if a result names no resource, and a Namespace is in itself.
func TestScope(t *testing.T) {
	r := usage.NewReports([]usage.Exception{of(t, match, usage.Scope{Namespaces: []string{"team-a"}, Kinds: []string{"Namespace"}, Names: []string{"*"}})})
	whole := report(t, kyvernoResult("r", "skip", "a", "Pod team-a/x"))
	whole.Results[0].Resources, whole.Scope = nil, &usage.Resource{APIVersion: "v1", Kind: "Namespace", Name: "team-a"}
	must.Do(t, r.Add(whole))
	u := r.Usages()[0]
	expect.That(t, u.State == usage.InUse && u.First[0] == "Namespace team-a", "%+v", u)
}

// TestReportOfAnotherNamespace: who may write reports in one namespace decides nothing about resources of others.
func TestReportOfAnotherNamespace(t *testing.T) {
	for _, about := range []string{kyvernoResult("r", "skip", "a", "Pod team-a/x"), kyvernoResult("r", "fail", "", "Pod team-a/x")} {
		for namespace, want := range map[string]bool{"": true, "team-a": true, "team-b": false} {
			r := usage.NewReports([]usage.Exception{of(t, match, pods)})
			forged := report(t, about)
			forged.Metadata.Namespace = namespace
			must.Do(t, r.Add(forged))
			must.Do(t, r.Add(report(t, result("kyverno", "of-others", "x", "pass", "", "ConfigMap other/x"))))
			u := r.Usages()[0]
			expect.That(t, (u.State != usage.Unknown) == want, "in %q: %+v", namespace, u)
		}
	}
}

// TestText: a report of somebody else can lack the names.
func TestText(t *testing.T) {
	for _, state := range append(usage.States(), "other") {
		_ = usage.Usage{State: state, Resources: 1}.Text()
	}
}

// TestManyNames: names count once, and only those of exceptions.
func TestManyNames(t *testing.T) {
	r := usage.NewReports([]usage.Exception{of(t, match, pods)})
	many := report(t, kyvernoResult("r", "skip", strings.Repeat("a,b,", 50_000), "Pod team-a/x"))
	for range 11 {
		many.Results[0].Resources = append(many.Results[0].Resources, many.Results[0].Resources...)
	}
	if err := r.Add(many); err != nil || r.Usages()[0].Resources != 1 {
		t.Errorf("%+v, %v", r.Usages()[0], err)
	}
}

func TestTooManyResults(t *testing.T) {
	r := usage.NewReports(nil)
	expect.That(t, r.Add(usage.Report{Results: make([]usage.Result, 1_000_001)}) != nil, "all are read")
}

func policy(text string) map[string]any {
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		panic(err)
	}
	return object
}

const (
	validates    = `{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"}, "spec": {"rules": [{"name": "r", "validate": {"deny": {}}}]}}`
	celValidates = `{"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy", "metadata": {"name": "p"}, "spec": {"validations": [{"expression": "true"}]}}`
)

func TestJudge(t *testing.T) {
	twoUsed := []string{kyvernoResult("r", "skip", "a", "Pod team-a/x"), kyvernoResult("r", "skip", "a", "Pod team-a/y")}
	for name, tc := range map[string]struct {
		text, policy string // match and validates, unless they say others
		used, judged []string
		want         usage.State
		why          string
	}{
		"all pass":                  {used: twoUsed, judged: []string{kyvernoResult("r", "pass", "", "Pod team-a/x"), kyvernoResult("r", "pass", "", "Pod team-a/y")}, want: usage.NotNeeded},
		"one fails":                 {used: twoUsed, judged: []string{kyvernoResult("r", "pass", "", "Pod team-a/x"), kyvernoResult("r", "fail", "", "Pod team-a/y")}, want: usage.InUse},
		"one passes and fails":      {used: twoUsed[:1], judged: []string{kyvernoResult("r", "fail", "", "Pod team-a/x"), kyvernoResult("r", "pass", "", "Pod team-a/x")}, want: usage.InUse},
		"an error":                  {used: twoUsed[:1], judged: []string{kyvernoResult("r", "error", "", "Pod team-a/x")}, want: usage.InUse},
		"skipped":                   {used: twoUsed[:1], judged: []string{kyvernoResult("r", "skip", "", "Pod team-a/x")}, want: usage.InUse},
		"one is not judged":         {used: twoUsed, judged: []string{kyvernoResult("r", "pass", "", "Pod team-a/x")}, want: usage.InUse, why: "did not judge all"},
		"another rule":              {used: twoUsed[:1], judged: []string{kyvernoResult("s", "pass", "", "Pod team-a/x")}, want: usage.InUse, why: "did not judge all"},
		"the new API":               {text: condition, policy: celValidates, used: []string{celResult("skip", "a", "Pod team-a/x")}, judged: []string{result("KyvernoValidatingPolicy", "p", "", "pass", "", "Pod team-a/x")}, want: usage.NotNeeded},
		"a rule that mutates":       {policy: strings.Replace(validates, "validate", "mutate", 1), used: twoUsed[:1], judged: []string{kyvernoResult("r", "pass", "", "Pod team-a/x")}, want: usage.InUse, why: "more than validate"},
		"it asks the cluster":       {policy: strings.Replace(validates, `"validate"`, `"context": [{"name": "c", "apiCall": {"urlPath": "/x"}}], "validate"`, 1), used: twoUsed[:1], judged: []string{kyvernoResult("r", "pass", "", "Pod team-a/x")}, want: usage.InUse, why: "reads more than the resource"},
		"CEL asks the cluster":      {text: condition, policy: strings.Replace(celValidates, "true", "resource.List('v1', 'pods', 'a').items.size() < 3", 1), used: []string{celResult("skip", "a", "Pod team-a/x")}, judged: []string{celResult("pass", "", "Pod team-a/x")}, want: usage.InUse, why: "reads more"},
		"it verifies images":        {text: strings.Replace(condition, "ValidatingPolicy", "ImageValidatingPolicy", 1), policy: strings.Replace(celValidates, "ValidatingPolicy", "ImageValidatingPolicy", 1), used: []string{result("KyvernoImageValidatingPolicy", "p", "", "skip", "a", "Pod team-a/x")}, judged: []string{result("KyvernoImageValidatingPolicy", "p", "", "pass", "", "Pod team-a/x")}, want: usage.InUse, why: "does not validate"},
		"CEL asks, in two lines":    {text: condition, policy: strings.Replace(celValidates, "true", `resource\n  .List('v1', 'pods', 'a').items.size() < 3`, 1), used: []string{celResult("skip", "a", "Pod team-a/x")}, judged: []string{celResult("pass", "", "Pod team-a/x")}, want: usage.InUse, why: "reads more"},
		"it asks for the time":      {policy: strings.Replace(validates, `"deny": {}`, `"deny": {"conditions": {"any": [{"key": "{{ time_now_utc() }}"}]}}`, 1), used: twoUsed[:1], judged: []string{kyvernoResult("r", "pass", "", "Pod team-a/x")}, want: usage.InUse, why: "reads more"},
		"a policy of another group": {policy: strings.Replace(validates, "kyverno.io/v1", "example.com/v1", 1), used: twoUsed[:1], want: usage.InUse, why: "did not judge all"},
		"it is about requests":      {text: strings.Replace(match, "spec: {", "spec: {background: false, ", 1), used: twoUsed[:1], judged: []string{kyvernoResult("r", "pass", "", "Pod team-a/x")}, want: usage.InUse, why: "background is false"},
		"it is about images":        {text: strings.Replace(condition, "spec: {", "spec: {images: [a], ", 1), policy: celValidates, used: []string{celResult("skip", "a", "Pod team-a/x")}, judged: []string{celResult("pass", "", "Pod team-a/x")}, want: usage.InUse, why: "images or values"},
		"idle stays idle":           {used: []string{kyvernoResult("r", "pass", "", "Pod team-a/x")}, judged: []string{kyvernoResult("r", "pass", "", "Pod team-a/x")}, want: usage.Idle},
	} {
		t.Run(name, func(t *testing.T) {
			text, object := tc.text, tc.policy
			if text == "" {
				text = match
			}
			if object == "" {
				object = validates
			}
			r := usage.NewReports([]usage.Exception{of(t, text, pods)})
			must.Do(t, r.Add(report(t, tc.used...)))
			before := r.Usages()[0]
			if asked := len(r.Judged([]map[string]any{policy(object)})); (asked == 0) != regexp.MustCompile("more|does").MatchString(tc.why) {
				t.Errorf("%d policies are asked", asked)
			}
			r.Judge(report(t, tc.judged...).Results)
			u := r.Usages()[0]
			if u.State != tc.want || !strings.Contains(u.Why, tc.why) || (tc.why == "") != (u.Why == "") || u.Resources != before.Resources {
				t.Errorf("%+v", u)
			}
		})
	}
}

// audit returns a report of polex-audit about one exception.
func audit(at time.Time, inCluster, digest string, u usage.Usage) string {
	raw, err := json.Marshal(u)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"apiVersion": "polex.dev/v1alpha1", "kind": "Ledger", "asOf": %q, "cluster": {"objects": 1}, "entries": [{"object": "PolicyException.kyverno.io ns/a", "inCluster": %q, "signing": {"messageDigest": %q}, "usage": %s}]}`, at.Format(time.RFC3339), inCluster, digest, raw)
}

func TestAudit(t *testing.T) {
	now := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	id := of(t, match).Identity
	of := func(state usage.State) string { return audit(now, "same", "sha256:a", usage.Usage{State: state}) }
	for name, tc := range map[string]struct {
		reports []string
		unused  bool
		fails   string
	}{
		"idle":                            {reports: []string{of(usage.Idle)}, unused: true},
		"not needed":                      {reports: []string{of(usage.NotNeeded)}, unused: true},
		"in use":                          {reports: []string{of(usage.InUse)}},
		"unknown":                         {reports: []string{of(usage.Unknown)}},
		"idle in two clusters":            {reports: []string{of(usage.Idle), of(usage.NotNeeded)}, unused: true},
		"used in the second":              {reports: []string{of(usage.Idle), of(usage.InUse)}},
		"used in the first":               {reports: []string{of(usage.InUse), of(usage.Idle)}},
		"another form used in the second": {reports: []string{of(usage.Idle), audit(now, "other", "sha256:b", usage.Usage{State: usage.InUse})}},
		"another form":                    {reports: []string{audit(now, "same", "sha256:b", usage.Usage{State: usage.Idle})}},
		"another form in the cluster":     {reports: []string{audit(now, "other", "sha256:a", usage.Usage{State: usage.Idle})}},
		"a week old":                      {reports: []string{audit(now.Add(-7*24*time.Hour), "same", "sha256:a", usage.Usage{State: usage.Idle})}, unused: true},
		"older":                           {reports: []string{audit(now.Add(-7*24*time.Hour-time.Second), "same", "sha256:a", usage.Usage{State: usage.Idle})}, fails: "not older than a week"},
		"from the future":                 {reports: []string{audit(now.Add(time.Second), "same", "sha256:a", usage.Usage{State: usage.Idle})}, fails: "not older than a week"},
		"unknown in the second":           {reports: []string{of(usage.Idle), strings.Replace(of(usage.Idle), `"usage"`, `"u"`, 1)}},
		"missing in the second":           {reports: []string{of(usage.Idle), strings.NewReplacer(`"usage"`, `"u"`, `"same"`, `"missing"`).Replace(of(usage.Idle))}, unused: true},
		"unreadable in the cluster":       {reports: []string{strings.Replace(of(usage.Idle), `"entries"`, `"findings": [{"kind": "cluster-unreadable"}], "entries"`, 1)}, fails: "could not be read"},
		"without a cluster":               {reports: []string{strings.Replace(of(usage.Idle), `"cluster"`, `"c"`, 1)}, fails: "nothing about a cluster"},
		"another document":                {reports: []string{strings.Replace(of(usage.Idle), "Ledger", "Report", 1)}, fails: "not a report of polex-audit"},
		"no JSON":                         {reports: []string{"a"}, fails: "not a report in JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &usage.Audit{}
			for _, raw := range tc.reports {
				if err := a.Add([]byte(raw), now); (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
					t.Fatal(err)
				}
			}
			u := a.Unused(id, "sha256:a")
			expect.That(t, (u != nil) == tc.unused, "%+v", u)
			expect.That(t, a.Unused(id, "") == nil && a.Unused(exception.Identity{Name: "b"}, "sha256:a") == nil,
				"it is about every exception")
		})
	}
}
