package request

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/pkg/exception"
)

// MaxViolations is how many violations one call takes in. More is an error: no
// person reviews so many requests, and a report is anybody's to write.
const MaxViolations = 10_000

// longestQuote is the most characters of a text that a message quotes.
const longestQuote = 100

// Violation is one rule that one resource did not pass.
type Violation struct {
	Policy string // name, or namespace/name
	// PolicyKind is ClusterPolicy, ValidatingPolicy and so on, where the source
	// says it, or "".
	PolicyKind string
	Rule       string // of kyverno.io; "" for policies.kyverno.io
	Resource   Resource
	Message    string // untrusted, for people
	// Controls are those of the Pod Security Standards that did not pass, where
	// the source says so.
	Controls []Control
	Position exception.Position // in the source
}

// Resource names one object of a cluster.
type Resource struct {
	APIVersion string // "v1", "apps/v1"; may be "" for the kinds of Pods and their controllers
	Kind       string
	Namespace  string // "" for what is in none
	Name       string
}

// String returns "Kind namespace/name".
func (r Resource) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// Problem is a violation that no exception is drafted for, and why.
type Problem struct {
	Reason    string // one of [Reasons]
	Violation Violation
	Message   string // untrusted text quoted
	Hint      string
}

// Forms of names. A wildcard is in none of them: what a report calls a name must
// not become a pattern in an exception.
var (
	apiVersionForm = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?v[0-9]{1,3}((alpha|beta)[0-9]{1,3})?$`)
	kindForm       = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
	labelForm      = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	nameForm       = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.:_-]{0,251}[A-Za-z0-9])?$`)
	subdomainForm  = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	policyForm     = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?/)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	ruleForm       = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9 ._/:()-]{0,61}[A-Za-z0-9.)])?$`)
)

// subresourceKinds are the kinds of Kubernetes that are no objects of their own: an
// exception names the object, and what of it.
var subresourceKinds = []string{"Scale", "Eviction", "Binding", "TokenRequest", "PodExecOptions", "PodAttachOptions", "PodPortForwardOptions", "PodProxyOptions", "ServiceProxyOptions", "NodeProxyOptions"}

// wellFormed says what is no name in a violation, or nothing.
func (v *Violation) wellFormed() *Problem {
	if v.Resource.APIVersion == "" && kindForm.MatchString(v.Resource.Kind) {
		return &Problem{Reason: ReasonObjectNeeded, Violation: *v, Message: fmt.Sprintf("the source does not say which API group %q is of", v.Resource.Kind), Hint: "give the manifest: --resources"}
	}
	if slices.Contains(subresourceKinds, v.Resource.Kind) {
		return &Problem{Reason: ReasonSubresource, Violation: *v, Message: fmt.Sprintf("%s is how a part of another object is written, and the source does not say of which kind that is", v.Resource.Kind),
			Hint: "write the exception by hand, for KIND/SUBRESOURCE"}
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
			hint = "name it, or give a source that does"
		}
		return &Problem{Reason: ReasonBadName, Violation: *v, Message: fmt.Sprintf("%q is no %s that an exception could name exactly", plain.Cut(field.text, longestQuote), field.what), Hint: hint}
	}
	return nil
}
