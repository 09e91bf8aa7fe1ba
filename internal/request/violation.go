package request

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/pkg/exception"
)

// MaxViolations is the maximum number of violations in one call. Nobody can review more requests,
// and reports are untrusted.
const MaxViolations = 10_000

// longestQuote is the maximum number of characters of a quote in a message.
const longestQuote = 100

// Violation is one rule that one resource violates.
type Violation struct {
	Policy string // name, or namespace/name
	// PolicyKind is ClusterPolicy, ValidatingPolicy and so on, or "" if the source does not contain
	// it.
	PolicyKind string
	Rule       string // for kyverno.io; "" for policies.kyverno.io
	Resource   Resource
	Message    string // untrusted, for people
	// Controls are the violated controls of the Pod Security Standards, if the source contains
	// them.
	Controls []Control
	// Unsure means that the source may not state this policy and rule: the policies must have them.
	Unsure   bool
	Position exception.Position // in the source
}

// Resource identifies one object of a cluster.
type Resource struct {
	APIVersion string // "v1", "apps/v1"; may be "" for Pods and their controllers
	Kind       string
	Namespace  string // "" for cluster-wide resources
	Name       string
}

// String returns "Kind namespace/name".
func (r Resource) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// Problem is a violation without a draft, and the reason.
type Problem struct {
	Reason    string // one of [Reasons]
	Violation Violation
	Message   string // quotes untrusted text
	Hint      string
}

// problem makes a problem with a violation.
func problem(reason string, v Violation, hint, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Violation: v, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// Forms of names. They allow no wildcards, so a name in a report cannot become a pattern in an
// exception.
var (
	apiVersionForm = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?` +
		`v[0-9]{1,3}((alpha|beta)[0-9]{1,3})?$`)
	kindForm      = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
	labelForm     = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	nameForm      = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.:_-]{0,251}[A-Za-z0-9])?$`)
	subdomainForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	policyForm    = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?/)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	ruleForm      = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9 ._/:()-]{0,61}[A-Za-z0-9.)])?$`)
)

// subresourceKinds are kinds of requests for a part of an object. An exception must name the object
// and its subresource.
var subresourceKinds = []string{"Scale", "Eviction", "Binding", "TokenRequest", "PodExecOptions", "PodAttachOptions",
	"PodPortForwardOptions", "PodProxyOptions", "ServiceProxyOptions", "NodeProxyOptions"}

// wellFormed returns a problem for an invalid name in a violation, or nil.
func (v *Violation) wellFormed() *Problem {
	if v.Resource == (Resource{}) {
		return problem(ReasonObjectNeeded, *v,
			"name it with --about KIND/NAMESPACE/NAME, or give its manifest: --resources",
			"the source does not state which resource violates policy %q", plain.Cut(v.Policy, longestQuote))
	}
	if slices.Contains(subresourceKinds, v.Resource.Kind) {
		return problem(ReasonSubresource, *v, "write the exception by hand, for KIND/SUBRESOURCE",
			"%s is a request for a subresource, and the source does not state the kind of the object", v.Resource.Kind)
	}
	if v.Resource.APIVersion == "" && kindForm.MatchString(v.Resource.Kind) {
		return problem(ReasonObjectNeeded, *v, "give the manifest: --resources",
			"the source does not state which API group %q is of", v.Resource.Kind)
	}
	for _, field := range []struct {
		what, text string
		form       *regexp.Regexp
		optional   bool
	}{
		{"policy", v.Policy, policyForm, false},
		{"rule", v.Rule, ruleForm, true},
		{"kind", v.Resource.Kind, kindForm, false},
		{"API version", v.Resource.APIVersion, apiVersionForm, false},
		{"namespace", v.Resource.Namespace, labelForm, true},
		{"name of the resource", v.Resource.Name, nameForm, false},
	} {
		if field.optional && field.text == "" || field.form.MatchString(field.text) {
			continue
		}
		hint := "write the exception by hand if the name is real"
		if field.text == "" {
			hint = "name it with --policy, --rule or --about KIND/NAMESPACE/NAME, or give a source that does"
		}
		return problem(ReasonBadName, *v, hint, "%q is not a %s that an exception could name exactly",
			plain.Cut(field.text, longestQuote), field.what)
	}
	return nil
}

// Selection selects violations. An empty field selects all.
type Selection struct {
	Policy, Rule, Namespace string
	Resource                Resource
}

// Selects reports whether the selection has a violation.
func (s Selection) Selects(v Violation) bool {
	r, want := v.Resource, s.Resource
	switch {
	case s.Policy != "" && s.Policy != v.Policy, s.Rule != "" && s.Rule != v.Rule:
		return false
	case s.Namespace != "" && s.Namespace != r.Namespace:
		return false
	case want == Resource{}:
		return true
	case want.APIVersion != "" && r.APIVersion != "" && groupOf(want) != groupOf(r):
		return false
	}
	return want.Kind == r.Kind && want.Namespace == r.Namespace && want.Name == r.Name
}

func groupOf(r Resource) string { return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).Group }

var resourceForm = regexp.MustCompile(`^([A-Z][A-Za-z0-9]*)((?:\.[a-z0-9-]+)*)/(?:([a-z0-9-]+)/)?([A-Za-z0-9.:_-]+)$`)

// ParseResource parses KIND[.GROUP]/[NAMESPACE/]NAME. The version of the API group does not matter,
// because an exception applies to all versions.
func ParseResource(text string) (Resource, error) {
	parts := resourceForm.FindStringSubmatch(text)
	if parts == nil {
		return Resource{}, fmt.Errorf("%q is not written as KIND[.GROUP]/[NAMESPACE/]NAME", text)
	}
	r := Resource{Kind: parts[1], Namespace: parts[3], Name: parts[4]}
	if parts[2] != "" {
		r.APIVersion = strings.TrimPrefix(parts[2], ".") + "/v1"
	}
	return r, nil
}

// The reasons for a violation without a draft.
const (
	ReasonBadName       = "bad-name"
	ReasonUnknownPolicy = "unknown-policy"
	ReasonUnknownRule   = "unknown-rule"
	ReasonPolicyNeeded  = "policy-needed"
	ReasonObjectNeeded  = "manifest-needed"
	ReasonSubresource   = "subresource"
	ReasonNoHome        = "no-namespace"
	ReasonNotAReport    = "not-a-report"
	ReasonTooMany       = "too-many"
	ReasonNotRenewable  = "not-renewable"
)

// Reasons lists every reason of a [Problem].
func Reasons() []exception.Reason {
	return []exception.Reason{
		{Name: ReasonBadName, Doc: "a name in the source is invalid"},
		{Name: ReasonUnknownPolicy, Doc: "there is no such policy among those given"},
		{Name: ReasonUnknownRule, Doc: "the policy has no such rule"},
		{Name: ReasonPolicyNeeded, Doc: "the source does not say enough of the policy, and the policies are not given"},
		{Name: ReasonObjectNeeded,
			Doc: "the source does not say enough of the resource, and its manifest is not given"},
		{Name: ReasonSubresource,
			Doc: "the request was for a part of an object, and the source does not say of which kind"},
		{Name: ReasonNoHome, Doc: "it is not said which namespace the exception is to live in"},
		{Name: ReasonNotAReport, Doc: "the document is not a policy report"},
		{Name: ReasonTooMany, Doc: "there are more violations than are taken in at once"},
		{Name: ReasonNotRenewable, Doc: "the exception cannot be renewed as it is"},
	}
}
