package kyverno

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Release is the minor number of a release of Kyverno; 0: unknown.
type Release int

// firstRelease is the oldest release in these tables.
const firstRelease = 11

// The releases that change the support of kyverno.io, from the documentation and the custom
// resource definitions of Kyverno.
const (
	MatchDeprecated Release = 19 // warns at every request
	MatchIgnored    Release = 20 // no longer executes kyverno.io
)

// Version lists the releases that serve a version of PolicyException.
type Version struct {
	Kind       exception.GroupKind
	Name       string
	From, To   Release // To 0: still served
	Deprecated Release // 0: not deprecated
}

// served comes from the custom resource definitions of the releases 1.11.4, 1.12.5, 1.13.6, 1.14.4, 1.15.2, 1.17.2,
// 1.18.2 and 1.19.1. A change in 1.16 has the number 17, the first release that certainly has it.
var served = []Version{
	{MatchKind, "v2alpha1", 0, 11, 11},
	{MatchKind, "v2beta1", 0, 0, 13},
	{MatchKind, "v2", 12, 0, 0}, // like all of kyverno.io, deprecated in 1.19
	{ConditionKind, "v1alpha1", 14, 0, 17},
	{ConditionKind, "v1beta1", 17, 0, 0},
	{ConditionKind, "v1", 17, 0, 0},
}

// WatchedVersion returns the version in which Kyverno 1.19.1 reads the exceptions of a kind; "": it
// reads none. If the API server stops serving this version, Kyverno keeps the exceptions that it has
// read, also after their end. Source: the informers in cmd/kyverno/main.go and pkg/cel/policies.
func WatchedVersion(kind exception.GroupKind) string {
	return map[exception.GroupKind]string{MatchKind: "v2", ConditionKind: "v1beta1"}[kind]
}

// VersionOf returns the entry of a version; false: unknown.
func VersionOf(kind exception.GroupKind, name string) (Version, bool) {
	for _, v := range served {
		if v.Kind == kind && v.Name == name {
			return v, true
		}
	}
	return Version{}, false
}

// Newest returns the newest apiVersion of a kind of exceptions that a release serves. If the
// release serves none, it returns that of kyverno.io.
func (r Release) Newest(kind exception.GroupKind) string {
	for i := len(served) - 1; i >= 0; i-- {
		if v := served[i]; v.Kind == kind && r >= v.From && (v.To == 0 || r <= v.To) {
			return kind.Group + "/" + v.Name
		}
	}
	return r.Newest(MatchKind)
}

// SpecField is a field of spec that some releases do not have. Before From, the API server drops it silently.
type SpecField struct {
	Name string
	From Release
}

// Fields returns the fields of spec that some releases do not have.
func Fields(kind exception.GroupKind) []SpecField {
	if kind == MatchKind {
		return []SpecField{{"conditions", 12}, {"podSecurity", 12}}
	}
	return []SpecField{{"images", 17}, {"allowedValues", 17}, {"reportResult", 17}, {"expiresAt", 19},
		{"properties", 19}, {"evaluationMode", 19}}
}

var releaseForm = regexp.MustCompile(`^v?1\.([0-9]{1,3})(\.[0-9]+(-[0-9A-Za-z.-]+)?)?$`)

// ParseRelease returns the release of a Kyverno version; 0 for "".
func ParseRelease(version string) (Release, error) {
	if version == "" {
		return 0, nil
	}
	parts := releaseForm.FindStringSubmatch(version)
	if parts == nil {
		return 0, fmt.Errorf("%q is not a release of Kyverno, such as 1.19 or v1.19.1", version)
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0, fmt.Errorf("read the version of Kyverno %q: %w", version, err)
	}
	if minor < firstRelease {
		return 0, fmt.Errorf("%q is older than Kyverno 1.%d, the first that polex knows", version, firstRelease)
	}
	return Release(minor), nil
}

// Dropped returns the policies that an exception names before an update and not after it, and to which Kyverno 1.19.1
// still applies the exception then. Kyverno looks only at the new state of an exception when it
//
//   - generates admission policies (enqueueException and enqueueCELException in
//     pkg/controllers/admissionpolicygenerator/polex.go)
//   - compiles a MutatingPolicy or an ImageValidatingPolicy (UpdateFunc in provider.go of
//     pkg/cel/policies/mpol/engine and ivpol/engine).
//
// The generator compares names and no kinds, so the other kinds of policies.kyverno.io count too. Of
// kyverno.io, it compiles no Policy, and no entry with several rules.
func Dropped(before, after *exception.Document) []string {
	old, changed := Read(before), Read(after)
	if old == nil || changed == nil {
		return nil
	}
	var dropped []string
	for _, ref := range old.Refs {
		is := func(other Ref) bool {
			return other.Name.Text == ref.Name.Text && other.Kind.Text == ref.Kind.Text && other.generates()
		}
		if ref.generates() && !slices.ContainsFunc(changed.Refs, is) {
			dropped = append(dropped, ref.Name.Text)
		}
	}
	return dropped
}

// KeepsDeleted reports whether Kyverno 1.19.1 still applies an exception after its deletion, because of
// the kind of a policy that it names.
func KeepsDeleted(doc *exception.Document) bool {
	e := Read(doc)
	return e != nil && slices.ContainsFunc(e.Refs, Ref.KeepsDeleted)
}

// KeepsDeleted reports whether Kyverno 1.19.1 still applies a deleted exception to the policy. When an exception
// changes, Kyverno looks for the policies that it names in no namespace (provider.go of pkg/cel/policies/vpol/engine,
// ivpol/engine and mpol/engine), and computes a policy with a namespace only when the policy itself changes. Of the
// other namespaced kinds, it reads the exceptions at each use.
func (r Ref) KeepsDeleted() bool {
	kinds := []string{"NamespacedValidatingPolicy", "NamespacedImageValidatingPolicy", "NamespacedMutatingPolicy"}
	return slices.Contains(kinds, r.Kind.Text)
}

// generates reports whether Kyverno looks for a generated admission policy when such an exception changes.
func (r Ref) generates() bool {
	return r.Group != exception.KyvernoGroup || !strings.Contains(r.Name.Text, "/") && len(r.Rules) <= 1
}
