//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// verdicts has the verdicts of the servers and of polex about a sample.
type verdicts struct {
	sample
	real string // the rejection by the API server or a webhook, or ""
	kept []byte // the object that the API server would store, unless it rejects
	ours []shape.Finding
}

// TestAgreement compares polex with the servers over the whole corpus. If the servers admit a sample that polex
// rejects, the reason must be in the list strictness. If they reject one that polex admits, the test fails.
func TestAgreement(t *testing.T) {
	samples := corpus(t)
	must.That(t, len(samples) >= 200, "%d samples are too few", len(samples))
	agreed := agreement{stricter: map[string]int{}, used: map[string]bool{}, sources: map[string]*source{}}
	for _, v := range judge(t, samples) {
		agreed.count(t, v)
		keptAsWritten(t, v)
	}
	for i := range strictness {
		key := strictness[i].key()
		expect.That(t, agreed.used[key], "polex is nowhere stricter by %s: take it off the list", key)
	}
	page := must.Get(os.ReadFile("../../docs/explanation/interop.md"))(t)
	for _, s := range strictness {
		expect.That(t, strings.Contains(string(page), "| "+s.why+" |"), "docs/explanation/interop.md does not say: %s", s.why)
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
	checker := must.Get(shape.New(shape.Config{Rules: policyfile.Rules{Unbounded: true}}))(t)
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
	must.Do(t, asking.Wait())
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

// TestDocumented: the servers and polex admit the examples in Kyverno's guide. Both reject its misprints.
func TestDocumented(t *testing.T) {
	for _, v := range judge(t, fixtures(t, "documented")) {
		expect.That(t, v.real == "" && len(v.ours) == 0,
			"%s: refused by the servers (%s) or by polex (%v)", v.name, v.real, v.ours)
	}
	for _, v := range judge(t, fixtures(t, "misprinted")) {
		expect.That(t, v.real != "" && len(v.ours) != 0,
			"%s: admitted by the servers or by polex: %q, %v", v.name, v.real, v.ours)
	}
}

// agreement counts the results.
type agreement struct {
	source           // of all
	byKyverno, laxer int
	stricter         map[string]int     // by all reasons of a document
	used             map[string]bool    // of strictness
	sources          map[string]*source // by the origin of the documents
}

// source counts the documents from one origin.
type source struct{ documents, admitted, refused int }

func (s *source) String() string {
	agreed := s.admitted + s.refused
	return fmt.Sprintf("%d documents, %d agreed (%.1f%%: %d admitted, %d refused)", s.documents, agreed, 100*float64(agreed)/float64(s.documents), s.admitted, s.refused)
}

func (a *agreement) count(t *testing.T, v verdicts) {
	from, _, _ := strings.Cut(v.name, "/")
	if a.sources[from] == nil {
		a.sources[from] = &source{}
	}
	both := []*source{&a.source, a.sources[from]}
	for _, s := range both {
		s.documents++
	}
	switch {
	case v.real == "" && len(v.ours) == 0:
		for _, s := range both {
			s.admitted++
		}
	case v.real != "" && len(v.ours) > 0:
		for _, s := range both {
			s.refused++
		}
		if strings.Contains(v.real, "admission webhook") {
			a.byKyverno++
		}
	case v.real != "":
		a.laxer++
		t.Errorf("%s\npolex admits what the servers refuse: %s", v.name, v.real)
	default:
		a.countStricter(t, v)
	}
}

func (a *agreement) countStricter(t *testing.T, v verdicts) {
	reasons := map[string]bool{}
	for _, f := range v.ours {
		s := stricterBy(f)
		if s == nil {
			t.Errorf("%s\nthe servers admit what polex refuses: %s: %s: %s", v.name, f.Path, f.Message, f.Reason)
			return
		}
		reasons[s.key()], a.used[s.key()] = true, true
	}
	a.stricter[strings.Join(slices.Sorted(maps.Keys(reasons)), " and ")]++
}

func (a *agreement) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s; %d refused by Kyverno's webhook, %d laxer\n", a.source.String(), a.byKyverno, a.laxer)
	for _, from := range slices.Sorted(maps.Keys(a.sources)) {
		fmt.Fprintf(&out, "%-12s %s\n", from, a.sources[from])
	}
	for _, reason := range slices.Sorted(maps.Keys(a.stricter)) {
		fmt.Fprintf(&out, "stricter by %-60s %d\n", reason, a.stricter[reason])
	}
	return out.String()
}

// keptAsWritten compares a sample with the object that the API server would store. If polex admits
// an exception, both must be equal: the guard compares them, and an attacker could use a silently
// dropped value. If polex rejects it because of a dropped value, they must differ.
func keptAsWritten(t *testing.T, v verdicts) {
	t.Helper()
	claimed := claimsADrop(v.ours)
	if v.real != "" || len(v.ours) > 0 && !claimed {
		return
	}
	written, err := exception.Parse(v.text, v.name)
	must.That(t, err == nil, "%s: %v", v.name, err)
	kept, err := exception.Parse(v.kept, v.name)
	must.That(t, err == nil, "%s: the API server's answer: %v", v.name, err)
	diff := cmp.Diff(authored(written), authored(kept))
	switch {
	case !claimed && diff != "":
		t.Errorf("%s: the API server would store something else (-written +stored):\n%s", v.name, diff)
	case claimed && diff == "":
		t.Errorf("%s: polex says that something is dropped, and nothing is: %v", v.name, v.ours)
	}
}

// authored returns an exception's tree without the API server's additions: the record of its
// creation, and the default of reportResult.
func authored(d *exception.Document) map[string]any {
	tree := d.Object()
	if metadata, isMapping := tree["metadata"].(map[string]any); isMapping {
		for _, added := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"} {
			delete(metadata, added)
		}
	}
	if spec, isMapping := tree["spec"].(map[string]any); isMapping && d.GroupKind().Group == exception.PoliciesGroup {
		if _, said := spec["reportResult"]; !said {
			spec["reportResult"] = "skip"
		}
	}
	return tree
}

// claimsADrop reports whether polex's only findings are dropped values.
func claimsADrop(found []shape.Finding) bool {
	for _, f := range found {
		dropped := f.Reason == schema.NullValue ||
			f.Reason == schema.EmptyValue && (f.Path.String() == "metadata.labels" || f.Path.String() == "metadata.annotations")
		if !dropped {
			return false
		}
	}
	return len(found) > 0
}

// reasonSyntax is for documents that polex's strict reader rejects.
const reasonSyntax = "syntax"

// mirrored are the findings, besides those of the schema, about properties that the servers check too.
var mirrored = []string{
	schema.UnknownVersion,
	shape.ReasonBadExpression,
	shape.ReasonNotAnException,
	shape.ReasonNamesNothing,
	shape.ReasonBackgroundUserInfo,
	shape.ReasonBadUserInfo,
	shape.ReasonBadSelector,
	shape.ReasonBadPodSecurity,
	shape.ReasonUnknownPolicyKind,
}

// stricter is one way in which polex rejects documents that the servers admit.
type stricter struct {
	reason string
	path   *regexp.Regexp // of the finding; nil for any
	why    string
	says   *regexp.Regexp // the finding's message; nil for any
}

func (s *stricter) key() string {
	key := s.reason
	if s.path != nil {
		key += " at " + s.path.String()
	}
	if s.says != nil {
		key += " that says " + s.says.String()
	}
	return key
}

func (s *stricter) permits(f shape.Finding) bool {
	return s.reason == f.Reason && (s.path == nil || s.path.MatchString(f.Path.String())) && (s.says == nil || s.says.MatchString(f.Message))
}

var conditionText = regexp.MustCompile(`^spec\.matchConditions\[[0-9]+\]\.expression$`)

// strictness lists all of them. The test fails if no sample needs an entry.
var strictness = []stricter{
	{reasonSyntax, nil, "the API server accepts it, but a reviewer or another YAML reader reads it differently or not at all", nil},
	{schema.InvalidValue, regexp.MustCompile(`^spec\.conditions\.(any|all)\[[0-9]+\]\.(key|value)`), "the API server returns a whole number that is written as a fraction as an integer", nil},
	{schema.InvalidValue, regexp.MustCompile(`^spec\.expiresAt$`), "several tools read the expiry, and all of them read RFC 3339 alike; no exception is older than 1970", nil},
	{schema.NullValue, nil, "the API server drops the null, so the live object would differ from the signed one", nil},
	{schema.UnsignableField, nil, "the API server or a controller sets the field, not the author", nil},
	{schema.EmptyValue, regexp.MustCompile(`^metadata\.(labels|annotations)$`), "the API server drops the empty mapping, so the live object would differ from the signed one", nil},
	{schema.EmptyValue, regexp.MustCompile(`^metadata\.namespace$`), "the same as for a missing namespace", nil},
	{schema.MissingField, regexp.MustCompile(`^metadata\.namespace$`), "the deployer would choose the namespace, not the reviewed file", nil},
	{shape.ReasonNamesNothing, nil, "the servers store an exception without a policy, and somebody can add one later", nil},
	{shape.ReasonBadSelector, regexp.MustCompile(`\.namespaceSelector`), "Kyverno checks the selector only when it matches a resource; an invalid one then matches nothing or everything", nil},
	{shape.ReasonBadSelector, regexp.MustCompile(`\.selector\.matchExpressions`), "Kyverno does not check the expressions if matchLabels has a pattern; the selector then matches nothing", nil},
	{shape.ReasonUnknownPolicyKind, nil, "the servers store the exception, but it exempts nothing", nil},
	{shape.ReasonBadExpression, conditionText, "it is longer than polex reads; otherwise the author of an exception could make polex read for any length of time", regexp.MustCompile("it has [0-9]+ characters, and 10240 are allowed$")},
	{shape.ReasonBadExpression, conditionText, "it is nested deeper than polex reads; some deep expressions that the servers admit take Kyverno's webhook seconds", regexp.MustCompile("recursion (limit|depth) exceeded")},
	{shape.ReasonBadExpression, conditionText, "it ends in a comment, and Kyverno appends a parenthesis to it in the policies that it generates", regexp.MustCompile("^the condition ends in a comment")},
}

// stricterBy returns the entry that permits a finding, or nil.
func stricterBy(f shape.Finding) *stricter {
	for i := range strictness {
		if strictness[i].permits(f) {
			return &strictness[i]
		}
	}
	return nil
}
